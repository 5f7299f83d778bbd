//! Who runs each DaemonSet. Never two of a kind on one node.

use std::collections::BTreeMap;

use insta::assert_yaml_snapshot;
use rstest::{Context, rstest};
use wn_api::component::Component;
use wn_api::names::{kube_proxy, node_agent};
use wn_api::spec::Management;
use wn_plan::component::ownership::Ownership;
use wn_plan::decide::Plan;
use wn_plan::observed::OwnKind;

use crate::common::*;

const KUBE_PROXY_IMAGE: &str = "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess";

fn by(ownership: &Ownership) -> String {
    match ownership {
        Ownership::Managed => "Managed".to_owned(),
        Ownership::External { by } => format!("External: {by}"),
        Ownership::NotNeeded { why } => format!("NotNeeded: {why}"),
    }
}

/// The DaemonSets a plan leaves behind, of ours.
fn written(plan: &Plan) -> Vec<&str> {
    let daemon_sets = plan
        .objects
        .iter()
        .filter(|o| o.object.kind == OwnKind::DaemonSet);
    daemon_sets.map(|o| o.object.name.as_str()).collect()
}

fn label(cluster: &mut Cluster, key: &str) {
    let node = cluster.observed.nodes.get_mut("win-0").unwrap();
    node.labels = node.labels.iter().chain([(key, "x")]).collect();
}

type Arrange = fn(&mut Cluster);

/// Who runs the agent and who kube-proxy, under `Auto`.
#[rstest]
#[case::nobody_else(|_: &mut Cluster| {}, true, true)]
#[case::installation_hns(Cluster::install_hns, false, true)]
#[case::calico_manifest(|c: &mut Cluster| c.foreign_daemon_set("kube-system", node_agent::DAEMON_SET, "calico/node-windows:v3.32.1"), false, true)]
#[case::mirrored_agent(|c: &mut Cluster| c.foreign_daemon_set("x", "agent", "hub:5000/m/node-windows@sha256:00"), false, true)]
#[case::sig_windows_agent(|c: &mut Cluster| c.foreign_daemon_set("calico-system", "n", "sigwindowstools/calico-node:v3.26-hostprocess"), false, true)]
#[case::foreign_kube_proxy(|c: &mut Cluster| c.foreign_daemon_set("kube-system", "kube-proxy-windows", KUBE_PROXY_IMAGE), true, false)]
#[case::foreign_under_our_name(|c: &mut Cluster| c.foreign_daemon_set(NAMESPACE, kube_proxy::DAEMON_SET, KUBE_PROXY_IMAGE), true, false)]
#[case::eks(|c: &mut Cluster| label(c, "eks.amazonaws.com/nodegroup"), true, false)]
#[case::aks(|c: &mut Cluster| label(c, "kubernetes.azure.com/cluster"), true, false)]
#[case::gke(|c: &mut Cluster| label(c, "cloud.google.com/gke-nodepool"), true, false)]
#[case::wmco(|c: &mut Cluster| label(c, "windowsmachineconfig.openshift.io/version"), true, false)]
#[case::rke2(|c: &mut Cluster| c.observed.nodes.get_mut("win-0").unwrap().kubelet_version = "v1.36.3+rke2r1".into(), false, false)]
fn auto_stands_down_for_others(
    #[context] context: Context,
    #[case] arrange: Arrange,
    #[case] agent: bool,
    #[case] proxy: bool,
) {
    let mut cluster = Cluster::vxlan();
    arrange(&mut cluster);
    // Calico's own networking is refused on some of these: who runs what is another question.
    cluster.config_mut().spec.platform.accept_unsupported = true;
    let plan = cluster.plan();
    let snapshot = BTreeMap::from([
        ("agent", by(&plan.components[Component::NodeAgent].ownership)),
        ("kube-proxy", by(&plan.components[Component::KubeProxy].ownership)),
    ]);
    assert_yaml_snapshot!(context.description.unwrap(), snapshot);
    let expected: Vec<_> = [(agent, node_agent::DAEMON_SET), (proxy, kube_proxy::DAEMON_SET)]
        .into_iter()
        .filter_map(|(ours, name)| ours.then_some(name))
        .collect();
    assert_eq!(written(&plan), expected);

    // The user's word stands above what was found, both ways; only beside an Installation that says HNS ours stays away.
    let hns = cluster.observed.installation.is_some();
    cluster.edit_spec(|s| {
        (s.node_agent.management, s.kube_proxy.management) = (Management::Managed, Management::Managed)
    });
    assert_eq!(written(&cluster.plan()).len(), if hns { 1 } else { 2 });
    cluster.edit_spec(|s| {
        (s.node_agent.management, s.kube_proxy.management) = (Management::External, Management::External)
    });
    assert_eq!(written(&cluster.plan()).len(), 0);
}

