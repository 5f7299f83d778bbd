//! Condition types and the reasons they take: stable, part of the API, listed nowhere else.

/// Condition types of `WindowsNodeConfig`, in the order they are written.
pub mod conditions {
    pub const READY: &str = "Ready";
    pub const RECONCILING: &str = "Reconciling";
    pub const STALLED: &str = "Stalled";
    pub const PLATFORM_SUPPORTED: &str = "PlatformSupported";
    pub const LINUX_NODES_AVAILABLE: &str = "LinuxNodesAvailable";
    pub const INPUTS_DISCOVERED: &str = "InputsDiscovered";
    pub const CALICO_CONFIGURED: &str = "CalicoConfigured";
    pub const NETWORK_CONFIGURED: &str = "NetworkConfigured";
    pub const NETWORK_AGENT_AVAILABLE: &str = "NetworkAgentAvailable";
    pub const NODE_AGENT_AVAILABLE: &str = "NodeAgentAvailable";
    pub const KUBE_PROXY_AVAILABLE: &str = "KubeProxyAvailable";
    pub const NODES_READY: &str = "NodesReady";
    /// False when deletion cannot give everything back; never a reason not to be ready.
    pub const ORIGINALS_KNOWN: &str = "OriginalsKnown";
    /// True when there is something to know; never a reason not to be ready.
    pub const ADVISORIES: &str = "Advisories";

    pub const ALL: &[&str] = &[
        READY,
        RECONCILING,
        STALLED,
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
    /// Everything the condition speaks of is as it should be.
    AsExpected,
    /// The spec is refused; nothing was written anywhere.
    InvalidSpec,
    /// `mode: Observe`: differences are reported, nothing is written.
    ObserveOnly,
    /// The condition waits for an earlier one to become True.
    WaitingForPrecondition,
    /// What decisions need of the cluster cannot be read, because a right is missing; nothing is written.
    ReadForbidden,
    /// What decisions need of the cluster cannot be read, because the API server fails; nothing is written.
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
    /// No form of Calico's API is served.
    CalicoNotInstalled,
    /// Both forms of Calico's API are defined, v1 is empty, and nothing says that v3 is the one in use.
    CalicoAPIUnclear,
    /// Calico's version has no known Windows command line.
    CalicoVersionUnsupported,
    /// A DatastoreMigration runs, so nothing is written to Calico.
    MigrationRunning,
    /// `ClusterInformation.datastoreReady` is false, so nothing is written to Calico.
    DatastoreNotReady,
    /// Calico's etcd does not answer, or not to us.
    DatastoreUnreachable,
    /// The CR says `Report` and the cluster differs from what Windows needs.
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
    /// A field was changed back again and again, so we stopped writing it.
    Contested,
    /// Someone else runs this workload.
    External,
    /// tigera/operator says that its Windows agent is Degraded.
    OperatorDegraded,
    /// tigera/operator's Installation is for another kind of network than the CR.
    InstallationMismatch,
    /// Two agents would run on one node, ours and tigera/operator's; a person must say which.
    AgentsOverlap,
    /// There is no Windows node.
    NoWindowsNodes,
    /// Pods of the DaemonSet are not all updated and ready.
    RolloutIncomplete,
    /// DSR was asked for on all nodes, and a Windows node's build cannot do it.
    DSRUnsupported,
    /// At least one Windows node is not ready.
    NodesNotReady,
    /// The network type, or the way it is used, has no need of it.
    NotApplicable,
    /// Linux nodes use the network that would change; see `whenInUse`.
    NetworkInUse,
    /// A change takes effect when programs of someone else's have been restarted.
    RestartNeeded,
    /// A Node has no range of pod addresses in `spec.podCIDR`.
    PodCIDRMissing,
    /// Two Nodes have overlapping ranges of pod addresses.
    PodCIDRConflict,
    /// Nodes that reach each other's pods by routes are not on one layer 2 network.
    NotL2Adjacent,
    /// The platform lacks something that its networking needs on Windows nodes.
    PrerequisiteMissing,
    /// Calico for Windows does not support the platform.
    PlatformUnsupported,
    /// The API server's minor has no HostProcess containers.
    KubernetesVersionUnsupported,
    /// The API server's minor is outside the range the operator is tested against; nothing is held back for that.
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
    /// Fields already had the operator's values before this CR, so what they were before is not known.
    OriginalsUnknown,
    /// The CR is being deleted and the cluster is restored.
    Restoring,
}

impl Reason {
    /// No progress is made until a person does something.
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
    pub const DRIFT_REPAIRED: &str = "DriftRepaired";
    pub const CALICO_PATCHED: &str = "CalicoPatched";
    /// The network's own configuration, where that is not Calico's.
    pub const NETWORK_PATCHED: &str = "NetworkPatched";
    pub const NETWORK_RESTORED: &str = "NetworkRestored";
    pub const CALICO_RESTORED: &str = "CalicoRestored";
    pub const NOT_RESTORED: &str = "NotRestored";
    /// On deletion: an object or mark of ours stays.
    pub const NOT_REMOVED: &str = "NotRemoved";
    pub const CONTESTED: &str = "Contested";
    pub const FIELD_CONFLICT: &str = "FieldConflict";
    pub const INVALID_SPEC: &str = "InvalidSpec";
    pub const PLATFORM_UNSUPPORTED: &str = "PlatformUnsupported";
    pub const READY: &str = "Ready";
    pub const NOT_READY: &str = "NotReady";
    /// On a Node: its network works.
    pub const NETWORK_READY: &str = "WindowsNetworkReady";
    /// On the `WindowsNodeConfig`: limits it runs into since it last said so.
    pub const ADVISORIES_FOUND: &str = "AdvisoriesFound";
    /// On the `WindowsNodeConfig`: nodes that changed since it last said so.
    pub const NODES_CHANGED: &str = "NodesChanged";
}
