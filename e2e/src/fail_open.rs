//! A policy that Felix on Windows does not enforce, and the same policy written so that it does.

use serde_json::{Value, json};
use wn_api::calico::CalicoApi;

pub const NAMESPACE: &str = "shop";
pub const POLICY: &str = "members-only";
/// Code of its finding.
pub const CODE: &str = "WN2001";

/// A Deployment for Windows nodes. With `hostNetwork`, which Windows does not have, it has a finding itself.
pub fn deployment(app: &str, host_network: bool) -> Value {
    let pod = json!({
        "metadata": {"labels": {"app": app}},
        "spec": {
            "os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "hostNetwork": host_network,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "registry.example.com/app:1"}],
        },
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": app}}, "template": pod},
    })
}

/// Denies everyone who is not in the network of the pods. Felix skips the rule because of `notNets`: everyone may connect.
pub fn policy(calico_api: CalicoApi) -> Value {
    json!({
        "apiVersion": format!("{}/{}", calico_api.group(), calico_api.version()),
        "kind": "GlobalNetworkPolicy", "metadata": {"name": POLICY},
        "spec": {
            "selector": "app == 'web'", "types": ["Ingress"], "order": 10,
            "ingress": [{"action": "Deny", "source": {"notNets": ["10.244.0.0/16"]}}, {"action": "Allow"}],
        },
    })
}

/// A merge patch to rules that mean the same without a negation. The order changes, too: Felix v3.32.1 does not apply an edit of rules
/// alone to running pods.
pub fn fix() -> Value {
    json!({"spec": {"order": 11, "ingress": [{"action": "Allow", "source": {"nets": ["10.244.0.0/16"]}}]}})
}
