//! Names the operator writes into or looks for in a cluster. A name used twice is wrong once.

/// API group and version of `WindowsNodeConfig`.
pub const GROUP: &str = "windowsnode.dev";
/// API version of `WindowsNodeConfig`, without the group.
pub const VERSION: &str = "v1alpha1";
/// Kind of the operator's only custom resource.
pub const KIND: &str = "WindowsNodeConfig";
/// The only name a `WindowsNodeConfig` may have, as Calico's own singletons.
pub const SINGLETON: &str = "default";
/// Reporter of Events, and prefix of every field manager.
pub const OPERATOR: &str = "windows-node-operator";
/// The Lease by which the replicas agree on who writes, in the operator's namespace.
pub const LEASE: &str = OPERATOR;
/// Set on the `WindowsNodeConfig` while there is something in the cluster to restore.
pub const FINALIZER: &str = "windowsnode.dev/restore";

/// One server-side-apply field manager a concern, so that `managedFields` says what wrote a field.
pub mod managers {
    /// Of `strictAffinity` in Calico's IPAM configuration.
    pub const IPAM: &str = "windows-node-operator/ipam";
    /// Of the encapsulation of IP pools.
    pub const IP_POOL: &str = "windows-node-operator/ippool";
    /// Of FelixConfiguration.
    pub const FELIX: &str = "windows-node-operator/felix";
    /// Of the objects of Calico's node agent.
    pub const NODE_AGENT: &str = "windows-node-operator/node-agent";
    /// Of the objects of flannel and static routes on Windows nodes.
    pub const NETWORK_AGENT: &str = "windows-node-operator/network-agent";
    /// Of the objects of kube-proxy.
    pub const KUBE_PROXY: &str = "windows-node-operator/kube-proxy";
    /// Of flannel's own ConfigMap.
    pub const FLANNEL: &str = "windows-node-operator/flannel";
    /// Of tigera/operator's Installation and its ConfigMap `kubernetes-services-endpoint`.
    pub const INSTALLATION: &str = "windows-node-operator/installation";
    /// Of the status of the `WindowsNodeConfig`, without `status.calico.originals`.
    pub const STATUS: &str = "windows-node-operator/status";
    /// Of `status.calico.originals` alone: an apply of the rest of the status cannot drop them.
    pub const ORIGINALS: &str = "windows-node-operator/originals";
    /// Of the finalizer.
    pub const FINALIZER: &str = "windows-node-operator/finalizer";
    /// Of the operator's condition, annotations, taint and label on Nodes.
    pub const NODE: &str = "windows-node-operator/node";

    /// Is `manager` one of ours?
    pub fn is_ours(manager: &str) -> bool {
        manager.starts_with(concat!("windows-node-operator", "/"))
    }
}

/// Managers that reconcile what they wrote although some of them write by plain updates:
/// taking a field from one of them starts a fight, so it is a conflict, not drift.
/// `operator` is tigera/operator (client-go names a manager after the binary).
pub const RECONCILING_MANAGERS: &[&str] = &[
    "argocd-controller",
    "argocd-application-controller",
    "fleetagent",
    "flux",
    "helm",
    "helm-controller",
    "kustomize-controller",
    "operator",
    "pulumi-kubernetes",
    "terraform-provider-kubernetes",
    "tigera-operator",
];

/// The managers above that are tigera/operator.
pub const TIGERA_OPERATOR_MANAGERS: &[&str] = &["operator", "tigera-operator"];

/// Labels, and the values of them that the operator compares with.
pub mod labels {
    /// Operating system of a Node; set by the kubelet.
    pub const OS: &str = "kubernetes.io/os";
    /// Value of `OS` on Windows nodes.
    pub const WINDOWS: &str = "windows";
    /// Value of `OS` on Linux nodes.
    pub const LINUX: &str = "linux";
    /// Who reconciles an object; `OPERATOR` on the operator's own objects.
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    /// Component of an object of the operator, see [`crate::component::Names::label`].
    pub const COMPONENT: &str = "app.kubernetes.io/component";
    /// `OPERATOR` on the operator's own objects.
    pub const PART_OF: &str = "app.kubernetes.io/part-of";
    /// Label of Calico's and sig-windows-tools' own DaemonSets, by which tools find the pods.
    pub const K8S_APP: &str = "k8s-app";
    /// Group of a Node whose kube-proxy is not from the DaemonSet that most nodes use.
    pub const KUBE_PROXY_GROUP: &str = "windowsnode.dev/kube-proxy";
    /// Value of `MANAGED_BY` on what tigera/operator reconciles.
    pub const TIGERA_OPERATOR: &str = "tigera-operator";
}

