//! Findings about pods.

use super::Entry;

const KUBERNETES_NETWORKING: &str =
    "kubernetes.io, Networking on Windows (concepts/services-networking/windows-networking)";
const WINDOWS_INTRO: &str = "kubernetes.io, Windows containers in Kubernetes (concepts/windows/intro)";
const WINDOWS_GUIDE: &str = "kubernetes.io, Guide for Running Windows Containers in Kubernetes (concepts/windows/user-guide); Pod Security Standards";
const DNS_PAGE: &str = "kubernetes.io, DNS for Services and Pods (DNS resolution on Windows nodes)";
const COMPATIBILITY: &str = "microsoft/hcsshim osversion/platform_compat_windows.go; learn.microsoft.com, Windows container version compatibility";
const CNI_CONFIG: &str = "projectcalico/calico cni-plugin/pkg/install/install_windows.go";
const DISRUPTIONS: &str = "kubernetes.io, Specifying a Disruption Budget for your Application; tigera/docs windows-calico/limitations.mdx";
const BLOCKS: &str = "projectcalico/calico#4861; libcalico-go lib/ipam (HostReservedAttr, MaxBlocksPerHost)";
const VALIDATION: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go (validateWindows)";
const HOST_PROCESS_PAGE: &str = "kubernetes.io, Create a Windows HostProcess Pod";

pub const HOST_NETWORK_IGNORED: Entry = Entry {
    code: "WN4001",
    title: "hostNetwork has no effect",
    what: "Windows has a host network for HostProcess containers only. The pod has a network of its own, and does not listen at the address of the node.",
    severity: "Error",
    releases: "all",
    fix: "remove `hostNetwork`, or make every container a HostProcess container",
    source: WINDOWS_INTRO,
};

pub const HOST_DNS_POLICY: Entry = Entry {
    code: "WN4002",
    title: "dnsPolicy ClusterFirstWithHostNet is not supported",
    what: "Windows has no host network for pods, and Kubernetes does not support this policy there.",
    severity: "Warning",
    releases: "all",
    fix: "use `dnsPolicy: ClusterFirst`",
    source: DNS_PAGE,
};

pub const SEARCH_DOMAINS: Entry = Entry {
    code: "WN4003",
    title: "Only the first search domain is used",
    what: "A pod on Windows has one DNS suffix, that of its namespace, or with `dnsPolicy: None` the first of `searches`. The others are not searched.",
    severity: "Warning",
    releases: "all",
    fix: "write names in full in the application, such as `db.data.svc.cluster.local`",
    source: DNS_PAGE,
};

pub const PARTIAL_NAME: Entry = Entry {
    code: "WN4004",
    title: "A name of a Service is not written in full",
    what: "A pod on Windows resolves `name` in its own namespace and the full name, but not `name.namespace` and `name.namespace.svc`.",
    severity: "Error",
    releases: "all",
    fix: "write the full name, such as `db.data.svc.cluster.local`",
    source: DNS_PAGE,
};

pub const IMAGE_BUILD: Entry = Entry {
    code: "WN4005",
    title: "An image is for another build of Windows",
    what: "With process isolation a node runs images of its own build, from Windows Server 2022 on those from the long-term release before up to its own. On other nodes the image is not pulled: `no match for platform in manifest`.",
    severity: "Error if no node runs the image; Warning if some nodes do not",
    releases: "all",
    fix: "use an image of the nodes' build, or the node label `node.kubernetes.io/windows-build` in `nodeSelector`",
    source: COMPATIBILITY,
};

pub const NO_NODE_OF_BUILD: Entry = Entry {
    code: "WN4006",
    title: "No node has the build that the pod asks for",
    what: "The pod selects nodes by the label `node.kubernetes.io/windows-build`, and no Windows node has the value: the pod stays pending.",
    severity: "Error",
    releases: "all",
    fix: "select a build that a node has",
    source: WINDOWS_GUIDE,
};

pub const NO_OS_SELECTOR: Entry = Entry {
    code: "WN4007",
    title: "A pod may be scheduled to a Windows node",
    what: "The pod selects no operating system, and tolerates the taints of a Windows node. The scheduler does not read `spec.os.name`. A Linux image does not start there; with `os.name: linux` the kubelet rejects the pod.",
    severity: "Warning",
    releases: "all",
    fix: "set `nodeSelector` `kubernetes.io/os: linux`, or register Windows nodes with a taint such as `os=windows:NoSchedule`",
    source: WINDOWS_GUIDE,
};

