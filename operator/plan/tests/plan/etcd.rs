//! Etcd as Calico's datastore: what differs from custom resources, and what is reported when it cannot be used.

use insta::{assert_snapshot, assert_yaml_snapshot};
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, DEFAULT};
use wn_api::names::annotations::ETCD_CHECKSUM;
use wn_api::names::node_agent;
use wn_api::reasons::Reason;
use wn_api::spec::NetworkType;
use wn_plan::node::ClusterContext;
use wn_plan::observed::{Announced, EtcdTrouble, Observed};

use crate::common::*;

fn cluster() -> Cluster {
    Cluster::vxlan().in_etcd()
}

#[test]
fn no_definition_of_calico_is_needed() {
    let mut cluster = cluster();
    let plan = cluster.pass();
    assert_eq!(plan.calico.api, Some(CalicoApi::Etcd));
    assert_eq!(cluster.field(IPAM, DEFAULT, "strictAffinity"), true);
    assert_eq!(cluster.field(POOL, DEFAULT_POOL, "vxlanMode"), "Always");
    assert_eq!(cluster.field(FELIX, DEFAULT, "vxlanVNI"), 4096);
}

#[test]
fn drift_is_an_etcd_clients() {
    let mut cluster = cluster();
    cluster.pass();
    cluster.update(IPAM, DEFAULT, "whoever", json!({"strictAffinity": false}));
    let plan = cluster.plan();
    assert_eq!(
        plan.calico.writes[0].changes[0].drifted_by.as_deref(),
        Some("an etcd client")
    );
    for _ in 0..3 {
        cluster.pass();
        cluster.update(IPAM, DEFAULT, "whoever", json!({"strictAffinity": false}));
    }
    let messages = findings(&cluster.pass());
    assert!(
        messages[0].starts_with("Contested: ") && messages[0].contains("by an etcd client"),
        "{messages:?}"
    );
}

/// Calico made it before we could: its values are what is restored.
#[test]
fn a_lost_race_to_create_leaves_calicos_object() {
    let mut cluster = cluster();
    cluster.delete(IPAM, DEFAULT);
    let plan = cluster.plan();
    cluster.store_originals(&plan);
    assert!(cluster.original(IPAM, "strictAffinity").unwrap().created);
    let calicos = json!({"strictAffinity": false, "autoAllocateBlocks": true});
    cluster.update(IPAM, DEFAULT, CALICO, calicos.clone());
    cluster.pass();
    let original = cluster.original(IPAM, "strictAffinity").unwrap();
    assert_eq!((original.created, original.previous), (false, Some(json!(false))));
    cluster.restore();
    assert_eq!(
        Value::Object(cluster.store.specs()[&(IPAM, DEFAULT.into())].clone()),
        calicos
    );
}

/// The list of originals is stored before the writes. Etcd has no field managers that show which of two values the operator wrote.
#[rstest]
#[case::before_any_write(&[(NetworkType::CalicoBgp, 0)])]
#[case::after_one_write(&[(NetworkType::CalicoBgp, 1)])]
#[case::and_again_another_type(&[(NetworkType::CalicoBgp, 0), (NetworkType::CalicoVxlan, 0), (NetworkType::CalicoBgp, 1)])]
fn a_change_of_type_that_stops_half_way_is_restored(#[case] stopped: &[(NetworkType, usize)]) {
    for mut cluster in [cluster(), Cluster::vxlan()] {
        let original = cluster.store.specs();
        cluster.pass();
        assert_ne!(cluster.store.specs(), original);
        for (type_, writes) in stopped {
            cluster.config_mut().spec.network.type_ = *type_;
            let mut plan = cluster.plan();
            plan.calico.writes.truncate(*writes);
            cluster.apply(&plan);
        }
        let restoration = cluster.restore();
        assert!(restoration.left.is_empty(), "{:?}", restoration.left);
        assert_eq!(cluster.store.specs(), original);
    }
}

/// A second write to what we made may have been anybody's.
#[rstest]
#[case::untouched(false)]
#[case::touched(true)]
fn what_we_made_goes_if_it_is_surely_ours_alone(#[case] touched: bool) {
    let mut cluster = cluster();
    cluster.delete(IPAM, DEFAULT);
    cluster.pass();
    if touched {
        cluster.update(IPAM, DEFAULT, CALICO, json!({"maxBlocksPerHost": 5}));
    }
    let restoration = cluster.restore();
    let there = cluster.store.specs().contains_key(&(IPAM, DEFAULT.into()));
    assert_eq!((there, restoration.left.len()), (touched, usize::from(touched)));
}

fn unusable(trouble: EtcdTrouble) -> Cluster {
    let mut cluster = cluster();
    cluster.pass();
    cluster.observed.calico.etcd.as_mut().unwrap().trouble = Some(trouble);
    cluster
}

#[test]
fn trouble_is_reported_and_stops_nothing_that_runs() {
    let troubles = [
        EtcdTrouble::SecretMissing,
        EtcdTrouble::SecretForbidden,
        EtcdTrouble::SecretKeyMissing {
            key: "etcd-key".into(),
        },
        EtcdTrouble::CertificateInvalid {
            error: "no certificate".into(),
        },
        EtcdTrouble::Unreachable {
            endpoint: "https://10.0.0.10:2379".into(),
            error: "tcp connect error: Connection refused".into(),
        },
    ];
    let mut messages = Vec::new();
    for trouble in troubles {
        let mut cluster = unusable(trouble);
        let originals = cluster.originals();
        cluster.update(IPAM, DEFAULT, CALICO, json!({"strictAffinity": false}));
        let plan = cluster.pass();
        assert!(plan.calico.writes.is_empty() && plan.deletions.is_empty());
        let agent = |o: &wn_plan::component::ObjectWrite| o.object.name.starts_with(node_agent::DAEMON_SET);
        assert!(
            !plan.objects.iter().any(agent),
            "the agent is not rendered without its certificates"
        );
        assert_eq!(cluster.originals(), originals);
        messages.extend(findings(&plan));
    }
    assert_yaml_snapshot!("trouble", messages);
}

