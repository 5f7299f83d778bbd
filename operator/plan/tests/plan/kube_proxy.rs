//! kube-proxy over nodes of which some cannot do DSR: one DaemonSet for each group of nodes.

use rstest::rstest;
use serde_json::{Value, json};
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_plan::decide::Plan;
use wn_plan::observed::DaemonSetFacts;

use crate::common::*;

const OLD: &str = "10.0.17763.1000";
const UPDATED: &str = "10.0.17763.1432";
const PROXY: &str = "kube-proxy-windows";
const WITHOUT_DSR: &str = "kube-proxy-windows-no-dsr";
const DSR: &str = "--enable-dsr=true";

/// A cluster with `win-0`, and `old` that has the kernel.
fn mixed(spec: &str, kernel: &str) -> Cluster {
    let mut cluster = Cluster::vxlan().with_spec(spec);
    let mut node = windows_node();
    node.kernel_version = kernel.into();
    cluster.observed.nodes.insert("old".into(), node);
    cluster
}

/// The DaemonSet that a plan applies; null when it is as it should be, or not wanted.
fn applied(plan: &Plan, name: &str) -> Value {
    let found = plan
        .objects
        .iter()
        .find(|o| o.body["kind"] == "DaemonSet" && o.object.name == name);
    found.map(|o| o.body.clone()).unwrap_or_default()
}

fn has_dsr(daemon_set: &Value) -> bool {
    let args = &daemon_set["spec"]["template"]["spec"]["containers"][0]["args"];
    args.as_array().unwrap().contains(&json!(DSR))
}

/// Names of the objects a plan deletes.
fn deleted(plan: &Plan) -> Vec<&str> {
    plan.deletions.iter().map(|(_, o)| o.name.as_str()).collect()
}

fn label(cluster: &Cluster, node: &str) -> Option<String> {
    let labels = &cluster.observed.nodes[node].labels;
    labels.get(KUBE_PROXY_GROUP).map(str::to_owned)
}

fn update(cluster: &mut Cluster, kernel: &str) {
    cluster.observed.nodes.get_mut("old").unwrap().kernel_version = kernel.into();
}

fn condition(cluster: &Cluster) -> (String, String) {
    let status = cluster.config().status.as_ref().unwrap();
    let found = status.conditions.iter().find(|c| c.type_ == "KubeProxyAvailable");
    let found = found.unwrap();
    (
        format!("{} {}", found.status, found.reason),
        found.message.clone(),
    )
}

/// Nodes with the advice that network policy on ClusterIPs is not enforced.
fn unenforced(cluster: &mut Cluster) -> Vec<String> {
    let plan = cluster.pass();
    let status = cluster.status(&plan);
    let advised = |n: &wn_api::status::NodeStatus| {
        n.advice
            .iter()
            .any(|a| a.starts_with("ClusterIPPolicyNotEnforced"))
    };
    let mut nodes: Vec<_> = status.nodes.unwrap().list;
    nodes.retain(advised);
    let mut names: Vec<_> = nodes.into_iter().map(|n| n.name).collect();
    names.sort_unstable();
    names
}

/// What follows from `spec.kubeProxy.dsr` and the build of node `old`: DSR of the common DaemonSet, that of the other one
/// if it is made, the label, and the nodes where policy is not enforced.
#[rstest]
#[case::able("", UPDATED, true, None, None, &[])]
#[case::unable("", OLD, true, Some(false), Some("no-dsr"), &["old"])]
#[case::unknown_build("", "", true, None, None, &[])]
#[case::off_for_all("kubeProxy: {dsr: Disabled}", OLD, false, None, None, &["old", "win-0"])]
#[case::on_for_all("kubeProxy: {dsr: Enabled}", UPDATED, true, None, None, &[])]
#[case::impossible("kubeProxy: {dsr: Enabled}", OLD, true, None, Some("no-dsr"), &[])]
fn groups(
    #[case] spec: &str,
    #[case] kernel: &str,
    #[case] common: bool,
    #[case] other: Option<bool>,
    #[case] labelled: Option<&str>,
    #[case] without_policy: &[&str],
) {
    let mut cluster = mixed(spec, kernel);
    let first = cluster.pass();
    assert_eq!(label(&cluster, "old").as_deref(), labelled);
    assert_eq!(label(&cluster, "win-0"), None);
    let second = cluster.pass();
    // The label comes before the DaemonSets.
    let plan = if labelled.is_some() {
        assert_eq!(applied(&first, PROXY), Value::Null);
        second
    } else {
        first
    };
    assert_eq!(has_dsr(&applied(&plan, PROXY)), common);
    let found = applied(&plan, WITHOUT_DSR);
    assert_eq!((!found.is_null()).then(|| has_dsr(&found)), other);
    cluster.roll_out();
    assert_eq!(unenforced(&mut cluster), without_policy);
}