pub const OS_NAME_MISSING: Entry = Entry {
    code: "WN4008",
    title: "A Windows pod does not name its operating system",
    what: "Without `os.name: windows` the API server does not refuse fields that Windows ignores, and Pod Security checks the pod as a Linux pod.",
    severity: "Info",
    releases: "all",
    fix: "set `os.name: windows` in the spec of the pod",
    source: WINDOWS_GUIDE,
};

pub const HOST_PORT_IGNORED: Entry = Entry {
    code: "WN4009",
    title: "hostPort has no effect",
    what: "Calico's CNI configuration for Windows has no plugin that forwards ports of the node: nothing listens at the port.",
    severity: "Warning",
    releases: "all",
    fix: "use a Service of type NodePort, or a HostProcess container",
    source: CNI_CONFIG,
};

pub const LINUX_COMMAND: Entry = Entry {
    code: "WN4010",
    title: "A command is that of a Linux image",
    what: "Base images of Windows have no `/bin`, and no shell such as `sh`: the container or its probe fails, unless the image brings the program.",
    severity: "Warning",
    releases: "all",
    fix: "use `cmd /c` or `powershell -Command`, or a probe by httpGet or tcpSocket",
    source: WINDOWS_INTRO,
};

pub const ICMP_PROBE: Entry = Entry {
    code: "WN4011",
    title: "A probe sends ICMP",
    what: "Windows does not translate the addresses of ICMP packets: a ping to a destination outside of the pod network gets no answer.",
    severity: "Warning",
    releases: "all",
    fix: "connect by TCP, for example with a tcpSocket probe",
    source: KUBERNETES_NETWORKING,
};

pub const NEVER_DRAINS: Entry = Entry {
    code: "WN4012",
    title: "A disruption budget never lets a Windows node be drained",
    what: "The budget allows no eviction, so that a drain of a Windows node waits for ever. Updates of Windows, and changes of Calico's VNI or pool, need one.",
    severity: "Warning",
    releases: "all",
    fix: "allow one eviction: `maxUnavailable: 1`, or more replicas than `minAvailable`",
    source: DISRUPTIONS,
};

pub const TOO_MANY_PODS: Entry = Entry {
    code: "WN4013",
    title: "A Windows node has more pods than addresses",
    what: "A Windows node has one block of addresses, of which Windows keeps four: 60 pods with blocks of 26 bits. Further pods stay in ContainerCreating.",
    severity: "Error",
    releases: "all",
    fix: "use an IP pool with larger blocks for the Windows nodes (`blockSize: 25` holds 124 pods), or add nodes",
    source: BLOCKS,
};

pub const LINUX_SECURITY_CONTEXT: Entry = Entry {
    code: "WN4014",
    title: "Security settings are those of Linux",
    what: "With `os.name: windows` the API server refuses the pod. Without it Windows ignores them: the container runs with other rights than the settings say.",
    severity: "Error with `os.name: windows`; Warning otherwise",
    releases: "all",
    fix: "remove the fields; use `windowsOptions.runAsUserName` and `runAsNonRoot`",
    source: VALIDATION,
};

pub const HOST_PROCESS: Entry = Entry {
    code: "WN4015",
    title: "A HostProcess pod outside of kube-system",
    what: "A HostProcess container runs on the node itself, with its users and its network. Pod Security allows it in namespaces of level privileged only.",
    severity: "Error if the namespace enforces another level; Info otherwise",
    releases: "all",
    fix: "check that the pod needs it, and that its namespace has the label `pod-security.kubernetes.io/enforce: privileged`",
    source: HOST_PROCESS_PAGE,
};

pub const HOST_PROCESS_REFUSED: Entry = Entry {
    code: "WN4016",
    title: "A HostProcess pod is refused",
    what: "Every container of the pod must be a HostProcess container, and the pod needs `hostNetwork: true`.",
    severity: "Error",
    releases: "all",
    fix: "set `hostNetwork: true`, and `windowsOptions.hostProcess: true` for the pod instead of for one container",
    source: HOST_PROCESS_PAGE,
};

pub const LINUX_STORAGE: Entry = Entry {
    code: "WN4017",
    title: "A kind of storage or memory is not available",
    what: "Windows has no raw block devices in containers, no huge pages, no mount propagation, and no `emptyDir` in memory: the last is a folder on the disk.",
    severity: "Error for block devices and huge pages; Warning otherwise",
    releases: "all",
    fix: "use a volume with a file system, an `emptyDir` without `medium`, and no `mountPropagation`",
    source: WINDOWS_INTRO,
};
