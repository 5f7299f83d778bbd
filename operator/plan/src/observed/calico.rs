//! Facts of Calico's own state: its release, migrations, and the API that calico-node uses.

use serde_json::Value;
use wn_api::calico::CalicoApi;

use super::{items, text};

/// `ClusterInformation` `default`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterInformation {
    /// `spec.calicoVersion`, e.g. `v3.31.0`; empty when unset.
    pub calico_version: String,
    /// Missing counts as ready: only an explicit false stops Calico.
    pub datastore_ready: bool,
}

impl ClusterInformation {
    /// The facts of a `ClusterInformation`.
    pub fn read(object: &Value) -> Self {
        Self {
            calico_version: text(object, "/spec/calicoVersion").to_owned(),
            datastore_ready: object.pointer("/spec/datastoreReady") != Some(&Value::Bool(false)),
        }
    }
}

/// A `DatastoreMigration` from v1 to native v3 objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigrationFacts {
    /// `status.phase`; empty before the migration begins.
    pub phase: String,
}

impl MigrationFacts {
    /// The facts of a `DatastoreMigration`.
    pub fn read(object: &Value) -> Self {
        Self {
            phase: text(object, "/status/phase").to_owned(),
        }
    }
}

/// Environment variable that selects the API that Calico's programs use.
pub const API_GROUP: &str = "CALICO_API_GROUP";

/// The API that `CALICO_API_GROUP` of container `calico-node` selects; `None` when it is unset. As in Calico's clients, every value
/// but `projectcalico.org/v3` means v1 (libcalico-go `lib/backend/k8s`).
pub fn api_group(daemon_set: &Value) -> Option<CalicoApi> {
    let containers = items(daemon_set, "/spec/template/spec/containers");
    let variable = containers
        .filter(|c| text(c, "/name") == "calico-node")
        .flat_map(|c| items(c, "/env"))
        .find(|e| text(e, "/name") == API_GROUP)?;
    match text(variable, "/value") {
        "" => None,
        "projectcalico.org/v3" => Some(CalicoApi::V3),
        _ => Some(CalicoApi::V1),
    }
}
