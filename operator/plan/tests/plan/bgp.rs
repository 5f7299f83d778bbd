//! CalicoBGP and CalicoVXLAN against how Linux nodes route, host-local addresses, and Typha.

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::component::Component;
use wn_api::names::node_agent;
use wn_api::spec::{Ipam, NetworkType};
use wn_plan::decide::Plan;
use wn_plan::observed::{BgpPeer, OwnKind, Source, TyphaFacts, cluster as sources};
use wn_plan::validate::validate;

use crate::common::*;

fn bgp() -> Cluster {
    Cluster::fresh(NetworkType::CalicoBgp)
}

fn messages(plan: &Plan) -> Vec<String> {
    let found = plan.network.iter();
    found
        .map(|f| format!("{}: {}", f.reason.as_str(), f.message))
        .collect()
}

fn reasons(cluster: &Cluster) -> Vec<&'static str> {
    cluster.plan().network.iter().map(|f| f.reason.as_str()).collect()
}

/// `calico_backend` of the manifest install.
fn backend(cluster: &mut Cluster, name: &str) {
    let config =
        json!({"data": {"calico_backend": name, "cni_network_config": "{}", "typha_service_name": "none"}});
    let facts = sources::calico_config(&config);
    assert_eq!(facts.len(), 2, "only what is read is kept");
    cluster.observed.sources.insert(Source::CalicoConfig, facts);
}

fn addresses(cluster: &mut Cluster, windows: &str, linux: &str) {
    cluster.observed.nodes.get_mut("win-0").unwrap().bgp_address = windows.to_owned();
    cluster.observed.linux.get_mut("linux-0").unwrap().bgp_address = linux.to_owned();
}

#[test]
fn what_is_said() {
    let mut overlay = Cluster::vxlan();
    backend(&mut overlay, "bird");
    let mut silent = bgp();
    backend(&mut silent, "vxlan");
    let mut meshless = bgp();
    meshless.observed.bgp.node_to_node_mesh = false;
    let mut apart = bgp();
    addresses(&mut apart, "10.0.1.4/24", "10.0.2.4/24");
    let mut host_local = bgp();
    host_local.config_mut().spec.network.ipam = Ipam::HostLocal;
    let mut small = bgp();
    let mut spec = pool("10.244.0.0/16", "Never", "Never");
    spec["blockSize"] = json!(30);
    small.update(POOL, DEFAULT_POOL, CALICO, spec);
    let mut all: Vec<_> = [overlay, silent, meshless, apart, host_local]
        .iter()
        .map(|c| messages(&c.plan()))
        .collect();
    all.push(findings(&small.plan()));
    assert_yaml_snapshot!(all);
}

#[rstest]
#[case(NetworkType::CalicoVxlan, "vxlan", true, &[])]
#[case(NetworkType::CalicoVxlan, "bird", true, &["BGPWithVXLAN"])]
// BIRD without anybody to peer with harms nobody.
#[case(NetworkType::CalicoVxlan, "bird", false, &[])]
#[case(NetworkType::CalicoBgp, "bird", true, &[])]
#[case(NetworkType::CalicoBgp, "bird", false, &["BGPDisabled"])]
#[case(NetworkType::CalicoBgp, "vxlan", true, &["BGPDisabled"])]
#[case(NetworkType::CalicoBgp, "none", true, &["BGPDisabled"])]
fn backend_of_linux_nodes(
    #[case] network: NetworkType,
    #[case] name: &str,
    #[case] mesh: bool,
    #[case] expected: &[&str],
) {
    let mut cluster = Cluster::fresh(network);
    backend(&mut cluster, name);
    cluster.observed.bgp.node_to_node_mesh = mesh;
    assert_eq!(reasons(&cluster), expected);
    // Reported by tigera/operator, or not at all: there is no finding.
    cluster.observed.sources.remove(&Source::CalicoConfig);
    cluster.observed.bgp.node_to_node_mesh = true;
    assert!(reasons(&cluster).is_empty());
}