/// Each pod is confined to its group, of which a node is in one, and asks for a port of the host, of which there is one.
#[test]
fn never_two_on_a_node() {
    let mut cluster = mixed("", OLD);
    cluster.pass();
    let plan = cluster.pass();
    let pod = |name: &str| applied(&plan, name)["spec"]["template"]["spec"].clone();
    let (common, other) = (pod(PROXY), pod(WITHOUT_DSR));
    let terms = common
        .pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    assert_eq!(
        terms,
        Some(&json!([{"matchExpressions": [{"key": KUBE_PROXY_GROUP, "operator": "DoesNotExist"}]}]))
    );
    assert_eq!(other["nodeSelector"][KUBE_PROXY_GROUP], "no-dsr");
    for pod in [common, other] {
        assert_eq!(pod["nodeSelector"]["kubernetes.io/os"], "windows");
        assert_eq!(pod["containers"][0]["ports"][0]["hostPort"], 10256);
    }
    let selector = |name: &str| applied(&plan, name)["spec"]["selector"]["matchLabels"].clone();
    assert_ne!(selector(PROXY), selector(WITHOUT_DSR));
}

/// A node that cannot do DSR changes nothing about the others' DaemonSet.
#[test]
fn an_old_node_does_not_roll_the_others() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let old = mixed("", OLD).observed.nodes["old"].clone();
    cluster.observed.nodes.insert("old".into(), old);
    assert_eq!(applied(&cluster.pass(), WITHOUT_DSR), Value::Null);
    let plan = cluster.pass();
    assert_eq!(applied(&plan, PROXY), Value::Null);
    assert!(!has_dsr(&applied(&plan, WITHOUT_DSR)));
    assert!(plan.objects.iter().all(|o| !o.drift), "made, not repaired");
    cluster.roll_out();
    assert!(cluster.pass().objects.is_empty());
    let (state, message) = condition(&cluster);
    assert_eq!(state, "True AsExpected");
    assert!(message.contains("DSR is off on old"), "{message}");
    let status = cluster.config().status.clone().unwrap().kube_proxy.unwrap();
    assert_eq!((status.desired, status.ready), (2, 2));
    let groups: Vec<_> = status
        .groups
        .iter()
        .map(|g| (g.daemon_set.as_str(), g.ready))
        .collect();
    let place = |name: &str| format!("{NAMESPACE}/{name}");
    assert_eq!(
        groups,
        [(place(PROXY).as_str(), 1), (place(WITHOUT_DSR).as_str(), 1)]
    );
}

/// Updated, the node moves back, and the DaemonSet of nobody goes.
#[test]
fn an_updated_node_moves() {
    let mut cluster = mixed("", OLD);
    cluster.pass();
    cluster.pass();
    update(&mut cluster, UPDATED);
    let plan = cluster.pass();
    assert_eq!(deleted(&plan), [WITHOUT_DSR]);
    assert!(plan.objects.is_empty());
    assert_eq!(label(&cluster, "old"), None);
    cluster.roll_out();
    cluster.pass();
    assert_eq!(condition(&cluster).0, "True AsExpected");
    let status = cluster.config().status.clone().unwrap().kube_proxy.unwrap();
    assert!(status.groups.is_empty());
}

