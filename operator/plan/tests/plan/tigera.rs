//! Beside tigera/operator: who runs the agent, what its Installation must say, and that nothing is lost.

use insta::assert_yaml_snapshot;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::DEFAULT;
use wn_api::component::Component;
use wn_api::names::{node_agent, tigera};
use wn_api::reasons::Reason;
use wn_api::spec::{Conflicts, Management, NetworkType, Policy, WhenInUse};
use wn_plan::component::ownership::Ownership;
use wn_plan::decide::Plan;
use wn_plan::observed::TigeraStatusFacts;
use wn_plan::status::describe;

use crate::common::*;

const HNS: &str = "calicoNetwork.windowsDataplane";
const BGP: &str = "calicoNetwork.bgp";
const POOLS: &str = "calicoNetwork.ipPools";

fn enforced(network: NetworkType) -> Cluster {
    let mut cluster = tigera_fresh(network);
    cluster.edit_spec(|s| s.calico.installation = Policy::Enforce);
    cluster
}

fn installation(cluster: &Cluster, field: &str) -> Value {
    cluster.field(INSTALLATION, DEFAULT, field)
}

fn encapsulation(cluster: &Cluster, place: usize) -> Value {
    installation(cluster, POOLS)[place]["encapsulation"].clone()
}

/// Writes to the Installation, one line a change.
fn installation_lines(plan: &Plan) -> Vec<String> {
    let writes = plan.calico.writes.iter().filter(|w| w.kind == INSTALLATION);
    writes.flat_map(|w| &w.changes).map(describe).collect()
}

fn reasons(plan: &Plan) -> Vec<Reason> {
    plan.calico.findings.iter().map(|f| f.reason).collect()
}

/// The agent's DaemonSet is written.
fn starts_ours(plan: &Plan) -> bool {
    plan.objects
        .iter()
        .any(|o| o.object.name == node_agent::DAEMON_SET)
}

fn their_pod(cluster: &mut Cluster, there: bool) {
    let key = (
        tigera::CALICO_NAMESPACE.to_owned(),
        "calico-node-windows-x".to_owned(),
    );
    if there {
        cluster
            .observed
            .pods
            .insert(key, pod(Component::NodeAgent, "win-0"));
    } else {
        cluster.observed.pods.remove(&key);
    }
}

fn our_pods_end(cluster: &mut Cluster) {
    let keys: Vec<_> = cluster
        .observed
        .pods
        .iter()
        .filter(|((namespace, _), p)| namespace == NAMESPACE && p.component == Component::NodeAgent)
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys {
        cluster.observed.pods.remove(&key);
    }
}

fn condition(cluster: &mut Cluster, type_: &str) -> String {
    let plan = cluster.plan();
    let status = cluster.status(&plan);
    let condition = status.conditions.iter().find(|c| c.type_ == type_).unwrap();
    format!("{} {}: {}", condition.status, condition.reason, condition.message)
}

#[rstest]
#[case::vxlan(NetworkType::CalicoVxlan, "VXLAN", "Disabled")]
#[case::bgp(NetworkType::CalicoBgp, "None", "Enabled")]
fn enforce_writes_all_at_once_and_gives_all_back(
    #[case] network: NetworkType,
    #[case] encap: &str,
    #[case] bgp: &str,
) {
    let mut cluster = enforced(network);
    let before = cluster.store.specs();
    let plan = cluster.pass();
    assert_yaml_snapshot!(format!("enforce_{}", network.as_str()), installation_lines(&plan));
    assert_eq!(installation(&cluster, HNS), "HNS");
    assert_eq!(installation(&cluster, BGP), bgp);
    assert_eq!(installation(&cluster, "serviceCIDRs"), json!(["10.96.0.0/12"]));
    let mut pool = before[&(INSTALLATION, DEFAULT.to_owned())][POOLS][0].clone();
    pool["encapsulation"] = json!(encap);
    assert_eq!(
        installation(&cluster, POOLS),
        json!([pool]),
        "nothing else of the pool"
    );
    assert_eq!(
        plan.components[Component::NodeAgent].ownership.as_str(),
        "External"
    );
    assert!(!starts_ours(&plan));
    assert!(plan.services_endpoint.is_some());

    // The pool follows by tigera/operator's hand, not by ours.
    assert_eq!(reasons(&cluster.plan()), [Reason::WaitingForPrecondition]);
    assert!(
        cluster.plan().calico.writes.is_empty(),
        "{:?}",
        lines(&cluster.plan())
    );
    let mode = if encap == "VXLAN" { "Always" } else { "Never" };
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": mode}));
    cluster.pass();
    assert!(
        cluster.plan().calico.findings.is_empty(),
        "{:?}",
        findings(&cluster.plan())
    );

    let restoration = cluster.restore();
    assert!(restoration.left.is_empty(), "{:?}", restoration.left);
    let mut expected = before;
    expected.get_mut(&(POOL, DEFAULT_POOL.to_owned())).unwrap()["vxlanMode"] = json!(mode);
    assert_eq!(cluster.store.specs(), expected, "theirs stays, ours goes");
}

