//! What a person reads: conditions, their messages, the list of nodes.

use std::collections::BTreeMap;

use insta::assert_yaml_snapshot;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rstest::{Context, rstest};
use serde_json::json;
use wn_api::WindowsNodeConfigStatus;
use wn_api::calico::DEFAULT;
use wn_api::component::Component;
use wn_api::reasons::{Reason, conditions as types};
use wn_api::spec::{LogLevel, Mode, NetworkType};
use wn_plan::applied::{Applied, Failure, Part};
use wn_plan::finding::Finding;
use wn_plan::observed::Trouble;
use wn_plan::status::{self, Outcome};
use wn_plan::validate::validate;

use crate::common::*;

/// Every condition, and what kstatus makes of them: `e2e/tests/e2e/kstatus.rs` asks the real library about each snapshot.
fn rendered(status: &WindowsNodeConfigStatus) -> BTreeMap<String, String> {
    let conditions = status.conditions.iter().enumerate();
    let line = |c: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        format!("{} {}: {}", c.status, c.reason, c.message)
    };
    let lines = conditions.map(|(i, c)| (format!("{i:02} {}", c.type_), line(c)));
    let kstatus = ("kstatus".to_owned(), kstatus(status).to_owned());
    lines.chain([kstatus]).collect()
}

/// What kstatus computes (sigs.k8s.io/cli-utils `pkg/kstatus/status`).
fn kstatus(status: &WindowsNodeConfigStatus) -> &'static str {
    match summary(status) {
        [_, "True", _] => "InProgress",
        [_, _, "True"] => "Failed",
        ["True", _, _] => "Current",
        _ => "InProgress",
    }
}

fn condition<'a>(status: &'a WindowsNodeConfigStatus, type_: &str) -> (&'a str, &'a str) {
    let found = status.conditions.iter().find(|c| c.type_ == type_).unwrap();
    (&found.status, &found.reason)
}

/// Ready, Reconciling, Stalled.
fn summary(status: &WindowsNodeConfigStatus) -> [&str; 3] {
    [types::READY, types::RECONCILING, types::STALLED].map(|t| condition(status, t).0)
}

/// The status after a pass, and the invariants every status keeps.
fn after_pass(cluster: &mut Cluster) -> WindowsNodeConfigStatus {
    cluster.pass();
    let status = cluster.config().status.clone().unwrap();
    check(&status);
    status
}

fn check(status: &WindowsNodeConfigStatus) {
    let order: Vec<_> = status.conditions.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(order, types::ALL, "the full set, in order, always");
    let [ready, reconciling, stalled] = summary(status);
    // kstatus: an object that is ready neither reconciles nor stalls, and nothing does both.
    assert!(ready != "True" || (reconciling, stalled) == ("False", "False"));
    assert!((reconciling, stalled) != ("True", "True"));
    for c in &status.conditions {
        assert!(
            !c.message.is_empty() && c.message.len() < 1000,
            "{}: {}",
            c.type_,
            c.message
        );
        assert!(
            !c.message.ends_with('.') && !c.message.contains("  "),
            "{}",
            c.message
        );
    }
}

fn working() -> Cluster {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    cluster.roll_out();
    cluster
}

/// So many working nodes, of which some fail for good, without a word from their pods.
fn broken(nodes: usize, failing: usize) -> Cluster {
    let mut cluster = Cluster::vxlan();
    cluster.observed.nodes = (0..nodes)
        .map(|i| (format!("win-{i:03}"), windows_node()))
        .collect();
    cluster.pass();
    cluster.roll_out();
    for facts in cluster.observed.nodes.values_mut().take(failing) {
        facts.network_unavailable = true;
    }
    cluster.now = at(7200);
    cluster
}

fn with_minimum(mut cluster: Cluster, nodes: &str) -> Cluster {
    cluster.edit_spec(|s| s.readiness.min_ready_nodes = Some(IntOrString::String(nodes.into())));
    cluster
}

