//! Pools: which are changed, which are waited for, and what Felix' configuration may be meanwhile.

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::DEFAULT;
use wn_api::reasons::Reason;
use wn_api::spec::{NetworkType, WhenInUse, WhenPoolsTooSmall};
use wn_plan::decide::Plan;
use wn_plan::observed::BlockFacts;

use crate::common::*;

fn kinds(plan: &Plan) -> Vec<wn_api::calico::ConfigKind> {
    plan.calico.writes.iter().map(|w| w.kind).collect()
}

#[rstest]
#[case(NetworkType::CalicoVxlan)]
#[case(NetworkType::CalicoBgp)]
fn a_pool_of_tigera_is_never_edited(#[case] network: NetworkType) {
    let mut cluster = Cluster::fresh(network);
    cluster.manage_by_tigera(DEFAULT_POOL);
    let plan = cluster.pass();
    assert_eq!(
        kinds(&plan),
        [IPAM],
        "neither the pool nor Felix, which must not go ahead of it"
    );
    assert_eq!(plan.calico.findings[0].reason, Reason::PoolManagedByOperator);
    assert_yaml_snapshot!(format!("tigera_{}", network.as_str()), findings(&plan));
}

#[test]
fn a_pool_of_tigera_that_is_right_is_fine() {
    let mut cluster = Cluster::vxlan();
    cluster.update(
        POOL,
        DEFAULT_POOL,
        "operator",
        json!({"ipipMode": "Never", "vxlanMode": "Always"}),
    );
    cluster.manage_by_tigera(DEFAULT_POOL);
    let plan = cluster.plan();
    assert!(plan.calico.findings.is_empty(), "{:?}", findings(&plan));
    assert_eq!(kinds(&plan), [IPAM, FELIX]);
}

#[test]
fn a_pool_in_use_is_held_until_migrate() {
    let mut cluster = Cluster::vxlan();
    cluster.serve_linux_pods("10.244.3.0/26");
    let plan = cluster.pass();
    assert_eq!(kinds(&plan), [IPAM]);
    assert!(
        plan.objects.is_empty(),
        "agents would start on a pool they cannot use"
    );
    assert_yaml_snapshot!("in_use", findings(&plan));
    cluster.edit_spec(|s| s.calico.encapsulation.when_in_use = WhenInUse::Migrate);
    let plan = cluster.pass();
    assert_eq!(kinds(&plan), [POOL, FELIX]);
    assert!(plan.calico.findings.is_empty());
}

/// Once the pool is ours, Linux pods on it are there *with* our encapsulation: holding would leave it broken.
#[test]
fn hold_does_not_block_repair_of_drift() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.serve_linux_pods("10.244.3.0/26");
    cluster.update(
        POOL,
        DEFAULT_POOL,
        "kubectl-edit",
        json!({"vxlanMode": "CrossSubnet"}),
    );
    let plan = cluster.pass();
    assert_eq!(
        lines(&plan),
        ["IPPool default-ipv4-ippool spec.vxlanMode from CrossSubnet to Always"]
    );
    assert!(plan.calico.findings.is_empty());
}

/// But another network type is a new change of encapsulation, and interrupts those pods.
#[test]
fn hold_blocks_a_switch_of_the_network_type() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.serve_linux_pods("10.244.3.0/26");
    cluster.edit_spec(|s| s.network.type_ = NetworkType::CalicoBgp);
    let plan = cluster.pass();
    assert_eq!(plan.calico.findings[0].reason, Reason::PoolInUse);
    assert!(plan.calico.writes.is_empty(), "{:?}", lines(&plan));
    assert!(plan.deletions.is_empty());
}

#[rstest]
#[case::disabled(json!({"disabled": true}))]
#[case::ipv6(json!({"cidr": "fd00:10:244::/64", "blockSize": 122}))]
#[case::tunnel_only(json!({"allowedUses": ["Tunnel"]}))]
#[case::linux_only(json!({"nodeSelector": "kubernetes.io/os == 'linux'"}))]
#[case::manual(json!({"assignmentMode": "Manual"}))]
#[case::small_blocks(json!({"blockSize": 30}))]
fn pools_windows_cannot_use_are_not_touched(#[case] but: Value) {
    let mut cluster = Cluster::vxlan();
    cluster.update(POOL, "other", CALICO, pool("10.10.0.0/16", "Always", "Never"));
    cluster.update(POOL, "other", CALICO, but.clone());
    let plan = cluster.pass();
    assert!(plan.calico.writes.iter().all(|w| w.name != "other"), "{but}");
    assert!(cluster.originals().iter().all(|o| o.name != "other"));
    assert_eq!(cluster.field(POOL, "other", "ipipMode"), "Always");
}

