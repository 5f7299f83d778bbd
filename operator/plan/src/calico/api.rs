//! Which of Calico's APIs is in use, and when nothing must be written to it.

use wn_api::calico::{CalicoApi, ConfigKind, GROUP_V1, GROUP_V3};
use wn_api::reasons::Reason;

use crate::finding::{Finding, names_of};
use crate::observed::{API_GROUP, CalicoFacts, MigrationFacts};

/// The API that Calico uses, chosen as its own clients choose (libcalico-go `backend/k8s/discovery.go`, tigera/operator
/// `pkg/apis/version.go`): `CALICO_API_GROUP` of calico-node first, then v3 after a finished migration, then v1 if it is served,
/// because v3 beside v1 is the aggregated server over the same objects. v3 alone is native. `None` without any CRD of Calico.
pub fn in_use(calico: &CalicoFacts) -> Option<CalicoApi> {
    // The spec names an etcd: custom resources are left over from an earlier setup.
    if calico.etcd.is_some() {
        return Some(CalicoApi::Etcd);
    }
    if let Some(api) = configured(calico) {
        return Some(api);
    }
    match (defines(calico, GROUP_V1), defines(calico, GROUP_V3)) {
        (true, true) if migrated(calico) => Some(CalicoApi::V3),
        (true, _) => Some(CalicoApi::V1),
        (false, true) => Some(CalicoApi::V3),
        (false, false) => None,
    }
}

fn defines(calico: &CalicoFacts, group: &str) -> bool {
    calico
        .definitions
        .contains(&format!("felixconfigurations.{group}"))
}

fn migrated(calico: &CalicoFacts) -> bool {
    let finished = |m: &MigrationFacts| matches!(m.phase.as_str(), "Converged" | "Complete");
    calico.migrations.values().any(finished)
}

/// What `CALICO_API_GROUP` of calico-node selects, if every DaemonSet selects the same API and its CRDs exist.
fn configured(calico: &CalicoFacts) -> Option<CalicoApi> {
    let mut apis = calico.api_groups.values();
    let first = *apis.next()?;
    (apis.all(|api| *api == first) && defines(calico, first.group())).then_some(first)
}

/// Is v1 in use by default only, and empty? Then the objects of v3, whose CRDs exist too, are read.
pub fn is_v1_empty(calico: &CalicoFacts) -> bool {
    let undecided = calico.etcd.is_none() && configured(calico).is_none() && !migrated(calico);
    let both = defines(calico, GROUP_V1) && defines(calico, GROUP_V3);
    let mut kinds = calico.objects.keys().map(|(kind, _)| kind);
    undecided
        && both
        && calico.cluster_information.is_none()
        && !kinds.any(|kind| *kind == ConfigKind::IpPool)
}

/// An empty v1 beside a v3 that has objects: Calico cannot be running on v1, and nobody says that it runs on v3.
pub fn unclear(calico: &CalicoFacts) -> Option<Finding> {
    let found = names_of(calico.in_v3.iter().map(String::as_str));
    (is_v1_empty(calico) && !found.is_empty()).then(|| Finding {
        reason: Reason::CalicoAPIUnclear,
        message: format!(
            "{GROUP_V1}/v1 is empty (no ClusterInformation, no IPPool) beside {GROUP_V3}/v3, which has {found}, and neither a \
             DatastoreMigration nor {API_GROUP} in container calico-node says which one Calico uses: if it is v3, set \
             {API_GROUP}={GROUP_V3}/v3 in DaemonSet calico-node"
        ),
    })
}

/// Why nothing may be written to Calico now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Pause {
    /// A `DatastoreMigration` moves objects from v1 to v3.
    Migration {
        /// Name of the object.
        name: String,
        /// Its `status.phase`.
        phase: String,
    },
    /// `spec.datastoreReady` of `ClusterInformation` is false.
    DatastoreNotReady,
}