#[test]
fn report_says_all_and_writes_nothing() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.edit_spec(|s| s.node_agent.management = Management::External);
    let before = cluster.store.specs()[&(INSTALLATION, DEFAULT.to_owned())].clone();
    let plan = cluster.pass();
    assert_yaml_snapshot!("report", findings(&plan));
    assert!(installation_lines(&plan).is_empty());
    assert_eq!(cluster.store.specs()[&(INSTALLATION, DEFAULT.to_owned())], before);
    assert!(cluster.originals().iter().all(|o| o.kind != INSTALLATION));

    // The command does what it says.
    let command = &plan.calico.findings[0].message;
    let body = command.split_once("-p '").unwrap().1.split_once("'`").unwrap().0;
    let patch: Value = serde_json::from_str(body).unwrap();
    cluster.update(INSTALLATION, DEFAULT, "kubectl-patch", patch["spec"].clone());
    assert_eq!(reasons(&cluster.plan()), [Reason::PoolManagedByOperator]);
}

/// Without being asked to, tigera/operator's own agent stays off and ours runs.
#[test]
fn report_leaves_the_agent_to_us_and_says_how_to_switch() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    let plan = cluster.pass();
    assert!(starts_ours(&plan) && plan.calico.findings.is_empty());
    assert!(installation_lines(&plan).is_empty());
    cluster.roll_out();
    let messages = condition(&mut cluster, "NodeAgentAvailable");
    assert!(
        messages.starts_with("True AsExpected")
            && messages.contains("set spec.calico.installation to Enforce"),
        "{messages}"
    );
}

/// Its defaults are no claims; what a deployment tool wrote is.
#[rstest]
#[case("argocd-controller", true)]
#[case("helm", false)]
fn a_claimed_field_is_a_conflict_until_force(#[case] manager: &str, #[case] applied: bool) {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    let theirs = json!({"serviceCIDRs": ["10.0.0.0/24"]});
    if applied {
        cluster.apply_as(INSTALLATION, DEFAULT, manager, theirs);
    } else {
        cluster.update(INSTALLATION, DEFAULT, manager, theirs);
    }
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::FieldConflict]);
    assert!(findings(&plan)[0].contains(manager));
    assert!(installation_lines(&plan).is_empty(), "all of it or none");
    cluster.edit_spec(|s| s.calico.conflicts = Conflicts::Force);
    cluster.pass();
    assert_eq!(
        installation(&cluster, "serviceCIDRs"),
        json!(["10.0.0.0/24", "10.96.0.0/12"]),
        "what is there stays in the list"
    );
}

#[test]
fn pools_in_use_are_held() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.serve_linux_pods("10.244.1.0/26");
    let plan = cluster.pass();
    assert_yaml_snapshot!("held", findings(&plan));
    assert!(installation_lines(&plan).is_empty());
    cluster.edit_spec(|s| s.calico.encapsulation.when_in_use = WhenInUse::Migrate);
    cluster.pass();
    assert_eq!(encapsulation(&cluster, 0), "VXLAN");
    // Ours by now: a change of it is drift, in use or not.
    cluster.edit_spec(|s| s.calico.encapsulation.when_in_use = WhenInUse::Hold);
    let mut list = installation(&cluster, POOLS);
    list[0]["encapsulation"] = json!("IPIP");
    cluster.update(
        INSTALLATION,
        DEFAULT,
        PERSON,
        json!({"calicoNetwork": {"ipPools": list}}),
    );
    cluster.pass();
    assert_eq!(encapsulation(&cluster, 0), "VXLAN");
}

