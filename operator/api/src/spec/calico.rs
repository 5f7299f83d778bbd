//! `spec.calico`: what the operator may do to Calico's own configuration.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a setting is repaired or only reported.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Policy {
    #[default]
    Enforce,
    Report,
}

/// What to do with a pool that already serves workloads.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum WhenInUse {
    #[default]
    Hold,
    Migrate,
}

/// What to do with a field another manager applied.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Conflicts {
    #[default]
    Report,
    Force,
}

#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calico {
    /// `strictAffinity` of Calico's IPAM configuration, which Windows nodes need true: `Enforce` sets
    /// it and repairs drift, `Report` only says so in `CalicoConfigured`. Linux nodes can then no longer
    /// borrow addresses of another node's block. Default: Enforce.
    #[serde(default)]
    pub strict_affinity: Policy,

    /// Encapsulation of IP pools and of Felix.
    #[serde(default)]
    pub encapsulation: Encapsulation,

    /// VXLAN settings, for `CalicoVXLAN` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vxlan: Option<Vxlan>,

    /// A field that another manager applied (Argo CD, Flux, Helm, tigera/operator) with another value:
    /// `Report` leaves it and says `FieldConflict`, `Force` takes it. Default: Report.
    #[serde(default)]
    pub conflicts: Conflicts,
}

#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Encapsulation {
    /// `Enforce` sets `ipipMode` and `vxlanMode` of every enabled IPv4 pool that can serve a Windows node
    /// and the matching Felix fields, `Report` only says what differs. Default: Enforce.
    #[serde(default)]
    pub policy: Policy,

    /// For pools that already hold addresses of pods: `Hold` changes nothing and says so, because the
    /// change interrupts their traffic; `Migrate` changes them. Default: Hold.
    #[serde(default)]
    pub when_in_use: WhenInUse,
}

#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vxlan {
    /// VXLAN network identifier, 4096 to 16777215 (Windows HNS refuses lower ones). Changing it on a
    /// running cluster needs every Windows node drained and its HNS network deleted.
    /// Default: the cluster's own if it is 4096 or more, else 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4096, max = 16_777_215))]
    pub vni: Option<i32>,

    /// UDP port. Calico for Windows works on 4789 only. Default: 4789.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4789, max = 4789))]
    pub port: Option<i32>,
}