/// While objects move from v1 to v3 a write to either may be lost; while the datastore is not ready
/// Calico's own components hold still.
pub fn pause(calico: &CalicoFacts) -> Option<Pause> {
    let moving = |phase: &str| matches!(phase, "Migrating" | "WaitingForConflictResolution");
    // A migration moves custom resources.
    let concerned = calico.etcd.is_none();
    let migration = calico
        .migrations
        .iter()
        .find(|(_, m)| concerned && moving(&m.phase));
    if let Some((name, migration)) = migration {
        return Some(Pause::Migration {
            name: name.clone(),
            phase: migration.phase.clone(),
        });
    }
    let ready = calico
        .cluster_information
        .as_ref()
        .is_none_or(|c| c.datastore_ready);
    (!ready).then_some(Pause::DatastoreNotReady)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::{ClusterInformation, EtcdFacts};
    use rstest::rstest;

    fn facts(groups: &[&str], phase: Option<&str>) -> CalicoFacts {
        CalicoFacts {
            definitions: groups
                .iter()
                .map(|g| format!("felixconfigurations.{g}"))
                .collect(),
            migrations: phase
                .map(|p| ("m".to_owned(), MigrationFacts { phase: p.to_owned() }))
                .into_iter()
                .collect(),
            ..CalicoFacts::default()
        }
    }

    #[rstest]
    #[case(&[], None, None)]
    #[case(&[GROUP_V1], None, Some(CalicoApi::V1))]
    #[case(&[GROUP_V3], None, Some(CalicoApi::V3))]
    #[case(&[GROUP_V1, GROUP_V3], None, Some(CalicoApi::V1))]
    #[case(&[GROUP_V1, GROUP_V3], Some("Pending"), Some(CalicoApi::V1))]
    #[case(&[GROUP_V1, GROUP_V3], Some("Converged"), Some(CalicoApi::V3))]
    #[case(&[GROUP_V1, GROUP_V3], Some("Complete"), Some(CalicoApi::V3))]
    #[case(&[GROUP_V1], Some("Failed"), Some(CalicoApi::V1))]
    fn picks_the_api_in_use(
        #[case] groups: &[&str],
        #[case] phase: Option<&str>,
        #[case] expected: Option<CalicoApi>,
    ) {
        assert_eq!(in_use(&facts(groups, phase)), expected);
    }

    /// `CALICO_API_GROUP` decides, unless calico-node is absent or two DaemonSets disagree.
    #[rstest]
    #[case(&[GROUP_V1, GROUP_V3], None, &[CalicoApi::V3], CalicoApi::V3)]
    #[case(&[GROUP_V1, GROUP_V3], Some("Complete"), &[CalicoApi::V1], CalicoApi::V1)]
    #[case(&[GROUP_V1], None, &[CalicoApi::V3], CalicoApi::V1)]
    #[case(&[GROUP_V1, GROUP_V3], None, &[CalicoApi::V3, CalicoApi::V1], CalicoApi::V1)]
    #[case(&[GROUP_V1, GROUP_V3], None, &[CalicoApi::V3, CalicoApi::V3], CalicoApi::V3)]
    fn api_group_of_calico_node_decides(
        #[case] groups: &[&str],
        #[case] phase: Option<&str>,
        #[case] configured: &[CalicoApi],
        #[case] expected: CalicoApi,
    ) {
        let mut calico = facts(groups, phase);
        let names = ["calico-node", "canal"].map(|name| ("kube-system".to_owned(), name.to_owned()));
        calico.api_groups = names.into_iter().zip(configured.iter().copied()).collect();
        assert_eq!(in_use(&calico), Some(expected));
    }

    #[rstest]
    #[case("Pending", false)]
    #[case("Migrating", true)]
    #[case("WaitingForConflictResolution", true)]
    #[case("Converged", false)]
    fn pauses_while_objects_move(#[case] phase: &str, #[case] paused: bool) {
        assert_eq!(pause(&facts(&[], Some(phase))).is_some(), paused);
    }

    #[test]
    fn etcd_is_the_truth_where_the_spec_says_so() {
        let mut calico = facts(&[GROUP_V1, GROUP_V3], Some("Migrating"));
        calico.etcd = Some(EtcdFacts::default());
        assert_eq!(in_use(&calico), Some(CalicoApi::Etcd));
        assert_eq!(pause(&calico), None, "what moves are custom resources");
    }

    #[test]
    fn pauses_while_the_datastore_is_not_ready() {
        let mut calico = CalicoFacts::default();
        assert_eq!(pause(&calico), None);
        calico.cluster_information = Some(ClusterInformation {
            datastore_ready: false,
            ..Default::default()
        });
        assert_eq!(pause(&calico), Some(Pause::DatastoreNotReady));
    }
}
