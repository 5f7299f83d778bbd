//! What a change affects.

use rstest::rstest;
use serde_json::json;

use super::*;

fn key(namespace: &str, name: &str) -> Key {
    (namespace.to_owned(), name.to_owned())
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn take(observed: &mut Observed, topic: Topic, name: &str, object: Option<&Value>) -> Changes {
    observed.take(topic, &key("", name), object, now())
}

fn plan() -> Changes {
    Changes::of_plan(true)
}

fn of_node(plan: bool) -> Changes {
    Changes {
        plan,
        nodes: vec!["win-0".to_owned()],
    }
}

/// An object, its next version, and what that change affects. The same version once more affects nothing.
#[rstest]
#[case::heartbeat(Topic::Nodes, json!({"metadata": {"resourceVersion": "1"}}), json!({"metadata": {"resourceVersion": "2"}}), Changes::default())]
#[case::readiness(Topic::Nodes, json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}), json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}), of_node(false))]
#[case::pods_of_a_node(Topic::Nodes, json!({"status": {"allocatable": {"pods": "110"}}}), json!({"status": {"allocatable": {"pods": "60"}}}), of_node(true))]
#[case::tunnel_in_etcd(Topic::Announced, json!({"spec": {"ipv4VXLANTunnelAddr": "10.0.0.1"}}), json!({"spec": {"ipv4VXLANTunnelAddr": "10.0.0.2"}}), of_node(false))]
#[case::address_in_etcd(Topic::Announced, json!({"spec": {"bgp": {"ipv4Address": "192.168.0.1/24"}}}), json!({"spec": {"bgp": {"ipv4Address": "192.168.0.2/24"}}}), of_node(true))]
#[case::last_free_address(Topic::Blocks, json!({"spec": {"affinity": "host:win-0", "cidr": "10.0.0.0/29", "unallocated": [4]}}), json!({"spec": {"affinity": "host:win-0", "cidr": "10.0.0.0/29", "unallocated": []}}), of_node(false))]
#[case::claim_of_a_block(Topic::Affinities, json!({"spec": {"node": "win-0", "state": "pending"}}), json!({"spec": {"node": "win-0", "state": "confirmed"}}), of_node(false))]
#[case::flannel(Topic::Flannel, json!({"data": {"net-conf.json": "{}"}}), json!({"data": {"net-conf.json": "{\"Network\":\"10.0.0.0/8\"}"}}), plan())]
#[case::foreign_config_map(Topic::ConfigMaps, json!({"data": {"a": "1"}}), json!({"data": {"a": "2"}}), Changes::default())]
#[case::bgp(Topic::BgpConfiguration, json!({"spec": {"asNumber": 64512}}), json!({"spec": {"asNumber": 64513}}), plan())]
fn a_change_bears_on(
    #[case] topic: Topic,
    #[case] before: Value,
    #[case] after: Value,
    #[case] expected: Changes,
) {
    let mut observed = Observed::default();
    take(&mut observed, topic, "win-0", Some(&before));
    assert_eq!(take(&mut observed, topic, "win-0", Some(&after)), expected);
    assert_eq!(
        take(&mut observed, topic, "win-0", Some(&after)),
        Changes::default()
    );
}

/// What is taken in once and once more, then out twice: only the first of each changes anything.
#[test]
fn every_topic_is_taken_in_and_out() {
    for topic in Topic::all() {
        let mut observed = Observed::default();
        let object = json!({
            "metadata": {"name": "default", "labels": {"k8s-app": "calico-node-windows"}},
            "spec": {"nodeName": "win-0", "node": "win-0"},
        });
        let before = format!("{observed:?}");
        take(&mut observed, topic, "default", Some(&object));
        let again = take(&mut observed, topic, "default", Some(&object));
        assert_eq!(again, Changes::default(), "{topic:?}");
        let known = format!("{observed:?}") != before;
        let gone = take(&mut observed, topic, "default", None);
        assert_eq!(format!("{observed:?}"), before, "{topic:?}");
        assert!(known != gone.is_empty(), "{topic:?}: {gone:?}");
    }
}

/// A node's pods affect that node; the end of the last pod of an agent affects the plan.
#[test]
fn first_and_last_pod_of_an_agent_bear_on_the_plan() {
    let mut observed = Observed::default();
    let mut pod = |namespace: &str, name: &str, app: Option<&str>| {
        let object =
            app.map(|app| json!({"metadata": {"labels": {"k8s-app": app}}, "spec": {"nodeName": "win-0"}}));
        observed.take(Topic::Pods, &key(namespace, name), object.as_ref(), now())
    };
    let (agent, proxy) = (Some("calico-node-windows"), Some("kube-proxy-windows"));
    for (step, namespace, name, app, expected) in [
        ("first", "ours", "a", agent, of_node(true)),
        ("the same", "ours", "a", agent, Changes::default()),
        ("second", "ours", "b", agent, of_node(false)),
        ("first of another", "theirs", "a", agent, of_node(true)),
        ("no agent", "ours", "p", proxy, of_node(false)),
        ("last but one", "ours", "a", None, of_node(false)),
        ("last", "ours", "b", None, of_node(true)),
        ("no agent", "ours", "p", None, of_node(false)),
    ] {
        assert_eq!(pod(namespace, name, app), expected, "{step}");
    }
}

/// Fields of the Installation are facts twice: what is set, with its owners, and what is only read.
#[test]
fn an_installation_is_no_object_of_calico() {
    let mut observed = Observed::default();
    let object = json!({
        "spec": {"calicoNetwork": {"windowsDataplane": "HNS"}},
        "status": {"variant": "Calico"},
    });
    assert_eq!(
        take(&mut observed, Topic::Installation, "default", Some(&object)),
        plan()
    );
    let facts = observed.installation.as_ref().unwrap();
    assert!(facts.windows_hns && facts.accepted);
    assert!(observed.object(ConfigKind::Installation, "default").is_some());
    assert!(observed.object(ConfigKind::Installation, "other").is_none());
    assert!(observed.calico.objects.is_empty());
}

/// Of a TigeraStatus the time of a condition is no fact, and other components' statuses are not read.
#[test]
fn times_of_a_tigera_status_are_no_facts() {
    let mut observed = Observed::default();
    let mut take = |name: &str, time: &str| {
        let condition = json!({"type": "Degraded", "status": "True", "reason": "R", "message": "M", "lastTransitionTime": time});
        let status = json!({"status": {"conditions": [condition]}});
        observed.take(Topic::TigeraStatus, &key("", name), Some(&status), now())
    };
    assert_eq!(take("apiserver", "1"), Changes::default());
    assert_eq!(take("calico-windows", "1"), plan());
    assert_eq!(take("calico-windows", "2"), Changes::default());
}

fn event(pod: &str, last: &str) -> Value {
    json!({
        "reason": "FailedCreatePodSandBox", "source": {"component": "kubelet", "host": "win-0"}, "lastTimestamp": last,
        "involvedObject": {"kind": "Pod", "namespace": "a", "name": pod, "uid": "u"},
    })
}

/// An Event affects nothing until its pod confirms it. Times after now count as now.
#[test]
fn a_claim_counts_when_its_pod_bears_it_out() {
    let mut observed = Observed::default();
    let (future, event_key) = (event("p", "2999-01-01T00:00:00Z"), key("", "e"));
    assert_eq!(
        take(&mut observed, Topic::Failures, "e", Some(&future)),
        Changes::default()
    );
    let claim = observed.claims[&event_key].clone();
    assert_eq!(claim.last, now());
    assert_eq!(observed.take_evidence(&event_key, &claim, true), of_node(false));
    assert!(observed.claims.is_empty());
    let later = event("p", "2026-05-31T00:00:00Z");
    assert_eq!(
        take(&mut observed, Topic::Failures, "e", Some(&later)),
        of_node(false)
    );
    let other = event("another", "2026-05-31T00:00:00Z");
    assert_eq!(
        take(&mut observed, Topic::Failures, "e", Some(&other)),
        of_node(false)
    );
    assert_eq!(
        observed.take_evidence(&event_key, &claim, true),
        Changes::default(),
        "of the first pod"
    );
    assert_eq!(observed.claims.len(), 1);
    observed.forget_failures(now());
    assert!(observed.claims.is_empty());
}