#[rstest]
#[case("10.0.1.4/24", "10.0.1.5/24", true)]
#[case("10.0.1.4/24", "10.0.2.5/24", false)]
// A smaller mask on one side: that side would send to a router.
#[case("10.0.1.4/16", "10.0.2.5/24", false)]
#[case("10.0.1.4/32", "10.0.2.5/24", true)]
#[case("10.0.1.4/24", "10.0.2.5/32", true)]
#[case("", "10.0.2.5/24", true)]
#[case("10.0.1.4", "10.0.2.5/24", true)]
fn one_subnet_in_a_full_mesh(#[case] windows: &str, #[case] linux: &str, #[case] adjacent: bool) {
    let mut cluster = bgp();
    addresses(&mut cluster, windows, linux);
    let expected: &[&str] = if adjacent { &[] } else { &["NotL2Adjacent"] };
    assert_eq!(reasons(&cluster), expected);
    // Whoever peers with routers or reflectors knows why.
    let mut peered = cluster.clone();
    peered.observed.bgp.peers.insert("tor".into(), BgpPeer::default());
    assert!(reasons(&peered).is_empty());
    cluster.observed.linux.get_mut("linux-0").unwrap().route_reflector = true;
    assert!(reasons(&cluster).is_empty());
}

#[test]
fn two_windows_nodes_count_as_well() {
    let mut cluster = bgp();
    addresses(&mut cluster, "10.0.1.4/24", "10.0.1.5/24");
    let mut other = windows_node();
    other.bgp_address = "10.0.9.4/24".into();
    cluster.observed.nodes.insert("win-1".into(), other);
    assert_eq!(reasons(&cluster), ["NotL2Adjacent"]);
}

fn agent(plan: &Plan, kind: OwnKind) -> Value {
    let write = plan
        .objects
        .iter()
        .find(|o| o.object.kind == kind && o.object.name.starts_with("calico"));
    write.unwrap().body.clone()
}

fn variables(plan: &Plan) -> Vec<(String, String)> {
    let daemon_set = agent(plan, OwnKind::DaemonSet);
    let node = &daemon_set["spec"]["template"]["spec"]["containers"][0]["env"];
    let text = |v: &Value, key: &str| v[key].as_str().unwrap_or_default().to_owned();
    let all = node.as_array().unwrap().iter();
    all.map(|v| (text(v, "name"), text(v, "value"))).collect()
}

fn variable(plan: &Plan, name: &str) -> Option<String> {
    variables(plan)
        .into_iter()
        .find(|(n, _)| n == name)
        .map(|(_, v)| v)
}

/// IPAM is left alone, pools are still kept unencapsulated, and the agent is configured for it.
#[test]
fn host_local_addresses() {
    let mut cluster = bgp();
    cluster.config_mut().spec.network.ipam = Ipam::HostLocal;
    cluster.observed.nodes.get_mut("win-0").unwrap().pod_cidr = "10.244.1.0/24".parse().ok();
    let plan = cluster.pass();
    assert!(messages(&plan).is_empty());
    assert_eq!(cluster.field(IPAM, "default", "strictAffinity"), false);
    assert_eq!(cluster.field(POOL, DEFAULT_POOL, "ipipMode"), "Never");
    assert!(cluster.originals().iter().all(|o| o.kind != IPAM));
    assert_eq!(variable(&plan, "CNI_IPAM_TYPE").as_deref(), Some("host-local"));
    assert_eq!(variable(&plan, "USE_POD_CIDR").as_deref(), Some("true"));
    let config = agent(&plan, OwnKind::ConfigMap)["data"][node_agent::CONFIG_KEY].clone();
    let config: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
    assert_eq!(
        config["plugins"][0]["ipam"],
        json!({"type": "host-local", "subnet": "usePodCidr"})
    );

    // No block is looked for; how many pods fit follows from the pod CIDR.
    cluster.roll_out();
    cluster.observed.calico.blocks = wn_plan::observed::NodeIndex::default();
    cluster.observed.calico.affinities = wn_plan::observed::NodeIndex::default();
    cluster.observed.nodes.get_mut("win-0").unwrap().max_pods = Some(300);
    let plan = cluster.plan();
    let status = cluster.status(&plan);
    let nodes = status.nodes.unwrap();
    assert_eq!(nodes.summary, "1/1");
    let advice = &nodes.list[0].advice;
    assert!(
        advice[0].contains("pod CIDR 10.244.1.0/24 has addresses for 252"),
        "{advice:?}"
    );

    // Pools are no must.
    cluster.delete(POOL, DEFAULT_POOL);
    assert!(findings(&cluster.plan()).is_empty());
    // And back: what was left alone is set, once.
    cluster.update(
        POOL,
        DEFAULT_POOL,
        CALICO,
        pool("10.244.0.0/16", "Never", "Never"),
    );
    cluster.edit_spec(|s| s.network.ipam = Ipam::CalicoIpam);
    cluster.pass();
    assert_eq!(cluster.field(IPAM, "default", "strictAffinity"), true);
    // Pods that got their addresses from Calico's IPAM are still there: it goes back with the rest, on delete.
    cluster.edit_spec(|s| s.network.ipam = Ipam::HostLocal);
    cluster.pass();
    assert_eq!(cluster.field(IPAM, "default", "strictAffinity"), true);
    cluster.restore();
    assert_eq!(cluster.field(IPAM, "default", "strictAffinity"), false);
}

