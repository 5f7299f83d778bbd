//! Whatever the cluster or etcd holds, it is taken in and a pass over it ends: no panic, no endless recursion.

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use wn_api::WindowsNodeConfig;
use wn_plan::applied::Applied;
use wn_plan::calico::flap_guard::FlapGuard;
use wn_plan::decide::decide;
use wn_plan::node::{ClusterContext, Table, node_update};
use wn_plan::observed::{Observed, SandboxFailure, Topic};
use wn_plan::status;
use wn_plan::validate::validate;

/// Texts that a reader may parse: times at the ends of the range, networks, versions, names.
const TEXTS: &[&str] = &[
    "",
    "True",
    "False",
    "Unknown",
    "Windows",
    "windows",
    "Pod",
    "kubelet",
    "win-0",
    "default",
    "9999-12-30T21:59:00Z",
    "9999-12-31T23:59:59.999999999+00:00",
    "-009999-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01 00:00:00.1 +0000 UTC",
    "9999-12-31 23:59:59 +0000 UTC",
    "10.0.0.0/8",
    "0.0.0.0/0",
    "255.255.255.255/32",
    "10.0.0.1/33",
    "fd00::/64",
    "255.255.255.255",
    "v1.33.4",
    "v4294967295.4294967295.4294967295",
    "v0.0.0",
    "10.0.20348.4294967295",
    "18446744073709551616",
    "-1",
    "1e400",
    "64k",
    "all()",
    "has(env) && !(env == 'prod')",
    "{\"Network\":\"10.0.0.0/8\",\"Backend\":{\"Type\":\"vxlan\",\"VNI\":1e99}}",
    "{\"a\":{\"a\":{\"a\":[[[[[[]]]]]]}}}",
    "a: &a [*a, *a]",
    "clusters: [{cluster: {server: 'https://[::1]:99999'}}]",
    "networking: {serviceSubnet: ',', dnsDomain: 7}",
    "E1121 18:04:32.000522      32 run.go:72] \u{1f980}\u{0}",
    "\u{1f980}\u{200f}é",
    "registry/kube-proxy:v1.33.4@sha256:0",
    "host:win-0",
    "windows-reserved-ipam-handle",
    "FailedCreatePodSandBox",
    "calico-node-windows",
    "kube-proxy-windows",
    "projectcalico.org/v3",
];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        8 => select(TEXTS).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![select(TEXTS).prop_map(str::to_owned), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// One object that has a field of every kind of object we read, so that a changed field is one somebody reads.
fn sample() -> Value {
    let text = include_str!("hostile_sample.json");
    serde_json::from_str(text).unwrap()
}

fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, inner)| places(inner, &format!("{at}/{}", escaped(name)), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, inner)| places(inner, &format!("{at}/{i}"), found)),
        _ => {}
    }
}

/// The sample with some of its values replaced, or anything at all.
fn object() -> impl Strategy<Value = Value> {
    let mut all = Vec::new();
    places(&sample(), "", &mut all);
    all.remove(0);
    let changed = prop::collection::vec((select(all), anything()), 0..6).prop_map(|changes| {
        let mut object = sample();
        for (place, value) in changes {
            if let Some(slot) = object.pointer_mut(&place) {
                *slot = value;
            }
        }
        object
    });
    prop_oneof![4 => changed, 1 => anything()]
}

fn topics() -> Vec<Topic> {
    Topic::all().collect()
}

/// A config of a network type, as a user writes it.
fn config(network: &str) -> WindowsNodeConfig {
    serde_json::from_value(json!({
        "apiVersion": "windowsnode.dev/v1alpha1",
        "kind": "WindowsNodeConfig",
        "metadata": {"name": "default", "uid": "u", "generation": 1},
        "spec": {"network": {"type": network}},
    }))
    .unwrap()
}

/// A pass over the cluster, a verdict on each node, and the status that says so.
fn pass(observed: &Observed, config: &WindowsNodeConfig, now: Timestamp) {
    let Ok(valid) = validate(&config.spec, observed) else {
        return;
    };
    let plan = decide(valid, config, observed, &FlapGuard::default(), now);
    let cluster = ClusterContext::of(&config.spec, observed, &plan);
    let mut table = Table::default();
    for (name, facts) in &observed.nodes {
        let judged = table.judge(name, observed, &cluster, now);
        if let Some(verdict) = &judged.verdict {
            let label = cluster.label(facts);
            let _ = node_update(config.spec.readiness.taint, label, facts, verdict, now, now);
        }
    }
    let nodes = status::Nodes {
        table: &table,
        cluster: &cluster,
    };
    let settled = status::Settled {
        lint: &wn_plan::lint::Lint::Reading,
        generation: config.metadata.generation,
        observed,
        plan: &plan,
        applied: &Applied::default(),
        nodes,
    };
    let _ = status::assemble(config, status::Outcome::Settled(settled), now);
}

proptest! {
    #![proptest_config(crate::fake::kept())]

    #[test]
    fn a_pass_over_anything_ends(
        objects in prop::collection::vec((select(topics()), select(vec!["win-0", "default"]), object()), 1..12),
        network in select(vec!["CalicoVXLAN", "CalicoBGP", "FlannelVXLAN", "StaticRoutes", "CloudProvider"]),
    ) {
        let mut observed = Observed {
            namespace: "operator".to_owned(),
            kubernetes: "v1.33.4".parse().ok(),
            ..Observed::default()
        };
        observed.nodes.insert("win-0".to_owned(), wn_plan::observed::NodeFacts::default());
        for (topic, name, object) in &objects {
            let key = (String::new(), (*name).to_owned());
            let _ = observed.take(*topic, &key, Some(object), Timestamp::now());
            let _ = observed.keys(*topic);
        }
        pass(&observed, &config(network), Timestamp::now());
    }

    #[test]
    fn a_claim_is_held_against_any_pod(event in object(), pod in object()) {
        if let Some(failure) = SandboxFailure::read(&event) {
            let _ = failure.is_borne_out_by(&pod);
        }
    }
}

/// Deeper than any reader may follow; the parser refuses what is deeper still.
#[test]
fn depth_is_no_harm() {
    let deep = (0..120).fold(json!("9999-12-30T21:59:00Z"), |inner, i| {
        if i % 2 == 0 {
            json!([inner])
        } else {
            Value::Object(Map::from_iter([("spec".to_owned(), inner)]))
        }
    });
    let mut observed = Observed::default();
    for topic in topics() {
        let key = (String::new(), "win-0".to_owned());
        let _ = observed.take(topic, &key, Some(&deep), Timestamp::now());
    }
    pass(&observed, &config("CalicoVXLAN"), Timestamp::now());
}