/// A pool only Linux nodes use may go on with IPIP, so Felix must go on doing it.
#[test]
fn felix_keeps_ipip_for_a_pool_of_linux_nodes() {
    let mut cluster = Cluster::vxlan();
    cluster.update(
        POOL,
        "linux",
        CALICO,
        pool("10.10.0.0/16", "CrossSubnet", "Never"),
    );
    cluster.update(
        POOL,
        "linux",
        CALICO,
        json!({"nodeSelector": "kubernetes.io/os == 'linux'"}),
    );
    let plan = cluster.pass();
    assert!(plan.calico.findings.is_empty());
    assert_eq!(kinds(&plan), [IPAM, POOL, FELIX]);
    assert_eq!(cluster.field(FELIX, DEFAULT, "ipipEnabled"), Value::Null);
    assert!(lines(&plan).iter().all(|l| !l.contains("ipipEnabled")));
}

/// Disabling a pool stops new addresses only; the pods that have one still send through Felix' tunnel.
#[test]
fn felix_keeps_ipip_for_pods_of_a_disabled_pool() {
    let mut cluster = Cluster::vxlan();
    cluster.update(POOL, "old", CALICO, pool("10.10.0.0/16", "Always", "Never"));
    cluster.update(POOL, "old", CALICO, json!({"disabled": true}));
    cluster.serve_linux_pods("10.10.1.0/26");
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "ipipEnabled"), Value::Null);
    // The last of them is gone.
    cluster.observed.calico.blocks = Default::default();
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "ipipEnabled"), false);
}

/// It turns up after we switched IPIP off: Felix gets its own value back.
#[test]
fn felix_gets_ipip_back_when_a_linux_pool_turns_up() {
    let mut cluster = Cluster::vxlan();
    cluster.update(FELIX, DEFAULT, CALICO, json!({"ipipEnabled": true}));
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "ipipEnabled"), false);
    cluster.update(POOL, "linux", CALICO, pool("10.10.0.0/16", "Always", "Never"));
    cluster.update(
        POOL,
        "linux",
        CALICO,
        json!({"nodeSelector": "kubernetes.io/os == 'linux'"}),
    );
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "ipipEnabled"), true);
    assert!(cluster.plan().calico.writes.is_empty());
}

#[test]
fn no_pool_for_windows() {
    let mut cluster = Cluster::vxlan();
    cluster.update(
        POOL,
        DEFAULT_POOL,
        CALICO,
        json!({"nodeSelector": "kubernetes.io/os == 'linux'"}),
    );
    let plan = cluster.plan();
    assert_eq!(kinds(&plan), [IPAM]);
    assert!(plan.objects.is_empty());
    assert_yaml_snapshot!("no_pool", findings(&plan));
}

/// One of two pools waits: the other is changed, Felix is not.
#[test]
fn felix_waits_for_the_last_pool() {
    let mut cluster = Cluster::vxlan();
    cluster.update(POOL, "second", CALICO, pool("10.10.0.0/16", "Always", "Never"));
    cluster.serve_linux_pods("10.10.1.0/26");
    let plan = cluster.pass();
    assert_eq!(kinds(&plan), [IPAM, POOL]);
    assert_eq!(plan.calico.writes[1].name, DEFAULT_POOL);
    assert_eq!(cluster.field(FELIX, DEFAULT, "ipipEnabled"), Value::Null);
}

/// The pool is as it must be, and Linux pods have addresses of it; what every packet carries is not.
fn overlay_in_use(felix: Value) -> Cluster {
    let mut cluster = Cluster::vxlan();
    let modes = json!({"ipipMode": "Never", "vxlanMode": "Always"});
    cluster.update(POOL, DEFAULT_POOL, CALICO, modes);
    cluster.update(FELIX, DEFAULT, CALICO, felix);
    cluster.serve_linux_pods("10.244.3.0/26");
    cluster
}

