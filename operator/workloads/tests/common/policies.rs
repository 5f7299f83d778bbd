//! Random small clusters with policies.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const NETS: [&str; 5] = [
    "10.1.0.0/16",
    "10.1.0.2/32",
    "10.2.0.0/16",
    "192.168.0.0/24",
    "0.0.0.0/0",
];
const SELECTORS: [&str; 5] = [
    "app == 'a'",
    "app == 'b'",
    "all()",
    "!has(app)",
    "app in {'a', 'c'}",
];

pub fn pod(name: &str, address: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "n", "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [{"ports": [{"name": "http", "containerPort": 80}]}]},
        "status": {"podIP": address},
    })
}

pub fn world() -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "win", "labels": {"kubernetes.io/os": "windows"}},
            "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
        }),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
        pod("a", "10.1.0.1", "win"),
        pod("b", "10.1.0.2", "win"),
        pod("c", "10.2.0.3", "linux"),
        json!({
            "apiVersion": "projectcalico.org/v3", "kind": "Tier",
            "metadata": {"name": "first"}, "spec": {"order": 1},
        }),
    ]
}

fn ports() -> impl Strategy<Value = Value> {
    let port = select(vec![
        json!(80),
        json!(443),
        json!("80:90"),
        json!("http"),
        json!(17),
        json!("1:65535"),
    ]);
    prop::collection::vec(port, 1..3).prop_map(Value::Array)
}

/// Source or destination; with ports only if the rule has a protocol.
fn entity(with_ports: bool) -> impl Strategy<Value = Value> {
    let nets = || prop::collection::vec(select(NETS.to_vec()), 1..3);
    (
        proptest::option::weighted(0.3, nets()),
        proptest::option::weighted(0.15, select(NETS[..4].to_vec())),
        proptest::option::weighted(0.3, select(SELECTORS.to_vec())),
        proptest::option::weighted(0.15, select(SELECTORS.to_vec())),
        proptest::option::weighted(0.5, ports()),
    )
        .prop_map(move |(nets, not_nets, selector, not_selector, ports)| {
            let mut entity = json!({});
            let fields = [
                ("nets", nets.map(|nets| json!(nets))),
                ("notNets", not_nets.map(|net| json!([net]))),
                ("selector", selector.map(|s| json!(s))),
                ("notSelector", not_selector.map(|s| json!(s))),
                ("ports", ports.filter(|_| with_ports)),
            ];
            for (name, value) in fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
            {
                entity[name] = value;
            }
            entity
        })
}

fn rule() -> impl Strategy<Value = Value> {
    let action = select(vec!["Allow", "Allow", "Deny", "Pass", "Log"]);
    let protocol = proptest::option::of(select(vec!["TCP", "UDP", "ICMP"]));
    (action, protocol).prop_flat_map(|(action, protocol)| {
        let with_ports = matches!(protocol, Some("TCP" | "UDP"));
        (entity(with_ports), entity(with_ports)).prop_map(move |(source, destination)| {
            let mut rule = json!({"action": action, "source": source, "destination": destination});
            if let Some(protocol) = protocol {
                rule["protocol"] = json!(protocol);
            }
            rule
        })
    })
}

pub fn policy(name: usize) -> impl Strategy<Value = Value> {
    let kind = select(vec![
        "GlobalNetworkPolicy",
        "GlobalNetworkPolicy",
        "NetworkPolicy",
        "StagedNetworkPolicy",
    ]);
    let rules = || prop::collection::vec(rule(), 0..3);
    (kind, any::<bool>(), select(SELECTORS.to_vec()), rules(), rules()).prop_map(
        move |(kind, is_first, selector, ingress, egress)| {
            let tier = if is_first { "first" } else { "default" };
            json!({
                "apiVersion": "projectcalico.org/v3", "kind": kind,
                "metadata": {"name": format!("{tier}.p{name}"), "namespace": "n"},
                "spec": {"tier": tier, "order": name, "selector": selector, "ingress": ingress, "egress": egress},
            })
        },
    )
}