#[test]
fn an_etcd_without_calico_is_not_written_to() {
    let mut cluster = Cluster::without_calico(NetworkType::CalicoVxlan).in_etcd();
    let plan = cluster.pass();
    assert!(plan.calico.writes.is_empty());
    assert_yaml_snapshot!("empty", findings(&plan));
}

/// Its own values would be restored into the wrong store.
#[test]
fn the_kind_of_datastore_is_not_changed_while_something_is_to_be_restored() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let originals = cluster.originals();
    let mut cluster = cluster.in_etcd();
    cluster.update(IPAM, DEFAULT, CALICO, json!({"strictAffinity": false}));
    for _ in 0..2 {
        let plan = cluster.pass();
        assert!(plan.calico.writes.is_empty());
        assert_yaml_snapshot!("changed", findings(&plan));
        assert_eq!(cluster.originals(), originals);
    }
}

/// What is known is of the datastore that was named before.
#[rstest]
#[case::to_etcd(|c: &mut Cluster| c.observed.calico.etcd = None)]
#[case::from_etcd(|c: &mut Cluster| c.config_mut().spec.calico.datastore = spec("{}").calico.datastore)]
fn a_change_of_datastore_waits_until_it_is_read(#[case] change: fn(&mut Cluster)) {
    let mut cluster = cluster();
    change(&mut cluster);
    let plan = cluster.pass();
    assert!(plan.calico.writes.is_empty());
    assert_eq!(plan.calico.findings[0].reason, Reason::Progressing);
}

fn agent(cluster: &Cluster) -> (Value, String) {
    let plan = cluster.plan();
    let find = |name: &str| {
        plan.objects
            .iter()
            .find(|o| o.object.name == name)
            .unwrap()
            .body
            .clone()
    };
    let config = find(node_agent::CONFIG_MAP)["data"]["config"]
        .as_str()
        .unwrap()
        .to_owned();
    (find(node_agent::DAEMON_SET), config)
}

#[test]
fn the_agent_and_the_plugin_get_the_endpoints() {
    let (set, config) = agent(&cluster());
    let pod = &set["spec"]["template"]["spec"];
    let env = |container: &Value| -> Vec<String> {
        let of_etcd = |e: &&Value| {
            ["ETCD", "DATASTORE_TYPE", "TLS_ASSETS"]
                .iter()
                .any(|p| e["name"].as_str().unwrap().starts_with(p))
        };
        let list = container["env"].as_array().unwrap().iter().filter(of_etcd);
        list.map(|e| format!("{}={}", e["name"].as_str().unwrap(), e["value"].as_str().unwrap()))
            .collect()
    };
    let volume = pod["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|v| v["name"] == "etcd-certs")
        .unwrap();
    let mounts = |container: &Value| container["volumeMounts"].to_string().contains("/calico-secrets");
    let containers = pod["containers"].as_array().unwrap();
    assert!(containers.iter().all(mounts) && mounts(&pod["initContainers"][1]));
    assert_yaml_snapshot!(
        "agent",
        json!({
            "agent": env(&containers[0]), "installer": env(&pod["initContainers"][1]), "volume": volume,
        })
    );
    assert_snapshot!("cni_config", config);
}

#[test]
fn a_new_certificate_rolls_the_pods() {
    let mut cluster = cluster();
    let checksum = |cluster: &Cluster| {
        agent(cluster).0["spec"]["template"]["metadata"]["annotations"][ETCD_CHECKSUM].clone()
    };
    let before = checksum(&cluster);
    cluster.observed.calico.etcd.as_mut().unwrap().certificates = "other".into();
    assert!(before.is_string() && before != checksum(&cluster));
}

#[test]
fn nodes_announce_themselves_in_etcd() {
    let mut cluster = cluster();
    cluster.pass();
    cluster.roll_out();
    let reason = |observed: &Observed, cluster: &Cluster| {
        let cluster = ClusterContext::of(&cluster.config().spec, observed, &cluster.plan());
        let mut table = wn_plan::node::Table::default();
        let verdict = table
            .judge("win-0", observed, &cluster, at(10_000))
            .verdict
            .unwrap();
        verdict.cause().map(|f| f.message.clone()).unwrap_or_default()
    };
    // Annotations of the Node are left over from before.
    assert!(!cluster.observed.nodes["win-0"].tunnel_address.is_empty());
    let messages = reason(&cluster.observed, &cluster);
    assert!(
        messages.starts_with("Calico's node win-0 in etcd has no spec.ipv4VXLANTunnelAddr"),
        "{messages}"
    );
    let announced = Announced::read(&json!({
        "spec": {"ipv4VXLANTunnelAddr": "10.100.0.1", "vxlanTunnelMACAddr": "00:15:5d:00:00:01"},
    }));
    cluster.observed.calico.nodes.insert("win-0".into(), announced);
    assert_eq!(reason(&cluster.observed, &cluster), "");
}
