use super::*;
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T12:00:00Z";

fn shown(status: Value) -> String {
    let mut config = json!({
        "apiVersion": "windowsnode.dev/v1alpha1", "kind": "WindowsNodeConfig",
        "metadata": {"name": "default", "generation": 2},
        "spec": {"network": {"type": "CalicoVXLAN"}},
    });
    if !status.is_null() {
        config["status"] = status;
    }
    let config = serde_json::from_value(config).unwrap();
    let text = of(&config, NOW.parse().unwrap());
    anstream::adapter::strip_str(&text).to_string()
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T11:55:00Z"})
}

#[test]
fn one_screen() {
    let text = shown(json!({
        "observedGeneration": 2,
        "calico": {"version": "v3.32.1"},
        "platform": {"name": "EKS", "source": "Node spec.providerID"},
        "conditions": [
            condition("Ready", "False", "NodesNotReady", "1 of 2 Windows nodes"),
            condition("Stalled", "False", "AsExpected", "not shown"),
            condition("Advisories", "True", "AdvisoriesFound", "1 Warning"),
        ],
        "nodeAgent": {"management": "Managed", "daemonSet": "ns/calico-node-windows", "version": "v3.32.1", "desired": 2, "updated": 1, "ready": 1},
        "kubeProxy": {"management": "External", "managedBy": "EKS"},
        "nodes": {
            "summary": "1/2", "total": 2, "ready": 1, "failing": 1,
            "reasons": [{"reason": "NoIPAMBlock", "nodes": 1, "names": ["win-1"]}],
            "list": [
                {"name": "win-1", "ready": false, "state": "Failing", "reason": "NoIPAMBlock", "message": "no\u{1b}[31m block", "since": "2026-01-01T09:00:00Z"},
                {"name": "win-0", "ready": true, "state": "Ready"},
            ],
        },
        "advisories": {"summary": "1 Warning", "list": [
            {"code": "WN1001", "severity": "Warning", "object": "FelixConfiguration default", "field": "spec.wireguardEnabled", "message": "m", "source": "s"},
        ]},
        "workloads": {"summary": "21 Error", "omitted": 20, "list": [
            {"code": "WN4001", "severity": "Error", "object": "Deployment shop/web", "message": "m"},
        ]},
        "pendingChanges": ["set a", "set b"],
    }));
    let expected = "\
WindowsNodeConfig default: CalicoVXLAN, mode Manage, Calico v3.32.1, platform EKS

Conditions
  Ready       False  NodesNotReady    5m  1 of 2 Windows nodes
  Stalled     False  AsExpected       5m
  Advisories  True   AdvisoriesFound  5m  1 Warning

Windows nodes: 1 of 2 ready, 0 progressing, 1 failing, 0 unknown
  win-1  Failing  NoIPAMBlock  3h  no\u{241b}[31m block

Reasons, with the number of nodes (`explain REASON` says more)
  NoIPAMBlock  1  win-1

Rollouts
  ns/calico-node-windows  1 of 2 updated, 1 ready  v3.32.1 Managed
  kubeProxy               External (EKS)

Advisories: 1 Warning
  WN1001  Warning  FelixConfiguration default spec.wireguardEnabled  m

Policies, Services and pods: 21 Error
  WN4001  Error  Deployment shop/web  m
  and 20 more

Mode Observe: Manage would
  set a
  set b
";
    assert_eq!(text, expected);
}

#[test]
fn an_old_status_is_named() {
    assert!(shown(json!({"observedGeneration": 1})).contains("of an earlier spec"));
    assert!(
        shown(json!({"observedGeneration": 2}))
            .lines()
            .all(|line| !line.contains("earlier"))
    );
    assert!(shown(Value::Null).contains("is the operator running?"));
}

#[test]
fn long_lists_are_cut() {
    let changes: Vec<_> = (0..12).map(|i| format!("set {i}")).collect();
    let text = shown(json!({"observedGeneration": 2, "pendingChanges": changes}));
    assert!(
        text.contains("  set 9\n  and 2 more: `plan` shows all\n"),
        "{text}"
    );
}
