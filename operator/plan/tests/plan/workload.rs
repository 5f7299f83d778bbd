//! Both DaemonSets over every supported version and network type: what is rendered, and what must hold of all.

use std::collections::BTreeMap;

use insta::{assert_snapshot, assert_yaml_snapshot};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use rstest::rstest;
use serde_json::{Value, json};

use wn_api::calico::CalicoApi;
use wn_api::names::{CALICO_MINORS, annotations};
use wn_api::spec::{Image, KubeProxy, NetworkType, NodeAgent};
use wn_plan::version::Version;
use wn_plan::workload::Workload;
use wn_plan::workload::kube_proxy::{Group, Members, image as kube_proxy_image, kube_proxy};
use wn_plan::workload::node_agent::{MANAGED_ENV, images as node_agent_images, node_agent};

use crate::common::{CALICO_NETWORKS, context};

const CALICO: Version = Version::new(3, 32, 1);
/// One newer than the newest released, because the gates of that one are known.
const KUBE_PROXY_MINORS: std::ops::RangeInclusive<u32> = 29..=38;

fn agent(version: &Version, api: CalicoApi, network: NetworkType) -> Workload {
    node_agent(&NodeAgent::default(), version, api, &context(network))
}

fn proxy(minor: u32, network: NetworkType, dsr: bool) -> Workload {
    kube_proxy(&KubeProxy::default(), &group(minor, dsr), &context(network))
}

fn group(minor: u32, dsr: bool) -> Group {
    Group {
        members: Members::Rest,
        version: Version::new(1, minor, 3),
        dsr,
    }
}

fn pod(daemon_set: &DaemonSet) -> &PodSpec {
    daemon_set.spec.as_ref().unwrap().template.spec.as_ref().unwrap()
}

fn containers(daemon_set: &DaemonSet) -> impl Iterator<Item = &Container> {
    let pod = pod(daemon_set);
    pod.init_containers.iter().flatten().chain(&pod.containers)
}

fn every_variant() -> Vec<Workload> {
    let mut all = Vec::new();
    for network in NetworkType::ALL {
        for minor in CALICO_MINORS {
            for api in [CalicoApi::V1, CalicoApi::V3] {
                all.push(agent(&Version::new(3, minor, 0), api, network));
            }
        }
        for minor in KUBE_PROXY_MINORS {
            all.extend([true, false].map(|dsr| proxy(minor, network, dsr)));
        }
    }
    all
}

/// The parts that may differ between two versions of Calico.
fn by_version(daemon_set: &DaemonSet) -> Value {
    let exec = |probe: &Option<k8s_openapi::api::core::v1::Probe>| {
        probe
            .as_ref()
            .and_then(|p| p.exec.as_ref())
            .and_then(|e| e.command.clone())
    };
    containers(daemon_set)
        .map(|c| {
            let stop = c
                .lifecycle
                .as_ref()
                .and_then(|l| l.pre_stop.as_ref())
                .and_then(|h| h.exec.as_ref());
            json!({
                "name": c.name, "image": c.image, "command": c.command, "args": c.args,
                "live": exec(&c.liveness_probe), "ready": exec(&c.readiness_probe),
                "stop": stop.and_then(|e| e.command.clone()),
            })
        })
        .collect()
}

#[test]
fn node_agent_of_every_calico_minor() {
    for network in CALICO_NETWORKS {
        let all: BTreeMap<_, _> = CALICO_MINORS
            .map(|minor| Version::new(3, minor, 0))
            .map(|version| {
                (
                    version.to_string(),
                    by_version(&agent(&version, CalicoApi::V1, network).daemon_set),
                )
            })
            .collect();
        assert_yaml_snapshot!(format!("node_agent_by_version_{}", network.as_str()), all);
    }
}

/// Completes the snapshots above: nothing but those parts depends on the version.
#[rstest]
fn nothing_else_depends_on_calicos_version(#[values(0, 1, 2, 3, 4, 5)] network: usize) {
    let network = NetworkType::ALL[network];
    let without = |minor: u32| {
        let workload = agent(&Version::new(3, minor, 0), CalicoApi::V1, network);
        let mut daemon_set = workload.daemon_set;
        let pod = daemon_set.spec.as_mut().unwrap().template.spec.as_mut().unwrap();
        for c in pod
            .init_containers
            .iter_mut()
            .flatten()
            .chain(&mut pod.containers)
        {
            (c.image, c.command, c.lifecycle) = (None, None, None);
            for probe in [&mut c.liveness_probe, &mut c.readiness_probe] {
                probe.iter_mut().for_each(|p| p.exec = None);
            }
        }
        (workload.config_map, daemon_set)
    };
    for minor in CALICO_MINORS {
        assert_eq!(without(minor), without(*CALICO_MINORS.start()));
    }
}

