use super::*;
use serde_json::json;

/// A node where everything is right; a test spoils one thing.
pub struct Case {
    pub host_process: bool,
    pub install: Env,
    pub node: Env,
    pub labels: BTreeMap<String, String>,
    pub node_ip: Option<&'static str>,
    pub api_served: bool,
    pub strict_affinity: Option<bool>,
    pub pools: Vec<Pool>,
    pub pod_cidr: bool,
    pub has_block: bool,
    pub rivals: usize,
}

pub fn env(pairs: &[(&str, &str)]) -> Env {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn good() -> Case {
    let template = r#"{"name": "Calico", "plugins": [{
        "type": "calico", "mode": "vxlan", "vxlan_vni": __VNI__, "nodename": "__KUBERNETES_NODE_NAME__",
        "windows_loopback_DSR": "__DSR_SUPPORT__", "mtu": __CNI_MTU__,
        "DNS": {"Nameservers": [__KUBERNETES_DNS_SERVERS__]},
        "policies": [
            {"Name": "EndpointPolicy",
             "Value": {"Type": "OutBoundNAT", "ExceptionList": [__KUBERNETES_SERVICE_CIDRS__]}},
            __KUBERNETES_ROUTE_POLICIES__]}]}"#
        .replace("\"mode\": \"vxlan\"", "\"mode\": \"__MODE__\"");
    let endpoint = [
        ("KUBERNETES_SERVICE_HOST", "172.20.0.1"),
        ("KUBERNETES_SERVICE_PORT", "6443"),
    ];
    let mut install = env(&[
        ("CNI_NETWORK_CONFIG", template.as_str()),
        ("KUBERNETES_SERVICE_CIDRS", "10.96.0.0/12"),
        ("KUBERNETES_DNS_SERVERS", "10.96.0.10"),
        ("KUBERNETES_NODE_NAME", "win-0"),
        ("VXLAN_VNI", "4096"),
    ]);
    install.extend(env(&endpoint));
    let mut node = env(&[
        ("CALICO_NETWORKING_BACKEND", "vxlan"),
        ("VXLAN_VNI", "4096"),
        ("NODENAME", "win-0"),
    ]);
    node.extend(env(&endpoint));
    Case {
        host_process: true,
        install,
        node,
        labels: env(&[("kubernetes.io/os", "windows")]),
        node_ip: Some("172.20.0.5"),
        api_served: true,
        strict_affinity: Some(true),
        pools: vec![pool(json!({"cidr": "10.244.0.0/16", "nodeSelector": "all()"}))],
        pod_cidr: false,
        has_block: false,
        rivals: 0,
    }
}

fn pool(spec: serde_json::Value) -> Pool {
    Pool::parse(&spec).unwrap()
}

