//! Original values: who owns them, when they are dropped, and what happens if they are unknown.

use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, DEFAULT};
use wn_api::names::FINALIZER;
use wn_api::spec::{DeletionPolicy, NetworkType, Policy, UnknownOriginals};
use wn_api::status::{Original, WindowsNodeConfigStatus};

use crate::common::*;

fn of_pool(cluster: &Cluster, name: &str, field: &str) -> Option<Original> {
    let mut all = cluster.originals().into_iter();
    all.find(|o| o.kind == POOL && o.name == name && o.field == field)
}

fn known(cluster: &mut Cluster) -> (String, String) {
    let plan = cluster.plan();
    let status = cluster.status(&plan);
    let found = status
        .conditions
        .iter()
        .find(|c| c.type_ == "OriginalsKnown")
        .unwrap();
    (found.status.clone(), found.message.clone())
}

/// The config is lost with its status, and made again; what it set stands.
fn made_again(cluster: &mut Cluster) {
    let config = cluster.config_mut();
    config.status = None;
    config.metadata.uid = Some("another".into());
}

#[test]
fn a_pool_made_anew_under_its_name_has_its_own_values() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    assert_eq!(
        of_pool(&cluster, DEFAULT_POOL, "ipipMode").unwrap().previous,
        Some(json!("Always"))
    );
    cluster.delete(POOL, DEFAULT_POOL);
    cluster.update(
        POOL,
        DEFAULT_POOL,
        PERSON,
        pool("10.244.0.0/16", "Never", "Always"),
    );
    let made = cluster.store.specs();
    cluster.pass();
    assert_eq!(
        of_pool(&cluster, DEFAULT_POOL, "ipipMode").unwrap().previous,
        Some(json!("Never"))
    );
    let restoration = cluster.restore();
    let pool = (POOL, DEFAULT_POOL.to_owned());
    assert_eq!(cluster.store.specs()[&pool], made[&pool]);
    assert!(restoration.left.is_empty(), "{:?}", restoration.left);
}

/// A pool that was created again serves pods of Linux nodes, and is treated as a new one.
#[test]
fn a_pool_made_anew_is_held_while_in_use() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.delete(POOL, DEFAULT_POOL);
    cluster.update(
        POOL,
        DEFAULT_POOL,
        PERSON,
        pool("10.244.0.0/16", "Always", "Never"),
    );
    cluster.serve_linux_pods("10.244.1.0/26");
    assert!(lines(&cluster.plan()).is_empty(), "{:?}", lines(&cluster.plan()));
}

#[test]
fn entries_of_deleted_pools_go() {
    let mut cluster = Cluster::vxlan();
    for i in 0..20 {
        let name = format!("p{i}");
        cluster.update(
            POOL,
            &name,
            PERSON,
            pool(&format!("10.{i}.0.0/16"), "Always", "Never"),
        );
        cluster.pass();
        cluster.delete(POOL, &name);
    }
    cluster.pass();
    let pools = cluster.originals().into_iter().filter(|o| o.kind == POOL);
    assert!(
        pools.clone().all(|o| o.name == DEFAULT_POOL),
        "{:?}",
        pools.collect::<Vec<_>>()
    );
}

/// Absence is no proof while Calico cannot be read.
#[test]
fn nothing_is_forgotten_while_calico_cannot_be_read() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let originals = cluster.originals();
    cluster.observed.calico.definitions.clear();
    cluster.observed.calico.objects.clear();
    let plan = cluster.plan();
    cluster.apply(&plan);
    assert_eq!(cluster.originals(), originals);
}

/// A migration copies objects with our values, and gives them other uids.
#[test]
fn a_migration_to_another_form_of_the_api_keeps_them() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let before = of_pool(&cluster, DEFAULT_POOL, "ipipMode").unwrap();
    assert_eq!(before.api, Some(CalicoApi::V1));
    cluster.observed.calico.definitions = ["felixconfigurations.projectcalico.org".to_owned()].into();
    for ((_, name), object) in &mut cluster.observed.calico.objects {
        object.uid = format!("v3-{name}");
    }
    let plan = cluster.plan();
    cluster.apply(&plan);
    let after = of_pool(&cluster, DEFAULT_POOL, "ipipMode").unwrap();
    assert_eq!(after.previous, before.previous);
    assert_eq!(after.uid.as_deref(), Some("v3-default-ipv4-ippool"));
    assert_eq!(after.api, Some(CalicoApi::V3));
}

/// Enforce, then Report, and the person puts the value back by hand: from then on it is the person's.
#[test]
fn a_value_put_back_by_hand_is_nobody_elses() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.edit_spec(|s| s.calico.strict_affinity = Policy::Report);
    cluster.update(IPAM, DEFAULT, PERSON, json!({"strictAffinity": false}));
    cluster.pass();
    assert_eq!(cluster.original(IPAM, "strictAffinity"), None);
    cluster.update(IPAM, DEFAULT, PERSON, json!({"strictAffinity": true}));
    cluster.pass();
    cluster.restore();
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
}

/// Argo CD applies the value that we set, too: it stays after deletion, and an Event says so.
#[test]
fn what_another_manager_applied_too_stays() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.apply_as(
        IPAM,
        DEFAULT,
        "argocd-controller",
        json!({"strictAffinity": true}),
    );
    let restoration = cluster.restore();
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
    assert_eq!(
        restoration.left,
        [
            "IPAMConfiguration default spec.strictAffinity: argocd-controller also set true; its original value was false"
        ]
    );
}