#[test]
fn node_agent_in_full() {
    for network in CALICO_NETWORKS {
        for api in [CalicoApi::V1, CalicoApi::V3] {
            let workload = agent(&CALICO, api, network);
            let name = format!("node_agent_{}_{}", network.as_str(), api.version());
            assert_yaml_snapshot!(format!("{name}_daemon_set"), workload.daemon_set);
            assert_snapshot!(
                format!("{name}_cni"),
                workload.config_map.unwrap().data.unwrap()["config"]
            );
        }
    }
}

#[test]
fn kube_proxy_in_full() {
    for network in CALICO_NETWORKS {
        let workload = proxy(33, network, true);
        assert_yaml_snapshot!(
            format!("kube_proxy_{}_daemon_set", network.as_str()),
            workload.daemon_set
        );
    }
}

/// Every field of both specs, and where it ends up.
#[test]
fn every_option() {
    let common = json!({
        "image": {"registry": "hub.corp", "repository": "mirror/node-windows", "tag": "t1", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "pull"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "updateStrategy": {"maxUnavailable": "25%"},
        "tolerations": [{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}],
    });
    let with = |more: Value| {
        let mut all = common.clone();
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let agent: NodeAgent = serde_json::from_value(with(json!({
        "logLevel": "Warning", "cniBinDir": r"C:\Program Files\containerd\cni\bin",
        "env": [{"name": "IP_AUTODETECTION_METHOD", "value": "cidr=10.20.0.0/16"}],
        "cniConfDir": r"C:\Program Files\containerd\cni\conf", "vxlanAdapter": "Ethernet 2", "vxlanMACPrefix": "0E-2B",
        "useSingleNetwork": false, "disableHostSubnetNATExclusion": true,
    })))
    .unwrap();
    let proxy: KubeProxy = serde_json::from_value(with(json!({
        "updateStrategy": {"type": "OnDelete"}, "featureGates": {"Foo": true}, "extraArgs": ["--v=4"],
    })))
    .unwrap();
    let context = context(NetworkType::CalicoVxlan);
    let agent = node_agent(&agent, &CALICO, CalicoApi::V1, &context);
    assert_yaml_snapshot!("every_option_node_agent", agent.daemon_set);
    assert_snapshot!(
        "every_option_cni",
        agent.config_map.unwrap().data.unwrap()["config"]
    );
    let proxy = kube_proxy(&proxy, &group(32, true), &context);
    assert_yaml_snapshot!("every_option_kube_proxy", proxy.daemon_set);
}

#[test]
fn kube_proxy_arguments_of_every_minor() {
    for network in CALICO_NETWORKS {
        let mut all = BTreeMap::new();
        for minor in KUBE_PROXY_MINORS {
            for dsr in [true, false] {
                let workload = proxy(minor, network, dsr);
                let container = &pod(&workload.daemon_set).containers[0];
                let vip = container
                    .env
                    .iter()
                    .flatten()
                    .find(|e| e.name == "SOURCE_VIP_ENDPOINT");
                let key = format!("1.{minor} {}", if dsr { "DSR" } else { "no DSR" });
                all.insert(
                    key,
                    json!({"args": container.args, "sourceVip": vip.and_then(|e| e.value.clone())}),
                );
            }
        }
        assert_yaml_snapshot!(format!("kube_proxy_arguments_{}", network.as_str()), all);
    }
}

#[rstest]
#[case::docker("3.29.7", None, None, ["docker.io/calico/node-windows:v3.29.7", "docker.io/calico/cni-windows:v3.29.7"])]
#[case::quay("3.30.0", None, None, ["quay.io/calico/node-windows:v3.30.0", "quay.io/calico/cni-windows:v3.30.0"])]
#[case::global("3.30.0", None, Some("hub.corp"), ["hub.corp/calico/node-windows:v3.30.0", "hub.corp/calico/cni-windows:v3.30.0"])]
#[case::sibling("3.30.0", Some("mirror/x-node-windows"), None, ["quay.io/mirror/x-node-windows:v3.30.0", "quay.io/mirror/x-cni-windows:v3.30.0"])]
#[case::no_sibling("3.30.0", Some("mirror/agent"), None, ["quay.io/mirror/agent:v3.30.0", "quay.io/calico/cni-windows:v3.30.0"])]
fn images_of_the_agent(
    #[case] version: &str,
    #[case] repository: Option<&str>,
    #[case] global: Option<&str>,
    #[case] expected: [&str; 2],
) {
    let image = Image {
        repository: repository.map(str::to_owned),
        ..Image::default()
    };
    let found = node_agent_images(&image, &version.parse().unwrap(), global);
    assert_eq!([found.node.as_str(), found.cni.as_str()], expected);
}

#[test]
fn digest_names_the_node_image_only() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let found = node_agent_images(
        &Image {
            digest: Some(digest.clone()),
            ..Image::default()
        },
        &CALICO,
        None,
    );
    assert_eq!(found.node, format!("quay.io/calico/node-windows@{digest}"));
    assert_eq!(found.cni, "quay.io/calico/cni-windows:v3.32.1");
}

#[rstest]
#[case("v1.33.4", "docker.io/sigwindowstools/kube-proxy:v1.33.4-calico-hostprocess")]
#[case(
    "v1.31.2+rke2r1",
    "docker.io/sigwindowstools/kube-proxy:v1.31.2_rke2r1-calico-hostprocess"
)]
fn image_of_kube_proxy(#[case] version: &str, #[case] expected: &str) {
    assert_eq!(
        kube_proxy_image(&Image::default(), &version.parse().unwrap(), None),
        expected
    );
}