#[test]
fn drift_is_repaired_and_says_who() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.pass();
    let originals = cluster.originals();
    cluster.update(
        INSTALLATION,
        DEFAULT,
        PERSON,
        json!({"calicoNetwork": {"bgp": "Enabled"}}),
    );
    let plan = cluster.pass();
    let write = plan
        .calico
        .writes
        .iter()
        .find(|w| w.kind == INSTALLATION)
        .unwrap();
    assert_eq!(write.changes.len(), 1);
    assert_eq!(write.changes[0].drifted_by.as_deref(), Some(PERSON));
    assert_eq!(installation(&cluster, BGP), "Disabled");
    assert_eq!(cluster.originals(), originals);
}

/// The list of pools is one field to the API server; what the user does to it stays the user's all the same.
#[test]
fn a_pool_added_since_is_not_restored_away() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.pass();
    let mut list = installation(&cluster, POOLS);
    list[0]["natOutgoing"] = json!("Disabled");
    let more = json!({"cidr": "10.245.0.0/16", "encapsulation": "IPIP"});
    list.as_array_mut().unwrap().push(more);
    let v6 = json!({"cidr": "fd00::/48", "encapsulation": "VXLAN"});
    list.as_array_mut().unwrap().push(v6);
    cluster.update(
        INSTALLATION,
        DEFAULT,
        PERSON,
        json!({"calicoNetwork": {"ipPools": list}}),
    );
    let plan = cluster.pass();
    assert_eq!(
        installation_lines(&plan),
        ["Installation default spec.calicoNetwork.ipPools[10.245.0.0/16].encapsulation from IPIP to VXLAN"]
    );
    cluster.restore();
    let list = installation(&cluster, POOLS);
    assert_eq!(encapsulation(&cluster, 0), "VXLANCrossSubnet");
    assert_eq!(list[0]["natOutgoing"], "Disabled");
    assert_eq!(encapsulation(&cluster, 1), "IPIP");
    assert_eq!(list[2]["cidr"], "fd00::/48");
}

/// Only pools that Windows nodes can use are changed, and the first, which tigera/operator looks at in any case.
#[test]
fn pools_for_linux_alone_are_left() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    let linux = "kubernetes.io/os == 'linux'";
    let list = json!([
        {"cidr": "fd00::/48", "encapsulation": "None"},
        {"cidr": "10.1.0.0/16", "encapsulation": "IPIP", "nodeSelector": linux},
        {"cidr": "10.2.0.0/16", "encapsulation": "IPIP", "nodeSelector": linux},
        {"cidr": "10.3.0.0/16"},
    ]);
    cluster.update(
        INSTALLATION,
        DEFAULT,
        PERSON,
        json!({"calicoNetwork": {"ipPools": list}}),
    );
    cluster.pass();
    let all: Vec<_> = (0..4).map(|i| encapsulation(&cluster, i)).collect();
    assert_eq!(all, ["None", "VXLAN", "IPIP", "VXLAN"]);
    cluster.restore();
    assert_eq!(
        installation(&cluster, POOLS),
        list,
        "the one without a mode has none again"
    );
}

#[test]
fn ours_goes_before_theirs_comes_and_the_other_way_round() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    cluster.pass();
    cluster.roll_out();

    // First the Installation is prepared, which also shows that we may write it. Ours runs meanwhile.
    cluster.edit_spec(|s| s.calico.installation = Policy::Enforce);
    let plan = cluster.pass();
    assert_eq!(
        plan.components[Component::NodeAgent].ownership,
        Ownership::Managed
    );
    assert_eq!(installation(&cluster, BGP), "Disabled");
    assert_eq!(installation(&cluster, HNS), "Disabled");
    assert!(plan.deletions.is_empty());
    // Then ours goes, and only when its last pod has gone theirs is switched on.
    let plan = cluster.pass();
    assert!(
        plan.deletions
            .iter()
            .any(|(_, o)| o.name == node_agent::DAEMON_SET)
    );
    assert_eq!(installation(&cluster, HNS), "Disabled");
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::WaitingForPrecondition]);
    assert_eq!(installation(&cluster, HNS), "Disabled");
    our_pods_end(&mut cluster);
    cluster.pass();
    assert_eq!(installation(&cluster, HNS), "HNS");
    render_theirs(&mut cluster, 1);
    their_pod(&mut cluster, true);
    assert!(cluster.plan().calico.findings.is_empty());

    // Back. What was prepared stays until the config is deleted.
    cluster.edit_spec(|s| s.calico.installation = Policy::Report);
    let plan = cluster.pass();
    assert_eq!(
        installation_lines(&plan),
        ["Installation default spec.calicoNetwork.windowsDataplane from HNS to Disabled"]
    );
    assert_eq!(installation(&cluster, BGP), "Disabled");
    assert_eq!(encapsulation(&cluster, 0), "VXLAN");
    assert!(!starts_ours(&plan));
    let plan = cluster.pass();
    assert!(!starts_ours(&plan));
    let messages = condition(&mut cluster, "NodeAgentAvailable");
    assert_yaml_snapshot!("left_behind", messages);
    assert!(condition(&mut cluster, "Stalled").starts_with("True AgentsOverlap"));
    cluster.observed.daemon_sets.remove(&their_key());
    assert!(!starts_ours(&cluster.pass()), "its pod is still there");
    their_pod(&mut cluster, false);
    assert!(starts_ours(&cluster.pass()));
    cluster.restore();
    assert_eq!(installation(&cluster, BGP), "Enabled");
    assert_eq!(encapsulation(&cluster, 0), "VXLANCrossSubnet");
}

