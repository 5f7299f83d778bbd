//! Findings about Services.

use super::Entry;

const KUBERNETES_NETWORKING: &str =
    "kubernetes.io, Networking on Windows (concepts/services-networking/windows-networking)";
const LIMITATIONS: &str = "tigera/docs windows-calico/limitations.mdx";
const WINKERNEL: &str = "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go (v1.33 to v1.37)";
const PROOF: &str = "measured with kube-proxy 1.32 to 1.37 (docs/windows-proof.md); kubernetes/kubernetes pkg/proxy/winkernel/proxier.go";
const KUBE_PROXY_FIX: &str = "kubernetes/kubernetes#134031";
const PROTOCOLS: &str = "kubernetes.io, Protocols for Services (reference/networking/service-protocols)";

pub const SESSION_AFFINITY_IGNORED: Entry = Entry {
    code: "WN3001",
    title: "ClientIP affinity is ignored",
    what: "HNS before Windows Server 2022 does not balance by the address of the client: each connection of a client goes to any endpoint.",
    severity: "Warning",
    releases: "Windows Server 2019 and earlier (builds before 20348)",
    fix: "run Windows nodes with Windows Server 2022 or later, or keep sessions in the application, for example with a cookie",
    source: KUBERNETES_NETWORKING,
};

pub const SESSION_AFFINITY_TIMEOUT: Entry = Entry {
    code: "WN3002",
    title: "The timeout of ClientIP affinity is ignored",
    what: "kube-proxy does not pass `timeoutSeconds` to HNS, which has no timeout of its own for the affinity.",
    severity: "Warning",
    releases: "all",
    fix: "remove `timeoutSeconds`, and do not rely on the time after which a client changes its endpoint",
    source: WINKERNEL,
};

pub const EXTERNAL_TRAFFIC_LOCAL: Entry = Entry {
    code: "WN3003",
    title: "externalTrafficPolicy Local needs direct server return",
    what: "HNS of this build has no direct server return, and kube-proxy treats the Service as `Cluster`: clients reach pods of other nodes, too, and pods see the address of a node instead of the client's.",
    severity: "Warning",
    releases: "Windows before 17763.1432 (KB4571748), 1803 and earlier",
    fix: "install the updates of Windows, or run the pods of the Service on other nodes",
    source: WINKERNEL,
};

pub const PRESERVE_DESTINATION: Entry = Entry {
    code: "WN3004",
    title: "preserve-destination is ignored",
    what: "HNS of this build cannot pass on packets without changing their destination: pods see their own address instead of that of the Service.",
    severity: "Warning",
    releases: "Windows before version 1903 (build 18362)",
    fix: "run the pods of the Service on newer nodes, or remove the annotation",
    source: KUBERNETES_NETWORKING,
};

pub const TOO_MANY_BACKENDS: Entry = Entry {
    code: "WN3005",
    title: "A Service has too many endpoints",
    what: "HNS refuses a load balancer with more endpoints: pods on Windows nodes cannot use the Service.",
    severity: "Error",
    releases: "all: 1,024 endpoints; Windows Server 2019 before 17763.2746 (KB5011551): 64",
    fix: "install the updates of Windows, or split the Service",
    source: KUBERNETES_NETWORKING,
};

pub const SERVICE_IPV6: Entry = Entry {
    code: "WN3006",
    title: "A Service needs IPv6",
    what: "Calico for Windows supports IPv4 only: pods on Windows nodes have no IPv6 address, are no endpoints of the Service's IPv6 address, and cannot use it.",
    severity: "Error if IPv6 is the only family; Warning with both families",
    releases: "all",
    fix: "use `ipFamilies: [IPv4]` for Services with pods on Windows nodes",
    source: LIMITATIONS,
};

pub const NAMED_TARGET_PORT: Entry = Entry {
    code: "WN3007",
    title: "A named targetPort is several numbers",
    what: "A load balancer of HNS has one port for all its endpoints. kube-proxy uses the number of one of the pods, and the other pods receive their traffic on a port that they do not listen on.",
    severity: "Error",
    releases: "all",
    fix: "use the same number in all pods of the Service, or one Service for each number",
    source: PROOF,
};

pub const INTERNAL_TRAFFIC_LOCAL: Entry = Entry {
    code: "WN3008",
    title: "internalTrafficPolicy Local keeps endpoints that are gone",
    what: "kube-proxy of this version does not remove the endpoints of the Service from HNS: connections fail until kube-proxy restarts.",
    severity: "Warning",
    releases: "kube-proxy before v1.31.14, v1.32.10, v1.33.6 and v1.34.2",
    fix: "update kube-proxy on the Windows nodes",
    source: KUBE_PROXY_FIX,
};

pub const TOPOLOGY_IGNORED: Entry = Entry {
    code: "WN3009",
    title: "Topology hints are ignored",
    what: "kube-proxy on Windows does not read the hints of EndpointSlices: pods on Windows nodes use the endpoints of every zone.",
    severity: "Info",
    releases: "all",
    fix: "expect traffic between zones from Windows nodes",
    source: WINKERNEL,
};

pub const TERMINATING_ENDPOINTS: Entry = Entry {
    code: "WN3010",
    title: "Endpoints that terminate are not used",
    what: "No endpoint is ready, and those that terminate still serve. kube-proxy on Linux uses them; on Windows only for a Service with the address of a load balancer.",
    severity: "Warning",
    releases: "all",
    fix: "keep a ready pod during a rollout: a readiness probe, more replicas, `maxUnavailable: 0`",
    source: WINKERNEL,
};

pub const NODE_PORT_FROM_NODE: Entry = Entry {
    code: "WN3011",
    title: "A node port does not work from its own node",
    what: "A Windows node cannot reach the node port at its own address. Other nodes and clients outside of the cluster can.",
    severity: "Info",
    releases: "all",
    fix: "use the cluster IP on the node, or the address of another node",
    source: KUBERNETES_NETWORKING,
};

pub const NOT_ADVERTISED: Entry = Entry {
    code: "WN3012",
    title: "No node advertises the Service",
    what: "With `externalTrafficPolicy: Local` only nodes with a pod of the Service advertise its address by BGP. All its pods are on Windows nodes, which do not advertise Services.",
    severity: "Error",
    releases: "all",
    fix: "use `externalTrafficPolicy: Cluster`, so that Linux nodes advertise the address",
    source: LIMITATIONS,
};

pub const SCTP_SERVICE: Entry = Entry {
    code: "WN3013",
    title: "A Service uses SCTP",
    what: "Windows does not support SCTP: the port does not work at pods of Windows nodes, nor from them.",
    severity: "Error",
    releases: "all",
    fix: "use TCP or UDP, or keep the pods on Linux nodes",
    source: PROTOCOLS,
};

pub const SOURCE_RANGES_IGNORED: Entry = Entry {
    code: "WN3014",
    title: "loadBalancerSourceRanges are not enforced",
    what: "kube-proxy on Linux drops packets from other addresses; on Windows it does not read the field. Traffic that reaches the node is allowed from everywhere.",
    severity: "Warning",
    releases: "all",
    fix: "check that the load balancer itself enforces the ranges, or allow them with a network policy of the pods",
    source: WINKERNEL,
};
