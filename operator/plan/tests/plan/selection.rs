//! `spec.nodeSelector`: what is rendered for some of the Windows nodes, and what the others have no say in.

use serde_json::{Value, json};
use wn_plan::decide::Plan;

use crate::common::*;

const CANARY: &str = "nodeSelector: {pool: canary}";
const PROXY: &str = "kube-proxy-windows";

/// `win-0` of the pool `canary`, and `old`, which is not, can do no DSR and has an older kubelet.
fn cluster(spec: &str) -> Cluster {
    let mut cluster = Cluster::vxlan().with_spec(spec);
    let canary = cluster.observed.nodes.get_mut("win-0").unwrap();
    canary.labels = [("kubernetes.io/os", "windows"), ("pool", "canary")].into();
    let mut old = windows_node();
    (old.kernel_version, old.kubelet_version) = ("10.0.17763.1000".into(), "v1.34.1".into());
    cluster.observed.nodes.insert("old".into(), old);
    cluster
}

/// Name and node selector of each DaemonSet that a plan applies.
fn selectors(plan: &Plan) -> Vec<(&str, &Value)> {
    let sets = plan.objects.iter().filter(|o| o.body["kind"] == "DaemonSet");
    sets.map(|o| {
        (
            o.object.name.as_str(),
            &o.body["spec"]["template"]["spec"]["nodeSelector"],
        )
    })
    .collect()
}

#[test]
fn every_daemon_set_has_the_selector_and_the_system() {
    let merged = json!({"kubernetes.io/os": "windows", "pool": "canary"});
    let plan = cluster(CANARY).plan();
    assert_eq!(
        selectors(&plan),
        [("calico-node-windows", &merged), (PROXY, &merged)]
    );
    let windows = json!({"kubernetes.io/os": "windows"});
    let plan = Cluster::vxlan()
        .with_spec("nodeSelector: {kubernetes.io/os: windows}")
        .plan();
    assert_eq!(
        selectors(&plan),
        [("calico-node-windows", &windows), (PROXY, &windows)]
    );
}

/// An old node that is not selected neither needs a kube-proxy of its own nor holds back its version.
#[test]
fn other_nodes_decide_nothing_about_kube_proxy() {
    let mut canary = cluster(CANARY);
    canary.pass();
    let status = canary.config().status.clone().unwrap();
    let proxy = status.kube_proxy.unwrap();
    assert_eq!(
        (proxy.version.as_deref(), proxy.groups.len()),
        (Some("v1.36.3"), 0)
    );
    let labels = &canary.observed.nodes["old"].labels;
    assert_eq!(labels.get("windowsnode.dev/kube-proxy"), None);

    let mut all = cluster("");
    all.pass();
    let proxy = all.config().status.clone().unwrap().kube_proxy.unwrap();
    assert_eq!(proxy.version.as_deref(), Some("v1.34.1"));
}

/// An apply removes what it no longer names; what is stored still has all that is wanted, and one label more.
#[test]
fn a_selector_that_is_removed_is_removed_from_the_daemon_sets() {
    let mut cluster = Cluster::vxlan().with_spec(CANARY);
    cluster.pass();
    assert!(cluster.pass().objects.is_empty());
    cluster.edit_spec(|s| s.node_selector.clear());
    let plan = cluster.pass();
    let windows = json!({"kubernetes.io/os": "windows"});
    assert_eq!(
        selectors(&plan),
        [("calico-node-windows", &windows), (PROXY, &windows)]
    );
    assert!(
        plan.objects.iter().all(|o| !o.drift),
        "the user changed the spec, and nobody the DaemonSet"
    );
    assert!(cluster.pass().objects.is_empty());
}