/// What we may not write does not take away the agent that runs.
#[test]
fn ours_stays_while_the_installation_cannot_be_prepared() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    cluster.pass();
    cluster.roll_out();
    cluster.apply_as(
        INSTALLATION,
        DEFAULT,
        "flux",
        json!({"calicoNetwork": {"bgp": "Enabled"}}),
    );
    cluster.edit_spec(|s| s.calico.installation = Policy::Enforce);
    for _ in 0..3 {
        let plan = cluster.pass();
        assert_eq!(reasons(&plan), [Reason::FieldConflict]);
        assert_eq!(
            plan.components[Component::NodeAgent].ownership,
            Ownership::Managed
        );
        assert!(plan.deletions.is_empty() && plan.components[Component::NodeAgent].blocked.is_none());
    }
}

/// The user switches theirs on by hand: ours goes at once.
#[test]
fn ours_goes_when_theirs_is_switched_on_by_hand() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    cluster.pass();
    cluster.roll_out();
    cluster.update(
        INSTALLATION,
        DEFAULT,
        PERSON,
        json!({"calicoNetwork": {"windowsDataplane": "HNS"}}),
    );
    let plan = cluster.pass();
    assert!(
        plan.deletions
            .iter()
            .any(|(_, o)| o.name == node_agent::DAEMON_SET)
    );
    assert_eq!(reasons(&plan), [Reason::ReportOnly], "the rest is reported");
    // And not by us: it is not ours to switch off.
    cluster.edit_spec(|s| s.node_agent.management = Management::Managed);
    let plan = cluster.pass();
    assert!(installation_lines(&plan).is_empty() && !starts_ours(&plan));
    assert_yaml_snapshot!(
        "managed_beside_hns",
        condition(&mut cluster, "NodeAgentAvailable")
    );
}

/// Someone else's agent, or a platform that runs it itself: not ours to hand to tigera/operator.
#[test]
fn a_third_party_is_left_alone() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.foreign_daemon_set("kube-system", "their-agent", "calico/node-windows:v3.32.1");
    let plan = cluster.plan();
    assert!(installation_lines(&plan).is_empty());
    assert!(plan.services_endpoint.is_none());
    let messages = condition(&mut cluster, "NodeAgentAvailable");
    assert!(
        messages.starts_with("True External") && messages.contains("kube-system/their-agent"),
        "{messages}"
    );
}

#[test]
fn observe_says_what_manage_would_write() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.edit_spec(|s| s.mode = wn_api::spec::Mode::Observe);
    let plan = cluster.pass();
    let status = cluster.status(&plan);
    assert_yaml_snapshot!("observe", status.pending_changes);
    assert_eq!(installation(&cluster, HNS), "Disabled");
}

/// tigera/operator refuses an Installation that has folders for Windows and no Windows.
#[rstest]
#[case::filled_in(OPERATOR, false)]
#[case::of_a_person(PERSON, true)]
fn switched_off_its_defaults_go_along(#[case] manager: &str, #[case] stays: bool) {
    let folders = json!({"windowsNodes": {"cniBinDir": "/opt/cni/bin"}});
    for by_deletion in [true, false] {
        let mut cluster = enforced(NetworkType::CalicoVxlan);
        cluster.pass();
        cluster.update(INSTALLATION, DEFAULT, manager, folders.clone());
        if by_deletion {
            cluster.restore();
        } else {
            cluster.edit_spec(|s| s.calico.installation = Policy::Report);
            cluster.pass();
        }
        assert_eq!(installation(&cluster, HNS), "Disabled");
        let left = installation(&cluster, "windowsNodes.cniBinDir");
        assert_eq!(!left.is_null(), stays, "by deletion: {by_deletion}");
    }
}