/// Annotations that the operator writes.
pub mod annotations {
    /// Checksum of everything a pod reads from outside its template, so that a change rolls the DaemonSet.
    pub const CONFIG_CHECKSUM: &str = "windowsnode.dev/config-checksum";
    /// Checksum of the object as the operator last rendered it. It separates a change by somebody else (same checksum, other content)
    /// from a change by the operator.
    pub const INTENT: &str = "windowsnode.dev/intent";
    /// Checksum of the certificates for Calico's etcd: a new one rolls the agent.
    pub const ETCD_CHECKSUM: &str = "windowsnode.dev/etcd-checksum";
    /// On a Node whose readiness taint the operator set. Somebody else's taint is not removed.
    pub const TAINTED: &str = "windowsnode.dev/tainted";
    /// On a Node: the VNI that its HNS network was created with, and what identifies that network.
    pub const HNS_NETWORK: &str = "windowsnode.dev/hns-network";
}

/// Objects of Calico's node agent on Windows nodes.
pub mod node_agent {
    /// DaemonSet of the agent, here and beside tigera/operator.
    pub const DAEMON_SET: &str = "calico-node-windows";
    /// ServiceAccount of the agent's pods.
    pub const SERVICE_ACCOUNT: &str = DAEMON_SET;
    /// `calico-node` asks for tokens of this account for the CNI plugin's kubeconfig.
    pub const CNI_SERVICE_ACCOUNT: &str = "calico-cni-plugin";
    /// Container that runs Calico's startup, which makes the HNS network.
    pub const STARTUP: &str = "node";
    /// ConfigMap with the configuration of the CNI plugin.
    pub const CONFIG_MAP: &str = "calico-node-windows-cni";
    /// Key of `CONFIG_MAP`.
    pub const CONFIG_KEY: &str = "config";
}

/// Calico's etcd.
pub mod etcd {
    /// First path element of every key, the only one Calico's own clients know (libcalico-go `lib/backend/model`).
    pub const PREFIX: &str = "/calico";
    /// Keys of the Secret in Calico's own manifests (`calico-etcd-secrets`).
    pub const CA: &str = "etcd-ca";
    /// Client certificate (PEM).
    pub const CERT: &str = "etcd-cert";
    /// Private key of the client certificate (PEM).
    pub const KEY: &str = "etcd-key";
}

/// Key of the start script in the ConfigMap of a component.
pub const SCRIPT_KEY: &str = "start.ps1";

/// The DaemonSets that network Windows nodes where Calico does not.
pub mod network_agent {
    /// DaemonSet of flannel.
    pub const FLANNEL_DAEMON_SET: &str = "kube-flannel-windows";
    /// ConfigMap with flannel's start script and configuration.
    pub const FLANNEL_CONFIG_MAP: &str = "kube-flannel-windows-scripts";
    /// ServiceAccount of flannel's pods.
    pub const FLANNEL_SERVICE_ACCOUNT: &str = FLANNEL_DAEMON_SET;
    /// DaemonSet of static routes.
    pub const STATIC_ROUTES_DAEMON_SET: &str = "static-routes-windows";
    /// ConfigMap with the start script of static routes.
    pub const STATIC_ROUTES_CONFIG_MAP: &str = "static-routes-windows-scripts";
    /// ServiceAccount of the pods of static routes.
    pub const STATIC_ROUTES_SERVICE_ACCOUNT: &str = STATIC_ROUTES_DAEMON_SET;
    /// ConfigMap with pod CIDR and address of each node. The pods read it again when it changes.
    pub const STATIC_ROUTES_NODES: &str = "static-routes-windows-nodes";
    /// Key of `STATIC_ROUTES_NODES`: one line a node.
    pub const NODES_KEY: &str = "nodes";
    /// Key of the configuration of the CNI plugin in the ConfigMap of either agent.
    pub const CNI_KEY: &str = "cni.conf";
    /// Container of flannel's pods that does the work.
    pub const FLANNEL_CONTAINER: &str = "kube-flannel";
    /// Container of the pods of static routes that does the work.
    pub const STATIC_ROUTES_CONTAINER: &str = "static-routes";
}

/// flannel's own objects.
pub mod flannel {
    /// Namespace of flannel's own manifest.
    pub const NAMESPACE: &str = "kube-flannel";
    /// ConfigMap that flannel on Linux nodes reads.
    pub const CONFIG_MAP: &str = "kube-flannel-cfg";
    /// Key of `CONFIG_MAP` with the network and the backend.
    pub const NET_CONF_KEY: &str = "net-conf.json";
    /// flannel's backend on a Node, as JSON (flannel `pkg/subnet/kube/annotations.go`).
    pub const BACKEND_DATA: &str = "flannel.alpha.coreos.com/backend-data";
}

/// Objects of Amazon's VPC CNI on EKS.
pub mod eks {
    /// ConfigMap in `kube-system` that the resource controller reads.
    pub const CONFIG_MAP: &str = "amazon-vpc-cni";
    /// Key of the ConfigMap that enables Windows nodes in the resource controller of the control plane.
    pub const WINDOWS_IPAM: &str = "enable-windows-ipam";
    /// Addresses for pods that the resource controller announces on a Windows Node.
    pub const ADDRESSES: &str = "vpc.amazonaws.com/PrivateIPv4Address";
}

/// On a Node of RKE2: the arguments of its agent, as a JSON list (k3s `pkg/nodeconfig/nodeconfig.go`).
pub const RKE2_ARGUMENTS: &str = "rke2.io/node-args";

