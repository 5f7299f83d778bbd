//! The images that are listed for a registry are those that the DaemonSets use, no more and no less.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use wn_api::calico::CalicoApi;
use wn_api::names::CALICO_MINORS;
use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};
use wn_plan::network;
use wn_plan::version::Version;
use wn_plan::workload::kube_proxy::{Group, Members, kube_proxy};
use wn_plan::workload::network_agent::{self, Parts};
use wn_plan::workload::node_agent::node_agent;
use wn_plan::workload::{Workload, images};

use crate::common::{context, spec};

const CALICO: Version = Version::new(3, 32, 1);
const KUBERNETES: Version = Version::new(1, 36, 3);
const AGENT: &str = "networkAgent: {image: {repository: example/agent, tag: v1}}";

fn spec_of(network: NetworkType, more: &str) -> WindowsNodeConfigSpec {
    spec(&format!(
        "network: {{type: {}}}\n{AGENT}\n{more}",
        network.as_str()
    ))
}

fn listed(spec: &WindowsNodeConfigSpec) -> Vec<String> {
    images(spec, &CALICO, &KUBERNETES).unwrap().into_iter().collect()
}

fn parts() -> Parts {
    Parts {
        name: "agent",
        service_account: "agent",
        container: "agent",
        config_map: "agent",
        mount: "/agent",
        script: "",
        files: BTreeMap::new(),
        arguments: Vec::new(),
        env: Vec::new(),
        ready_file: "ready",
        health_port: None,
        followed: None,
    }
}

/// Everything that is rendered for a spec.
fn workloads(spec: &WindowsNodeConfigSpec, calico: &Version) -> Vec<Workload> {
    let network = spec.network.type_;
    let mut context = context(network);
    context.image_registry.clone_from(&spec.image_registry);
    let mut all = vec![node_agent(&spec.node_agent, calico, CalicoApi::V1, &context)];
    if network::of(network).agent.is_some() {
        all.extend(network_agent::workload(&spec.network_agent, parts(), &context));
    }
    if network != NetworkType::CloudProvider {
        let group = Group {
            members: Members::Rest,
            version: KUBERNETES,
            dsr: true,
        };
        all.push(kube_proxy(&spec.kube_proxy, &group, &context));
    }
    all
}

fn rendered(spec: &WindowsNodeConfigSpec, calico: &Version) -> BTreeSet<String> {
    let pods = workloads(spec, calico).into_iter().map(|workload| {
        let template = workload.daemon_set.spec.unwrap().template;
        template.spec.unwrap()
    });
    pods.flat_map(|pod| pod.init_containers.into_iter().flatten().chain(pod.containers))
        .map(|container| container.image.unwrap())
        .collect()
}

#[rstest]
#[case::upstream("")]
#[case::mirror("imageRegistry: registry.example.com/mirror")]
#[case::digest(
    "nodeAgent: {image: {digest: 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}}"
)]
fn the_list_is_what_is_rendered(#[case] more: &str) {
    for network in NetworkType::ALL {
        let spec = spec_of(network, more);
        for minor in CALICO_MINORS {
            let calico = Version::new(3, minor, 0);
            let listed = images(&spec, &calico, &KUBERNETES).unwrap();
            assert_eq!(listed, rendered(&spec, &calico), "{} {calico}", network.as_str());
        }
    }
}

#[test]
fn the_list_of_the_smallest_spec() {
    let spec = WindowsNodeConfigSpec::minimal(NetworkType::CalicoVxlan);
    let expected = [
        "docker.io/sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess",
        "quay.io/calico/cni-windows:v3.32.1",
        "quay.io/calico/node-windows:v3.32.1",
    ];
    assert_eq!(listed(&spec), expected);
}

#[test]
fn what_somebody_else_runs_is_not_listed() {
    let none = "nodeAgent: {management: External}\nkubeProxy: {management: External}";
    assert_eq!(
        listed(&spec_of(NetworkType::CalicoVxlan, none)),
        Vec::<String>::new()
    );
    let agent = listed(&spec_of(NetworkType::StaticRoutes, none));
    assert_eq!(agent, ["docker.io/example/agent:v1"]);
}

#[test]
fn the_version_of_kube_proxy_in_the_spec_wins() {
    let spec = spec_of(NetworkType::CalicoBgp, "kubeProxy: {version: v1.35.1}");
    assert!(
        listed(&spec).contains(&"docker.io/sigwindowstools/kube-proxy:v1.35.1-calico-hostprocess".to_owned())
    );
}

#[test]
fn an_agent_without_an_image_has_no_list() {
    let spec = WindowsNodeConfigSpec::minimal(NetworkType::FlannelVxlan);
    assert_eq!(images(&spec, &CALICO, &KUBERNETES), None);
}