#[rstest]
#[case::vni_too_low(json!({"vxlanVNI": 42}), "vxlanVNI: 4096")]
#[case::vni_cut_by_felix(json!({"vxlanVNI": 70_000}), "vxlanVNI: 4096")]
#[case::port(json!({"vxlanPort": 8472}), "vxlanPort: 4789")]
#[case::both(json!({"vxlanVNI": 42, "vxlanPort": 8472}), "vxlanVNI: 4096, vxlanPort: 4789")]
fn what_every_packet_carries_is_held_until_migrate(#[case] felix: Value, #[case] wanted: &str) {
    let mut cluster = overlay_in_use(felix.clone());
    let plan = cluster.pass();
    assert_eq!(kinds(&plan), [IPAM]);
    assert!(
        plan.objects.is_empty(),
        "no agent joins an overlay it cannot speak"
    );
    let expected = format!(
        "PoolInUse: IPPool default-ipv4-ippool already serves pods on Linux nodes, whose traffic a change of encapsulation would interrupt; \
         waiting to set {wanted} of FelixConfiguration default: set spec.calico.encapsulation.whenInUse to Migrate to allow it"
    );
    assert_eq!(findings(&plan), [expected]);
    for (field, value) in felix.as_object().unwrap() {
        assert_eq!(cluster.field(FELIX, DEFAULT, field), *value);
    }
    let ready = &cluster.config().status.as_ref().unwrap().conditions[0];
    assert_eq!((ready.type_.as_str(), ready.status.as_str()), ("Ready", "False"));

    cluster.edit_spec(|s| s.calico.encapsulation.when_in_use = WhenInUse::Migrate);
    let plan = cluster.pass();
    assert_eq!(kinds(&plan), [FELIX]);
    assert!(plan.calico.findings.is_empty());
}

/// An explicit default value of Felix changes no packet.
#[rstest]
#[case::absent(json!({}))]
#[case::other_fields(json!({"vxlanEnabled": false, "ipipEnabled": true}))]
fn felix_is_set_where_no_packet_changes(#[case] felix: Value) {
    let plan = overlay_in_use(felix).pass();
    assert_eq!(kinds(&plan), [IPAM, FELIX]);
    assert!(plan.calico.findings.is_empty(), "{:?}", findings(&plan));
}

/// Linux nodes' own overlay counts, though Windows nodes get nothing of it.
#[test]
fn an_overlay_of_linux_nodes_alone_is_not_interrupted() {
    let mut cluster = Cluster::vxlan();
    let mut linux = pool("10.10.0.0/16", "Never", "CrossSubnet");
    linux["nodeSelector"] = json!("kubernetes.io/os == 'linux'");
    cluster.update(POOL, "linux", CALICO, linux);
    cluster.update(FELIX, DEFAULT, CALICO, json!({"vxlanVNI": 42}));
    cluster.serve_linux_pods("10.10.3.0/26");
    let plan = cluster.pass();
    assert_eq!(kinds(&plan), [IPAM, POOL]);
    assert_eq!(plan.calico.findings[0].reason, Reason::PoolInUse);
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), 42);
}

/// A VNI that the spec changes is a new request; agents stay with the one that Linux nodes have.
#[test]
fn another_vni_waits_and_agents_with_it() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.serve_linux_pods("10.244.3.0/26");
    cluster.edit_spec(|s| s.calico.vxlan = Some(wn_api::spec::Vxlan { vni: Some(5000) }));
    let plan = cluster.pass();
    assert_eq!(plan.calico.findings[0].reason, Reason::PoolInUse);
    assert_eq!((plan.calico.writes.len(), plan.objects.len()), (0, 0));
    // A change by hand is drift in any case.
    cluster.edit_spec(|s| s.calico.vxlan = None);
    cluster.update(FELIX, DEFAULT, "kubectl-edit", json!({"vxlanVNI": 7000}));
    assert_eq!(
        lines(&cluster.pass()),
        ["FelixConfiguration default spec.vxlanVNI from 7000 to 4096"]
    );

    cluster.edit_spec(|s| {
        s.calico.vxlan = Some(wn_api::spec::Vxlan { vni: Some(5000) });
        s.calico.encapsulation.when_in_use = WhenInUse::Migrate;
    });
    let plan = cluster.pass();
    assert_eq!(
        lines(&plan),
        ["FelixConfiguration default spec.vxlanVNI from 4096 to 5000"]
    );
    assert!(plan.objects.iter().any(|o| {
        o.body
            .to_string()
            .contains(r#"{"name":"VXLAN_VNI","value":"5000"}"#)
    }));
}

