//! What is done to Calico's fields, case by case, against an API server's rules of ownership.

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, ConfigKind, DEFAULT};
use wn_api::reasons::Reason;
use wn_api::spec::NetworkType;
use wn_plan::calico::Action;
use wn_plan::observed::{MigrationFacts, api_group};

use crate::common::*;

/// The changes are those of the table in the README; the order is the one that never breaks Linux nodes.
#[rstest]
#[case(NetworkType::CalicoVxlan)]
#[case(NetworkType::CalicoBgp)]
fn fresh_cluster(#[case] network: NetworkType) {
    let mut cluster = Cluster::fresh(network);
    let plan = cluster.pass();
    let kinds: Vec<ConfigKind> = plan.calico.writes.iter().map(|w| w.kind).collect();
    assert_eq!(kinds, [IPAM, POOL, FELIX], "IPAM, then pools, then Felix");
    assert!(plan.calico.findings.is_empty());
    assert!(plan.calico.fit_for_agents);
    assert_yaml_snapshot!(format!("fresh_{}", network.as_str()), lines(&plan));
    assert_yaml_snapshot!(
        format!("fresh_{}_originals", network.as_str()),
        cluster.originals()
    );
    let again = cluster.pass();
    assert!(
        again.calico.writes.is_empty() && again.objects.is_empty(),
        "{:?}",
        lines(&again)
    );
    assert_eq!(again.calico.originals, plan.calico.originals);
}

/// Only Calico's IPAM code creates the IPAM configuration, on the first pod: it may well not be there yet.
#[test]
fn absent_objects_are_created_with_what_calicos_schema_requires() {
    let mut cluster = Cluster::vxlan();
    cluster.delete(IPAM, DEFAULT);
    cluster.delete(FELIX, DEFAULT);
    let plan = cluster.pass();
    let created: Vec<_> = plan
        .calico
        .writes
        .iter()
        .filter(|w| matches!(w.action, Action::Create { .. }))
        .collect();
    assert_eq!(created.iter().map(|w| w.kind).collect::<Vec<_>>(), [IPAM, FELIX]);
    let Action::Create { spec } = &created[0].action else {
        unreachable!()
    };
    assert_eq!(
        Value::Object(spec.clone()),
        json!({"strictAffinity": true, "autoAllocateBlocks": true})
    );
    assert!(
        cluster
            .originals()
            .iter()
            .filter(|o| o.kind != POOL)
            .all(|o| o.created && o.previous.is_none())
    );
    assert!(cluster.plan().calico.writes.is_empty());
}

#[test]
fn a_cluster_that_is_right_is_not_written_to() {
    let mut cluster = Cluster::vxlan();
    let felix = json!({"ipipEnabled": false, "vxlanEnabled": true, "vxlanVNI": 4096, "vxlanPort": 4789});
    cluster.update(IPAM, DEFAULT, CALICO, json!({"strictAffinity": true}));
    cluster.update(
        POOL,
        DEFAULT_POOL,
        CALICO,
        json!({"ipipMode": "Never", "vxlanMode": "Always"}),
    );
    cluster.update(FELIX, DEFAULT, CALICO, felix);
    let plan = cluster.pass();
    assert!(plan.calico.writes.is_empty(), "{:?}", lines(&plan));
    assert!(
        cluster
            .originals()
            .iter()
            .all(|o| o.previous.as_ref() == Some(&o.applied)),
        "nothing to restore"
    );
    assert!(cluster.restore().writes.is_empty());
}

#[rstest]
#[case::cross_subnet("Never", "CrossSubnet", &["IPPool default-ipv4-ippool spec.vxlanMode from CrossSubnet to Always"])]
#[case::ipip("CrossSubnet", "Never", &[
    "IPPool default-ipv4-ippool spec.ipipMode from CrossSubnet to Never",
    "IPPool default-ipv4-ippool spec.vxlanMode from Never to Always",
])]
#[case::empty_is_never("", "Always", &[])]
fn modes_hns_does_not_know_are_changed(#[case] ipip: &str, #[case] vxlan: &str, #[case] expected: &[&str]) {
    let mut cluster = Cluster::vxlan();
    cluster.update(
        POOL,
        DEFAULT_POOL,
        CALICO,
        json!({"ipipMode": ipip, "vxlanMode": vxlan}),
    );
    let plan = cluster.plan();
    let pools: Vec<_> = lines(&plan)
        .into_iter()
        .filter(|l| l.starts_with("IPPool"))
        .collect();
    assert_eq!(pools, expected);
}

#[test]
fn calico_that_is_not_there_yet() {
    let plan = Cluster::without_calico(NetworkType::CalicoVxlan).plan();
    assert!(plan.calico.writes.is_empty() && plan.objects.is_empty());
    assert_eq!(plan.calico.api, None);
    assert!(!plan.calico.fit_for_agents);
    assert_yaml_snapshot!("not_installed", findings(&plan));
}

/// A pause must not lose what is to be restored.
#[rstest]
#[case::migration("migrating", |c: &mut Cluster| {
    c.observed.calico.migrations.insert("v1-to-v3".into(), MigrationFacts { phase: "Migrating".into() });
})]
#[case::datastore("datastore_not_ready", |c: &mut Cluster| {
    c.observed.calico.cluster_information.as_mut().unwrap().datastore_ready = false;
})]
fn nothing_is_written_while_calico_says_wait(#[case] name: &str, #[case] pause: fn(&mut Cluster)) {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let originals = cluster.originals();
    cluster.update(IPAM, DEFAULT, "kubectl-edit", json!({"strictAffinity": false}));
    pause(&mut cluster);
    let plan = cluster.pass();
    assert!(plan.calico.writes.is_empty());
    assert_eq!(cluster.originals(), originals);
    assert!(plan.deletions.is_empty(), "what runs goes on running");
    assert_yaml_snapshot!(name, findings(&plan));
}