/// What the API server demands of HostProcess pods, what both pods must have besides, and that no
/// volume, mount or script is missing.
#[test]
fn every_variant_is_a_sound_host_process_pod() {
    for workload in every_variant() {
        let daemon_set = &workload.daemon_set;
        let pod = pod(daemon_set);
        let windows = pod
            .security_context
            .as_ref()
            .unwrap()
            .windows_options
            .as_ref()
            .unwrap();
        assert_eq!(windows.host_process, Some(true));
        assert_eq!(windows.run_as_user_name.as_deref(), Some(r"NT AUTHORITY\system"));
        assert_eq!(pod.host_network, Some(true));
        assert_eq!(pod.os.as_ref().unwrap().name, "windows");
        assert_eq!(pod.node_selector.as_ref().unwrap()["kubernetes.io/os"], "windows");
        assert_eq!(pod.priority_class_name.as_deref(), Some("system-node-critical"));
        let volumes: Vec<_> = pod.volumes.iter().flatten().map(|v| &v.name).collect();
        for container in containers(daemon_set) {
            assert!(
                container.security_context.is_none(),
                "a container could leave the pod's HostProcess"
            );
            for mount in container.volume_mounts.iter().flatten() {
                assert!(volumes.contains(&&mount.name), "{}", mount.name);
            }
        }
        for map in workload.config_map.iter().chain(&workload.followed) {
            assert_eq!(map.metadata.labels, daemon_set.metadata.labels);
            assert_eq!(map.metadata.namespace, daemon_set.metadata.namespace);
        }
        let template = &daemon_set.spec.as_ref().unwrap().template;
        let meta = template.metadata.as_ref().unwrap();
        let selector = daemon_set
            .spec
            .as_ref()
            .unwrap()
            .selector
            .match_labels
            .as_ref()
            .unwrap();
        assert!(
            selector
                .iter()
                .all(|(k, v)| meta.labels.as_ref().unwrap().get(k) == Some(v))
        );
        assert!(
            meta.annotations
                .as_ref()
                .unwrap()
                .contains_key(annotations::CONFIG_CHECKSUM)
        );
    }
}

/// The API server is reached by its own address from every container that talks to it, and from none by two.
#[test]
fn no_variable_is_set_twice_and_the_api_server_is_named() {
    for workload in every_variant() {
        for container in containers(&workload.daemon_set) {
            let names: Vec<_> = container.env.iter().flatten().map(|e| e.name.as_str()).collect();
            let mut unique = names.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), names.len(), "{names:?}");
            assert_eq!(
                names.contains(&"KUBERNETES_SERVICE_HOST"),
                container.name != "uninstall-calico"
            );
        }
    }
}

/// The script's own condition decides whether it can be configured to keep kube-proxy's service; where it cannot, it is not run.
#[rstest]
#[case::always_removes("3.29.7", false, &["install-cni"])]
#[case::always_removes("3.31.3", false, &["install-cni"])]
#[case::asks("3.31.4", false, &["uninstall-calico", "install-cni"])]
#[case::asks("3.32.1", false, &["uninstall-calico", "install-cni"])]
#[case::ours("3.29.7", true, &["uninstall-calico", "install-cni"])]
#[case::ours("3.32.1", true, &["uninstall-calico", "install-cni"])]
fn kube_proxys_service_stays_where_it_is_not_ours(
    #[case] version: &str,
    #[case] ours: bool,
    #[case] expected: &[&str],
) {
    for network in CALICO_NETWORKS {
        let mut context = context(network);
        context.kube_proxy_is_ours = ours;
        let version = version.parse().unwrap();
        let workload = node_agent(&NodeAgent::default(), &version, CalicoApi::V1, &context);
        let all = pod(&workload.daemon_set).init_containers.iter().flatten();
        let names: Vec<_> = all.clone().map(|c| c.name.as_str()).collect();
        assert_eq!(names, expected);
        for container in all.filter(|c| c.name == "uninstall-calico") {
            let mut env = container.env.iter().flatten();
            assert_eq!(env.any(|e| e.name == "CNI_PLUGIN_TYPE"), ours);
        }
    }
}

