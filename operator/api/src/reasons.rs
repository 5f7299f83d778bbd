//! Condition types and the reasons they take: stable, part of the API, listed nowhere else.

/// Condition types of `WindowsNodeConfig`, in the order they are written.
pub mod conditions {
    /// True when Windows nodes have what they need, as far as the operator can provide it.
    pub const READY: &str = "Ready";
    /// kstatus: True while the operator works on the newest generation.
    pub const RECONCILING: &str = "Reconciling";
    /// kstatus: True when only a person can resolve what keeps `Ready` from True.
    pub const STALLED: &str = "Stalled";
    /// True when everything that Windows nodes need is in place, whether or not the nodes work.
    pub const CONFIGURED: &str = "Configured";
    /// False when Calico for Windows does not support the platform or the version of Kubernetes.
    pub const PLATFORM_SUPPORTED: &str = "PlatformSupported";
    /// False when Linux nodes are missing that Typha, kube-controllers or DNS need.
    pub const LINUX_NODES_AVAILABLE: &str = "LinuxNodesAvailable";
    /// False when the address of the API server, the Service CIDRs or the DNS servers are unknown.
    pub const INPUTS_DISCOVERED: &str = "InputsDiscovered";
    /// True when Calico's configuration is what Windows nodes need.
    pub const CALICO_CONFIGURED: &str = "CalicoConfigured";
    /// True when the cluster has what the network type needs besides Calico's configuration.
    pub const NETWORK_CONFIGURED: &str = "NetworkConfigured";
    /// True when the network agent is rolled out, or the network type has none.
    pub const NETWORK_AGENT_AVAILABLE: &str = "NetworkAgentAvailable";
    /// True when Calico's node agent is rolled out, or somebody else runs it.
    pub const NODE_AGENT_AVAILABLE: &str = "NodeAgentAvailable";
    /// True when kube-proxy is rolled out, or somebody else runs it.
    pub const KUBE_PROXY_AVAILABLE: &str = "KubeProxyAvailable";
    /// True when every Windows node works.
    pub const NODES_READY: &str = "NodesReady";
    /// False when deletion cannot restore every field. It does not affect `Ready`.
    pub const ORIGINALS_KNOWN: &str = "OriginalsKnown";
    /// True when there are advisories. It does not affect `Ready`.
    pub const ADVISORIES: &str = "Advisories";
    /// False when a network policy, a Service or a pod does not work on Windows nodes as it says. It does not affect `Ready`.
    pub const WORKLOADS_SUPPORTED: &str = "WorkloadsSupported";

    /// Every condition type, in the order of `status.conditions`.
    pub const ALL: &[&str] = &[
        READY,
        RECONCILING,
        STALLED,
        CONFIGURED,
        PLATFORM_SUPPORTED,
        LINUX_NODES_AVAILABLE,
        INPUTS_DISCOVERED,
        CALICO_CONFIGURED,
        NETWORK_CONFIGURED,
        NETWORK_AGENT_AVAILABLE,
        NODE_AGENT_AVAILABLE,
        KUBE_PROXY_AVAILABLE,
        NODES_READY,
        ORIGINALS_KNOWN,
        ADVISORIES,
        WORKLOADS_SUPPORTED,
    ];
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// Why a condition has its status.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Reason { $($(#[doc = $doc])+ $name),+ }

        impl Reason {
            /// Every reason, for documentation and tests.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The reason as conditions and metrics have it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// The documentation above each reason.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+)),+ }.trim()
            }
        }
    };
}

