//! What programs on a Windows node say when they fail, each from its own source.

/// A text of the CNI plugin, and the file it stands in.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    pub text: &'static str,
    pub source: &'static str,
}

const fn words(text: &'static str, source: &'static str) -> Words {
    Words { text, source }
}

const IPAM: &str = "projectcalico/calico libcalico-go/lib/ipam/ipam.go";
const DATAPLANE: &str = "projectcalico/calico cni-plugin/pkg/dataplane/windows/dataplane_windows.go";

pub const STRICT_AFFINITY: Words = words(
    "failed to request IPv4 addresses: global strict affinity should not be false for Windows node",
    IPAM,
);
pub const BLOCK_LIMIT: Words = words(
    "failed to request IPv4 addresses: cannot allocate new block due to per host block limit",
    IPAM,
);
pub const NO_QUALIFIED_POOL: Words = words(
    "failed to request IPv4 addresses: cannot find a qualified ippool",
    IPAM,
);
pub const NO_POOL_FOR_NODE: Words = words(
    "failed to request IPv4 addresses: no configured Calico pools for node win-0",
    IPAM,
);
pub const UNAUTHORIZED: Words = words(
    "error getting ClusterInformation: connection is unauthorized: Unauthorized",
    "projectcalico/calico libcalico-go/lib/errors/errors.go; issue #8757",
);
/// `juju/mutex` `ErrTimeout`, passed on as it is.
pub const MUTEX: Words = words("timeout acquiring mutex", "projectcalico/calico issue #7823");
pub const NOT_IN_V2: Words = words(
    "Could not find vxlan0 in V2: Network ID \"5c266810-4da8-4bf2-1234-2ef76a4e3bd4\" not found",
    DATAPLANE,
);
pub const VNI: Words = words("Windows does not support VXLANVNI < 4096", DATAPLANE);
/// HNS gave the network no ManagementIP: recorded from `calico.exe` v3.32.1, the first line.
pub const MANAGEMENT_IP: Words = words(
    "Calico CNI panicked during ADD: runtime error: invalid memory address or nil pointer dereference",
    DATAPLANE,
);
pub const MANAGEMENT_INTERFACE: Words = words(
    "timed out waiting for interface matching the management IP (192.168.229.229) of network Calico",
    "projectcalico/calico cni-plugin/pkg/dataplane/windows/dataplane_windows.go; issue #9236",
);
pub const ENDPOINT: Words = words(
    "failed to delete existing remote HNSEndpoint Calico_ep: hnsCall failed in Win32: The object is in use. (0x803b001d)",
    DATAPLANE,
);
pub const CREATE_NETWORK: Words = words(
    "failed to create HNSNetwork Calico: hnsCall failed in Win32: The parameter is incorrect. (0x57)",
    DATAPLANE,
);
pub const NET_INTERFACE: Words = words(
    "timeout, failed to get net interface for HNSNetwork Calico (172.20.0.5): couldn't find an interface matching management IP 172.20.0.5",
    DATAPLANE,
);
/// Service hns does not run: any call fails so, here the first that is not ignored.
pub const HNS_DOWN: Words = words(
    "failed to create HNSNetwork Calico: hnsCall failed in Win32: The RPC server is unavailable. (0x6ba)",
    DATAPLANE,
);
pub const DATASTORE: Words = words(
    "Calico is currently not ready to process requests",
    "projectcalico/calico cni-plugin/pkg/plugin/plugin.go",
);
pub const ENDPOINT_OF_API: Words = words(
    "host must be a URL or a host:port pair: \"https://:\"",
    "kubernetes/client-go rest/url_utils.go; tigera/operator#3113",
);
/// Recorded from `calico.exe` v3.32.1 with `server: https://:` in its kubeconfig.
pub const KUBECONFIG: Words = words(
    "error creating calico client: error loading config file \"c:/etc/cni/net.d/calico-kubeconfig\": yaml: line 7: mapping values are not allowed in this context",
    "projectcalico/calico cni-plugin/internal/pkg/utils; client-go",
);
/// Nothing anybody has a name for: `issue #8465`.
pub const POLICY: Words = words(
    "failed to create the new HostComputeEndpoint: hcnCreateEndpoint failed in Win32: The provided policy configuration is invalid or missing parameters. (0x803b000d)",
    "projectcalico/calico issue #8465",
);

/// Termination messages of kube-proxy, as the kubelet cuts them off the end of its log: seen under Wine from
/// `kube-proxy.exe` of 1.32 to 1.37 (`cargo windows-proof`), the gate that is off from 1.32 and 1.33.
pub mod kube_proxy {
    macro_rules! ended {
        ($why:literal) => {
            concat!(
                "I1121 18:04:21.429223      32 shared_informer.go:402] \"Waiting for caches to sync\"\n",
                "I1121 18:04:21.929561      32 server.go:228] \"Successfully retrieved NodeIPs\" NodeIPs=[\"172.20.0.5\"]\n",
                "E1121 18:04:32.000522      32 server.go:136] \"Error running ProxyServer\" err=\"",
                $why,
                "\"\nE1121 18:04:32.000522      32 run.go:72] \"command failed\" err=\"",
                $why,
                "\"\n"
            )
        };
    }

    pub const UNKNOWN_GATE: &str = ended!("failed complete: unrecognized feature gate: WinDSRX");
    pub const LOCKED_GATE: &str =
        ended!("failed complete: cannot set feature gate WinDSR to false, feature is locked to true");
    pub const GATE_OFF: &str = ended!(
        "unable to create proxier: unable to create ipv4 proxier: WinOverlay feature gate not enabled, nodeName: win-0, nodeIP:172.20.0.5"
    );
    pub const SOURCE_VIP: &str = ended!("unable to create proxier: source-vip flag not set");
    /// It never ends by itself while the network is missing; this is the message of one that its probe ended.
    pub const NO_NETWORK: &str = concat!(
        "E1121 18:05:26.1      32 hns.go:90] \"Error getting network by name\" err=\"Network name \\\"Calico\\\" not found\"\n",
        "E1121 18:05:26.1      32 proxier.go:214] \"Unable to find HNS Network specified, please check network name and CNI deployment\" hnsNetworkName=\"Calico\"\n",
    );
    pub const NO_MAC: &str =
        ended!("unable to create proxier: could not find host mac address for 172.20.0.5");
    pub const UNKNOWN: &str = "  -v, --v Level    number for the log level verbosity\n      --vmodule pattern=N,...\n\nError: unknown flag: --v9\n";
}

/// Last words of Calico's node agent.
pub mod agent {
    /// `calico-node -startup` asks IPAM for the node's block (`startup_windows.go`, `EnsureBlock`).
    pub const STRICT_AFFINITY: &str =
        "failed to ensure block: global strict affinity should not be false for Windows node";
    pub const UNKNOWN: &str = "panic: runtime error: invalid memory address or nil pointer dereference";
}

/// Messages of the Node's condition `Ready` (kubelet `pkg/kubelet/kubelet.go`, containerd's CRI plugin).
pub mod kubelet {
    pub const NO_CNI: &str = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
    pub const PLEG: &str = "PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s";
    /// `pkg/controller/nodelifecycle/node_lifecycle_controller.go`.
    pub const SILENT: &str = "Kubelet stopped posting node status.";
}