/// Encapsulation on top of another CNI plugin would make the whole Installation invalid.
#[rstest]
#[case(NetworkType::CalicoVxlan, "AmazonVPC", "AmazonVPC", true)]
#[case(NetworkType::CalicoBgp, "AzureVNET", "AzureVNET", true)]
#[case(NetworkType::CalicoVxlan, "Calico", "HostLocal", true)]
#[case(NetworkType::CalicoBgp, "Calico", "HostLocal", false)]
#[case(NetworkType::CloudProvider, "Calico", "Calico", true)]
#[case(NetworkType::CloudProvider, "AmazonVPC", "AmazonVPC", false)]
fn an_installation_for_another_network_is_left(
    #[case] network: NetworkType,
    #[case] cni: &str,
    #[case] ipam: &str,
    #[case] mismatch: bool,
) {
    let mut cluster = enforced(network);
    let cni = json!({"cni": {"type": cni, "ipam": {"type": ipam}}});
    cluster.update(INSTALLATION, DEFAULT, PERSON, cni);
    let plan = cluster.pass();
    assert_eq!(
        reasons(&plan).contains(&Reason::InstallationMismatch),
        mismatch,
        "{:?}",
        findings(&plan)
    );
    assert_eq!(installation_lines(&plan).is_empty(), mismatch);
}

/// Its own word, what it waits for, and whether pods run: in one message.
#[test]
fn theirs_is_available_when_it_is_rolled_out() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.edit_spec(|s| {
        s.node_agent.management = Management::External;
        s.calico.strict_affinity = Policy::Report;
    });
    let mut messages = vec![condition(&mut cluster, "NodeAgentAvailable")];
    let status = |type_: &str, reason: &str, message: &str| {
        TigeraStatusFacts::read(&json!({"status": {"conditions": [
            {"type": type_, "status": "True", "reason": reason, "message": message},
            {"type": "Progressing", "status": "False"},
        ]}}))
    };
    cluster.observed.tigera_statuses.insert(
        tigera::WINDOWS_STATUS.to_owned(),
        status(
            "Degraded",
            "ResourceReadError",
            "Failed to read ConfigMap kubernetes-services-endpoint",
        ),
    );
    messages.push(condition(&mut cluster, "NodeAgentAvailable"));
    cluster.edit_spec(|s| {
        s.calico.installation = Policy::Enforce;
        s.calico.strict_affinity = Policy::Enforce;
    });
    cluster.pass();
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    cluster.pass();
    cluster.update(
        INSTALLATION,
        DEFAULT,
        OPERATOR,
        json!({"windowsNodes": {"cniBinDir": "/opt/cni/bin"}}),
    );
    cluster.observed.tigera_statuses.insert(
        tigera::WINDOWS_STATUS.to_owned(),
        status("Progressing", "ReconcileStarted", ""),
    );
    messages.push(condition(&mut cluster, "NodeAgentAvailable"));
    cluster.observed.tigera_statuses.insert(
        tigera::WINDOWS_STATUS.to_owned(),
        status("Available", "AllObjectsAvailable", "All objects available"),
    );
    render_theirs(&mut cluster, 0);
    messages.push(condition(&mut cluster, "NodeAgentAvailable"));
    render_theirs(&mut cluster, 1);
    messages.push(condition(&mut cluster, "NodeAgentAvailable"));
    assert_yaml_snapshot!("mirror", messages);
}