/// A hook runs whenever its container is stopped: the one that a probe restarts must not take the node's network down.
#[test]
fn a_restart_of_felix_leaves_the_node_alone() {
    for network in CALICO_NETWORKS {
        for minor in CALICO_MINORS {
            let workload = agent(&Version::new(3, minor, 0), CalicoApi::V1, network);
            let hooks: Vec<_> = pod(&workload.daemon_set)
                .containers
                .iter()
                .filter(|c| c.lifecycle.is_some())
                .map(|c| (c.name.as_str(), c.liveness_probe.is_some()))
                .collect();
            assert_eq!(hooks, [("node", false)]);
        }
    }
}

/// What is rendered may not be given another value beside it.
#[test]
fn every_variable_of_the_agent_is_managed() {
    for workload in every_variant() {
        let name = workload.daemon_set.metadata.name.as_deref();
        for container in pod(&workload.daemon_set)
            .containers
            .iter()
            .filter(|_| name == Some("calico-node-windows"))
        {
            for variable in container.env.iter().flatten() {
                assert!(MANAGED_ENV.contains(&variable.name.as_str()), "{}", variable.name);
            }
        }
    }
    assert!(MANAGED_ENV.is_sorted());
}

/// A variable wins over FelixConfiguration, which then says one thing and does another.
#[test]
fn log_levels_are_set_when_asked() {
    let level = |spec: &NodeAgent| {
        let workload = node_agent(spec, &CALICO, CalicoApi::V1, &context(NetworkType::CalicoVxlan));
        let felix = pod(&workload.daemon_set)
            .containers
            .iter()
            .find(|c| c.name == "felix");
        let mut env = felix.unwrap().env.iter().flatten();
        env.find(|e| e.name == "FELIX_LOGSEVERITYSCREEN")
            .and_then(|e| e.value.clone())
    };
    assert_eq!(level(&NodeAgent::default()), None);
    let asked = serde_json::from_value(json!({"logLevel": "Debug"})).unwrap();
    assert_eq!(level(&asked).as_deref(), Some("debug"));
}

/// Pools belong to the user; with a network that is not Calico's there must be none.
#[test]
fn no_agent_creates_a_pool() {
    for network in NetworkType::ALL {
        let workload = agent(&CALICO, CalicoApi::V1, network);
        for container in &pod(&workload.daemon_set).containers {
            let mut env = container.env.iter().flatten();
            let value = env
                .find(|e| e.name == "NO_DEFAULT_POOLS")
                .and_then(|e| e.value.as_deref());
            assert_eq!(value, Some("true"), "{} of {}", container.name, network.as_str());
        }
    }
}

#[test]
fn config_change_rolls_the_pods() {
    let checksum = |workload: Workload| {
        let template = workload.daemon_set.spec.unwrap().template;
        template
            .metadata
            .unwrap()
            .annotations
            .unwrap()
            .remove(annotations::CONFIG_CHECKSUM)
            .unwrap()
    };
    let mut other = context(NetworkType::CalicoVxlan);
    other.service_cidrs = vec!["10.0.0.0/16".into()];
    let changed = node_agent(&NodeAgent::default(), &CALICO, CalicoApi::V1, &other);
    assert_ne!(
        checksum(agent(&CALICO, CalicoApi::V1, NetworkType::CalicoVxlan)),
        checksum(changed)
    );
}

/// The installer's replacements (`install_windows.go` and `install.go`), then its own check: valid JSON.
#[test]
fn cni_configuration_is_json_after_the_installers_replacements() {
    let replacements = [
        ("\"__DSR_SUPPORT__\"", "true"),
        ("__KUBERNETES_NODE_NAME__", "win-1"),
        ("__NODENAME_FILE__", "c:/var/run/calico/nodename"),
    ];
    for workload in every_variant() {
        // Where Calico only enforces policy there is no CNI configuration.
        let data = workload.config_map.and_then(|map| map.data).unwrap_or_default();
        let Some(text) = data.get("config") else { continue };
        let text = replacements
            .iter()
            .fold(text.clone(), |text, (from, to)| text.replace(from, to));
        assert!(
            !text.contains("__"),
            "a placeholder the installer does not know: {text}"
        );
        let list: Value = serde_json::from_str(&text).unwrap();
        let plugin = &list["plugins"][0];
        assert_eq!(plugin["windows_loopback_DSR"], json!(true));
        assert_eq!(
            plugin["policies"][0]["Value"]["ExceptionList"],
            json!(["10.96.0.0/12", "10.112.0.0/16"])
        );
        assert_eq!(plugin["policies"].as_array().unwrap().len(), 3);
        assert_eq!(plugin["vxlan_vni"].is_null(), plugin["mode"] == "windows-bgp");
    }
}
