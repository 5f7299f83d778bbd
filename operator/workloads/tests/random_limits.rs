//! Random Services and pods: nothing panics, whatever the fields have.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::limits::{self, Known};

/// Kinds that are read for Services and pods, with their `apiVersion`.
const KINDS: [(&str, &str); 15] = [
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ReplicationController"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("policy/v1", "PodDisruptionBudget"),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("projectcalico.org/v3", "IPPool"),
];

/// Names of fields that are read.
const FIELDS: [&str; 40] = [
    "spec",
    "template",
    "jobTemplate",
    "metadata",
    "labels",
    "nodeSelector",
    "nodeName",
    "containers",
    "image",
    "env",
    "name",
    "value",
    "ports",
    "containerPort",
    "hostPort",
    "targetPort",
    "selector",
    "replicas",
    "os",
    "affinity",
    "nodeAffinity",
    "tolerations",
    "securityContext",
    "windowsOptions",
    "hostProcess",
    "command",
    "livenessProbe",
    "exec",
    "dnsConfig",
    "searches",
    "minAvailable",
    "maxUnavailable",
    "blockSize",
    "cidr",
    "taints",
    "status",
    "nodeInfo",
    "kernelVersion",
    "endpoints",
    "addresses",
];

/// Texts that mean something to a check, and some that do not.
const TEXTS: [&str; 18] = [
    "windows",
    "linux",
    "win",
    "10.0.17763.1",
    "10.0.4294967296",
    "10.0.",
    "kubernetes.io/os",
    "Exists",
    "In",
    "ClientIP",
    "Local",
    "servercore:ltsc2019",
    "http://win.win:80",
    "99999999999999999999%",
    "-1%",
    "::",
    "",
    "é/\u{0}:@",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![select(TEXTS.to_vec()).prop_map(str::to_owned), ".{0,12}"]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..70_000).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        let key = prop_oneof![select(FIELDS.to_vec()).prop_map(str::to_owned), text()];
        let fields = prop::collection::vec((key, inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    (select(KINDS.to_vec()), any_json(), any_json()).prop_map(|((api, kind), spec, status)| {
        json!({
            "apiVersion": api, "kind": kind, "metadata": {"name": "win", "namespace": "win"},
            "spec": spec, "status": status,
        })
    })
}

/// A spec of a pod whose fields have their types and any value.
fn pod_spec() -> impl Strategy<Value = Value> {
    let number = || any::<u16>();
    (text(), text(), text(), text(), number(), any::<bool>(), text(), text()).prop_map(
        |(node, key, value, image, port, flag, word, search)| {
            json!({
                "nodeName": node, "nodeSelector": {(key.clone()): value.clone()}, "os": {"name": value.clone()},
                "hostNetwork": flag, "dnsConfig": {"searches": [search.clone(), search]},
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": key.clone(), "operator": word.clone(), "values": [value.clone()]}]},
                ]}}},
                "tolerations": [{"key": key, "operator": word.clone(), "value": value}],
                "securityContext": {"windowsOptions": {"hostProcess": flag}, "sysctls": port},
                "containers": [{
                    "image": image, "command": [word.clone()], "env": [{"name": "X", "value": word}],
                    "ports": [{"name": "http", "containerPort": port, "hostPort": port}],
                }],
            })
        },
    )
}

/// Objects that can be read, and refer to each other.
fn world() -> impl Strategy<Value = Vec<Value>> {
    (pod_spec(), pod_spec(), any::<i64>(), any::<u8>(), text(), text(), text()).prop_map(
        |(template, pod, number, bits, version, percent, word)| {
            let metadata = |name: &str| json!({"name": name, "namespace": "win", "labels": {"app": "x"}});
            vec![
                json!({"apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": "win", "labels": {"kubernetes.io/os": "windows"}},
                    "spec": {"taints": [{"key": word.clone(), "effect": "NoSchedule"}]},
                    "status": {"nodeInfo": {"kernelVersion": version}}}),
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("a"), "spec": {
                    "replicas": number, "template": {"metadata": metadata("a"), "spec": template}}}),
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("p"), "spec": pod}),
                json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("win"), "spec": {
                    "selector": {"app": "x"}, "ports": [{"port": 1, "targetPort": word.clone()}],
                    "sessionAffinity": word.clone(), "externalIPs": [word.clone()], "externalTrafficPolicy": "Local",
                    "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": number}}}}),
                json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata("b"), "spec": {
                    "selector": {}, "minAvailable": percent, "maxUnavailable": number}}),
                json!({"apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": {"name": "i"}, "spec": {
                    "cidr": "10.0.0.0/8", "blockSize": bits, "nodeSelector": word}}),
                json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPConfiguration", "metadata": {"name": "default"},
                    "spec": {"serviceExternalIPs": [{"cidr": "0.0.0.0/0"}]}}),
            ]
        },
    )
}

fn judged(objects: &[Value]) -> Option<usize> {
    let text = json!({"kind": "List", "items": objects}).to_string();
    let read = Objects::read([Manifest {
        name: "random",
        text: &text,
    }])
    .ok()?;
    Some(limits::findings(&read, &Known::default()).len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_json_panics(objects in prop::collection::vec(any_object(), 1..6)) {
        judged(&objects);
    }

    #[test]
    fn no_value_panics(objects in world()) {
        prop_assert!(judged(&objects).is_some(), "objects of the right types can be read");
    }
}
