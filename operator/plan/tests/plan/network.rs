//! Networks that are not Calico's: what is checked, what is set, and what runs on the nodes.

use insta::{assert_snapshot, assert_yaml_snapshot};
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::component::Component;
use wn_api::names::flannel::CONFIG_MAP;
use wn_api::names::{eks, kube_proxy, network_agent, node_agent};
use wn_api::reasons::Reason;
use wn_api::spec::NetworkType;
use wn_plan::component::ownership::Ownership;
use wn_plan::decide::Plan;
use wn_plan::json_text;
use wn_plan::observed::{LinuxNodeFacts, OwnKind, Source};

use crate::common::*;

const IMAGE: &str = "networkAgent: {image: {repository: example/flannel, tag: v1}}";
/// Who installs flannel as its README says.
const KUBECTL: &str = "kubectl-client-side-apply";

fn spec_of(network: NetworkType, more: &str) -> String {
    format!("network: {{type: {}}}\n{IMAGE}\n{more}", network.as_str())
}

/// flannel as `kube-flannel.yml` leaves it on one Linux and one Windows node; no Calico.
fn flannel(network: NetworkType, backend: &str, more: &str) -> Cluster {
    let mut cluster = Cluster::without_calico(network).with_spec(&spec_of(network, more));
    let text = format!("{{\n  \"Network\": \"10.244.0.0/16\",\n  \"Backend\": {backend}\n}}\n");
    cluster.flannel(Some(&text), KUBECTL);
    with_pod_cidrs(cluster)
}

fn with_pod_cidrs(mut cluster: Cluster) -> Cluster {
    let linux = LinuxNodeFacts {
        pod_cidr: "10.244.0.0/24".parse().ok(),
        internal_ip: "192.168.0.10".parse().ok(),
        schedulable: true,
        ..LinuxNodeFacts::default()
    };
    cluster.observed.linux.insert("linux-0".into(), linux);
    let windows = cluster.observed.nodes.get_mut("win-0").unwrap();
    windows.pod_cidr = "10.244.1.0/24".parse().ok();
    windows.internal_ip = "192.168.0.11".parse().ok();
    cluster
}

fn vxlan(backend: &str, more: &str) -> Cluster {
    flannel(NetworkType::FlannelVxlan, backend, more)
}

fn static_routes() -> Cluster {
    let network = NetworkType::StaticRoutes;
    with_pod_cidrs(Cluster::without_calico(network).with_spec(&spec_of(network, "")))
}

const MIGRATE: &str = "calico: {encapsulation: {whenInUse: Migrate}}";
const GOOD: &str = r#"{"Type": "vxlan", "VNI": 4096, "Port": 4789}"#;

fn reasons(plan: &Plan) -> Vec<Reason> {
    plan.network.iter().map(|f| f.reason).collect()
}

fn messages(plan: &Plan) -> Vec<String> {
    plan.network
        .iter()
        .map(|f| format!("{}: {}", f.reason.as_str(), f.message))
        .collect()
}

fn objects(plan: &Plan) -> Vec<String> {
    plan.objects
        .iter()
        .map(|o| format!("{:?} {}", o.object.kind, o.object.name))
        .collect()
}