reasons! {
    /// Everything that the condition covers is as it should be.
    AsExpected,
    /// The spec is refused; nothing was written anywhere.
    InvalidSpec,
    /// `mode: Observe`: differences are reported, nothing is written.
    ObserveOnly,
    /// The condition waits for an earlier one to become True.
    WaitingForPrecondition,
    /// Objects that decisions need cannot be read, because a right is missing; nothing is written.
    ReadForbidden,
    /// Objects that decisions need cannot be read, because the API server fails; nothing is written.
    ReadFailed,
    /// Work is under way.
    Progressing,
    /// A write to the API server failed; it is tried again.
    ApplyFailed,
    /// The API server forbids a write: a right, which a value of the chart grants, or an admission policy.
    Forbidden,
    /// A value Windows nodes need could not be found anywhere.
    InputMissing,
    /// The value found cannot be right.
    InputInvalid,
    /// Neither of Calico's APIs is served.
    CalicoNotInstalled,
    /// The CRDs of both of Calico's APIs exist, v1 is empty, and nothing shows that Calico uses v3.
    CalicoAPIUnclear,
    /// Calico's version has no known Windows command line.
    CalicoVersionUnsupported,
    /// A DatastoreMigration runs, so nothing is written to Calico.
    MigrationRunning,
    /// `ClusterInformation.datastoreReady` is false, so nothing is written to Calico.
    DatastoreNotReady,
    /// Calico's etcd does not answer, or refuses the operator.
    DatastoreUnreachable,
    /// The spec says `Report`, and the cluster differs from what Windows nodes need.
    ReportOnly,
    /// A pool that serves workloads would change its encapsulation; see `whenInUse`.
    PoolInUse,
    /// A pool belongs to tigera/operator, which would revert our change.
    PoolManagedByOperator,
    /// No enabled IPv4 pool can serve a Windows node.
    NoUsablePool,
    /// Nodes would be left without addresses by `strictAffinity`; see `whenPoolsTooSmall`.
    PoolsTooSmall,
    /// Another manager applied a field with another value.
    FieldConflict,
    /// A field was changed back again and again, so the operator stopped writing it.
    Contested,
    /// Someone else runs this workload.
    External,
    /// tigera/operator reports that its Windows agent is Degraded.
    OperatorDegraded,
    /// tigera/operator's Installation is for another kind of network than the spec.
    InstallationMismatch,
    /// Two agents would run on one node, the operator's and tigera/operator's; a person must choose one.
    AgentsOverlap,
    /// There is no Windows node, or `spec.nodeSelector` selects none.
    NoWindowsNodes,
    /// More pods of the DaemonSet are not updated and ready than `spec.readiness.minReadyNodes` allows.
    RolloutIncomplete,
    /// DSR is enabled for all nodes, and the build of a Windows node does not support it.
    DSRUnsupported,
    /// Fewer Windows nodes are ready than `spec.readiness.minReadyNodes` asks for.
    NodesNotReady,
    /// As many Windows nodes are ready as `spec.readiness.minReadyNodes` asks for; others are not.
    MinimumNodesReady,
    /// The network type, or the way it is used, does not need it.
    NotApplicable,
    /// Linux nodes use the network that would change; see `whenInUse`.
    NetworkInUse,
    /// A change takes effect when programs of someone else's have been restarted.
    RestartNeeded,
    /// A Node has no `spec.podCIDR`.
    PodCIDRMissing,
    /// The pod CIDRs of two Nodes overlap.
    PodCIDRConflict,
    /// Nodes that reach each other's pods by routes are not on one layer 2 network.
    NotL2Adjacent,
    /// The platform lacks something that its networking needs on Windows nodes.
    PrerequisiteMissing,
    /// Calico for Windows does not support the platform.
    PlatformUnsupported,
    /// The API server's minor has no HostProcess containers.
    KubernetesVersionUnsupported,
    /// The API server's minor is outside the range that the operator is tested with; this holds nothing back.
    KubernetesVersionUntested,
    /// No Linux node can run what Windows nodes cannot: Typha, kube-controllers, DNS.
    NoLinuxNodes,
    /// Fewer schedulable Linux nodes than Typha wants replicas.
    TooFewLinuxNodes,
    /// Linux nodes have no BGP, which the network type needs.
    BGPDisabled,
    /// Linux nodes speak BGP, and the network type is an overlay, which has no use for it on Windows.
    BGPWithVXLAN,
    /// Something limits Windows nodes: see status.advisories.
    AdvisoriesFound,
    /// A network policy, a Service or a pod has a finding of severity Error: see status.workloads.
    WorkloadsUnsupported,
    /// Findings about network policies, Services and pods are of severity Warning at most: see status.workloads.
    WorkloadsLimited,
    /// Network policies, Services and pods are not checked: spec.workloads.lint, or the value workloads.lint.enabled of the chart.
    LintDisabled,
    /// Fields already had the operator's values before this object existed, so their original values are unknown.
    OriginalsUnknown,
    /// The `WindowsNodeConfig` is being deleted, and the cluster is being restored.
    Restoring,
}

