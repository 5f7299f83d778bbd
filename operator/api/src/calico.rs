//! Names in Calico's API. Kinds are ours, so that the plan need not know whether the
//! cluster serves `crd.projectcalico.org/v1` or native `projectcalico.org/v3`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Group of the custom resources that Calico uses unless they were migrated to v3.
pub const GROUP_V1: &str = "crd.projectcalico.org";
/// Group of native custom resources (Calico v3.32 and later), and of the aggregated API server beside v1.
pub const GROUP_V3: &str = "projectcalico.org";
/// Group of `DatastoreMigration`, which moves objects from v1 to v3.
pub const GROUP_MIGRATION: &str = "migration.projectcalico.org";
/// Name of Calico's singletons.
pub const DEFAULT: &str = "default";
/// Handle under which Calico reserves the four addresses that HNS uses in every block of a Windows node.
pub const WINDOWS_RESERVED_HANDLE: &str = "windows-reserved-ipam-handle";

/// Kinds of configuration whose fields the operator sets. The original value of each field is kept for deletion.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum ConfigKind {
    /// `IPAMConfig` in v1, `IPAMConfiguration` in v3.
    #[serde(rename = "IPAMConfiguration")]
    IpamConfiguration,
    /// An IP pool.
    #[serde(rename = "IPPool")]
    IpPool,
    /// Felix' configuration; only the object `default` is written.
    FelixConfiguration,
    /// `Installation` of tigera/operator.
    Installation,
    /// `net-conf.json` in ConfigMap `kube-flannel-cfg`: flannel's configuration.
    #[serde(rename = "FlannelConfiguration")]
    FlannelConfiguration,
}

impl ConfigKind {
    /// The kinds that Calico itself defines.
    pub const OF_CALICO: [Self; 3] = [Self::IpamConfiguration, Self::IpPool, Self::FelixConfiguration];

    /// Does the operator create an object of the kind if there is none? Objects of the other kinds belong to whoever installs
    /// them.
    pub const fn is_created(self) -> bool {
        matches!(self, Self::IpamConfiguration | Self::FelixConfiguration)
    }

    /// The kind in Calico's v3 API, which users know.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IpamConfiguration => "IPAMConfiguration",
            Self::IpPool => "IPPool",
            Self::FelixConfiguration => "FelixConfiguration",
            Self::Installation => "Installation",
            Self::FlannelConfiguration => "FlannelConfiguration",
        }
    }
}

/// The API in which Calico stores its configuration in this cluster.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum CalicoApi {
    /// `crd.projectcalico.org/v1` custom resources (every manifest install to date).
    #[serde(rename = "crd.projectcalico.org/v1")]
    V1,
    /// Native `projectcalico.org/v3` custom resources (Calico v3.32 and later).
    #[serde(rename = "projectcalico.org/v3")]
    V3,
    /// Keys of an etcd cluster, whose values are `projectcalico.org/v3` resources and IPAM's own documents.
    #[serde(rename = "etcd")]
    Etcd,
}

impl CalicoApi {
    /// API group; for etcd that of the documents stored in it.
    pub const fn group(self) -> &'static str {
        match self {
            Self::V1 => GROUP_V1,
            Self::V3 | Self::Etcd => GROUP_V3,
        }
    }

    /// API version, without the group.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V3 | Self::Etcd => "v3",
        }
    }

    /// Kind and plural of `kind` in this API; `None` for kinds that Calico does not define.
    pub const fn served(self, kind: ConfigKind) -> Option<(&'static str, &'static str)> {
        Some(match (self, kind) {
            (Self::V1, ConfigKind::IpamConfiguration) => ("IPAMConfig", "ipamconfigs"),
            (Self::V3 | Self::Etcd, ConfigKind::IpamConfiguration) => {
                ("IPAMConfiguration", "ipamconfigurations")
            }
            (_, ConfigKind::IpPool) => ("IPPool", "ippools"),
            (_, ConfigKind::FelixConfiguration) => ("FelixConfiguration", "felixconfigurations"),
            (_, ConfigKind::Installation | ConfigKind::FlannelConfiguration) => return None,
        })
    }
}