/// All nodes are old: the common DaemonSet has no pod, and everything is rolled out.
#[test]
fn a_group_of_all_nodes() {
    let mut cluster = mixed("", OLD);
    cluster.observed.nodes.remove("win-0");
    cluster.pass();
    cluster.pass();
    cluster.roll_out();
    cluster.pass();
    assert_eq!(condition(&cluster).0, "True AsExpected");
}

/// DSR for all is asked for, and one node cannot: the others' kube-proxy is kept right, that of the node left alone.
#[test]
fn an_impossible_wish_holds_back_one_group() {
    let mut cluster = mixed("", OLD);
    cluster.pass();
    cluster.pass();
    cluster.edit_spec(|s| s.kube_proxy = spec("kubeProxy: {dsr: Enabled, extraArgs: ['--v=4']}").kube_proxy);
    let plan = cluster.pass();
    assert!(applied(&plan, PROXY).to_string().contains("--v=4"));
    assert_eq!(applied(&plan, WITHOUT_DSR), Value::Null);
    assert!(plan.deletions.is_empty());
    let (state, message) = condition(&cluster);
    assert_eq!(state, "False DSRUnsupported");
    assert!(message.contains("Windows build of old"), "{message}");
}

#[test]
fn drift_is_repaired_in_each_group() {
    let mut cluster = mixed("", OLD);
    cluster.pass();
    cluster.pass();
    cluster.observed.ours.retain(|o, _| o.name != WITHOUT_DSR);
    let plan = cluster.pass();
    let repaired: Vec<_> = plan
        .objects
        .iter()
        .map(|o| (o.object.name.as_str(), o.drift))
        .collect();
    assert_eq!(repaired, [(WITHOUT_DSR, true)]);
}

/// Where somebody else runs kube-proxy, neither DaemonSet nor label of ours stays.
#[test]
fn ours_go_with_their_labels() {
    let mut cluster = mixed("", OLD);
    cluster.pass();
    cluster.pass();
    cluster.edit_spec(|s| s.kube_proxy.management = wn_api::spec::Management::External);
    let plan = cluster.pass();
    assert!(deleted(&plan).contains(&PROXY) && deleted(&plan).contains(&WITHOUT_DSR));
    assert_eq!(label(&cluster, "old"), None);
}

/// Somebody else's kube-proxy is judged by what its DaemonSet, or RKE2, says of it.
#[rstest]
#[case::on(&["--proxy-mode=kernelspace", "--enable-dsr=true"], "v1.36.3", &[])]
#[case::off(&["--proxy-mode=kernelspace"], "v1.36.3", &["ClusterIPPolicyNotEnforced"])]
#[case::not_said(&["start.ps1"], "v1.36.3", &[])]
#[case::newer(&["--enable-dsr=true"], "v1.37.0", &["KubeProxyVersionSkew"])]
#[case::oldest(&["--enable-dsr=true"], "v1.33.14", &[])]
#[case::too_old(&["--enable-dsr=true"], "v1.32.14", &["KubeProxyVersionSkew"])]
fn a_foreign_kube_proxy(#[case] args: &[&str], #[case] tag: &str, #[case] expected: &[&str]) {
    let mut cluster = Cluster::vxlan();
    let facts = DaemonSetFacts::read(&json!({"spec": {"template": {"spec": {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "containers": [{"image": format!("example/kube-proxy:{tag}"), "args": args}],
    }}}}));
    let place = ("kube-system".into(), "theirs".into());
    cluster.observed.daemon_sets.insert(place, facts.unwrap());
    cluster.pass();
    cluster.roll_out();
    let plan = cluster.pass();
    let advice = cluster.status(&plan).nodes.unwrap().list.remove(0).advice;
    let ours = ["KubeProxyVersionSkew", "ClusterIPPolicyNotEnforced"];
    let reasons = advice.iter().filter_map(|a| a.split(':').next());
    let reasons: Vec<_> = reasons.filter(|reason| ours.contains(reason)).collect();
    assert_eq!(reasons, expected);
}