pub fn check(
    rules: &[fn(&AgentInput<'_>) -> Verdict],
    name: &str,
    spoil: impl FnOnce(&mut Case),
    expected: Option<(Kind, &str)>,
) {
    let mut case = good();
    spoil(&mut case);
    let input = AgentInput {
        host_process: case.host_process,
        install: Some(&case.install),
        node: &case.node,
        node_name: "win-0",
        node_labels: &case.labels,
        node_ip: case.node_ip,
        cluster_ip: Some("10.96.0.1"),
        api_served: case.api_served,
        strict_affinity: case.strict_affinity,
        pools: &case.pools,
        pod_cidr: case.pod_cidr,
        has_block: case.has_block,
        rivals: case.rivals,
    };
    match (rules.iter().try_for_each(|rule| rule(&input)), expected) {
        (Ok(()), None) => {}
        (Err(failure), Some((kind, text))) => {
            assert_eq!(failure.kind, kind, "{name}");
            assert!(failure.message.contains(text), "{name}: {}", failure.message);
        }
        (verdict, _) => panic!("{name}: {verdict:?}"),
    }
}

fn starts(name: &str, spoil: impl FnOnce(&mut Case)) {
    check(&[start], name, spoil, None);
}

fn waits(name: &str, text: &str, spoil: impl FnOnce(&mut Case)) {
    check(&[start], name, spoil, Some((Kind::Waits, text)));
}

fn node(name: &'static str, value: &'static str) -> impl FnOnce(&mut Case) {
    move |case| drop(case.node.insert(name.to_owned(), value.to_owned()))
}

#[test]
fn starts_where_all_is_right() {
    starts("good", |_| {});
    starts("VNI above the lowest", node("VXLAN_VNI", "4097"));
    starts("block at the limit", |case| {
        case.pools = vec![pool(json!({"cidr": "10.0.0.0/16", "blockSize": 29}))]
    });
    starts("its own block, pool disabled since", |case| {
        case.has_block = true;
        case.pools.clear();
    });
    starts("no network of Calico's, so no IPAM", |case| {
        case.node
            .insert("CALICO_NETWORKING_BACKEND".to_owned(), "none".to_owned());
        case.strict_affinity = None;
    });
    starts("host-local addresses, so no IPAM", |case| {
        host_local(case);
        case.pod_cidr = true;
        case.strict_affinity = Some(false);
        case.pools.clear();
    });
    // Nothing on the node compares the pool's encapsulation with the backend.
    starts("IPIP pool", |case| {
        case.pools = vec![pool(json!({"cidr": "10.244.0.0/16", "ipipMode": "Always"}))];
    });
}

fn host_local(case: &mut Case) {
    let variables = [
        ("CALICO_NETWORKING_BACKEND", "windows-bgp"),
        ("CNI_IPAM_TYPE", "host-local"),
    ];
    case.install.extend(env(&variables));
    case.node.extend(env(&variables));
}

#[test]
fn loops_where_startup_fails() {
    waits("host-local addresses of nothing", "has no pod CIDR", host_local);
    waits("rival", "deleted by one of 1 other agents", |case| {
        case.rivals = 1
    });
    waits(
        "no host",
        "host must be a URL or a host:port pair",
        node("KUBERNETES_SERVICE_HOST", ""),
    );
    waits(
        "ClusterIP",
        "before kube-proxy",
        node("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
    );
    waits("no NODENAME", "NODENAME is \"\"", |case| {
        drop(case.node.remove("NODENAME"))
    });
    waits(
        "other NODENAME",
        "NODENAME is \"other\"",
        node("NODENAME", "other"),
    );
    waits("no Calico", "Waiting for datastore", |case| {
        case.api_served = false
    });
    waits("no address", "autodetect an IPv4 address", |case| {
        case.node_ip = None
    });
    waits("strictAffinity false", "global strict affinity", |case| {
        case.strict_affinity = Some(false)
    });
    waits("no IPAM configuration", "global strict affinity", |case| {
        case.strict_affinity = None
    });
    waits("no pool", "cannot find a qualified ippool", |case| {
        case.pools.clear()
    });
    waits("blocks too small", "cannot find a qualified ippool", |case| {
        case.pools = vec![pool(json!({"cidr": "10.0.0.0/16", "blockSize": 30}))];
    });
    waits(
        "pool for others",
        "no configured Calico pools for node win-0",
        |case| {
            case.pools[0].node_selector = "kubernetes.io/os == 'linux'".to_owned();
        },
    );
    waits(
        "VNI too low",
        "Windows does not support VXLANVNI < 4096",
        node("VXLAN_VNI", "4095"),
    );
    waits("no VNI", "invalid syntax", node("VXLAN_VNI", ""));
}

#[test]
fn unknown_backend_is_refused_and_no_network_is_none() {
    check(
        RULES,
        "unknown backend",
        node("CALICO_NETWORKING_BACKEND", "bird"),
        Some((Kind::Waits, "invalid backend")),
    );
    check(
        RULES,
        "BGP needs no VNI",
        |case| {
            case.node
                .insert("CALICO_NETWORKING_BACKEND".to_owned(), "windows-bgp".to_owned());
            case.node.remove("VXLAN_VNI");
        },
        None,
    );
}

#[test]
fn cannot_be_made_without_host_process() {
    check(
        &[start],
        "plain container",
        |case| case.host_process = false,
        Some((Kind::Create, "HostProcess")),
    );
}