/// Objects of kube-proxy on Windows nodes.
pub mod kube_proxy {
    /// DaemonSet for the nodes that run kube-proxy as most do.
    pub const DAEMON_SET: &str = "kube-proxy-windows";
    /// The one for nodes whose build cannot do DSR.
    pub const NO_DSR_DAEMON_SET: &str = "kube-proxy-windows-no-dsr";
    /// Value of label `KUBE_PROXY_GROUP` on the nodes of `NO_DSR_DAEMON_SET`.
    pub const NO_DSR: &str = "no-dsr";
    /// ServiceAccount of the pods of both DaemonSets.
    pub const SERVICE_ACCOUNT: &str = DAEMON_SET;
    /// ConfigMap with the start script.
    pub const CONFIG_MAP: &str = "kube-proxy-windows-scripts";
    /// The only container of the pods.
    pub const CONTAINER: &str = "kube-proxy";
}

/// tigera/operator's own objects.
pub mod tigera {
    /// API group of `Installation` and `TigeraStatus`.
    pub const GROUP: &str = "operator.tigera.io";
    /// Namespace of tigera/operator itself.
    pub const NAMESPACE: &str = "tigera-operator";
    /// Where it puts what it renders, its own DaemonSet `calico-node-windows` included.
    pub const CALICO_NAMESPACE: &str = "calico-system";
    /// ConfigMap in `NAMESPACE` with the address of the API server that Windows nodes use.
    pub const SERVICES_ENDPOINT: &str = "kubernetes-services-endpoint";
    /// Key of `SERVICES_ENDPOINT`: host name or IP address.
    pub const ENDPOINT_HOST: &str = "KUBERNETES_SERVICE_HOST";
    /// Key of `SERVICES_ENDPOINT`: TCP port.
    pub const ENDPOINT_PORT: &str = "KUBERNETES_SERVICE_PORT";
    /// Name of the TigeraStatus of Calico as a whole: Typha, the Linux nodes, the Installation itself.
    pub const STATUS: &str = "calico";
    /// Name of the TigeraStatus of Windows nodes.
    pub const WINDOWS_STATUS: &str = "calico-windows";
    /// Reason of `Degraded` when it refuses the Installation, and with it all of Calico (`core_controller.go`).
    pub const REFUSED: &str = "InvalidConfigurationError";
}

/// Deployment and Service of Typha, in every install of Calico.
pub const TYPHA: &str = "calico-typha";

/// Kubernetes minors the operator is tested against. The floor is the oldest minor with
/// every API we write in its final form; the ceiling the newest one released.
pub const KUBERNETES_MINORS: std::ops::RangeInclusive<u32> = 29..=37;
/// Calico minors whose Windows command lines are known.
pub const CALICO_MINORS: std::ops::RangeInclusive<u32> = 27..=33;

/// VXLAN network identifier if FelixConfiguration has none (Calico's `felix/config`).
pub const DEFAULT_VXLAN_VNI: i32 = 4096;
/// Lowest VXLAN network identifier Windows HNS accepts (Calico's `dataplane_windows.go`).
pub const MIN_VXLAN_VNI: i32 = 4096;
/// Highest VXLAN network identifier that works with Calico on Windows. The identifier has 24 bits, of which Felix for
/// Windows writes the lower 16 into its routes (`IsolationId` in `felix/dataplane/windows/vxlan_mgr.go`), while the HNS
/// network has all of them.
pub const MAX_VXLAN_VNI: i32 = 65_535;
/// The only UDP port Windows HNS encapsulates on with Calico.
pub const VXLAN_PORT: i32 = 4789;
/// Nodes listed in the status unless the spec says otherwise, and at most.
pub const NODE_LIST_LIMIT: u32 = 50;
/// Largest `spec.status.nodeListLimit`.
pub const NODE_LIST_LIMIT_MAX: u32 = 500;
/// Advisories listed in the status: most rules can hit once, so that it takes many pools to have more.
pub const ADVISORY_LIMIT: usize = 50;
/// Findings about policies, Services and pods listed in the status.
pub const FINDING_LIMIT: usize = 20;
/// Series of the metric of findings that name a namespace: a cluster may have thousands of namespaces.
pub const FINDING_SERIES: usize = 200;

/// Type of our condition on Nodes, in a group as node-readiness-controller's rules expect it.
pub const NODE_CONDITION: &str = "windowsnode.dev/WindowsNetworkReady";
/// Reason of Node condition `NetworkUnavailable` when Calico's startup succeeded (`node/pkg/lifecycle/utils`).
pub const CALICO_IS_UP: &str = "CalicoIsUp";
/// Key, value and effect of the taint that keeps pods off a node without a network, in
/// node-readiness-controller's prefix.
pub const READINESS_TAINT: &str = "readiness.k8s.io/windows-network";
/// Value of the readiness taint.
pub const READINESS_TAINT_VALUE: &str = "pending";
/// Effect of the readiness taint.
pub const READINESS_TAINT_EFFECT: &str = "NoSchedule";