/// The last node has just joined, and has nothing yet.
fn coming_up(mut cluster: Cluster) -> Cluster {
    let name = cluster.observed.nodes.keys().next_back().unwrap().clone();
    cluster.observed.nodes.get_mut(&name).unwrap().created = Some(cluster.now);
    for daemon_set in ["calico-node-windows", "kube-proxy-windows"] {
        let key = (NAMESPACE.to_owned(), format!("{daemon_set}-{name}"));
        cluster.observed.pods.remove(&key).unwrap();
    }
    cluster
}

/// A rolling update of the agent has come so far.
fn rolling(mut cluster: Cluster, updated: i32, ready: i32) -> Cluster {
    let mut all = cluster.observed.daemon_sets.values_mut();
    let agent = all.find(|d| d.component == Component::NodeAgent).unwrap();
    (agent.updated, agent.ready) = (updated, ready);
    cluster
}

/// Two nodes of the pool `canary`, and one other, which nobody set up.
fn selecting(pool: &str) -> Cluster {
    let mut cluster = Cluster::vxlan().with_spec(&format!("nodeSelector: {{pool: {pool}}}"));
    for name in ["win-1", "win-2"] {
        let mut node = windows_node();
        node.labels = [("kubernetes.io/os", "windows"), ("pool", "canary")].into();
        cluster.observed.nodes.insert(name.into(), node);
    }
    cluster.pass();
    cluster.roll_out();
    cluster.now = at(7200);
    cluster
}

type Arrange = fn() -> Cluster;

