//! Random Services and pods that refer to each other.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

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

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![select(TEXTS.to_vec()).prop_map(str::to_owned), ".{0,12}"]
}

/// A spec of a pod whose fields have their types and any value.
pub fn pod_spec() -> impl Strategy<Value = Value> {
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
pub fn world() -> impl Strategy<Value = Vec<Value>> {
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