#[test]
fn after_a_migration_the_native_api_is_written() {
    let mut cluster = Cluster::vxlan();
    assert_eq!(cluster.plan().calico.api, Some(CalicoApi::V1));
    cluster.observed.calico.migrations.insert(
        "m".into(),
        MigrationFacts {
            phase: "Converged".into(),
        },
    );
    assert_eq!(cluster.plan().calico.api, Some(CalicoApi::V3));
}

/// v1 left beside native v3, and no DatastoreMigration: who says which one Calico uses, decides.
#[test]
fn an_empty_v1_beside_v3_is_not_written_to() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let originals = cluster.originals();
    for (kind, name) in [(POOL, DEFAULT_POOL), (IPAM, DEFAULT), (FELIX, DEFAULT)] {
        cluster.delete(kind, name);
    }
    cluster.observed.calico.cluster_information = None;
    assert_eq!(
        cluster.plan().calico.findings[0].reason,
        Reason::NoUsablePool,
        "v3 is empty, too"
    );
    let found = ["ClusterInformation default", "IPPool default-ipv4-ippool"];
    cluster.observed.calico.in_v3 = found.map(str::to_owned).into();
    let plan = cluster.pass();
    assert!(plan.calico.writes.is_empty() && !plan.calico.fit_for_agents);
    assert_eq!(cluster.originals(), originals);
    assert_yaml_snapshot!("empty_v1", findings(&plan));

    let daemon_set = ("kube-system".to_owned(), "calico-node".to_owned());
    cluster.observed.calico.api_groups = [(daemon_set, CalicoApi::V3)].into();
    let plan = cluster.plan();
    assert_eq!(plan.calico.api, Some(CalicoApi::V3));
    assert!(
        plan.calico
            .findings
            .iter()
            .all(|f| f.reason != Reason::CalicoAPIUnclear)
    );
}

/// Read of DaemonSet `calico-node`, or `canal`, on Linux nodes.
#[rstest]
#[case("calico-node", "projectcalico.org/v3", Some(CalicoApi::V3))]
#[case("calico-node", "crd.projectcalico.org/v1", Some(CalicoApi::V1))]
#[case("calico-node", "", None)]
#[case("node", "projectcalico.org/v3", None)]
fn calico_api_group(#[case] container: &str, #[case] value: &str, #[case] expected: Option<CalicoApi>) {
    let env =
        json!([{"name": "A", "value": "projectcalico.org/v3"}, {"name": "CALICO_API_GROUP", "value": value}]);
    let containers = json!([{"name": "other"}, {"name": container, "env": env}]);
    let daemon_set = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    assert_eq!(api_group(&daemon_set), expected);
}

#[rstest]
#[case::keeps("", None, 4096)]
#[case::keeps_own("", Some(5000), 5000)]
#[case::lowest("", Some(4096), 4096)]
#[case::too_low("", Some(4095), 4096)]
#[case::highest("", Some(65_535), 65_535)]
#[case::cut_to_16_bits("", Some(65_536), 4096)]
#[case::spec_wins("calico: {vxlan: {vni: 6000}}", Some(5000), 6000)]
fn vni(#[case] spec: &str, #[case] found: Option<i32>, #[case] expected: i32) {
    let mut cluster = Cluster::vxlan().with_spec(spec);
    cluster.update(FELIX, DEFAULT, CALICO, json!({"vxlanVNI": found}));
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), expected);
    let agent = serde_json::to_string(&cluster.observed.ours.values().collect::<Vec<_>>()).unwrap();
    assert!(
        agent.contains(&format!(r#"{{"name":"VXLAN_VNI","value":"{expected}"}}"#)),
        "the agent uses the same"
    );
    // Another usable number is drift, not a request: HNS networks on the nodes have the one that was set.
    cluster.update(FELIX, DEFAULT, "kubectl-edit", json!({"vxlanVNI": 7000}));
    assert_eq!(
        lines(&cluster.pass()),
        [format!(
            "FelixConfiguration default spec.vxlanVNI from 7000 to {expected}"
        )]
    );
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), expected);
}

/// `Report` is about one concern each; nothing reported on is remembered as ours.
#[test]
fn report_policies() {
    let mut cluster = Cluster::vxlan().with_spec("calico: {strictAffinity: Report}");
    let plan = cluster.pass();
    assert_eq!(
        plan.calico.writes.iter().map(|w| w.kind).collect::<Vec<_>>(),
        [POOL, FELIX]
    );
    assert_yaml_snapshot!("report_strict_affinity", findings(&plan));

    let mut cluster = Cluster::vxlan().with_spec("calico: {encapsulation: {policy: Report}}");
    let plan = cluster.pass();
    assert_eq!(
        plan.calico.writes.iter().map(|w| w.kind).collect::<Vec<_>>(),
        [IPAM]
    );
    assert!(cluster.originals().iter().all(|o| o.kind == IPAM));
    assert_yaml_snapshot!("report_encapsulation", findings(&plan));
}

#[test]
fn observe_decides_all_and_writes_nothing() {
    let mut cluster = Cluster::vxlan().with_spec("mode: Observe");
    let before = cluster.store.specs();
    let plan = cluster.pass();
    assert!(!plan.write && !plan.calico.writes.is_empty() && !plan.objects.is_empty());
    assert_eq!(cluster.store.specs(), before);
    assert!(
        cluster.originals().is_empty(),
        "nothing was changed, so nothing is to be restored"
    );
    assert_yaml_snapshot!(
        "observe_pending",
        cluster.config().status.as_ref().unwrap().pending_changes
    );
}