#[rstest]
#[case::not_rolled_out(Cluster::vxlan, ["False", "True", "False"])]
#[case::ready(working, ["True", "False", "False"])]
#[case::pool_in_use(|| { let mut c = Cluster::vxlan(); c.serve_linux_pods("10.244.1.0/26"); c }, ["False", "False", "True"])]
#[case::conflict(|| {
    let mut c = Cluster::vxlan();
    c.apply_as(IPAM, DEFAULT, "argocd-controller", json!({"strictAffinity": false}));
    c
}, ["False", "False", "True"])]
#[case::report(|| Cluster::vxlan().with_spec("calico: {strictAffinity: Report}"), ["False", "False", "True"])]
#[case::observe(|| Cluster::vxlan().with_spec("mode: Observe"), ["True", "False", "False"])]
#[case::observe_what_needs_a_person(|| Cluster::vxlan().with_spec("{mode: Observe, calico: {strictAffinity: Report}}"), ["False", "False", "True"])]
#[case::observe_a_pending_daemon_set(|| {
    let mut c = working();
    c.edit_spec(|s| { s.mode = Mode::Observe; s.node_agent.log_level = Some(LogLevel::Debug); });
    c
}, ["True", "False", "False"])]
#[case::observe_a_broken_node(|| {
    let mut c = broken(3, 1);
    c.edit_spec(|s| s.mode = Mode::Observe);
    c
}, ["False", "False", "True"])]
#[case::one_broken_of_500(|| broken(500, 1), ["False", "False", "True"])]
#[case::one_broken_of_500_is_allowed(|| with_minimum(broken(500, 1), "99%"), ["True", "False", "False"])]
#[case::six_broken_of_500_are_too_many(|| with_minimum(broken(500, 6), "99%"), ["False", "False", "True"])]
#[case::readiness_without_nodes(|| with_minimum(broken(3, 3), "0"), ["True", "False", "False"])]
#[case::one_ready_node_is_enough(|| with_minimum(broken(3, 2), "1"), ["True", "False", "False"])]
#[case::a_minimum_above_the_count_is_all(|| with_minimum(broken(3, 1), "5"), ["False", "False", "True"])]
#[case::one_broken_and_one_that_comes_up(|| coming_up(broken(3, 1)), ["False", "False", "True"])]
#[case::one_allowed_and_one_that_comes_up(|| coming_up(with_minimum(broken(3, 1), "2")), ["False", "True", "False"])]
#[case::rollout_goes_on_beside_a_broken_node(|| rolling(broken(3, 1), 1, 3), ["False", "True", "False"])]
#[case::rollout_is_blocked_by_a_broken_node(|| rolling(broken(3, 1), 1, 2), ["False", "False", "True"])]
#[case::rollout_is_blocked_although_the_node_is_allowed(|| rolling(with_minimum(broken(3, 1), "2"), 1, 2), ["False", "False", "True"])]
#[case::on_delete_waits_for_nobody(|| {
    let mut c = working();
    for facts in c.observed.daemon_sets.values_mut() {
        (facts.updated, facts.max_unavailable) = (0, None);
    }
    c
}, ["True", "False", "False"])]
#[case::some_nodes_selected(|| selecting("canary"), ["True", "False", "False"])]
#[case::no_node_selected(|| selecting("nobody"), ["True", "False", "False"])]
#[case::no_windows_nodes(|| { let mut c = Cluster::vxlan(); c.observed.nodes.clear(); c }, ["True", "False", "False"])]
#[case::no_calico(|| Cluster::without_calico(NetworkType::CalicoVxlan), ["False", "True", "False"])]
#[case::calico_of_no_version_yet(|| {
    let mut c = Cluster::vxlan();
    c.observed.calico.cluster_information = None;
    c
}, ["False", "True", "False"])]
#[case::old_calico(|| {
    let mut c = Cluster::vxlan();
    c.observed.calico.cluster_information.as_mut().unwrap().calico_version = "v3.26.4".into();
    c
}, ["False", "False", "True"])]
#[case::no_inputs(|| { let mut c = Cluster::vxlan(); c.observed.sources.clear(); c }, ["False", "False", "True"])]
#[case::external(|| {
    let mut c = Cluster::vxlan();
    c.foreign_daemon_set("kube-system", "their-agent", "calico/node-windows:v3.32.1");
    set_up(&mut c.observed, "win-0", 0);
    c.foreign_daemon_set("kube-system", "kube-proxy-windows", "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess");
    c
}, ["True", "False", "False"])]
#[case::dsr_impossible(|| {
    let mut c = Cluster::vxlan().with_spec("kubeProxy: {dsr: Enabled}");
    c.observed.nodes.get_mut("win-0").unwrap().kernel_version = "10.0.17763.1000".into();
    c
}, ["False", "False", "True"])]
#[case::dsr_off_by_itself(|| {
    let mut c = working();
    c.observed.nodes.get_mut("win-0").unwrap().kernel_version = "10.0.17763.1000".into();
    c.pass();
    c.pass();
    c.roll_out();
    c
}, ["True", "False", "False"])]
#[case::pod_in_trouble(|| {
    let mut c = working();
    let (key, mut pod) = c.observed.pods.iter().map(|(k, p)| (k.clone(), p.clone())).next().unwrap();
    pod.ready = false;
    pod.trouble = Some(Box::new(Trouble {
        container: "install-cni".into(),
        reason: "CrashLoopBackOff".into(),
        message: "access denied".into(),
    }));
    c.observed.pods.insert(key, pod);
    c.observed.daemon_sets.values_mut().next().unwrap().ready = 0;
    c
}, ["False", "False", "True"])]
#[case::kubelet_down(|| {
    let mut c = working();
    let node = c.observed.nodes.get_mut("win-0").unwrap();
    (node.ready, node.ready_message) = (false, "container runtime is down".into());
    c
}, ["False", "False", "True"])]
fn conditions(#[context] context: Context, #[case] arrange: Arrange, #[case] expected: [&str; 3]) {
    let mut cluster = arrange();
    let status = after_pass(&mut cluster);
    let name = context.description.unwrap();
    assert_yaml_snapshot!(name, rendered(&status));
    assert_eq!(summary(&status), expected, "Ready, Reconciling, Stalled");
}

#[test]
fn an_invalid_spec_stalls() {
    let cluster = Cluster::vxlan().with_spec("network: {apiServer: {host: 10.96.0.1}}");
    let violations = validate(&cluster.config().spec, &cluster.observed).unwrap_err();
    let outcome = Outcome::Refused {
        violations: &violations,
    };
    let status = status::assemble(cluster.config(), outcome, at(0));
    check(&status);
    assert_eq!(summary(&status), ["False", "False", "True"]);
    assert_yaml_snapshot!("invalid_spec", rendered(&status));
}

