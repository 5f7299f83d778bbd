//! Against keys and values as Calico v3.32.1 wrote them into etcd 3.6.

use proptest::prelude::*;
use rstest::rstest;
use serde::Deserialize;
use serde_json::value::RawValue;
use wn_plan::observed::{AffinityFacts, Announced, BlockFacts, ClusterInformation, ConfigObject};

use super::*;

const PREFIX: &str = "/calico";

#[derive(Deserialize)]
struct Entry {
    key: String,
    value: Box<RawValue>,
}

fn entries() -> Vec<(String, String)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../e2e/control-plane/calico/etcd/keys.jsonl"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<Entry>(line).unwrap());
    entries.map(|e| (e.key, e.value.get().to_owned())).collect()
}

#[test]
fn reads_all_that_real_calico_wrote() {
    let mut seen = 0;
    for (text, value) in entries() {
        let Some((topic, name)) = place(PREFIX, &text) else {
            assert!(text.contains("/handle/"), "{text} is not read");
            continue;
        };
        let kv = KeyValue {
            key: text.clone().into_bytes(),
            value: value.into(),
            ..KeyValue::default()
        };
        let read = object(topic, &name, &kv).unwrap();
        assert!(
            read["spec"].is_object() && read["metadata"]["name"] == name,
            "{read}"
        );
        if let Topic::Calico(kind) = topic {
            assert_eq!(key(PREFIX, kind, &name), text);
            assert!(!ConfigObject::read(kind, &read).spec.is_empty(), "{read}");
        }
        seen += 1;
    }
    assert!(seen >= TOPICS.len(), "{seen} entries");
}

fn value(key: &str) -> String {
    entries().into_iter().find(|(known, _)| known == key).unwrap().1
}

fn read(key: &str) -> (Topic, String, Value) {
    let kv = KeyValue {
        key: key.into(),
        mod_revision: 7,
        version: 2,
        value: value(key).into_bytes(),
    };
    let (topic, name) = place(PREFIX, key).unwrap();
    let object = object(topic, &name, &kv).unwrap();
    (topic, name, object)
}

const FELIX: &str = "/calico/resources/v3/projectcalico.org/felixconfigurations/default";
const POOL: &str = "/calico/resources/v3/projectcalico.org/ippools/default-ipv4-ippool";
const IPAM: &str = "/calico/ipam/v2/config";

#[test]
fn every_key_is_placed_where_it_is_watched() {
    let mut found = Vec::new();
    for (text, _) in entries() {
        let Some((topic, _)) = place(PREFIX, &text) else {
            assert!(text.contains("/handle/"), "{text} is not read");
            continue;
        };
        let watching = |t: &Topic| {
            let (from, to) = span(PREFIX, *t);
            let key = text.as_bytes();
            if to.is_empty() {
                key == from
            } else {
                from.as_slice() <= key && key < to.as_slice()
            }
        };
        assert_eq!(
            TOPICS.iter().copied().filter(watching).collect::<Vec<_>>(),
            [topic],
            "{text}"
        );
        found.push(topic);
    }
    assert!(TOPICS.iter().all(|topic| found.contains(topic)), "{found:?}");
    assert_eq!(place("/other", IPAM), None);
    assert_eq!(
        place(PREFIX, "/calico/resources/v3/projectcalico.org/tiers/default"),
        None
    );
}

#[test]
fn written_keys_are_those_that_are_read() {
    for (kind, name, expected) in [
        (ConfigKind::IpamConfiguration, "default", IPAM),
        (ConfigKind::IpPool, "default-ipv4-ippool", POOL),
        (ConfigKind::FelixConfiguration, "default", FELIX),
    ] {
        assert_eq!(key(PREFIX, kind, name), expected);
        assert_eq!(
            place(PREFIX, expected),
            Some((Topic::Calico(kind), name.to_owned()))
        );
    }
}

