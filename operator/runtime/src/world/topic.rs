//! What is watched.

use wn_api::calico::ConfigKind;
use wn_plan::observed::Source;

/// A watch, and the kind of fact it feeds.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Topic {
    Config,
    /// Windows nodes.
    Nodes,
    LinuxNodes,
    Pods,
    DaemonSets,
    /// ConfigMaps of ours.
    ConfigMaps,
    Source(Source),
    /// A CustomResourceDefinition, by its place in `DEFINITIONS`.
    Definition(usize),
    Installation,
    /// TigeraStatuses.
    TigeraStatus,
    Migrations,
    Calico(ConfigKind),
    /// v3 beside an empty v1: pools, and ClusterInformation.
    PoolsInV3,
    InformationInV3,
    Blocks,
    Affinities,
    ClusterInformation,
    /// `BGPConfiguration` `default`.
    BgpConfiguration,
    BgpPeers,
    /// Deployments `calico-typha`, wherever they are.
    Typha,
    /// `IPReservation`s.
    Reservations,
    HostEndpoints,
    /// `KubeControllersConfiguration` `default`.
    KubeControllers,
    /// Calico's etcd as a whole.
    Etcd,
    /// What nodes announced in etcd.
    Announced,
    /// Events of pods whose sandbox could not be made.
    Failures,
    /// flannel's configuration.
    Flannel,
}

impl Topic {
    /// Can the cluster be decided on without it? What such a topic lacks makes a check or an advisory silent, or leaves
    /// a value to be found elsewhere; what any other lacks would be taken for absent, and be made, changed or deleted.
    pub const fn can_be_lacking(self) -> bool {
        matches!(
            self,
            Self::Failures
                | Self::Typha
                | Self::TigeraStatus
                | Self::Reservations
                | Self::HostEndpoints
                | Self::KubeControllers
                | Self::BgpPeers
                | Self::Source(_)
        )
    }

    /// Answers to our own writes may overtake its watch, so versions are kept. Of the others there are thousands.
    pub const fn is_written(self) -> bool {
        !matches!(
            self,
            Self::Pods | Self::Failures | Self::Blocks | Self::Affinities | Self::HostEndpoints
        )
    }
}

pub const INSTALLATIONS: &str = "installations.operator.tigera.io";
pub const TIGERA_STATUSES: &str = "tigerastatuses.operator.tigera.io";
pub const MIGRATIONS: &str = "datastoremigrations.migration.projectcalico.org";

/// The definitions that tell what is installed: their coming and going starts and stops other watches,
/// so that Calico may be installed, or migrated, after us.
pub const DEFINITIONS: [&str; 5] = [
    "felixconfigurations.crd.projectcalico.org",
    "felixconfigurations.projectcalico.org",
    INSTALLATIONS,
    MIGRATIONS,
    TIGERA_STATUSES,
];

pub const SOURCES: [Source; 13] = [
    Source::ServicesEndpoint,
    Source::KubeProxyConfig,
    Source::KubeadmConfig,
    Source::ClusterInfo,
    Source::KubernetesEndpoints,
    Source::KubernetesService,
    Source::ServiceCidr,
    Source::KubeDns,
    Source::OpenShiftDns,
    Source::Rke2Dns,
    Source::CalicoConfig,
    Source::KubeletConfig,
    Source::CoreDns,
];