#[test]
fn giving_back_is_said() {
    let status = status::assemble(
        working().config(),
        Outcome::Restoring {
            message: "waiting for the API server",
        },
        at(0),
    );
    check(&status);
    assert_eq!(summary(&status), ["False", "True", "False"]);
    assert_yaml_snapshot!("restoring", rendered(&status));
}

#[rstest]
#[case::read_forbidden(Reason::ReadForbidden, ["False", "False", "True"])]
#[case::read_failed(Reason::ReadFailed, ["False", "False", "False"])]
fn what_cannot_be_read(#[context] context: Context, #[case] reason: Reason, #[case] expected: [&str; 3]) {
    let finding = Finding {
        reason,
        message: "nodes cannot be read".into(),
    };
    let status = status::assemble(working().config(), Outcome::Unread { finding: &finding }, at(0));
    check(&status);
    assert_eq!(summary(&status), expected);
    assert_yaml_snapshot!(context.description.unwrap(), rendered(&status));
}

/// A failed write is tried again: work is under way, nobody need come, unless it is forbidden.
#[rstest]
fn a_failed_write(
    #[values(
        (Part::Calico, types::CALICO_CONFIGURED),
        (Part::Component(Component::NodeAgent), types::NODE_AGENT_AVAILABLE),
        (Part::Component(Component::KubeProxy), types::KUBE_PROXY_AVAILABLE)
    )]
    (part, type_): (Part, &str),
    #[values((false, "ApplyFailed"), (true, "Forbidden"))] (forbidden, reason): (bool, &str),
) {
    let mut cluster = Cluster::vxlan();
    let plan = cluster.plan();
    let failure = Some(Failure {
        part,
        forbidden,
        message: "IPPool x: refused".into(),
    });
    let applied = Applied {
        failure,
        ..Applied::default()
    };
    let status = cluster.status_after(&plan, &applied);
    check(&status);
    assert_eq!(condition(&status, type_), ("False", reason));
    let [reconciling, stalled] = if forbidden {
        ["False", "True"]
    } else {
        ["True", "False"]
    };
    assert_eq!(summary(&status), ["False", reconciling, stalled]);
    assert_yaml_snapshot!(format!("failed_write_{type_}_{reason}"), rendered(&status));
    let others = [
        types::CALICO_CONFIGURED,
        types::NODE_AGENT_AVAILABLE,
        types::KUBE_PROXY_AVAILABLE,
    ];
    assert!(
        others
            .iter()
            .filter(|t| **t != type_)
            .all(|t| condition(&status, t).1 != reason)
    );
}

#[test]
fn transition_times_move_with_the_status_only() {
    let mut cluster = Cluster::vxlan();
    let first = after_pass(&mut cluster);
    cluster.now = at(100);
    assert_eq!(after_pass(&mut cluster), first, "later, but the same");
    // Another message and generation, the same status.
    cluster.edit_spec(|s| s.calico.conflicts = wn_api::spec::Conflicts::Force);
    let edited = after_pass(&mut cluster);
    assert_eq!(edited.observed_generation, Some(2));
    assert!(
        edited
            .conditions
            .iter()
            .all(|c| c.last_transition_time.0 == at(0) && c.observed_generation == Some(2))
    );
    cluster.roll_out();
    let ready = after_pass(&mut cluster);
    for c in &ready.conditions {
        let before = first.conditions.iter().find(|b| b.type_ == c.type_).unwrap();
        let moved = if c.status == before.status { at(0) } else { at(100) };
        assert_eq!(c.last_transition_time.0, moved, "{}", c.type_);
    }
    assert_eq!(condition(&ready, types::READY).0, "True");
}