/// The schema refuses it as well; an object stored before it did must not get through either.
#[test]
fn host_local_is_for_bgp() {
    for type_ in NetworkType::ALL {
        let mut cluster = bgp();
        cluster.config_mut().spec.network.type_ = type_;
        cluster.config_mut().spec.network.ipam = Ipam::HostLocal;
        let refused = validate(&cluster.config().spec, &cluster.observed).is_err();
        assert_eq!(refused, type_ != NetworkType::CalicoBgp, "{type_:?}");
    }
}

/// Typha is used as Linux nodes use it, if it takes us.
#[rstest]
#[case("kube-system", false, "x", Some("kube-system"), false)]
#[case("kube-system", false, "none", None, false)]
#[case("kube-system", true, "calico-typha", None, true)]
#[case("calico-system", true, "x", None, true)]
#[case("calico-system", false, "none", Some("calico-system"), false)]
#[case("elsewhere", false, "x", None, false)]
fn typha(
    #[case] namespace: &str,
    #[case] tls: bool,
    #[case] service: &str,
    #[case] used: Option<&str>,
    #[case] noted: bool,
) {
    let mut cluster = Cluster::vxlan();
    let config = sources::calico_config(&json!({"data": {"typha_service_name": service}}));
    cluster.observed.sources.insert(Source::CalicoConfig, config);
    let facts = TyphaFacts {
        replicas: 1,
        tls,
        version: None,
    };
    cluster.observed.typha.insert(namespace.to_owned(), facts);
    let plan = cluster.plan();
    assert_eq!(variable(&plan, "FELIX_TYPHAK8SNAMESPACE").as_deref(), used);
    assert_eq!(
        variable(&plan, "FELIX_TYPHAK8SSERVICENAME").as_deref(),
        used.map(|_| "calico-typha")
    );
    let note = plan.components[Component::NodeAgent]
        .note
        .clone()
        .unwrap_or_default();
    assert_eq!(note.contains("client certificates"), noted, "{note}");
}

#[rstest]
#[case("v3.30.2", false)]
#[case("v3.30.3", true)]
#[case("v3.30.9", true)]
#[case("v3.31.0", true)]
#[case("v3.31.4", true)]
#[case("v3.31.5", false)]
#[case("v3.32.1", false)]
fn releases_without_bgp_on_windows(#[case] version: &str, #[case] broken: bool) {
    let mut cluster = bgp();
    cluster
        .observed
        .calico
        .cluster_information
        .as_mut()
        .unwrap()
        .calico_version = version.to_owned();
    let codes = |c: &Cluster| c.plan().advisories.iter().map(|a| a.code).collect::<Vec<_>>();
    assert_eq!(codes(&cluster).contains(&"WN1111"), broken);
    assert!(codes(&cluster).contains(&"WN1110"));
    cluster.config_mut().spec.network.type_ = NetworkType::CalicoVxlan;
    assert!(!codes(&cluster).contains(&"WN1111"));
}
