//! Facts of host endpoints.

use serde_json::Value;

use super::text;

/// Label of those that calico-kube-controllers makes, one for every node (`hepCreatedLabelKey`).
const CREATED_BY: &str = "projectcalico.org/created-by";

/// The node of a `HostEndpoint` that a person made. There may be an automatic one for every node; that they are
/// made is known from `KubeControllersConfiguration`.
pub fn node(object: &Value) -> Option<String> {
    let label = object.pointer("/metadata/labels").and_then(|l| l.get(CREATED_BY));
    // In v1 Calico keeps the metadata it believes in an annotation.
    let recorded = object
        .pointer("/metadata/annotations")
        .and_then(|a| a.get("projectcalico.org/metadata"));
    let recorded = recorded
        .and_then(Value::as_str)
        .is_some_and(|m| m.contains(CREATED_BY));
    (label.is_none() && !recorded).then(|| text(object, "/spec/node").to_owned())
}

/// Does `KubeControllersConfiguration` `default` ask for a host endpoint for every node?
pub fn automatic(object: &Value) -> bool {
    text(object, "/spec/controllers/node/hostEndpoint/autoCreate") == "Enabled"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn automatic_ones_are_not_kept() {
        let endpoint = |metadata: Value| json!({"metadata": metadata, "spec": {"node": "win-0"}});
        assert_eq!(
            node(&endpoint(json!({"labels": {"a": "b"}}))).as_deref(),
            Some("win-0")
        );
        let label = json!({"labels": {"projectcalico.org/created-by": "calico-kube-controllers"}});
        assert_eq!(node(&endpoint(label)), None);
        let recorded = r#"{"labels":{"projectcalico.org/created-by":"calico-kube-controllers"}}"#;
        assert_eq!(
            node(&endpoint(
                json!({"annotations": {"projectcalico.org/metadata": recorded}})
            )),
            None
        );
    }

    #[test]
    fn only_enabled_is_enabled() {
        let of = |value: &str| {
            automatic(&json!({"spec": {"controllers": {"node": {"hostEndpoint": {"autoCreate": value}}}}}))
        };
        assert!(of("Enabled"));
        assert!(!of("Disabled") && !automatic(&json!({"spec": {"controllers": {}}})));
    }
}