fn body(plan: &Plan, kind: OwnKind, name: &str) -> Value {
    let found = plan
        .objects
        .iter()
        .find(|o| o.object.kind == kind && o.object.name == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {:?}", objects(plan)))
        .body
        .clone()
}

fn env(container: &Value) -> Vec<String> {
    let one = |e: &Value| {
        let value = e["value"].as_str().unwrap_or("<field>");
        format!("{}={value}", e["name"].as_str().unwrap())
    };
    container["env"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn flannel_vxlan_as_installed_is_held_and_then_migrated() {
    let mut cluster = vxlan("{\n    \"Type\": \"vxlan\"\n  }", "");
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::NetworkInUse]);
    assert!(plan.calico.writes.is_empty() && plan.objects.is_empty());
    assert_yaml_snapshot!("held", messages(&plan));
    let before = cluster.flannel_text();

    cluster.edit_spec(|s| s.calico.encapsulation.when_in_use = wn_api::spec::WhenInUse::Migrate);
    let plan = cluster.pass();
    assert_eq!(
        lines(&plan),
        [
            "ConfigMap kube-flannel/kube-flannel-cfg net-conf.json Backend.VNI from absent to 4096",
            "ConfigMap kube-flannel/kube-flannel-cfg net-conf.json Backend.Port from absent to 4789",
        ]
    );
    assert!(reasons(&plan).is_empty(), "{:?}", messages(&plan));
    assert_eq!(
        objects(&plan),
        [
            "ConfigMap kube-flannel-windows-scripts",
            "DaemonSet kube-flannel-windows",
            "ConfigMap kube-proxy-windows-scripts",
            "DaemonSet kube-proxy-windows",
        ],
        "no agent of Calico without Calico"
    );
    let text = cluster.flannel_text();
    assert_eq!(
        text,
        before.replace("\"vxlan\"", "\"vxlan\",\n    \"Port\": 4789,\n    \"VNI\": 4096")
    );
    let again = cluster.pass();
    assert!(
        again.calico.writes.is_empty() && again.objects.is_empty(),
        "{:?}",
        objects(&again)
    );
    assert!(
        again
            .notes
            .iter()
            .any(|n| n.contains("rollout restart ds/kube-flannel-ds"))
    );

    let restoration = cluster.restore();
    assert!(restoration.left.is_empty());
    assert_eq!(cluster.flannel_text(), before, "restored to the last byte");
}

/// The second time, nobody but the operator has written to the text: it is still flannel's.
#[test]
fn flannels_configuration_is_restored_each_time() {
    let mut cluster = vxlan(
        "{\n    \"Type\": \"vxlan\"\n  }",
        "calico: {encapsulation: {whenInUse: Migrate}}",
    );
    let before = cluster.flannel_text();
    for uid in ["first", "second"] {
        let config = cluster.config_mut();
        (config.status, config.metadata.uid) = (None, Some(uid.to_owned()));
        cluster.pass();
        assert_ne!(cluster.flannel_text(), before);
        let restoration = cluster.restore();
        assert!(restoration.left.is_empty(), "{:?}", restoration.left);
        assert_eq!(cluster.flannel_text(), before, "{uid}");
    }
}

/// Nothing to interrupt: no Linux node.
#[test]
fn without_linux_nodes_nothing_is_held() {
    let mut cluster = vxlan(r#"{"Type": "vxlan", "VNI": 1}"#, "");
    cluster.observed.linux.clear();
    let plan = cluster.pass();
    assert!(plan.network.is_empty(), "{:?}", messages(&plan));
    assert_eq!(plan.calico.writes.len(), 1);
}

#[test]
fn drift_of_flannels_configuration_is_repaired_and_contested() {
    let mut cluster = vxlan(r#"{"Type": "vxlan"}"#, MIGRATE);
    cluster.pass();
    let ours = cluster.flannel_text();
    for _ in 0..2 {
        cluster.flannel(Some(&ours.replace("4096", "1")), "kubectl-edit");
        let plan = cluster.pass();
        let change = &plan.calico.writes[0].changes[0];
        assert_eq!(change.drifted_by.as_deref(), Some("kubectl-edit"));
        assert_eq!(cluster.flannel_text(), ours);
    }
    cluster.flannel(Some(&ours.replace("4096", "1")), "kubectl-edit");
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::Contested]);
    assert!(plan.calico.writes.is_empty());
    assert!(plan.deletions.is_empty(), "what runs goes on running");
    // A change of something else is nobody's business of ours.
    let other = ours.replace("10.244", "10.245");
    let mut cluster = vxlan(r#"{"Type": "vxlan"}"#, MIGRATE);
    cluster.pass();
    cluster.flannel(Some(&other), "kubectl-edit");
    assert!(cluster.pass().calico.writes.is_empty());
}

#[test]
fn a_manager_that_applied_the_configuration_keeps_it() {
    let mut cluster = vxlan(r#"{"Type": "vxlan"}"#, MIGRATE);
    let text = cluster.flannel_text();
    cluster.flannel_applied(&text, "argocd-controller");
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::FieldConflict, Reason::FieldConflict]);
    assert!(plan.calico.writes.is_empty());
    cluster.edit_spec(|s| s.calico.conflicts = wn_api::spec::Conflicts::Force);
    assert_eq!(cluster.pass().calico.writes.len(), 1);
}

#[test]
fn what_somebody_changed_since_is_left() {
    let mut cluster = vxlan(r#"{"Type": "vxlan"}"#, MIGRATE);
    cluster.pass();
    let theirs = cluster.flannel_text().replace("4096", "5000");
    cluster.flannel(Some(&theirs), "kubectl-edit");
    let restoration = cluster.restore();
    assert_eq!(restoration.left.len(), 1, "{:?}", restoration.left);
    assert_snapshot!("left", restoration.left[0]);
    let text = cluster.flannel_text();
    assert!(text.contains("5000") && !text.contains("4789"), "{text}");
}

#[rstest]
#[case::met(GOOD, "", &[], &[])]
#[case::own_vni(r#"{"Type": "vxlan", "VNI": 5000, "Port": 4789}"#, "", &[], &[])]
#[case::report(r#"{"Type": "vxlan"}"#, "calico: {encapsulation: {policy: Report}}", &[Reason::ReportOnly, Reason::ReportOnly], &[])]
#[case::wrong_type(r#"{"Type": "host-gw"}"#, MIGRATE, &[Reason::InputInvalid], &[])]
#[case::direct_routing(r#"{"Type": "vxlan", "VNI": 4096, "Port": 4789, "DirectRouting": true}"#, "", &[Reason::InputInvalid], &[])]
#[case::no_object("1", MIGRATE, &[Reason::InputInvalid], &[])]
#[case::port_only(r#"{"Type": "VXLAN", "vni": 4096}"#, MIGRATE, &[], &["Backend.Port"])]
fn flannel_vxlan(
    #[case] backend: &str,
    #[case] more: &str,
    #[case] findings: &[Reason],
    #[case] changed: &[&str],
) {
    let mut cluster = vxlan(backend, more);
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), findings, "{:?}", messages(&plan));
    let fields: Vec<_> = plan
        .calico
        .writes
        .iter()
        .flat_map(|w| &w.changes)
        .map(|c| c.id.field.as_str())
        .collect();
    assert_eq!(fields, changed);
    assert_eq!(
        plan.objects.is_empty(),
        !findings.is_empty(),
        "{:?}",
        objects(&plan)
    );
}

