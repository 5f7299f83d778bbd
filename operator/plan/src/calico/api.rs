//! Which form of Calico's API holds the truth, and when it must not be written.

use wn_api::calico::{CalicoApi, ConfigKind, GROUP_V1, GROUP_V3};
use wn_api::reasons::Reason;

use crate::finding::{Finding, names_of};
use crate::observed::{API_GROUP, CalicoFacts, MigrationFacts};

/// As Calico's own clients choose (libcalico-go `backend/k8s/discovery.go`, tigera/operator `pkg/apis/version.go`): what
/// calico-node is told comes first; then a finished migration means v3; else v1 wins when it is served, because v3
/// beside it is the aggregated server over the same objects; v3 alone is native.
pub fn form(calico: &CalicoFacts) -> Option<CalicoApi> {
    // The spec says so. Custom resources beside it are left over from before.
    if calico.etcd.is_some() {
        return Some(CalicoApi::Etcd);
    }
    if let Some(told) = told(calico) {
        return Some(told);
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

/// What calico-node is told, when all that are there are told the same and it is defined.
fn told(calico: &CalicoFacts) -> Option<CalicoApi> {
    let mut forms = calico.api_groups.values();
    let first = *forms.next()?;
    (forms.all(|form| *form == first) && defines(calico, first.group())).then_some(first)
}

/// Was v1 taken for want of anybody who says so, and is it empty? Then v3, which is defined too, is looked at.
pub fn is_v1_empty(calico: &CalicoFacts) -> bool {
    let undecided = calico.etcd.is_none() && told(calico).is_none() && !migrated(calico);
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
    fn picks_the_form(
        #[case] groups: &[&str],
        #[case] phase: Option<&str>,
        #[case] expected: Option<CalicoApi>,
    ) {
        assert_eq!(form(&facts(groups, phase)), expected);
    }

    /// What calico-node is told decides, unless it is not there, or two are told different things.
    #[rstest]
    #[case(&[GROUP_V1, GROUP_V3], None, &[CalicoApi::V3], CalicoApi::V3)]
    #[case(&[GROUP_V1, GROUP_V3], Some("Complete"), &[CalicoApi::V1], CalicoApi::V1)]
    #[case(&[GROUP_V1], None, &[CalicoApi::V3], CalicoApi::V1)]
    #[case(&[GROUP_V1, GROUP_V3], None, &[CalicoApi::V3, CalicoApi::V1], CalicoApi::V1)]
    #[case(&[GROUP_V1, GROUP_V3], None, &[CalicoApi::V3, CalicoApi::V3], CalicoApi::V3)]
    fn calico_node_is_told_the_form(
        #[case] groups: &[&str],
        #[case] phase: Option<&str>,
        #[case] told: &[CalicoApi],
        #[case] expected: CalicoApi,
    ) {
        let mut calico = facts(groups, phase);
        let names = ["calico-node", "canal"].map(|name| ("kube-system".to_owned(), name.to_owned()));
        calico.api_groups = names.into_iter().zip(told.iter().copied()).collect();
        assert_eq!(form(&calico), Some(expected));
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