#[test]
fn facts_are_those_of_custom_resources() {
    let (_, name, ipam) = read(IPAM);
    let facts = ConfigObject::read(ConfigKind::IpamConfiguration, &ipam);
    assert_eq!(
        (name.as_str(), facts.is_true("strictAffinity")),
        ("default", true)
    );
    assert_eq!(
        (facts.resource_version.as_str(), facts.etcd_writes),
        ("7", Some(2))
    );
    let (_, _, pool) = read(POOL);
    let facts = ConfigObject::read(ConfigKind::IpPool, &pool);
    assert_eq!(
        (facts.text("cidr"), facts.text("ipipMode")),
        ("10.244.0.0/16", "Always")
    );
    let (_, _, block) = read("/calico/ipam/v2/assignment/ipv4/block/10.244.194.128-26");
    let facts = BlockFacts::read(&block).unwrap();
    assert_eq!(
        (facts.host.as_str(), facts.reserved, facts.serves_linux_pods),
        ("win-0", true, false)
    );
    let (_, _, block) = read("/calico/ipam/v2/assignment/ipv4/block/10.244.179.192-26");
    let facts = BlockFacts::read(&block).unwrap();
    assert_eq!((facts.reserved, facts.serves_linux_pods), (false, true));
    let (_, _, affinity) = read("/calico/ipam/v2/host/win-0/ipv4/block/10.244.194.128-26");
    let facts = AffinityFacts::read(&affinity).unwrap();
    assert_eq!(
        (facts.node.as_str(), facts.cidr.as_str(), facts.confirmed),
        ("win-0", "10.244.194.128/26", true)
    );
    let (_, _, cluster) = read("/calico/resources/v3/projectcalico.org/clusterinformations/default");
    let facts = ClusterInformation::read(&cluster);
    assert_eq!(
        (facts.calico_version.as_str(), facts.datastore_ready),
        ("v3.32.1", true)
    );
    let (_, _, node) = read("/calico/resources/v3/projectcalico.org/nodes/win-0");
    assert_eq!(Announced::read(&node).bgp_address, "192.168.1.10/24");
}

#[test]
fn what_is_not_changed_stays_byte_for_byte() {
    for (kind, at) in [
        (ConfigKind::IpamConfiguration, IPAM),
        (ConfigKind::IpPool, POOL),
        (ConfigKind::FelixConfiguration, FELIX),
    ] {
        assert_eq!(edit(kind, &value(at), &Vec::new()).unwrap(), value(at));
    }
}

#[test]
fn a_pool_is_changed_in_place() {
    let (always, never) = (json!("Always"), json!("Never"));
    let fields = vec![("ipipMode", Some(&never)), ("vxlanMode", Some(&always))];
    let after = edit(ConfigKind::IpPool, &value(POOL), &fields).unwrap();
    let before = value(POOL);
    let expected = before.replace(
        r#""vxlanMode":"Never","ipipMode":"Always""#,
        r#""vxlanMode":"Always","ipipMode":"Never""#,
    );
    assert!(after == expected && after != before, "{after}");
}

#[test]
fn new_fields_of_felix_stand_where_go_writes_them() {
    let (yes, no, vni, port) = (json!(true), json!(false), json!(4096), json!(4789));
    let fields = vec![
        ("ipipEnabled", Some(&no)),
        ("vxlanEnabled", Some(&yes)),
        ("vxlanVNI", Some(&vni)),
        ("vxlanPort", Some(&port)),
    ];
    let after = edit(ConfigKind::FelixConfiguration, &value(FELIX), &fields).unwrap();
    let expected = value(FELIX).replace(
        r#""ipipEnabled":true,"vxlanVNI":4096"#,
        r#""ipipEnabled":false,"vxlanEnabled":true,"vxlanPort":4789,"vxlanVNI":4096"#,
    );
    assert_eq!(after, expected);
    let back = vec![
        ("ipipEnabled", Some(&yes)),
        ("vxlanEnabled", None),
        ("vxlanPort", None),
    ];
    let restored = edit(ConfigKind::FelixConfiguration, &after, &back).unwrap();
    assert_eq!(restored, value(FELIX));
}

