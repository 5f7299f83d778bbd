//! Which form of Calico's API holds the truth, and when it must not be written.

use wn_api::calico::{CalicoApi, GROUP_V1, GROUP_V3};

use crate::observed::CalicoFacts;

/// The algorithm of Calico's own clients (libcalico-go `backend/k8s/discovery.go`, tigera/operator
/// `pkg/apis/version.go`): a finished migration means v3; else v1 wins when it is served, because v3
/// beside it is the aggregated server over the same objects; v3 alone is native.
pub fn form(calico: &CalicoFacts) -> Option<CalicoApi> {
    // The spec says so. Custom resources beside it are left over from before.
    if calico.etcd.is_some() {
        return Some(CalicoApi::Etcd);
    }
    let defined = |group: &str| {
        calico
            .definitions
            .contains(&format!("felixconfigurations.{group}"))
    };
    let migrated = calico
        .migrations
        .values()
        .any(|m| matches!(m.phase.as_str(), "Converged" | "Complete"));
    match (defined(GROUP_V1), defined(GROUP_V3)) {
        (true, true) if migrated => Some(CalicoApi::V3),
        (true, _) => Some(CalicoApi::V1),
        (false, true) => Some(CalicoApi::V3),
        (false, false) => None,
    }
}

/// Why nothing may be written to Calico now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Pause {
    Migration { name: String, phase: String },
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
    use crate::observed::{ClusterInformation, EtcdFacts, MigrationFacts};
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
    fn picks_the_form(
        #[case] groups: &[&str],
        #[case] phase: Option<&str>,
        #[case] expected: Option<CalicoApi>,
    ) {
        assert_eq!(form(&facts(groups, phase)), expected);
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
        assert_eq!(form(&calico), Some(CalicoApi::Etcd));
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