#[test]
fn the_list_of_nodes_is_bounded_and_worst_first() {
    let mut cluster = Cluster::vxlan();
    cluster.observed.nodes = (0..60).map(|i| (format!("win-{i:02}"), windows_node())).collect();
    cluster.pass();
    cluster.roll_out();
    for name in ["win-07", "win-55"] {
        cluster.observed.nodes.get_mut(name).unwrap().network_unavailable = true;
    }
    let nodes = after_pass(&mut cluster).nodes.unwrap();
    assert_eq!(
        (nodes.summary.as_str(), nodes.total, nodes.ready, nodes.omitted),
        ("58/60", 60, 58, 10)
    );
    let names: Vec<_> = nodes.list.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names.len(), 50);
    assert_eq!(names[..4], ["win-07", "win-55", "win-00", "win-01"]);
    assert!(names[2..].is_sorted());
    assert_yaml_snapshot!("nodes_list", &nodes.list[1..3]);
}

/// `kubectl get` shows it in one column.
#[test]
fn the_summary_is_ready_of_total() {
    let mut cluster = Cluster::vxlan();
    cluster.observed.nodes.insert("win-1".into(), windows_node());
    cluster.pass();
    cluster.roll_out();
    let key = (NAMESPACE.to_owned(), "calico-node-windows-win-1".to_owned());
    cluster.observed.pods.remove(&key).unwrap();
    let nodes = after_pass(&mut cluster).nodes.unwrap();
    assert_eq!(nodes.summary, "1/2");
    assert_eq!(nodes.list[0].reason.as_deref(), Some("AgentNotScheduled"));
}

/// A cause named once with a few nodes, however many have it.
#[test]
fn messages_do_not_grow_with_the_cluster() {
    let mut cluster = Cluster::vxlan();
    cluster.observed.nodes = (0..500)
        .map(|i| (format!("win-{i:03}"), windows_node()))
        .collect();
    let status = after_pass(&mut cluster);
    let ready = status.conditions.iter().find(|c| c.type_ == "NodesReady");
    let message = &ready.unwrap().message;
    assert_eq!(
        message,
        "500 nodes: AgentNotScheduled (win-000, win-001, win-002 and others); see status.nodes"
    );
}

#[test]
fn the_rest_of_the_status() {
    let status = after_pass(&mut working());
    assert_yaml_snapshot!(
        "whole",
        WindowsNodeConfigStatus {
            conditions: vec![],
            ..status
        }
    );
}

/// Beside tigera/operator the ConfigMap it waits for is created by the operator, and announced before that.
#[test]
fn observe_names_the_config_map_tigera_waits_for() {
    let mut cluster = Cluster::vxlan().with_spec("mode: Observe");
    cluster.install_hns();
    let pending = after_pass(&mut cluster).pending_changes;
    let line = "create ConfigMap tigera-operator/kubernetes-services-endpoint";
    assert!(pending.iter().any(|p| p == line), "{pending:?}");
}

/// What is not selected is neither ready nor failing, and counted by itself.
#[test]
fn nodes_that_are_not_selected_are_said_to_be_so() {
    let nodes = after_pass(&mut selecting("canary")).nodes.unwrap();
    assert_eq!(
        (nodes.summary.as_str(), nodes.total, nodes.not_selected),
        ("2/2", 3, 1)
    );
    assert_eq!((nodes.ready, nodes.failing, nodes.progressing), (2, 0, 0));
    let last = nodes.list.last().unwrap();
    assert_eq!(
        (last.name.as_str(), last.state.as_str(), last.ready),
        ("win-0", "NotSelected", false)
    );
    assert!(last.reason.is_none() && last.message.as_ref().unwrap().contains("spec.nodeSelector"));
    assert!(nodes.reasons.is_empty(), "{:?}", nodes.reasons);
}

/// The operator has done its part whether or not the nodes work.
#[rstest]
#[case::nodes(broken(3, 1), "True", "AsExpected")]
#[case::rollout(rolling(broken(3, 0), 1, 3), "True", "AsExpected")]
#[case::pool(Cluster::vxlan().with_spec("calico: {strictAffinity: Report}"), "False", "ReportOnly")]
#[case::observe(Cluster::vxlan().with_spec("mode: Observe"), "False", "ObserveOnly")]
fn configured_is_not_about_nodes(#[case] mut cluster: Cluster, #[case] status: &str, #[case] reason: &str) {
    let found = after_pass(&mut cluster);
    assert_eq!(condition(&found, types::CONFIGURED), (status, reason));
}
