//! `spec.calico`: what the operator may do to Calico's own configuration.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rules;
use crate::calico::ConfigKind;

/// Whether a setting is repaired or only reported.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Policy {
    /// Set the value and repair drift.
    #[default]
    Enforce,
    /// Change nothing and report what differs.
    Report,
}

/// What to do with a pool that already serves workloads.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum WhenInUse {
    /// Change nothing while the pool is in use.
    #[default]
    Hold,
    /// Change it although pods lose traffic.
    Migrate,
}

/// What to do with `strictAffinity` where nodes would be left without addresses.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum WhenPoolsTooSmall {
    /// Leave `strictAffinity` as it is.
    #[default]
    Hold,
    /// Set it nevertheless.
    Proceed,
}

/// What to do with a field another manager applied.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Conflicts {
    /// Leave the field and report `FieldConflict`.
    #[default]
    Report,
    /// Take the field from the other manager.
    Force,
}

/// What to do about original values that are not known.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum UnknownOriginals {
    /// Report them in condition `OriginalsKnown` and in Events.
    #[default]
    Report,
    /// Report nothing: the fields keep their values on deletion.
    Accept,
}

/// Values to restore on delete where the operator cannot know them.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Originals {
    /// Fields that had the operator's value before this `WindowsNodeConfig` existed (it was restored from a backup without its
    /// status, or created again after a deletion with `Retain`). They are not restored on delete. `Report` reports them in
    /// condition `OriginalsKnown` and in Events, `Accept` does not. Default: Report.
    #[serde(default)]
    pub unknown: UnknownOriginals,

    /// Values to restore instead of those the operator found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub values: Vec<GivenOriginal>,
}

/// The value of a field before the operator's first write, given by a person.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenOriginal {
    /// Kind of the object, as in `status.calico.originals`.
    pub kind: ConfigKind,
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Field below `spec`, e.g. `strictAffinity`.
    #[schemars(length(min = 1, max = 253))]
    pub field: String,
    /// The value to restore; leave it out to remove the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::status::any_value")]
    pub previous: Option<Value>,
}

impl Policy {
    const fn report() -> Self {
        Self::Report
    }
}

/// What holds Calico's configuration.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum DatastoreType {
    /// The Kubernetes API (KDD), in whichever API is served.
    #[default]
    Kubernetes,
    /// An etcd cluster (`etcdv3`).
    Etcd,
}

/// Where Calico stores its configuration.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = ("self.type != 'Etcd' || has(self.etcd)", "spec.calico.datastore.etcd is required when type is Etcd: give endpoints and secretRef"))]
#[x_kube(validation = ("self.type == 'Etcd' || !has(self.etcd)", "spec.calico.datastore.etcd is for type Etcd: remove it, or set type to Etcd"))]
pub struct Datastore {
    /// `Kubernetes` or `Etcd`. Must be what Linux nodes use. Default: Kubernetes.
    #[serde(default, rename = "type")]
    pub type_: DatastoreType,

    /// How Calico's etcd is reached, for `Etcd` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Etcd>,
}

/// An etcd cluster that holds Calico's configuration.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Etcd {
    /// URLs of the members, e.g. `https://10.0.0.10:2379`. Windows nodes must reach them before kube-proxy runs.
    #[schemars(schema_with = "rules::endpoints")]
    pub endpoints: Vec<String>,

    /// Secret with TLS certificates, in the operator's namespace. Required with `https` endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<EtcdSecret>,

    /// First path element of Calico's keys. Default: `/calico`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 253), regex(pattern = "^/[A-Za-z0-9._/-]*[A-Za-z0-9]$"))]
    pub prefix: Option<String>,
}

/// Keys of a Secret, named by default as in Calico's `calico-etcd-secrets`.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdSecret {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key of the CA certificate (PEM). Default: `etcd-ca`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ca: Option<String>,
    /// Key of the client certificate (PEM). Default: `etcd-cert`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub cert: Option<String>,
    /// Key of the client's private key (PEM). Default: `etcd-key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
}

/// What the operator may change in Calico's configuration.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calico {
    /// `strictAffinity` of Calico's IPAM configuration, which Windows nodes need true: `Enforce` sets it and repairs drift,
    /// `Report` only reports it in `CalicoConfigured`. Linux nodes can then no longer borrow addresses of another node's block.
    /// Default: Enforce.
    #[serde(default)]
    pub strict_affinity: Policy,

    /// For `strictAffinity` while pools have fewer free blocks than there are nodes without one: `Hold` does not set it and
    /// reports it, because these nodes could no longer borrow addresses; `Proceed` sets it. Default: Hold.
    #[serde(default)]
    pub when_pools_too_small: WhenPoolsTooSmall,

    /// Encapsulation of IP pools and of Felix.
    #[serde(default)]
    pub encapsulation: Encapsulation,

    /// VXLAN settings, for `CalicoVXLAN` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vxlan: Option<Vxlan>,

    /// Where Calico keeps its configuration. Default: the Kubernetes API.
    #[serde(default)]
    pub datastore: Datastore,

    /// `Installation` `default` of tigera/operator where Windows nodes need it changed (`windowsDataplane`, encapsulation of
    /// pools, `bgp`, `serviceCIDRs`): `Report` lists what to change, `Enforce` changes it and restores it on deletion.
    /// Default: Report.
    #[serde(default = "Policy::report")]
    pub installation: Policy,

    /// A field that another manager applied (Argo CD, Flux, Helm, tigera/operator) with another value: `Report` leaves it and
    /// reports `FieldConflict`, `Force` overwrites it. Default: Report.
    #[serde(default)]
    pub conflicts: Conflicts,

    /// Values to restore on delete that the operator cannot know.
    #[serde(default)]
    pub originals: Originals,
}

impl Default for Calico {
    fn default() -> Self {
        Self {
            strict_affinity: Policy::default(),
            when_pools_too_small: WhenPoolsTooSmall::default(),
            encapsulation: Encapsulation::default(),
            vxlan: None,
            datastore: Datastore::default(),
            installation: Policy::report(),
            conflicts: Conflicts::default(),
            originals: Originals::default(),
        }
    }
}

/// Encapsulation of IP pools and of Felix, or of flannel.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Encapsulation {
    /// `Enforce` sets `ipipMode` and `vxlanMode` of every enabled IPv4 pool that can serve a Windows node and the matching Felix
    /// fields, or for `FlannelVXLAN` VNI and port of flannel; `Report` only reports differences. Default: Enforce.
    #[serde(default)]
    pub policy: Policy,

    /// For pools that already hold addresses of pods, for VNI and port of Felix while such a pool is an overlay, and for
    /// flannel's configuration while there are Linux nodes: `Hold` changes nothing and reports it, because the change interrupts
    /// their traffic, and restores none of it on deletion; `Migrate` changes them. Default: Hold.
    #[serde(default)]
    pub when_in_use: WhenInUse,
}

/// VXLAN settings of Felix.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vxlan {
    /// VXLAN network identifier, 4096 to 65535: Windows HNS refuses lower ones, and Felix for Windows uses only the
    /// lower 16 bits of higher ones. Changing it on a running cluster needs every Windows node drained and its HNS
    /// network deleted. Default: the cluster's own if it is in this range, else 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4096, max = 65_535))]
    pub vni: Option<i32>,
}