/// Restored from a backup without its status: managed fields show that the values are the operator's.
#[test]
fn values_of_an_earlier_config_are_not_taken_for_calicos_own() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    assert_eq!(known(&mut cluster).0, "True");
    made_again(&mut cluster);
    let ours = cluster.store.specs();
    cluster.pass();
    assert!(cluster.original(IPAM, "strictAffinity").unwrap().unknown);
    let (status, message) = known(&mut cluster);
    assert_eq!(status, "False");
    for part in [
        "IPAMConfiguration default spec.strictAffinity",
        "spec.calico.originals.values",
        "Accept",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let restoration = cluster.clone().restore();
    assert!(restoration.writes.is_empty(), "what is not known is not restored");
    assert!(
        restoration.left.iter().any(|l| l.contains("strictAffinity")),
        "{:?}",
        restoration.left
    );
    assert_eq!(cluster.store.specs(), ours);

    let mut accepted = cluster.clone();
    accepted.edit_spec(|s| s.calico.originals.unknown = UnknownOriginals::Accept);
    accepted.pass();
    assert_eq!(known(&mut accepted).0, "True");
    assert!(accepted.restore().left.is_empty());

    cluster.edit_spec(|s| s.deletion_policy = DeletionPolicy::Retain);
    assert_eq!(known(&mut cluster).0, "True", "nothing is restored anyway");
}

#[rstest]
#[case::value(json!(false))]
#[case::absent(Value::Null)]
fn a_person_can_give_them(#[case] previous: Value) {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    made_again(&mut cluster);
    cluster.pass();
    let entry = json!({"kind": "FelixConfiguration", "name": "default", "field": "vxlanEnabled", "previous": previous});
    cluster.edit_spec(|s| s.calico.originals.values = vec![serde_json::from_value(entry).unwrap()]);
    cluster.pass();
    assert!(!cluster.original(FELIX, "vxlanEnabled").unwrap().unknown);
    let restoration = cluster.restore();
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanEnabled"), previous);
    assert!(restoration.left.iter().all(|l| !l.contains("vxlanEnabled")));
}

/// With the finalizer and our values but neither status nor managed fields, it came out of a backup of the whole cluster.
#[rstest]
#[case::from_a_backup(true)]
#[case::new(false)]
fn without_managed_fields_the_config_tells(#[case] backup: bool) {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    made_again(&mut cluster);
    cluster.store.belong_to_calico("velero-server");
    cluster.look();
    if backup {
        cluster.config_mut().metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
        let defaulted = WindowsNodeConfigStatus {
            observed_generation: Some(-1),
            ..Default::default()
        };
        cluster.config_mut().status = Some(defaulted);
    }
    cluster.pass();
    assert_eq!(cluster.original(IPAM, "strictAffinity").unwrap().unknown, backup);
    assert_eq!(known(&mut cluster).0 == "False", backup);
}

/// A change of network keeps values that it restores in our apply. After the deletion they are still there, and another object
/// that wants just these must not take them for traces of ours.
#[test]
fn what_was_restored_is_no_trace() {
    let bgp = |cluster: &mut Cluster| cluster.edit_spec(|s| s.network.type_ = NetworkType::CalicoBgp);
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    bgp(&mut cluster);
    cluster.pass();
    cluster.pass();
    assert!(cluster.restore().left.is_empty());
    made_again(&mut cluster);
    bgp(&mut cluster);
    cluster.pass();
    assert_eq!(known(&mut cluster).0, "True");
}

/// A person wrote our value before we did: then it is Calico's own, whoever made the config.
#[test]
fn a_value_that_was_right_from_the_start_is_known() {
    let mut cluster = Cluster::vxlan();
    cluster.update(IPAM, DEFAULT, PERSON, json!({"strictAffinity": true}));
    cluster.pass();
    made_again(&mut cluster);
    cluster.pass();
    let original = cluster.original(IPAM, "strictAffinity").unwrap();
    assert_eq!((original.unknown, original.previous), (false, Some(json!(true))));
}

/// The other network type needs other fields, and what is not known is neither restored nor lost.
#[test]
fn unknown_values_survive_a_change_of_network() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let vni = cluster.field(FELIX, DEFAULT, "vxlanVNI");
    made_again(&mut cluster);
    cluster.pass();
    cluster.edit_spec(|s| s.network.type_ = wn_api::spec::NetworkType::CalicoBgp);
    for _ in 0..3 {
        cluster.pass();
        assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), vni);
    }
}

/// Retained by an earlier config, or left by a lost one.
#[test]
fn an_object_that_nobody_else_wrote_to_was_created_by_us() {
    let mut cluster = Cluster::vxlan();
    cluster.delete(IPAM, DEFAULT);
    let before = cluster.store.specs();
    cluster.pass();
    made_again(&mut cluster);
    cluster.pass();
    let original = cluster.original(IPAM, "strictAffinity").unwrap();
    assert_eq!((original.created, original.unknown), (true, false));
    cluster.restore();
    assert_eq!(
        cluster.store.specs().contains_key(&(IPAM, DEFAULT.into())),
        before.contains_key(&(IPAM, DEFAULT.into()))
    );
}
