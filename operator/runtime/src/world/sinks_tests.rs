//! What wakes the plan, and what does not.

use serde_json::{Value, json};
use wn_plan::observed::Observed;

use super::super::Topic;
use super::{Touched, take};

fn pod(observed: &mut Observed, namespace: &str, name: &str, app: Option<&str>) -> bool {
    let object: Option<Value> = app.map(|app| {
        json!({
            "metadata": {"namespace": namespace, "name": name, "labels": {"k8s-app": app}},
            "spec": {"nodeName": "win-0"},
        })
    });
    let key = (namespace.to_owned(), name.to_owned());
    let Touched { plan, .. } = take(Topic::Pods, observed, &key, object.as_ref());
    plan
}

/// A node's pods are that node's matter; that the last one of an agent has gone is everybody's.
#[test]
fn first_and_last_pod_of_an_agent_wake_the_plan() {
    let mut observed = Observed::default();
    let agent = Some("calico-node-windows");
    assert!(pod(&mut observed, "ours", "a", agent), "the first");
    assert!(!pod(&mut observed, "ours", "a", agent), "nothing changed");
    assert!(!pod(&mut observed, "ours", "b", agent));
    assert!(pod(&mut observed, "theirs", "a", agent), "the first of another");
    assert!(!pod(&mut observed, "ours", "p", Some("kube-proxy-windows")));
    assert!(!pod(&mut observed, "ours", "a", None));
    assert!(pod(&mut observed, "ours", "b", None), "the last");
    assert!(!pod(&mut observed, "ours", "p", None));
}

/// Fields of the Installation are facts twice: what is set, with its owners, and what is only read.
#[test]
fn an_installation_is_taken_in_and_out() {
    let mut observed = Observed::default();
    let key = (String::new(), "default".to_owned());
    let object = json!({
        "metadata": {"name": "default", "resourceVersion": "7"},
        "spec": {"calicoNetwork": {"windowsDataplane": "HNS"}},
        "status": {"variant": "Calico"},
    });
    assert!(take(Topic::Installation, &mut observed, &key, Some(&object)).plan);
    assert!(!take(Topic::Installation, &mut observed, &key, Some(&object)).plan);
    assert!(
        observed
            .installation
            .as_ref()
            .is_some_and(|i| i.windows_hns && i.accepted)
    );
    assert_eq!(observed.calico.objects.len(), 1);
    assert!(take(Topic::Installation, &mut observed, &key, None).plan);
    assert!(observed.installation.is_none() && observed.calico.objects.is_empty());

    let other = (String::new(), "apiserver".to_owned());
    assert!(!take(Topic::TigeraStatus, &mut observed, &other, Some(&json!({}))).plan);
    let key = (String::new(), "calico-windows".to_owned());
    let status = |at: &str| {
        json!({"status": {"conditions": [
            {"type": "Degraded", "status": "True", "reason": "R", "message": "M", "lastTransitionTime": at},
        ]}})
    };
    assert!(take(Topic::TigeraStatus, &mut observed, &key, Some(&status("1"))).plan);
    assert!(
        !take(Topic::TigeraStatus, &mut observed, &key, Some(&status("2"))).plan,
        "a time is no fact"
    );
}
