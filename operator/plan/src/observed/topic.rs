//! The topics: one for each group of objects that facts are read from.

use wn_api::calico::ConfigKind;

use super::Source;

macro_rules! topics {
    ($($(#[$doc:meta])* $one:ident),+; $($(#[$docs:meta])* $several:ident($of:ty): $all:expr,)+) => {
        /// A group of objects that facts are read from.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Topic {
            $($(#[$doc])* $one,)+
            $($(#[$docs])* $several($of),)+
        }

        impl Topic {
            /// Every topic.
            pub fn all() -> impl Iterator<Item = Self> {
                let all = [$(Self::$one),+].into_iter();
                all$(.chain($all.map(Self::$several)))+
            }
        }
    };
}

topics! {
    /// `WindowsNodeConfig` `default`.
    Config,
    /// Windows nodes.
    Nodes,
    /// Linux nodes.
    LinuxNodes,
    /// Pods of the agents and of kube-proxy on Windows nodes.
    Pods,
    /// DaemonSets of every namespace.
    DaemonSets,
    /// ConfigMaps of this operator.
    ConfigMaps,
    /// `Installation` `default` of tigera/operator.
    Installation,
    /// TigeraStatuses.
    TigeraStatus,
    /// DatastoreMigrations.
    Migrations,
    /// Pools in v3, where v1 beside it is empty.
    PoolsInV3,
    /// ClusterInformation in v3, where v1 beside it is empty.
    InformationInV3,
    /// `IPAMBlock`s.
    Blocks,
    /// `BlockAffinity`s.
    Affinities,
    /// `ClusterInformation` `default`.
    ClusterInformation,
    /// `BGPConfiguration` `default`.
    BgpConfiguration,
    /// `BGPPeer`s.
    BgpPeers,
    /// Deployments `calico-typha` of every namespace.
    Typha,
    /// IPReservations.
    Reservations,
    /// `HostEndpoint`s.
    HostEndpoints,
    /// `KubeControllersConfiguration` `default`.
    KubeControllers,
    /// The connection to Calico's etcd: it has no objects, and counts as listed once its state is known.
    Etcd,
    /// Calico's nodes in etcd.
    Announced,
    /// Events about pods whose sandbox could not be created.
    Failures,
    /// ConfigMap `kube-flannel/kube-flannel-cfg`.
    Flannel;

    /// An object that inputs are read from.
    Source(Source): Source::ALL,
    /// A CustomResourceDefinition, by its name in `DEFINITIONS`.
    Definition(&'static str): DEFINITIONS,
    /// Calico's own configuration: the kinds of `ConfigKind::OF_CALICO`.
    Calico(ConfigKind): ConfigKind::OF_CALICO,
}

/// CRD of tigera/operator's `Installation`.
pub const INSTALLATIONS: &str = "installations.operator.tigera.io";
/// CRD of `TigeraStatus`.
pub const TIGERA_STATUSES: &str = "tigerastatuses.operator.tigera.io";
/// CRD of `DatastoreMigration`.
pub const MIGRATIONS: &str = "datastoremigrations.migration.projectcalico.org";

/// The CustomResourceDefinitions that show what is installed. When one is created or deleted, other topics begin or
/// end, so Calico may be installed, or migrated, after the operator.
pub const DEFINITIONS: [&str; 5] = [
    "felixconfigurations.crd.projectcalico.org",
    "felixconfigurations.projectcalico.org",
    INSTALLATIONS,
    MIGRATIONS,
    TIGERA_STATUSES,
];