#[test]
fn a_configuration_that_is_not_there() {
    for network in [NetworkType::FlannelVxlan, NetworkType::FlannelHostGateway] {
        let mut cluster = flannel(network, "{}", "");
        cluster.flannel(None, KUBECTL);
        let plan = cluster.pass();
        assert_eq!(reasons(&plan), [Reason::InputMissing]);
        assert!(plan.objects.is_empty());
        assert_yaml_snapshot!("missing", messages(&plan));
    }
}

/// The names of HNS networks follow the VNI, in all three places.
#[test]
fn another_vni_names_another_network() {
    let mut cluster = vxlan(r#"{"Type": "vxlan", "VNI": 5000, "Port": 4789}"#, "");
    let plan = cluster.pass();
    let config = body(&plan, OwnKind::ConfigMap, network_agent::FLANNEL_CONFIG_MAP);
    let net_conf: Value = serde_json::from_str(config["data"]["net-conf.json"].as_str().unwrap()).unwrap();
    assert_eq!(net_conf["Backend"]["Name"], "flannel.5000");
    let cni: Value = serde_json::from_str(config["data"]["cni.conf"].as_str().unwrap()).unwrap();
    assert_eq!(cni["name"], "flannel.5000");
    let proxy = body(&plan, OwnKind::DaemonSet, kube_proxy::DAEMON_SET);
    let args = &proxy["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(
        args.as_array()
            .unwrap()
            .contains(&json!("--network-name=flannel.5000")),
        "{args}"
    );
}

#[test]
fn linux_nodes_with_another_vni_are_named() {
    let mut cluster = vxlan(GOOD, "");
    cluster.observed.linux.get_mut("linux-0").unwrap().flannel_vni = Some(1);
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::RestartNeeded]);
    assert!(!plan.objects.is_empty(), "Windows nodes need not wait for that");
    assert_yaml_snapshot!("restart_needed", messages(&plan));
}