/// Switched on by us, restored, and switched on by the user, as our own message says: it stays on, also when we go.
#[rstest]
#[case::updated(false)]
#[case::applied(true)]
fn hns_of_a_user_is_never_reverted(#[case] applied: bool) {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.pass();
    cluster.edit_spec(|s| s.calico.installation = Policy::Report);
    cluster.pass();
    assert_eq!(installation(&cluster, HNS), "Disabled");
    cluster.pass();
    assert_eq!(cluster.original(INSTALLATION, HNS), None, "it was restored");
    let hns = json!({"calicoNetwork": {"windowsDataplane": "HNS"}});
    if applied {
        cluster.apply_as(INSTALLATION, DEFAULT, "kustomize-controller", hns);
    } else {
        cluster.update(INSTALLATION, DEFAULT, PERSON, hns);
    }
    for _ in 0..3 {
        assert_eq!(installation_lines(&cluster.pass()), Vec::<String>::new());
    }
    cluster.restore();
    assert_eq!(installation(&cluster, HNS), "HNS");
}

/// Set by us first, and applied by the user beside us.
#[test]
fn hns_that_a_user_applies_beside_us_stays() {
    let mut cluster = enforced(NetworkType::CalicoVxlan);
    cluster.pass();
    let hns = json!({"calicoNetwork": {"windowsDataplane": "HNS"}});
    cluster.apply_as(INSTALLATION, DEFAULT, "kustomize-controller", hns);
    let mut deleted = cluster.clone();
    deleted.restore();
    assert_eq!(installation(&deleted, HNS), "HNS");
    cluster.edit_spec(|s| s.calico.installation = Policy::Report);
    for _ in 0..3 {
        cluster.pass();
        assert_eq!(installation(&cluster, HNS), "HNS");
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Spec(Management, Policy),
    /// The DaemonSet controller and kubelets get everything running.
    RollOut,
    OurPodsEnd,
    Render,
    TheirPod(bool),
    /// A person deletes the DaemonSet that was left behind.
    DeleteTheirs,
    Pass,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    use Management::{Auto, External, Managed};
    let management = prop_oneof![4 => Just(Auto), 1 => Just(Managed), 1 => Just(External)];
    let policy = prop_oneof![Just(Policy::Report), Just(Policy::Enforce)];
    let event = prop_oneof![
        1 => (management, policy).prop_map(|(m, p)| Event::Spec(m, p)),
        1 => Just(Event::RollOut),
        1 => Just(Event::OurPodsEnd),
        1 => Just(Event::Render),
        1 => any::<bool>().prop_map(Event::TheirPod),
        1 => Just(Event::DeleteTheirs),
        5 => Just(Event::Pass),
    ];
    prop::collection::vec(event, 1..60)
}

proptest! {
    #![proptest_config(kept())]

    /// Whatever the user asks for and however long pods take: while anything of ours is left theirs is not switched
    /// on, and while anything of theirs is left, or may come, ours is not made.
    #[test]
    fn never_two_agents(events in events()) {
        let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
        cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
        for event in events {
            match event {
                Event::Spec(management, policy) => cluster.edit_spec(|s| {
                    (s.node_agent.management, s.calico.installation) = (management, policy);
                }),
                Event::RollOut => cluster.roll_out(),
                Event::OurPodsEnd => {
                    let ours = (NAMESPACE.to_owned(), node_agent::DAEMON_SET.to_owned());
                    if !cluster.observed.daemon_sets.contains_key(&ours) {
                        our_pods_end(&mut cluster);
                    }
                }
                Event::Render if installation(&cluster, HNS) == "HNS" => render_theirs(&mut cluster, 1),
                Event::TheirPod(there) => {
                    let rendered = cluster.observed.daemon_sets.contains_key(&their_key());
                    if rendered || !there {
                        their_pod(&mut cluster, there && rendered);
                    }
                }
                Event::DeleteTheirs if installation(&cluster, HNS) != "HNS" => {
                    cluster.observed.daemon_sets.remove(&their_key());
                }
                Event::Render | Event::DeleteTheirs => {}
                Event::Pass => {
                    let was = installation(&cluster, HNS);
                    let ours = wn_plan::tigera::ours_present(&cluster.observed);
                    let theirs = cluster.observed.daemon_sets.contains_key(&their_key())
                        || cluster.observed.agent_pods_in(tigera::CALICO_NAMESPACE);
                    let plan = cluster.pass();
                    let is = installation(&cluster, HNS);
                    prop_assert!(is != "HNS" || was == "HNS" || !ours, "theirs was switched on beside ours");
                    prop_assert!(
                        !starts_ours(&plan) || (!theirs && was != "HNS" && is != "HNS"),
                        "ours was made beside theirs"
                    );
                    prop_assert!(!installation(&cluster, POOLS).is_null(), "the pools are gone");
                }
            }
        }
    }
}
