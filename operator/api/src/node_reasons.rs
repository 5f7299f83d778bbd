//! Why a Windows node does not work, and advice about nodes: one table for conditions, Events,
//! metrics and `docs/reasons.md`. Rows are in order of rank: a cause comes before its consequences.

macro_rules! node_reasons {
    ($($name:ident { $usually:ident, $meaning:literal, $evidence:literal, $fix:literal, $source:literal })+) => {
        /// Reason of the Node condition.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum NodeReason { $(#[doc = $meaning] $name),+ }

        impl NodeReason {
            /// Every reason, by rank.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The reason as conditions, Events and metrics have it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// The texts of the reason, for messages and docs/reasons.md.
            pub const fn entry(self) -> Entry {
                match self { $(Self::$name => Entry {
                    usually: Weight::$usually,
                    meaning: $meaning,
                    evidence: $evidence,
                    fix: $fix,
                    source: $source,
                }),+ }
            }
        }
    };
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Weight {
    /// Worth knowing; never makes a node not ready.
    Advice,
    /// The operator cannot know; the node may work.
    Unknown,
    /// Not yet, and still within the time it usually takes.
    Progressing,
    /// Does not work.
    Failing,
}

impl Weight {
    /// The name in docs/reasons.md.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advice => "Advice",
            Self::Unknown => "Unknown",
            Self::Progressing => "Progressing",
            Self::Failing => "Failing",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Weight of most findings with the reason; a finding may weigh less while a deadline runs.
    pub usually: Weight,
    /// What is wrong, as one sentence with a full stop.
    pub meaning: &'static str,
    /// Object and field that are read.
    pub evidence: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// Upstream file, page, KB or issue.
    pub source: &'static str,
}

node_reasons! {
    KubeletNotReporting { Failing,
        "The kubelet of the node no longer reports.",
        "Node condition Ready is Unknown",
        "start the machine or its kubelet",
        "kubernetes.io: Node status, condition Ready" }
    OSBuildUnsupported { Failing,
        "Windows of this build or patch level cannot run Calico's network.",
        "Node status.nodeInfo.kernelVersion",
        "update the node, or replace it by Windows Server 2022",
        "Calico install_windows.go; kubernetes.io: Windows OS version support; KB4489899 (17763.379); RKE2 and Calico floor 20348.169" }
    OSBuildKnownBad { Failing,
        "This patch level of Windows has a defect that breaks pod networking.",
        "Node status.nodeInfo.kernelVersion",
        "install the update that fixes it",
        "microsoft/Windows-Containers#516 (20348.2582 to 2761: KB5040437, fixed by KB5044281); microsoft/Windows-Containers#78 (17763.1579 and .1637)" }
    OSBuildTooOldForOverlay { Failing,
        "This patch level of Windows cannot do overlay (VXLAN) networks with Calico.",
        "Node status.nodeInfo.kernelVersion, spec.network.type",
        "install the update of October 2025 (KB5066835) or later",
        "rancher/rancher#50915: Windows Server 2025 before the patch of October 2025" }
    OSBuildTooOldForDSR { Failing,
        "HNS of this patch level does not support direct server return (DSR). Advice while DSR is off.",
        "Node status.nodeInfo.kernelVersion, spec.kubeProxy.dsr; termination message: platform does not support feature Direct Server \
         Return (DSR)",
        "install KB4571748 (17763.1432) or later, or set spec.kubeProxy.dsr to Auto",
        "Calico install_windows.go supportsDSR; KB4571748; message seen from kube-proxy.exe 1.32 to 1.37 (docs/windows-proof.md)" }
    HostProcessUnsupported { Failing,
        "The container runtime cannot run HostProcess containers, so neither agent nor kube-proxy can start.",
        "Node status.nodeInfo.containerRuntimeVersion",
        "install containerd 1.7 (at least 1.6.18) as the node's runtime",
        "microsoft/windows-host-process-containers-base-image: containerd 1.6.18" }
    RecoveringAfterReboot { Progressing,
        "The node was rebooted and its networking pods have not all restarted since.",
        "Node status.nodeInfo.bootID changed; containers of the pods are older",
        "wait",
        "projectcalico/calico#8397, #11840" }
    NotRecovered { Failing,
        "The node was rebooted and its networking pods did not restart.",
        "Node status.nodeInfo.bootID changed over ten minutes ago; containers of the pods are older",
        "restart the kubelet, or delete the pods of calico-node-windows and kube-proxy-windows on the node",
        "projectcalico/calico#8397, #11840" }
    StrictAffinityFalse { Failing,
        "Calico's IPAM refuses Windows: strictAffinity is false.",
        "IPAMConfiguration default spec.strictAffinity; or FailedCreatePodSandBox: global strict affinity should not be false for Windows node",
        "set spec.calico.strictAffinity to Enforce, or strictAffinity true in Calico's IPAM configuration",
        "Calico libcalico-go/lib/ipam/ipam.go, ErrStrictAffinity; projectcalico/calico#10619; refuses new pods on a node that has its block, too" }
    NoQualifiedPool { Failing,
        "No enabled IP pool has blocks a Windows node can use.",
        "IPPools that select the node: spec.disabled, allowedUses, assignmentMode, blockSize; or FailedCreatePodSandBox: cannot find a qualified ippool",
        "create or enable an IPPool with blockSize 29 or less",
        "Calico libcalico-go/lib/ipam/ipam.go, ErrNoQualifiedPool" }
    NoPoolForNode { Failing,
        "No IP pool selects the node.",
        "IPPools spec.nodeSelector against the labels of the Node; or FailedCreatePodSandBox: no configured Calico pools for node",
        "correct the nodeSelector of the IPPool, or the labels of the node",
        "Calico libcalico-go/lib/ipam/ipam.go; refuses new pods on a node that has its block, too" }
    VNITooLow { Failing,
        "The VXLAN identifier is below 4096, which Windows does not accept.",
        "FelixConfiguration default spec.vxlanVNI; or FailedCreatePodSandBox: Windows does not support VXLANVNI < 4096",
        "set spec.calico.vxlan.vni to 4096 or more; condition CalicoConfigured says why it is not applied",
        "Calico dataplane_windows.go" }
    HNSUnavailable { Failing,
        "The Host Networking Service (HNS) of the node does not answer.",
        "FailedCreatePodSandBox or the last message of a networking pod: error 0x6ba, The RPC server is unavailable",
        "start service hns on the node, and reboot the node if it stops again",
        "Win32 error 1722 (0x6ba) RPC_S_SERVER_UNAVAILABLE of every HNS call while service hns is not running" }
    AgentNotScheduled { Failing,
        "No pod of Calico's node agent runs on the node.",
        "no Pod k8s-app=calico-node-windows with this spec.nodeName",
        "see the events of DaemonSet calico-node-windows, and spec.nodeAgent.tolerations",
        "kubernetes.io: DaemonSet, taints and tolerations" }
    AgentImagePullFailed { Failing,
        "An image of Calico's node agent cannot be pulled.",
        "Pod status: a container waits with ErrImagePull, ImagePullBackOff or InvalidImageName",
        "check spec.nodeAgent.image, spec.imageRegistry and imagePullSecrets",
        "kubernetes.io: Images, ImagePullBackOff" }
    AgentCrashLooping { Failing,
        "Calico's node agent is crash-looping.",
        "Pod status: CrashLoopBackOff, or three restarts with the last within ten minutes",
        "read the last message of the container, and its log with kubectl logs --previous",
        "kubernetes.io: Pod lifecycle, container restart policy" }
    AgentNotReady { Failing,
        "Calico's node agent runs but is not ready: Felix has not programmed HNS.",
        "Pod condition Ready; within its time this is Progressing",
        "read the log of container felix",
        "Calico felix/daemon, health endpoint" }
    PodCIDRMissing { Failing,
        "The Node has no pod CIDR, so its pods get no addresses.",
        "Node spec.podCIDR",
        "run kube-controller-manager with --allocate-node-cidrs and --cluster-cidr, or join the node with a podCIDR",
        "flannel pkg/subnet/kube/kube.go: node pod cidr not assigned; kubernetes.io: kube-controller-manager" }
    NetworkAgentNotScheduled { Failing,
        "No pod of the network agent runs on the node.",
        "no Pod k8s-app=kube-flannel-windows or static-routes-windows with this spec.nodeName",
        "see the events of the DaemonSet, and spec.networkAgent.tolerations",
        "kubernetes.io: DaemonSet, taints and tolerations" }
    NetworkAgentImagePullFailed { Failing,
        "The image of the network agent cannot be pulled.",
        "Pod status: the container waits with ErrImagePull, ImagePullBackOff or InvalidImageName",
        "check spec.networkAgent.image and imagePullSecrets: docs/images.md has the recipe of the image",
        "kubernetes.io: Images, ImagePullBackOff" }
    NetworkAgentCrashLooping { Failing,
        "The network agent is crash-looping.",
        "Pod status: CrashLoopBackOff, or three restarts with the last within ten minutes",
        "read the last message of the container, and its log with kubectl logs --previous",
        "kubernetes.io: Pod lifecycle, container restart policy" }
    NetworkAgentNotReady { Failing,
        "The network agent runs but is not ready: the node's HNS network is not set up.",
        "Pod condition Ready; within its time this is Progressing",
        "read the log of the network agent's container",
        "flannel main.go, healthz" }
    KubeProxyNotScheduled { Failing,
        "No pod of kube-proxy runs on the node.",
        "no Pod k8s-app=kube-proxy-windows or kube-proxy-windows-no-dsr with this spec.nodeName",
        "see the events of the DaemonSet, and spec.kubeProxy.tolerations",
        "kubernetes.io: DaemonSet, taints and tolerations" }
    KubeProxyImagePullFailed { Failing,
        "The image of kube-proxy cannot be pulled.",
        "Pod status: the container waits with ErrImagePull, ImagePullBackOff or InvalidImageName",
        "check spec.kubeProxy.version and image: a tag for this version may not be published yet",
        "kubernetes-sigs/sig-windows-tools hostprocess/calico/kube-proxy" }
    KubeProxyFeatureGate { Failing,
        "kube-proxy refuses a feature gate.",
        "termination message: unrecognized feature gate, cannot set feature gate, WinDSR/WinOverlay feature gate not enabled, or an invalid argument for --feature-gates",
        "remove the gate from spec.kubeProxy.featureGates, or run a version that knows it",
        "Kubernetes pkg/features/kube_features.go; cmd/kube-proxy; seen from kube-proxy.exe 1.32 to 1.37 (docs/windows-proof.md)" }
    KubeProxyNoSourceVIP { Failing,
        "kube-proxy has no source VIP: HNS endpoint Calico_ep does not exist, or host-local reserved no address.",
        "termination message: source-vip flag not set",
        "check the agent that networks this node: it creates the endpoint, or the network that the address belongs to",
        "Kubernetes pkg/proxy/winkernel/proxier.go; kubernetes/kubernetes#78338; seen from kube-proxy.exe 1.32 to 1.37 (docs/windows-proof.md)" }
    KubeProxyNoHNSNetwork { Failing,
        "kube-proxy does not find the HNS network.",
        "termination message: HNS network did not appear (the start script), Unable to find HNS Network (kube-proxy, which waits until its liveness probe fails), or could not find HNS network",
        "check the agent that networks this node: it creates the network",
        "Kubernetes pkg/proxy/winkernel/proxier.go; seen from kube-proxy.exe 1.32 to 1.37 (docs/windows-proof.md)" }
    KubeProxyNoHostMAC { Failing,
        "kube-proxy does not find the network adapter of the node's address.",
        "termination message: could not find host mac address",
        "set --bind-address in spec.kubeProxy.extraArgs, or the kubelet's --node-ip to an address of the node",
        "Kubernetes pkg/proxy/winkernel/proxier.go; seen from kube-proxy.exe 1.32 to 1.37 (docs/windows-proof.md)" }
    KubeProxyCrashLooping { Failing,
        "kube-proxy is crash-looping.",
        "Pod status: CrashLoopBackOff, or three restarts with the last within ten minutes",
        "read the last message of the container, and its log with kubectl logs --previous",
        "kubernetes.io: Pod lifecycle, container restart policy" }
    KubeProxyNotReady { Failing,
        "kube-proxy runs but is not ready: Services may not work on the node.",
        "Pod condition Ready; within its time this is Progressing",
        "read the log of container kube-proxy",
        "Kubernetes pkg/proxy/healthcheck" }
    NoIPAMBlock { Failing,
        "The node has no block of pod addresses.",
        "no IPAMBlock with affinity host:<node> and confirmed BlockAffinity",
        "check that an enabled IPPool with blockSize 29 or less selects the node, and the log of container node",
        "Calico node/pkg/lifecycle/startup/startup_windows.go, EnsureBlock" }
    BlockReservationMissing { Failing,
        "The four addresses that Windows needs are not reserved in the node's block, so pods may get one of them.",
        "IPAMBlock: ordinals 0, 1, 2 and the last must be held by windows-reserved-ipam-handle",
        "drain the node, release the block (delete its BlockAffinity and IPAMBlock) and restart the agent pod: the block was created while a Linux node had this name",
        "Calico libcalico-go/lib/ipam/ipam_block.go" }
    BlockExhausted { Failing,
        "The node's block has no free address, and a Windows node gets no second block.",
        "IPAMBlock spec.unallocated is empty, or all of it is in an IPReservation; or FailedCreatePodSandBox: cannot allocate new block due to per host block limit",
        "move pods away, and lower the kubelet's maxPods to the size of the block less four, or use an IPPool with a larger block",
        "Calico libcalico-go/lib/ipam/ipam.go, ErrBlockLimit; limitation of one block per Windows host" }
    TunnelAddressMissing { Failing,
        "The node has not announced its VXLAN tunnel.",
        "Node annotations projectcalico.org/IPv4VXLANTunnelAddr and VXLANTunnelMACAddr",
        "read the log of container node: the HNS network was not created",
        "Calico cni-plugin/pkg/dataplane/windows, EnsureVXLANTunnelAddr" }
    TunnelAddressStale { Failing,
        "The announced VXLAN tunnel address is not that of the node's block, so traffic to its pods is lost.",
        "Node annotation projectcalico.org/IPv4VXLANTunnelAddr must be the block's first address plus one",
        "drain the node, remove HNS network Calico on it and restart the agent pod",
        "Calico cni-plugin/pkg/dataplane/windows, EnsureVXLANTunnelAddr" }
    VNIMismatch { Failing,
        "The FelixConfiguration of this node has another VNI than the cluster.",
        "FelixConfiguration node.<name> spec.vxlanVNI",
        "remove vxlanVNI from FelixConfiguration node.<name>",
        "Calico FelixConfiguration vxlanVNI: one value for all nodes" }
    NodeRebuildRequired { Failing,
        "The node's HNS network was created with another VNI than the cluster has now, so its pods do not reach other nodes.",
        "Node annotation windowsnode.dev/hns-network (VNI, boot and tunnel of the network when Calico's startup created it) compared with \
         FelixConfiguration default spec.vxlanVNI; resolved when the node has another bootID or another tunnel and startup has succeeded since",
        "drain the node and reboot it; or drain it, run Get-HnsNetwork | ? Name -eq Calico | Remove-HnsNetwork on it and delete its pod of \
         calico-node-windows",
        "Calico dataplane_windows.go: ensureVxlanNetworkExists compares type, prefix and gateway, never the VSID; node-service.ps1 removes the \
         network on the first start after a boot" }
    BGPAddressMissing { Failing,
        "The node has not announced its BGP address, so no route leads to its pods.",
        "Node annotation projectcalico.org/IPv4Address",
        "read the logs of containers node and confd; Windows feature RemoteAccess must be installed for BGP",
        "Calico libcalico-go/lib/backend/k8s/resources/node.go" }
    BGPASNumberInvalid { Failing,
        "The AS number annotation of the node is invalid.",
        "Node annotation projectcalico.org/ASNumber",
        "correct the annotation, or remove it to use that of BGPConfiguration default",
        "Calico api/pkg/lib/numorstring/asnumber.go" }
    NetworkUnavailable { Failing,
        "Calico reports that the node's network is not set up.",
        "Node condition NetworkUnavailable is True",
        "read the log of container node; if its startup succeeded, delete the pod: Calico resets the condition only when container node \
         starts",
        "Calico node/pkg/lifecycle/utils" }
    StartupNotFinished { Failing,
        "Calico's startup has not succeeded since container node of the agent's pod started.",
        "Node condition NetworkUnavailable (reason CalicoIsUp): startup sets it each time it succeeds; its lastTransitionTime is before \
         the start of container node",
        "read the log of container node, which retries startup for ever; that Felix is ready means nothing",
        "Calico node-service.ps1; node/pkg/lifecycle/startup, MarkNetworkAvailable; felix/daemon: readiness is that of the datastore" }
    CNINotInitialized { Failing,
        "The container runtime finds no CNI configuration, so no pod can start.",
        "Node condition Ready is False: cni plugin not initialized",
        "set spec.nodeAgent.cniBinDir and cniConfDir to the folders the node's containerd reads",
        "projectcalico/calico#6122; containerd CRI plugin" }
    NodeNotReady { Failing,
        "The kubelet reports that the node is not ready.",
        "Node condition Ready is False",
        "see the message of the condition",
        "kubernetes.io: Node status" }
    CNITokenInvalid { Failing,
        "The token of the CNI plugin is no longer valid.",
        "FailedCreatePodSandBox: connection is unauthorized: Unauthorized",
        "delete the pod of calico-node-windows on the node: its container node writes a new token",
        "projectcalico/calico#8757, #8379, #6546" }
    CNIStalled { Failing,
        "The CNI plugin waits for a lock that nothing releases.",
        "FailedCreatePodSandBox: timeout acquiring mutex",
        "restart service hns on the node, or reboot it",
        "projectcalico/calico#7823, #12795; dataplane_windows.go" }
    HNSNetworkInconsistent { Failing,
        "Only one of the two APIs of HNS shows the network.",
        "FailedCreatePodSandBox: Could not find vxlan0 in V2",
        "drain the node, restart service hns and the agent pod",
        "Calico dataplane_windows.go" }
    HNSManagementIPMissing { Failing,
        "The node's own address is missing since HNS created the network.",
        "FailedCreatePodSandBox: Calico CNI panicked during ADD: … nil pointer dereference (the network has no ManagementIP), failed to get net \
         interface for HNSNetwork, or timed out waiting for interface matching the management IP (no adapter has it)",
        "set spec.nodeAgent.vxlanAdapter to the adapter with the node's address, then reboot the node",
        "Calico dataplane_windows.go: without a ManagementIP it dereferences nil, seen from calico.exe v3.32.1" }
    HNSEndpointStale { Failing,
        "HNS cannot remove an endpoint of a former pod.",
        "FailedCreatePodSandBox: failed to delete existing remote HNSEndpoint",
        "restart service hns on the node, or reboot it",
        "Calico dataplane_windows.go; projectcalico/calico#7823" }
    HNSNetworkCreateFailed { Failing,
        "HNS cannot create the network.",
        "FailedCreatePodSandBox: failed to create HNSNetwork",
        "check spec.nodeAgent.vxlanAdapter, and remove other HNS networks on the same adapter",
        "Calico dataplane_windows.go" }
    DatastoreNotReady { Failing,
        "Calico's datastore is marked as not ready.",
        "FailedCreatePodSandBox: Calico is currently not ready to process requests",
        "finish the migration or upgrade that set ClusterInformation default spec.datastoreReady to false",
        "Calico cni-plugin/pkg/plugin/plugin.go" }
    APIServerEndpointMissing { Failing,
        "The CNI plugin has no address of the API server.",
        "FailedCreatePodSandBox: host must be a URL or a host:port pair, or the plugin's kubeconfig: mapping values are not allowed in this \
         context",
        "set spec.network.apiServer, then delete the pod of calico-node-windows on the node",
        "tigera/operator#3113; kubernetes-sigs/sig-windows-tools#302" }
    SandboxCreationFailed { Failing,
        "Pods cannot be created on the node, for a reason that is not in this table.",
        "Event FailedCreatePodSandBox within the last ten minutes",
        "see the event's message",
        "kubelet pkg/kubelet/kuberuntime" }
    OSBuildUnknown { Unknown,
        "The operator does not know this build of Windows, or the node does not report its build.",
        "Node status.nodeInfo.kernelVersion",
        "do nothing if pods work; upgrade the operator when a version knows the build",
        "microsoft/hcsshim osversion/windowsbuilds.go" }
    OSBuildUnsupportedByCalico { Advice,
        "Calico does not support this version of Windows; it may work, but nobody tests it.",
        "Node status.nodeInfo.kernelVersion against Calico's list: 17763 (Windows Server 2019) and 20348 (2022)",
        "use Windows Server 2022, or test your workloads and follow projectcalico/calico#11691",
        "tigera/docs windows-calico/requirements.mdx; projectcalico/calico#11691 (Windows Server 2025)" }
    OSBuildUnsupportedByKubernetes { Advice,
        "The Kubernetes version of this node does not support this version of Windows; it may work, but nobody tests it.",
        "Node status.nodeInfo.kernelVersion against kubeletVersion: 2019 up to Kubernetes 1.34, 2022 from 1.23, 2025 from 1.35",
        "replace the node by one of a version that Kubernetes lists for this minor",
        "kubernetes.io: Windows OS version support, of each minor; kubernetes/website#53724 (1.35: 2022 and 2025)" }
    OSBuildOutdated { Advice,
        "A later update of this Windows fixes defects of its networking.",
        "Node status.nodeInfo.kernelVersion",
        "install Windows updates",
        "microsoft/Windows-Containers#61 (17763.1554, KB4580390); KB5011551 (17763.2746: more than 64 backends); HNS crash, November 2022 (17763.3650, 20348.1249)" }
    VersionSkew { Advice,
        "The kubelet's version does not fit the API server's.",
        "Node status.nodeInfo.kubeletVersion: not newer than the API server, at most three minors older",
        "upgrade the node, or the control plane first",
        "kubernetes.io: Version skew policy" }
    MultipleBlocks { Advice,
        "The node has more than one block; Calico's CNI plugin uses one on Windows.",
        "several IPAMBlocks with affinity host:<node>",
        "release the blocks the node does not use",
        "Calico cni-plugin windows_use_single_network" }
    ForeignAllocations { Advice,
        "Addresses of the node's block are used by pods on other nodes, which Windows does not route to.",
        "IPAMBlock attributes: secondary.node is another node",
        "restart those pods: strictAffinity was false when they started",
        "limitation of Calico for Windows: no borrowing of addresses" }
    BlockSmallerThanMaxPods { Advice,
        "The kubelet accepts more pods than the node's block has addresses for.",
        "Node status.allocatable.pods against the block's size less four",
        "lower the kubelet's maxPods, or use an IPPool with larger blocks (a /25 holds 124 pods)",
        "Calico libcalico-go/lib/ipam: a /26 holds 60 Windows pods, the kubelet's default is 110" }
    KubeProxyVersionSkew { Advice,
        "kube-proxy's version does not fit the API server's or the kubelet's.",
        "tag of the image of kube-proxy's pod or DaemonSet: not newer than the API server, at most three minors older, and at most three \
         minors from the kubelet",
        "run kube-proxy in the version of the kubelet",
        "kubernetes.io: Version skew policy" }
    ClusterIPPolicyNotEnforced { Advice,
        "kube-proxy on the node does not use direct server return (DSR), so network policy does not see the source of connections to a ClusterIP.",
        "argument --enable-dsr of kube-proxy's pod or DaemonSet; Node annotation rke2.io/node-args; spec.kubeProxy.dsr",
        "update the node to Windows 17763.1432 (KB4571748) or later, and run kube-proxy with --enable-dsr=true",
        "tigera/docs windows-calico/limitations.mdx; Kubernetes pkg/proxy/winkernel/proxier.go" }
    KubeProxyKnownIssue { Advice,
        "This version of kube-proxy has defects on Windows that a later patch fixes.",
        "tag of the image of the running pod",
        "upgrade kube-proxy: set spec.kubeProxy.version to the newest patch of the minor",
        "kubernetes CHANGELOG of each minor" }
}

impl std::fmt::Display for NodeReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
