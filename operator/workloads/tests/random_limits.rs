//! Random Services and pods: nothing panics, whatever the fields have.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

mod common;

use common::workloads::{text, world};
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
