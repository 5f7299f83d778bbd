//! Whose field it is: who may be overruled, who not, and when to stop.

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::json;
use wn_api::calico::DEFAULT;
use wn_api::component::Component;
use wn_api::names::RECONCILING_MANAGERS;
use wn_api::reasons::Reason;
use wn_api::spec::Conflicts;
use wn_plan::calico::Action;
use wn_plan::observed::{OwnKind, OwnObject};

use crate::common::*;

#[test]
fn an_applied_field_is_a_conflict_until_force() {
    let mut cluster = Cluster::vxlan();
    cluster.apply_as(
        IPAM,
        DEFAULT,
        "argocd-controller",
        json!({"strictAffinity": false}),
    );
    let plan = cluster.pass();
    assert_eq!(plan.calico.findings[0].reason, Reason::FieldConflict);
    assert!(!plan.calico.fit_for_agents);
    assert!(
        plan.calico.writes.iter().all(|w| w.kind != IPAM),
        "{:?}",
        lines(&plan)
    );
    assert_yaml_snapshot!("conflict", findings(&plan));

    cluster.edit_spec(|s| s.calico.conflicts = Conflicts::Force);
    let plan = cluster.pass();
    assert!(plan.calico.findings.is_empty());
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
    assert!(cluster.plan().calico.writes.is_empty());
}

/// What another manager applied with the value we want stays theirs: sharing would keep it after they drop it.
#[test]
fn an_agreeing_claim_is_not_shared() {
    let mut cluster = Cluster::vxlan();
    cluster.apply_as(
        POOL,
        DEFAULT_POOL,
        "argocd-controller",
        json!({"vxlanMode": "Always"}),
    );
    let plan = cluster.pass();
    let pool = plan.calico.writes.iter().find(|w| w.kind == POOL).unwrap();
    let Action::Apply { spec, .. } = &pool.action else {
        unreachable!()
    };
    assert_eq!(spec.keys().collect::<Vec<_>>(), ["ipipMode"]);
}

/// Half a change of encapsulation is worse than none: a conflict on one field of a pool holds the other, and Felix.
#[test]
fn a_conflict_on_a_pool_holds_felix() {
    let mut cluster = Cluster::vxlan();
    cluster.apply_as(POOL, DEFAULT_POOL, "flux", json!({"ipipMode": "Always"}));
    let plan = cluster.pass();
    assert_eq!(
        plan.calico.writes.iter().map(|w| w.kind).collect::<Vec<_>>(),
        [IPAM]
    );
}

#[rstest]
#[case::calico(CALICO)]
#[case::person("kubectl-edit")]
#[case::patch("kubectl-patch")]
fn a_plain_update_is_taken(#[case] manager: &str) {
    let mut cluster = Cluster::vxlan();
    cluster.update(
        FELIX,
        DEFAULT,
        manager,
        json!({"ipipEnabled": true, "vxlanEnabled": false}),
    );
    let plan = cluster.pass();
    assert!(plan.calico.findings.is_empty(), "{:?}", findings(&plan));
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanEnabled"), true);
    assert_eq!(
        cluster.original(FELIX, "vxlanEnabled").unwrap().previous,
        Some(json!(false))
    );
}

/// They write by plain updates, but they come back.
#[test]
fn known_reconcilers_are_never_taken_from() {
    for manager in RECONCILING_MANAGERS {
        let mut cluster = Cluster::vxlan();
        cluster.update(FELIX, DEFAULT, manager, json!({"vxlanPort": 4790}));
        let plan = cluster.plan();
        assert_eq!(plan.calico.findings[0].reason, Reason::FieldConflict, "{manager}");
        assert!(plan.calico.findings[0].message.contains(manager));
        assert!(plan.calico.writes.iter().all(|w| w.kind != FELIX), "{manager}");
    }
}

/// The API server names programs without a user agent after Go's HTTP library, which nobody knows by that name.
#[test]
fn a_manager_without_a_name_is_explained() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.update(IPAM, DEFAULT, CALICO, json!({"strictAffinity": false}));
    let plan = cluster.pass();
    let by = plan.calico.writes[0].changes[0].drifted_by.clone().unwrap();
    assert!(
        by.starts_with("Go-http-client (") && by.contains("calicoctl"),
        "{by}"
    );
}