/// Another network type restores VNI and port, and that interrupts an overlay of Linux nodes as setting them did.
#[test]
fn giving_back_is_held_too() {
    let mut cluster = Cluster::vxlan();
    let mut linux = pool("10.10.0.0/16", "Never", "Always");
    linux["nodeSelector"] = json!("kubernetes.io/os == 'linux'");
    cluster.update(POOL, "linux", CALICO, linux);
    cluster.update(FELIX, DEFAULT, CALICO, json!({"vxlanVNI": 42}));
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), 4096);
    cluster.serve_linux_pods("10.10.3.0/26");
    cluster.edit_spec(|s| s.network.type_ = NetworkType::CalicoBgp);
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), 4096);
    assert!(cluster.plan().calico.writes.is_empty());
    cluster.observed.calico.blocks = Default::default();
    cluster.pass();
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), 42);
}

/// Calico's IPAM fails on every node while one pool's selector cannot be read.
#[test]
fn a_selector_that_cannot_be_read_is_said_and_its_pool_left() {
    let mut cluster = Cluster::vxlan();
    cluster.update(POOL, "odd", CALICO, pool("10.10.0.0/16", "Always", "Never"));
    cluster.update(POOL, "odd", CALICO, json!({"nodeSelector": "zone = 'a'"}));
    let plan = cluster.pass();
    assert_eq!(cluster.field(POOL, "odd", "ipipMode"), "Always");
    assert_yaml_snapshot!("unreadable_selector", findings(&plan));
}

/// A pool of four blocks: `taken` are of other nodes, and `nodes` Linux nodes have none.
fn small_pool(taken: u8, nodes: usize) -> Cluster {
    let mut cluster = Cluster::vxlan();
    cluster.observed.nodes.clear();
    cluster.delete(POOL, DEFAULT_POOL);
    cluster.update(POOL, "small", CALICO, pool("10.9.0.0/24", "Never", "Always"));
    for i in 0..taken {
        let block = BlockFacts {
            cidr: format!("10.9.0.{}/26", i * 64).parse().ok(),
            host: format!("gone-{i}"),
            ..BlockFacts::default()
        };
        cluster
            .observed
            .calico
            .blocks
            .insert((String::new(), format!("b{i}")), block);
    }
    let linux = (0..nodes).map(|i| (format!("linux-{i}"), linux_node()));
    cluster.observed.linux = linux.collect();
    cluster
}

#[rstest]
#[case::room_for_all(1, 3, true)]
#[case::one_too_many(1, 4, false)]
#[case::full(4, 1, false)]
#[case::nobody_needs_one(4, 0, true)]
fn strict_affinity_waits_for_room(#[case] taken: u8, #[case] nodes: usize, #[case] fits: bool) {
    let mut cluster = small_pool(taken, nodes);
    let plan = cluster.pass();
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), fits);
    assert_eq!(plan.calico.findings.is_empty(), fits, "{:?}", findings(&plan));
    assert_eq!(plan.calico.fit_for_agents, fits);
}

#[test]
fn pools_too_small_is_reported_until_overruled() {
    let mut cluster = small_pool(4, 1);
    let plan = cluster.pass();
    assert_yaml_snapshot!("too_small", findings(&plan));
    // A pool of other nodes' helps nobody.
    let mut other = pool("10.10.0.0/16", "Never", "Always");
    other["nodeSelector"] = json!("kubernetes.io/os == 'windows'");
    cluster.update(POOL, "windows", CALICO, other);
    assert_eq!(cluster.pass().calico.findings[0].reason, Reason::PoolsTooSmall);
    // One block the node has, or one pool more.
    let mut roomy = cluster.clone();
    roomy.update(POOL, "more", CALICO, pool("10.11.0.0/16", "Never", "Always"));
    assert!(roomy.pass().calico.findings.is_empty());

    cluster.edit_spec(|s| s.calico.when_pools_too_small = WhenPoolsTooSmall::Proceed);
    assert!(cluster.pass().calico.findings.is_empty());
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
    // What was set once is kept.
    cluster.edit_spec(|s| s.calico.when_pools_too_small = WhenPoolsTooSmall::Hold);
    cluster.update(IPAM, DEFAULT, "kubectl-edit", json!({"strictAffinity": false}));
    assert!(cluster.pass().calico.findings.is_empty());
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
}
