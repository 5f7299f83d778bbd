//! Names in Calico's API. Kinds are ours, so that the plan need not know whether the
//! cluster serves `crd.projectcalico.org/v1` or native `projectcalico.org/v3`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const GROUP_V1: &str = "crd.projectcalico.org";
pub const GROUP_V3: &str = "projectcalico.org";
pub const GROUP_MIGRATION: &str = "migration.projectcalico.org";
/// Name of Calico's singletons.
pub const DEFAULT: &str = "default";
/// Handle under which Calico books the four addresses HNS keeps of every Windows block.
pub const WINDOWS_RESERVED_HANDLE: &str = "windows-reserved-ipam-handle";

/// Kinds of configuration whose fields the operator sets, each with its original kept for the day of deletion.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum ConfigKind {
    /// `IPAMConfig` in v1, `IPAMConfiguration` in v3.
    #[serde(rename = "IPAMConfiguration")]
    IpamConfiguration,
    #[serde(rename = "IPPool")]
    IpPool,
    FelixConfiguration,
    /// `Installation` of tigera/operator.
    Installation,
    /// `net-conf.json` in ConfigMap `kube-flannel-cfg`: flannel's configuration, kept as Calico's is.
    #[serde(rename = "FlannelConfiguration")]
    FlannelConfiguration,
}

impl ConfigKind {
    /// The kinds that Calico itself defines.
    pub const OF_CALICO: [Self; 3] = [Self::IpamConfiguration, Self::IpPool, Self::FelixConfiguration];

    /// Is an object of the kind created where there is none? The others belong to whoever installs them.
    pub const fn is_created(self) -> bool {
        matches!(self, Self::IpamConfiguration | Self::FelixConfiguration)
    }

    /// The name users know, as the v3 API spells it.
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

/// Which form of Calico's API holds the truth in this cluster.
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
    pub const fn group(self) -> &'static str {
        match self {
            Self::V1 => GROUP_V1,
            Self::V3 | Self::Etcd => GROUP_V3,
        }
    }

    pub const fn version(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V3 | Self::Etcd => "v3",
        }
    }

    /// Kind and plural under which this form has `kind`; `None` for what is not Calico's own.
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