/// Go leaves out a switch that is false, and real Calico wrote what comes of it.
#[test]
fn the_switches_of_ipam_have_other_names() {
    let off = r#"{"auto_allocate_blocks":true,"kubeVirtVMAddressPersistence":"Enabled"}"#;
    let kv = KeyValue {
        value: off.into(),
        ..KeyValue::default()
    };
    let kind = ConfigKind::IpamConfiguration;
    let read = object(Topic::Calico(kind), "default", &kv).unwrap();
    assert_eq!(read["spec"]["strictAffinity"], false);
    let on = edit(kind, off, &vec![("strictAffinity", Some(&json!(true)))]).unwrap();
    assert_eq!(on, value(IPAM));
    let back = edit(kind, &on, &vec![("strictAffinity", Some(&json!(false)))]).unwrap();
    assert_eq!(back, off);
}

#[test]
fn creates_what_calico_would() {
    let (yes, no) = (json!(true), json!(false));
    let fields = vec![("autoAllocateBlocks", Some(&yes)), ("strictAffinity", Some(&yes))];
    let ipam = create(ConfigKind::IpamConfiguration, "default", &fields, "u", "t").unwrap();
    assert_eq!(ipam, r#"{"strict_affinity":true,"auto_allocate_blocks":true}"#);
    let fields = vec![("vxlanEnabled", Some(&yes)), ("ipipEnabled", Some(&no))];
    let uid = "2a9e0510-2047-401e-a387-3f688aaa943a";
    let felix = create(
        ConfigKind::FelixConfiguration,
        "default",
        &fields,
        uid,
        "2026-11-21T10:52:22Z",
    )
    .unwrap();
    let (head, _) = felix.split_once(r#""spec""#).unwrap();
    assert!(value(FELIX).starts_with(head), "{felix}");
    assert!(
        felix.ends_with(r#""spec":{"ipipEnabled":false,"vxlanEnabled":true}}"#),
        "{felix}"
    );
}

/// Whoever may write to etcd may write anything: it is refused, or read, and nothing else happens.
#[rstest]
#[case::a_text(r#""text""#)]
#[case::a_number("7")]
#[case::a_list("[{}]")]
#[case::nothing("null")]
#[case::metadata_of_a_number(r#"{"metadata":7,"spec":{}}"#)]
#[case::metadata_of_a_list(r#"{"metadata":[],"spec":{}}"#)]
#[case::no_json("{")]
fn what_is_no_object_is_refused(#[case] value: &str) {
    let kv = KeyValue {
        value: value.into(),
        ..KeyValue::default()
    };
    for topic in TOPICS {
        let read = object(topic, "win-0/10.0.0.0-26", &kv);
        let metadata_count = !matches!(
            topic,
            Topic::Blocks | Topic::Affinities | Topic::Calico(ConfigKind::IpamConfiguration)
        );
        assert!(
            read.is_err() || (!metadata_count && value.starts_with('{')),
            "{topic:?}: {read:?}"
        );
    }
}

proptest! {
    #![proptest_config(crate::fake::kept())]

    #[test]
    fn any_key_and_value_are_read_or_refused(
        name in prop_oneof![Just("10.0.0.0-26".to_owned()), any::<String>()],
        value in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            "[{}\\[\\]:,\"0-9a-z ]{0,40}".prop_map(String::into_bytes),
            Just(br#"{"spec":{"a":{"b":[1,2]}},"metadata":{"name":"x"}}"#.to_vec()),
        ],
        field in prop_oneof![Just("spec".to_owned()), any::<String>()],
    ) {
        let kv = KeyValue { value: value.clone(), ..KeyValue::default() };
        for topic in TOPICS {
            let _ = place(PREFIX, &format!("{PREFIX}{BLOCKS}{name}"));
            let _ = place(&name, &String::from_utf8_lossy(&value));
            let _ = object(topic, &name, &kv);
        }
        let set = json!({"a": 1});
        let fields = vec![(field.as_str(), Some(&set)), ("vxlanMode", None)];
        for kind in [ConfigKind::IpamConfiguration, ConfigKind::IpPool] {
            let _ = edit(kind, &String::from_utf8_lossy(&value), &fields);
        }
    }
}