impl Reason {
    /// Does the problem stay until a person acts?
    pub const fn needs_a_person(self) -> bool {
        matches!(
            self,
            Self::Forbidden
                | Self::InputMissing
                | Self::InputInvalid
                | Self::ReadForbidden
                | Self::CalicoVersionUnsupported
                | Self::CalicoAPIUnclear
                | Self::ReportOnly
                | Self::PoolInUse
                | Self::PoolManagedByOperator
                | Self::NoUsablePool
                | Self::PoolsTooSmall
                | Self::FieldConflict
                | Self::Contested
                | Self::DSRUnsupported
                | Self::PlatformUnsupported
                | Self::KubernetesVersionUnsupported
                | Self::NoLinuxNodes
                | Self::TooFewLinuxNodes
                | Self::BGPDisabled
                | Self::BGPWithVXLAN
                | Self::NotL2Adjacent
                | Self::PodCIDRMissing
                | Self::AgentsOverlap
                | Self::NetworkInUse
                | Self::RestartNeeded
                | Self::PodCIDRConflict
                | Self::PrerequisiteMissing
                | Self::InstallationMismatch
        )
    }
}

/// Reasons of Events.
pub mod events {
    /// A field that somebody changed was set again; the note names who changed it.
    pub const DRIFT_REPAIRED: &str = "DriftRepaired";
    /// A field of Calico's configuration was set for the first time.
    pub const CALICO_PATCHED: &str = "CalicoPatched";
    /// The network's own configuration, where that is not Calico's.
    pub const NETWORK_PATCHED: &str = "NetworkPatched";
    /// On deletion: flannel's configuration has its original values.
    pub const NETWORK_RESTORED: &str = "NetworkRestored";
    /// On deletion: Calico's configuration has its original values.
    pub const CALICO_RESTORED: &str = "CalicoRestored";
    /// On deletion: a field keeps the operator's value or another one; the note says why.
    pub const NOT_RESTORED: &str = "NotRestored";
    /// On deletion: an object of the operator, or its condition, taint or label on a Node, is left.
    pub const NOT_REMOVED: &str = "NotRemoved";
    /// A field or object is changed back again and again, and is left for an hour.
    pub const CONTESTED: &str = "Contested";
    /// Another manager applied a field with another value.
    pub const FIELD_CONFLICT: &str = "FieldConflict";
    /// The spec is refused.
    pub const INVALID_SPEC: &str = "InvalidSpec";
    /// The platform is refused.
    pub const PLATFORM_UNSUPPORTED: &str = "PlatformUnsupported";
    /// `Ready` became True.
    pub const READY: &str = "Ready";
    /// `Ready` became False.
    pub const NOT_READY: &str = "NotReady";
    /// On a Node: its network works.
    pub const NETWORK_READY: &str = "WindowsNetworkReady";
    /// On the `WindowsNodeConfig`: new advisories since the last Event.
    pub const ADVISORIES_FOUND: &str = "AdvisoriesFound";
    /// On the `WindowsNodeConfig`: nodes whose state or reason changed since the last Event.
    pub const NODES_CHANGED: &str = "NodesChanged";
    /// On a policy, a Service, a pod or its owner: Windows treats it differently; the note has the code and what to do.
    pub const UNSUPPORTED_ON_WINDOWS: &str = "UnsupportedOnWindows";
}