#[rstest]
#[case(NetworkType::FlannelVxlan)]
#[case(NetworkType::FlannelHostGateway)]
#[case(NetworkType::StaticRoutes)]
fn in_full(#[case] network: NetworkType) {
    let mut cluster = match network {
        NetworkType::FlannelVxlan => vxlan(GOOD, ""),
        NetworkType::StaticRoutes => static_routes(),
        _ => flannel(network, r#"{"Type": "host-gw"}"#, ""),
    };
    let plan = cluster.pass();
    assert!(plan.network.is_empty(), "{:?}", messages(&plan));
    let daemon_set = plan.components[Component::NetworkAgent].daemon_sets[0].name;
    let template = &body(&plan, OwnKind::DaemonSet, daemon_set)["spec"]["template"]["spec"];
    assert_yaml_snapshot!(format!("{}_pod", network.as_str()), template);
    for write in plan
        .objects
        .iter()
        .filter(|o| o.object.kind == OwnKind::ConfigMap)
    {
        for (key, text) in write.body["data"].as_object().unwrap() {
            if key != "start.ps1" {
                assert_snapshot!(format!("{}_{key}", network.as_str()), text.as_str().unwrap());
            }
        }
    }
    let proxy = body(&plan, OwnKind::DaemonSet, kube_proxy::DAEMON_SET);
    let proxy = &proxy["spec"]["template"]["spec"]["containers"][0];
    assert_yaml_snapshot!(
        format!("{}_kube_proxy", network.as_str()),
        json!({"args": proxy["args"], "env": env(proxy)})
    );
}

/// The list of nodes changes without rolling anything.
#[test]
fn a_new_node_is_configured_without_a_restart() {
    let mut cluster = static_routes();
    cluster.pass();
    let mut node = cluster.observed.linux["linux-0"].clone();
    node.pod_cidr = "10.244.2.0/24".parse().ok();
    node.internal_ip = "192.168.0.12".parse().ok();
    cluster.observed.linux.insert("linux-1".into(), node);
    let plan = cluster.pass();
    assert_eq!(objects(&plan), ["ConfigMap static-routes-windows-nodes"]);
    let nodes = body(&plan, OwnKind::ConfigMap, network_agent::STATIC_ROUTES_NODES);
    assert_eq!(
        nodes["data"]["nodes"],
        "10.244.0.0/24 192.168.0.10 linux-0\n10.244.1.0/24 192.168.0.11 win-0\n10.244.2.0/24 192.168.0.12 linux-1\n"
    );
}

#[test]
fn pod_cidrs_are_checked() {
    let mut cluster = static_routes();
    cluster.observed.linux.get_mut("linux-0").unwrap().pod_cidr = "10.244.1.0/25".parse().ok();
    let plan = cluster.pass();
    assert_eq!(reasons(&plan), [Reason::PodCIDRConflict]);
    assert_yaml_snapshot!("conflict", messages(&plan));
    for network in [
        NetworkType::StaticRoutes,
        NetworkType::FlannelHostGateway,
        NetworkType::FlannelVxlan,
    ] {
        let mut cluster = match network {
            NetworkType::StaticRoutes => static_routes(),
            NetworkType::FlannelVxlan => vxlan(GOOD, ""),
            _ => flannel(network, r#"{"Type": "host-gw"}"#, ""),
        };
        cluster.observed.nodes.get_mut("win-0").unwrap().pod_cidr = None;
        let plan = cluster.pass();
        assert_eq!(reasons(&plan), [Reason::PodCIDRMissing]);
        assert!(!plan.objects.is_empty(), "the other nodes need not wait");
        let status = cluster.config().status.clone().unwrap();
        let node = &status.nodes.unwrap().list[0];
        assert_eq!(node.reason.as_deref(), Some("PodCIDRMissing"), "{node:?}");
    }
}

/// Controllers take a moment: a node that just joined makes no noise.
#[test]
fn what_a_new_node_lacks_is_overdue_after_a_while() {
    let mut cluster = static_routes();
    let node = cluster.observed.linux.get_mut("linux-0").unwrap();
    (node.pod_cidr, node.created) = (None, Some(at(0)));
    cluster.now = at(29);
    let plan = cluster.pass();
    assert!(plan.network.is_empty(), "{:?}", messages(&plan));
    assert_eq!(plan.revisit, Some(at(30)));
    cluster.now = at(30);
    let plan = cluster.pass();
    assert_eq!(
        (reasons(&plan), plan.revisit),
        (vec![Reason::PodCIDRMissing], None)
    );
}

/// Others' agents of the same purpose stand.
#[test]
fn flannel_that_somebody_else_runs_on_windows_stands() {
    let mut cluster = vxlan(GOOD, "");
    cluster.foreign_daemon_set(
        "kube-flannel",
        "kube-flannel-ds-windows-amd64",
        "sigwindowstools/flannel:v0.26-hostprocess",
    );
    let plan = cluster.pass();
    assert!(matches!(
        plan.components[Component::NetworkAgent].ownership,
        Ownership::External { .. }
    ));
    assert!(
        !objects(&plan).iter().any(|o| o.contains("flannel")),
        "{:?}",
        objects(&plan)
    );
    let mut cluster = vxlan(GOOD, "");
    cluster.observed.nodes.get_mut("win-0").unwrap().kubelet_version = "v1.36.3+rke2r1".into();
    assert!(
        cluster.pass().objects.is_empty(),
        "RKE2 runs flannel and kube-proxy itself"
    );
}

#[rstest]
#[case::one_network("192.168.0.10/24", "192.168.0.11/24", false)]
#[case::two_networks("192.168.0.10/24", "192.168.1.11/24", true)]
#[case::no_prefix("192.168.0.10/32", "192.168.1.11/32", false)]
#[case::unknown("", "", false)]
fn host_gateway_needs_one_network(#[case] linux: &str, #[case] windows: &str, #[case] found: bool) {
    let mut cluster = flannel(NetworkType::FlannelHostGateway, r#"{"Type": "host-gw"}"#, "");
    cluster.observed.linux.get_mut("linux-0").unwrap().bgp_address = linux.into();
    cluster.observed.nodes.get_mut("win-0").unwrap().bgp_address = windows.into();
    let plan = cluster.pass();
    let expected: &[Reason] = if found { &[Reason::NotL2Adjacent] } else { &[] };
    assert_eq!(reasons(&plan), expected);
    let unknown = plan.notes.iter().any(|n| n.contains("layer 2"));
    assert_eq!(unknown, linux.is_empty() || linux.ends_with("/32"));
}

/// With Calico there is a policy agent, and nothing of Calico's configuration is touched.
#[rstest]
#[case(NetworkType::FlannelHostGateway, "cbr0", "None")]
#[case(NetworkType::FlannelVxlan, "flannel.*", "None")]
#[case(NetworkType::StaticRoutes, "cbr0", "None")]
#[case(NetworkType::CloudProvider, "azure.*|vpc.*", "None")]
fn calico_for_policy(#[case] network: NetworkType, #[case] hns: &str, #[case] plugin: &str) {
    let mut cluster = with_pod_cidrs(Cluster::fresh(network).with_spec(&spec_of(network, "")));
    let backend = if network == NetworkType::FlannelVxlan {
        GOOD
    } else {
        r#"{"Type": "host-gw"}"#
    };
    cluster.flannel(
        Some(&format!(
            r#"{{"Network": "10.244.0.0/16", "Backend": {backend}}}"#
        )),
        KUBECTL,
    );
    let plan = cluster.pass();
    assert!(plan.calico.writes.is_empty());
    let agent = body(&plan, OwnKind::DaemonSet, node_agent::DAEMON_SET);
    let pod = &agent["spec"]["template"]["spec"];
    assert!(pod.get("initContainers").is_none());
    let names: Vec<_> = pod["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["name"])
        .collect();
    assert_eq!(names, ["node", "felix"]);
    let env = env(&pod["containers"][0]);
    for wanted in [
        "CALICO_NETWORKING_BACKEND=none",
        "CALICO_MANAGE_CNI=false",
        "FELIX_ROUTESOURCE=WorkloadIPs",
        &format!("KUBE_NETWORK={hns}"),
        &format!("CNI_PLUGIN_TYPE={plugin}"),
    ] {
        assert!(env.iter().any(|e| e == wanted), "{wanted} is not in {env:?}");
    }
    assert!(!objects(&plan).iter().any(|o| o.contains(node_agent::CONFIG_MAP)));
    let status = cluster.config().status.clone().unwrap();
    let calico = status
        .conditions
        .iter()
        .find(|c| c.type_ == "CalicoConfigured")
        .unwrap();
    assert_eq!(
        (calico.status.as_str(), calico.reason.as_str()),
        ("True", "NotApplicable")
    );
}

#[test]
fn from_calicos_network_to_flannels_and_back() {
    let mut cluster = with_pod_cidrs(Cluster::vxlan());
    cluster.pass();
    let originals = cluster.originals();
    cluster.flannel(
        Some(&format!(r#"{{"Network": "10.244.0.0/16", "Backend": {GOOD}}}"#)),
        KUBECTL,
    );
    cluster.edit_spec(|s| *s = spec(&spec_of(NetworkType::FlannelVxlan, "")));
    let plan = cluster.pass();
    let gone: Vec<_> = plan.deletions.iter().map(|(_, o)| o.name.as_str()).collect();
    assert_eq!(gone, [node_agent::CONFIG_MAP]);
    assert!(
        originals.iter().all(|o| cluster.originals().contains(o)),
        "kept for the day of deletion"
    );
    cluster.edit_spec(|s| *s = spec("network: {type: CalicoVXLAN}"));
    let plan = cluster.pass();
    let gone: Vec<_> = plan.deletions.iter().map(|(_, o)| o.name.as_str()).collect();
    assert_eq!(
        gone,
        [
            network_agent::FLANNEL_CONFIG_MAP,
            network_agent::FLANNEL_DAEMON_SET
        ]
    );
}

#[test]
fn the_platform_runs_kube_proxy_where_it_networks_the_nodes() {
    let mut cluster = Cluster::without_calico(NetworkType::CloudProvider);
    let plan = cluster.pass();
    assert!(plan.objects.is_empty());
    assert!(matches!(
        plan.components[Component::KubeProxy].ownership,
        Ownership::External { .. }
    ));
    assert!(matches!(
        plan.components[Component::NodeAgent].ownership,
        Ownership::NotNeeded { .. }
    ));
    assert!(matches!(
        plan.components[Component::NetworkAgent].ownership,
        Ownership::NotNeeded { .. }
    ));
}

#[test]
fn prerequisites_on_eks() {
    let mut cluster = Cluster::without_calico(NetworkType::CloudProvider);
    let node = cluster.observed.nodes.get_mut("win-0").unwrap();
    node.labels = [
        ("kubernetes.io/os", "windows"),
        ("eks.amazonaws.com/nodegroup", "w"),
    ]
    .into();
    let plan = cluster.pass();
    assert_eq!(
        reasons(&plan),
        [Reason::PrerequisiteMissing, Reason::PrerequisiteMissing]
    );
    assert_yaml_snapshot!("eks", messages(&plan));
    let config = [(eks::WINDOWS_IPAM.to_owned(), "true".to_owned())].into();
    cluster.observed.sources.insert(Source::AmazonVpcCni, config);
    cluster.observed.nodes.get_mut("win-0").unwrap().vpc_addresses = true;
    let plan = cluster.pass();
    assert!(plan.network.is_empty());
    assert!(plan.notes[0].contains("DSR"));
}

/// In mode `Observe` everything is reported and nothing done.
#[test]
fn observe_says_what_it_would_do() {
    let mut cluster = vxlan(r#"{"Type": "vxlan"}"#, &format!("mode: Observe\n{MIGRATE}"));
    let before = cluster.flannel_text();
    cluster.pass();
    assert_eq!(cluster.flannel_text(), before);
    let status = cluster.config().status.clone().unwrap();
    assert_yaml_snapshot!("observe", status.pending_changes);
    let network = status
        .conditions
        .iter()
        .find(|c| c.type_ == "NetworkConfigured")
        .unwrap();
    assert_eq!(network.reason, "ObserveOnly");
}

/// Whatever the text is, only the field changes, and taking it away again leaves no trace.
#[rstest]
#[case(r#"{"Backend":{"Type":"vxlan"}}"#)]
#[case(
    "{\n\t\"Network\": \"10.0.0.0/8\",\n\t\"Backend\": {\n\t\t\"Type\": \"vxlan\",\n\t\t\"MTU\": 1400\n\t}, \"x\": [1, {\"Backend\": 2}]\n}"
)]
fn only_the_field_changes(#[case] text: &str) {
    let set = json_text::with(text, "Backend.VNI", Some(&json!(4096)), "").unwrap();
    let mut expected: Value = serde_json::from_str(text).unwrap();
    expected["Backend"]["VNI"] = json!(4096);
    assert_eq!(serde_json::from_str::<Value>(&set).unwrap(), expected);
    assert_eq!(json_text::with(&set, "Backend.VNI", None, "").unwrap(), text);
}

impl Cluster {
    /// flannel's configuration as `manager` writes it; `None` deletes it.
    fn flannel(&mut self, text: Option<&str>, manager: &str) {
        match text {
            Some(text) => self.update(FLANNEL, CONFIG_MAP, manager, json!({"net-conf.json": text})),
            None => self.delete(FLANNEL, CONFIG_MAP),
        }
    }

    fn flannel_applied(&mut self, text: &str, manager: &str) {
        self.apply_as(FLANNEL, CONFIG_MAP, manager, json!({"net-conf.json": text}));
    }

    fn flannel_text(&self) -> String {
        self.field(FLANNEL, CONFIG_MAP, "net-conf.json")
            .as_str()
            .unwrap()
            .to_owned()
    }
}