/// Ours go, with their ConfigMaps, as soon as somebody else's is there.
#[rstest]
#[case::agent(Cluster::install_hns, &[node_agent::DAEMON_SET, node_agent::CONFIG_MAP])]
#[case::kube_proxy(
    |c: &mut Cluster| c.foreign_daemon_set("kube-system", "kube-proxy-windows", KUBE_PROXY_IMAGE),
    &[kube_proxy::DAEMON_SET, kube_proxy::CONFIG_MAP],
)]
#[case::by_the_user(
    |c: &mut Cluster| c.edit_spec(|s| s.kube_proxy.management = Management::External),
    &[kube_proxy::DAEMON_SET, kube_proxy::CONFIG_MAP],
)]
fn ours_are_deleted_when_others_take_over(#[case] takes_over: Arrange, #[case] expected: &[&str]) {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    takes_over(&mut cluster);
    let plan = cluster.pass();
    let mut names: Vec<_> = plan.deletions.iter().map(|(_, o)| o.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, expected);
    assert!(
        plan.objects
            .iter()
            .all(|o| plan.deletions.iter().all(|(_, gone)| *gone != o.object)),
        "never written and deleted at once"
    );
    assert!(cluster.plan().deletions.is_empty(), "once");
}

/// And come back when it is gone.
#[test]
fn ours_come_back() {
    let mut cluster = Cluster::vxlan();
    cluster.install_hns();
    assert_eq!(written(&cluster.pass()), [kube_proxy::DAEMON_SET]);
    cluster.delete(INSTALLATION, "default");
    assert_eq!(written(&cluster.pass()), [node_agent::DAEMON_SET]);
}

/// Our own DaemonSets are not somebody else's.
#[test]
fn we_do_not_stand_down_for_ourselves() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    assert_eq!(cluster.observed.daemon_sets.len(), 2);
    let plan = cluster.plan();
    assert_eq!(
        (
            &plan.components[Component::NodeAgent].ownership,
            &plan.components[Component::KubeProxy].ownership
        ),
        (&Ownership::Managed, &Ownership::Managed)
    );
    assert!(plan.deletions.is_empty());
}

/// Another instance of this operator, left over in another namespace: its DaemonSet counts as foreign.
#[test]
fn ours_of_another_namespace_is_foreign() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let mut other = Cluster::vxlan();
    let ours = cluster.observed.daemon_sets.into_iter();
    other.observed.daemon_sets = ours
        .map(|((_, name), facts)| (("elsewhere".to_owned(), name), facts))
        .collect();
    assert_eq!(written(&other.plan()), Vec::<&str>::new());
}

/// What tigera/operator waits for is done beside it, once, and never over what is there.
#[test]
fn beside_hns_its_preconditions_are_met() {
    let mut cluster = Cluster::vxlan();
    assert!(
        cluster.plan().services_endpoint.is_none(),
        "no Installation, no ConfigMap"
    );
    cluster.install_hns();
    let plan = cluster.pass();
    let config_map = plan.services_endpoint.as_ref().unwrap();
    assert_eq!(config_map["metadata"]["namespace"], "tigera-operator");
    let data =
        serde_json::json!({"KUBERNETES_SERVICE_HOST": "api.example.com", "KUBERNETES_SERVICE_PORT": "6443"});
    assert_eq!(config_map["data"], data);
    assert_eq!(cluster.field(IPAM, "default", "strictAffinity"), true);
    assert!(cluster.plan().services_endpoint.is_none());
}
