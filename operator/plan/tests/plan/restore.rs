//! What was taken is restored: on delete, and when the network type no longer needs it.

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::DEFAULT;
use wn_api::spec::{NetworkType, WhenInUse};

use crate::common::*;

fn switch(cluster: &mut Cluster, network: NetworkType) {
    cluster.edit_spec(|s| s.network.type_ = network);
    cluster.pass();
    assert!(
        cluster.plan().calico.writes.is_empty(),
        "{:?}",
        lines(&cluster.plan())
    );
}

#[rstest]
#[case::absent(json!({}))]
#[case::present(json!({"vxlanVNI": 42, "vxlanPort": 4790}))]
#[case::usable(json!({"vxlanVNI": 5000, "vxlanPort": 4789}))]
fn bgp_gives_back_what_only_vxlan_needs(#[case] felix: Value) {
    let mut cluster = Cluster::vxlan();
    cluster.update(FELIX, DEFAULT, CALICO, felix.clone());
    cluster.pass();
    switch(&mut cluster, NetworkType::CalicoBgp);
    for field in ["vxlanVNI", "vxlanPort"] {
        assert_eq!(cluster.field(FELIX, DEFAULT, field), felix[field], "{field}");
    }
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanEnabled"), false);
}

/// What was restored is again Calico's own value: VNI 42 is no more usable the second time.
#[test]
fn back_to_vxlan_asks_for_a_usable_vni_again() {
    let mut cluster = Cluster::vxlan();
    cluster.update(FELIX, DEFAULT, CALICO, json!({"vxlanVNI": 42}));
    let before = cluster.store.specs();
    cluster.pass();
    switch(&mut cluster, NetworkType::CalicoBgp);
    switch(&mut cluster, NetworkType::CalicoVxlan);
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), 4096);
    cluster.restore();
    assert_eq!(cluster.store.specs(), before);
}

/// Whatever the way, an object that was not there is gone in the end.
#[rstest]
#[case(&[NetworkType::CalicoVxlan])]
#[case(&[NetworkType::CalicoBgp])]
#[case(&[NetworkType::CalicoVxlan, NetworkType::CalicoBgp])]
#[case(&[NetworkType::CalicoBgp, NetworkType::CalicoVxlan])]
fn created_objects_are_removed(#[case] way: &[NetworkType]) {
    let mut cluster = Cluster::vxlan();
    cluster.delete(IPAM, DEFAULT);
    cluster.delete(FELIX, DEFAULT);
    let before = cluster.store.specs();
    way.iter().for_each(|network| switch(&mut cluster, *network));
    assert_ne!(cluster.store.specs(), before);
    let restoration = cluster.restore();
    assert_eq!(cluster.store.specs(), before);
    assert!(restoration.left.is_empty(), "{:?}", restoration.left);
}

#[test]
fn what_others_wrote_to_is_left() {
    let mut cluster = Cluster::vxlan();
    cluster.delete(FELIX, DEFAULT);
    cluster.pass();
    cluster.update(FELIX, DEFAULT, "kubectl-edit", json!({"bpfEnabled": true}));
    let restoration = cluster.restore();
    assert_eq!(cluster.field(FELIX, DEFAULT, "bpfEnabled"), true);
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), json!(null));
    assert_yaml_snapshot!("left_created", restoration.left);
}

#[test]
fn a_field_changed_since_is_left() {
    let mut cluster = Cluster::vxlan();
    cluster.update(FELIX, DEFAULT, CALICO, json!({"vxlanPort": 4790}));
    cluster.pass();
    cluster.update(FELIX, DEFAULT, "kubectl-edit", json!({"vxlanPort": 4791}));
    let restoration = cluster.restore();
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanPort"), 4791);
    assert_yaml_snapshot!("left_changed", restoration.left);
}

#[test]
fn a_field_put_back_by_hand_is_not_worth_a_word() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.update(IPAM, DEFAULT, "kubectl-edit", json!({"strictAffinity": false}));
    let restoration = cluster.restore();
    assert!(restoration.left.is_empty(), "{:?}", restoration.left);
}

/// Pods would ask for IPIP that Felix does not do yet.
#[test]
fn felix_goes_before_pools_on_the_way_back() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let kinds: Vec<_> = cluster.restore().writes.iter().map(|w| w.kind).collect();
    assert_eq!(kinds, [FELIX, POOL, IPAM]);
    assert!(
        cluster.restore().writes.is_empty(),
        "a second try after a crash has nothing to do"
    );
}

#[test]
fn objects_that_are_gone_are_not_waited_for() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.delete(FELIX, DEFAULT);
    cluster.delete(POOL, DEFAULT_POOL);
    let restoration = cluster.restore();
    assert_eq!(restoration.writes.len(), 1);
    assert!(restoration.left.is_empty());
}

/// Calico makes the object between our decision and our create: it is Calico's, with Calico's value.
#[test]
fn a_lost_race_to_create_gives_back_the_winners_value() {
    let mut cluster = Cluster::vxlan();
    cluster.delete(IPAM, DEFAULT);
    let plan = cluster.plan();
    cluster.store_originals(&plan);
    cluster.update(
        IPAM,
        DEFAULT,
        CALICO,
        json!({"strictAffinity": false, "autoAllocateBlocks": true}),
    );
    let before = cluster.store.specs();
    cluster.pass();
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
    let restoration = cluster.restore();
    assert_eq!(cluster.store.specs(), before);
    assert!(restoration.left.is_empty(), "{:?}", restoration.left);
}

/// What was set before Linux pods came interrupts them when it is restored: it waits, or a person allows it.
#[test]
fn what_interrupts_linux_pods_is_held() {
    let mut cluster = Cluster::vxlan();
    cluster.update(FELIX, DEFAULT, CALICO, json!({"vxlanVNI": 42, "vxlanPort": 4790}));
    let before = cluster.store.specs();
    cluster.pass();
    cluster.serve_linux_pods("10.244.3.0/26");
    let restoration = cluster.restore();
    let kinds: Vec<_> = restoration.writes.iter().map(|w| w.kind).collect();
    assert_eq!(kinds, [IPAM], "Felix and pools fit each other");
    assert_yaml_snapshot!("held", (restoration.held, restoration.left));
    cluster.edit_spec(|s| s.calico.encapsulation.when_in_use = WhenInUse::Migrate);
    let restoration = cluster.restore();
    assert_eq!((restoration.held, restoration.left.len()), (None, 0));
    assert_eq!(cluster.store.specs(), before);
}

/// A VNI that packets carry in any case holds nothing.
#[test]
fn what_interrupts_nobody_is_restored() {
    let mut cluster = Cluster::vxlan();
    let modes = json!({"ipipMode": "Never", "vxlanMode": "Always"});
    cluster.update(POOL, DEFAULT_POOL, CALICO, modes);
    let before = cluster.store.specs();
    cluster.pass();
    cluster.serve_linux_pods("10.244.3.0/26");
    assert_eq!(cluster.restore().held, None);
    assert_eq!(cluster.store.specs(), before);
}