/// The server fills `managedFields` by who changed a value last, so drift says who it was.
#[test]
fn drift_is_repaired_and_says_who() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let originals = cluster.originals();
    cluster.update(IPAM, DEFAULT, "kubectl-edit", json!({"strictAffinity": false}));
    let plan = cluster.pass();
    let change = &plan.calico.writes[0].changes[0];
    assert_eq!(change.drifted_by.as_deref(), Some("kubectl-edit"));
    assert_eq!(plan.calico.writes.len(), 1);
    assert_eq!(
        cluster.originals(),
        originals,
        "the value to restore is the first one, not the drifted one"
    );
}

#[test]
fn the_third_change_within_ten_minutes_is_left_for_an_hour() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let drift = |cluster: &mut Cluster, second: i64| {
        cluster.now = at(second);
        cluster.update(IPAM, DEFAULT, "stubborn", json!({"strictAffinity": false}));
        cluster.pass()
    };
    for second in [10, 20] {
        assert_eq!(drift(&mut cluster, second).calico.writes.len(), 1);
    }
    let third = drift(&mut cluster, 30);
    assert!(third.calico.writes.is_empty());
    assert_eq!(third.calico.given_up.len(), 1);
    assert_eq!(third.calico.revisit, Some(at(30 + 3600)));
    assert_yaml_snapshot!("contested", findings(&third));

    // It is not tried a minute later, it keeps what is to be restored, and an hour later it is tried again.
    cluster.now = at(90);
    let later = cluster.pass();
    assert!(later.calico.writes.is_empty());
    assert_eq!(
        later.calico.revisit,
        Some(at(30 + 3600)),
        "the end of the rest does not move"
    );
    assert!(cluster.original(IPAM, "strictAffinity").is_some());
    cluster.now = at(30 + 3600);
    assert_eq!(cluster.pass().calico.writes.len(), 1);
}

/// Each repair of a DaemonSet restarts networking on every Windows node: its image is not fought over for ever, either.
#[test]
fn an_object_of_ours_that_is_changed_again_and_again_is_left_for_an_hour() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let of_proxy = |o: &OwnObject| o.kind == OwnKind::DaemonSet && o.name.starts_with("kube-proxy-windows");
    let drift = |cluster: &mut Cluster, second: i64| {
        cluster.now = at(second);
        let stored = cluster
            .observed
            .ours
            .iter_mut()
            .find(|(o, _)| of_proxy(o))
            .unwrap();
        stored.1["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/pinned:v1");
        cluster.pass()
    };
    for second in [10, 20] {
        assert_eq!(drift(&mut cluster, second).objects.len(), 1);
    }
    let third = drift(&mut cluster, 30);
    assert!(third.objects.is_empty());
    assert_eq!(third.contested.len(), 1);
    assert_eq!(third.revisit, Some(at(30 + 3600)));
    let blocked = third.components[Component::KubeProxy].blocked.as_ref().unwrap();
    assert_eq!(blocked.reason, Reason::Contested);
    assert!(
        blocked
            .message
            .contains("kube-proxy-windows is changed again and again"),
        "{}",
        blocked.message
    );

    cluster.now = at(90);
    assert!(cluster.pass().objects.is_empty());
    cluster.observed.ours.retain(|o, _| !of_proxy(o));
    assert!(
        !cluster.plan().objects.is_empty(),
        "without one no node has a kube-proxy"
    );
    drift_again_after_an_hour(&mut cluster);
}

fn drift_again_after_an_hour(cluster: &mut Cluster) {
    cluster.pass();
    cluster.now = at(31 + 3600);
    let stored = cluster
        .observed
        .ours
        .values_mut()
        .find(|o| o["kind"] == "DaemonSet")
        .unwrap();
    stored["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/pinned:v1");
    assert_eq!(cluster.plan().objects.len(), 1);
}

#[test]
fn a_changed_config_is_a_new_chance() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    for second in [10, 20, 30] {
        cluster.now = at(second);
        cluster.update(IPAM, DEFAULT, "stubborn", json!({"strictAffinity": false}));
        cluster.pass();
    }
    assert!(cluster.plan().calico.writes.is_empty());
    cluster.edit_spec(|_| {});
    assert_eq!(cluster.plan().calico.writes.len(), 1);
}
