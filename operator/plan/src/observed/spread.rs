//! Whether a DaemonSet's pods are scheduled on Windows nodes although it selects no operating system.

use serde_json::Value;
use wn_api::names::READINESS_TAINT;

use super::{items, text};

/// For a DaemonSet that does not say for which operating system it is: does it tolerate every taint? Whoever
/// selects nodes by a label or name of their own is taken to know which nodes these are.
pub fn anywhere(daemon_set: &Value) -> Option<bool> {
    const NODES: &str =
        "affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let pod = daemon_set.pointer("/spec/template/spec")?;
    let selects = pod
        .pointer("/nodeSelector")
        .and_then(Value::as_object)
        .is_some_and(|s| !s.is_empty());
    let named =
        selects || !text(pod, "/os/name").is_empty() || items(pod, &format!("/{NODES}")).next().is_some();
    (!named).then(|| {
        items(pod, "/tolerations").any(|t| {
            text(t, "/key").is_empty() && text(t, "/operator") == "Exists" && text(t, "/effect").is_empty()
        })
    })
}

/// Has a Node a taint that keeps pods off for good? Those of `node.kubernetes.io` and the like come and go with its health.
pub fn guarded(node: &Value) -> bool {
    const PASSING: [&str; 3] = [
        "node.kubernetes.io/",
        "node.cloudprovider.kubernetes.io/",
        READINESS_TAINT,
    ];
    let passing = |key: &str| PASSING.iter().any(|prefix| key.starts_with(prefix));
    items(node, "/spec/taints")
        .any(|t| matches!(text(t, "/effect"), "NoSchedule" | "NoExecute") && !passing(text(t, "/key")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;
    use wn_api::names::labels;

    #[rstest]
    #[case(json!({}), Some(false))]
    #[case(json!({"nodeSelector": {}}), Some(false))]
    #[case(json!({"tolerations": [{"operator": "Exists"}]}), Some(true))]
    #[case(json!({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}), Some(false))]
    #[case(json!({"tolerations": [{"key": "a", "operator": "Exists"}]}), Some(false))]
    #[case(json!({"nodeSelector": {labels::OS: "linux"}}), None)]
    #[case(json!({"nodeSelector": {"gpu": "yes"}}), None)]
    #[case(json!({"os": {"name": "linux"}}), None)]
    #[case(json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": []}]}}}}), None)]
    fn placed_anywhere(#[case] pod: Value, #[case] expected: Option<bool>) {
        assert_eq!(anywhere(&json!({"spec": {"template": {"spec": pod}}})), expected);
    }

    #[rstest]
    #[case("os", "NoSchedule", true)]
    #[case("os", "PreferNoSchedule", false)]
    #[case("node.kubernetes.io/unreachable", "NoExecute", false)]
    #[case("readiness.k8s.io/windows-network", "NoSchedule", false)]
    fn guarded_by_a_lasting_taint(#[case] key: &str, #[case] effect: &str, #[case] expected: bool) {
        assert_eq!(
            guarded(&json!({"spec": {"taints": [{"key": key, "effect": effect}]}})),
            expected
        );
    }
}
