//! What is done on each platform, and what is refused.

use std::collections::BTreeMap;

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::component::Component;
use wn_api::names::KUBERNETES_MINORS;
use wn_api::reasons::{Reason, conditions as types};
use wn_api::spec::{NetworkType, Platform};
use wn_plan::component::ownership::Ownership;
use wn_plan::observed::{LinuxNodeFacts, NodeFacts, TyphaFacts};
use wn_plan::platform::{Support, behaviour, name};
use wn_plan::status;
use wn_plan::version::Version;

use crate::common::*;

fn on(platform: Platform, network: NetworkType) -> Cluster {
    let mut cluster = Cluster::fresh(network);
    let spec = &mut cluster.config_mut().spec;
    spec.platform.type_ = Some(platform);
    spec.network_agent.image.repository = Some("example/agent".into());
    spec.network_agent.image.tag = Some("v1".into());
    cluster
}

/// Every platform with each of Calico's two types and the cloud's: refused with a reason, or who runs what, and what is advised.
#[test]
fn every_platform() {
    let mut table = BTreeMap::new();
    for (i, platform) in Platform::ALL.into_iter().enumerate() {
        for network in [
            NetworkType::CalicoVxlan,
            NetworkType::CalicoBgp,
            NetworkType::CloudProvider,
        ] {
            let plan = on(platform, network).plan();
            let line = match plan.platform.findings.first() {
                Some(finding) => format!("{} {}", finding.reason.as_str(), finding.message),
                None => format!(
                    "agent {}, kube-proxy {}",
                    plan.components[Component::NodeAgent].ownership.as_str(),
                    plan.components[Component::KubeProxy].ownership.as_str()
                ),
            };
            let advised = plan
                .advisories
                .iter()
                .map(|a| a.code)
                .collect::<Vec<_>>()
                .join(" ");
            table.insert(
                format!("{i:02} {} {}", name(platform), network.as_str()),
                [line, advised],
            );
        }
    }
    assert_yaml_snapshot!(table);
}

/// A refusal withholds every write; the user's word turns it into an advisory.
#[rstest]
fn a_refusal_changes_nothing_and_can_be_overruled(
    #[values(
        Platform::Gke,
        Platform::Iks,
        Platform::OpenStack,
        Platform::K3s,
        Platform::Eks,
        Platform::Aks
    )]
    platform: Platform,
) {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let (before, ours) = (cluster.store.specs(), cluster.observed.ours.clone());
    assert_eq!(ours.len(), 4);
    let last = cluster.config().status.clone().unwrap();
    cluster.config_mut().spec.platform.type_ = Some(platform);

    let plan = cluster.plan();
    assert!(plan.platform.is_refused() && !plan.write);
    cluster.apply(&plan);
    assert_eq!((cluster.store.specs(), &cluster.observed.ours), (before, &ours));
    let outcome = status::Outcome::Unsupported {
        platform: &plan.platform,
    };
    let status = status::assemble(cluster.config(), outcome, cluster.now);
    for condition in &status.conditions {
        let expected = match condition.type_.as_str() {
            types::STALLED => "True",
            types::READY | types::RECONCILING | types::PLATFORM_SUPPORTED => "False",
            _ => "Unknown",
        };
        assert_eq!(condition.status, expected, "{}", condition.type_);
        assert_eq!(condition.reason, Reason::PlatformUnsupported.as_str());
    }
    assert_eq!(status.platform.unwrap().name, name(platform));
    assert_eq!(
        status.calico, last.calico,
        "what is to be restored is not forgotten"
    );

    cluster.config_mut().spec.platform.accept_unsupported = true;
    let plan = cluster.pass();
    assert!(plan.write && plan.platform.findings.is_empty());
    let first = &plan.advisories.iter().find(|a| a.code == "WN1101").unwrap();
    assert!(first.message.contains(name(platform)), "{}", first.message);
}

/// Both managed platforms have their own network; only its type is taken there.
#[test]
fn policy_only_platforms_take_their_own_type() {
    for platform in Platform::ALL {
        let policy_only = behaviour(platform).support == Support::PolicyOnly;
        for network in NetworkType::ALL {
            let refused = on(platform, network).plan().platform.is_refused();
            let full = behaviour(platform).support == Support::Full;
            let taken = full || (policy_only && network == NetworkType::CloudProvider);
            assert_eq!(refused, !taken, "{platform:?} {network:?}");
        }
    }
}

/// On RKE2 no component of the operator runs, Calico is configured, and what its chart owns is left to it.
#[test]
fn beside_rke2_calico_is_put_right() {
    let mut cluster = on(Platform::Rke2, NetworkType::CalicoVxlan);
    let plan = cluster.pass();
    assert!(plan.objects.is_empty());
    assert_eq!(
        plan.components[Component::NodeAgent].ownership.as_str(),
        "External"
    );
    assert_eq!(cluster.field(IPAM, "default", "strictAffinity"), true);

    let mut cluster = on(Platform::Rke2, NetworkType::CalicoVxlan);
    cluster.apply_as(
        POOL,
        DEFAULT_POOL,
        "helm",
        pool("10.244.0.0/16", "Never", "CrossSubnet"),
    );
    let plan = cluster.pass();
    assert!(
        findings(&plan).iter().any(|f| f.starts_with("FieldConflict")),
        "{:?}",
        findings(&plan)
    );
    assert_eq!(cluster.field(POOL, DEFAULT_POOL, "vxlanMode"), "CrossSubnet");
}

/// Versions below the minimum are refused, untested ones are reported.
#[rstest]
#[case(25, Some(Reason::KubernetesVersionUnsupported), true)]
#[case(26, None, true)]
#[case(*KUBERNETES_MINORS.start() - 1, None, true)]
#[case(*KUBERNETES_MINORS.start(), None, false)]
#[case(*KUBERNETES_MINORS.end(), None, false)]
#[case(*KUBERNETES_MINORS.end() + 1, None, true)]
fn kubernetes_versions(#[case] minor: u32, #[case] refused: Option<Reason>, #[case] untested: bool) {
    let mut cluster = Cluster::vxlan();
    cluster.observed.kubernetes = Some(Version::new(1, minor, 0));
    let plan = cluster.plan();
    assert_eq!(plan.platform.findings.first().map(|f| f.reason), refused);
    assert_eq!(plan.write, refused.is_none());
    assert_eq!(plan.advisories.iter().any(|a| a.code == "WN1109"), untested);
    if untested && refused.is_none() {
        let status = cluster.status(&plan);
        let found = status
            .conditions
            .iter()
            .find(|c| c.type_ == types::PLATFORM_SUPPORTED);
        let found = found.unwrap();
        assert_eq!(
            (found.status.as_str(), found.reason.as_str()),
            ("True", "KubernetesVersionUntested")
        );
    }
}

fn linux(cluster: &Cluster) -> Vec<String> {
    let plan = cluster.plan();
    plan.linux
        .iter()
        .map(|f| format!("{}: {}", f.reason.as_str(), f.message))
        .collect()
}

#[test]
fn linux_nodes_for_what_windows_cannot_run() {
    let mut cluster = Cluster::vxlan();
    assert!(linux(&cluster).is_empty());
    let typha = TyphaFacts {
        replicas: 1,
        tls: true,
        version: None,
    };
    cluster
        .observed
        .typha
        .insert("calico-system".into(), typha.clone());
    assert!(linux(&cluster).is_empty(), "one replica for two nodes");
    cluster.observed.nodes.insert("win-1".into(), windows_node());
    let mut messages = vec![linux(&cluster)];
    cluster.observed.nodes.get_mut("win-1").unwrap().schedulable = false;
    assert!(linux(&cluster).is_empty());
    // By manifest there are as many as its author wrote.
    cluster.observed.typha = [("kube-system".to_owned(), TyphaFacts { replicas: 3, ..typha })].into();
    messages.push(linux(&cluster));
    cluster.observed.linux.clear();
    messages.push(linux(&cluster));
    assert_yaml_snapshot!(messages);
}

/// Cordoned nodes and virtual nodes of AKS do not count, whatever system they say they are of.
#[rstest]
#[case(json!({}), json!({}), true)]
#[case(json!({}), json!({"unschedulable": true}), false)]
#[case(json!({"type": "virtual-kubelet"}), json!({}), true)]
#[case(json!({"type": "virtual-kubelet", "kubernetes.azure.com/cluster": "c"}), json!({}), false)]
fn nodes_that_take_pods(#[case] labels: Value, #[case] spec: Value, #[case] counts: bool) {
    let node = json!({"metadata": {"labels": labels}, "spec": spec});
    assert_eq!(LinuxNodeFacts::read(&node).schedulable, counts);
    assert_eq!(NodeFacts::read(&node).schedulable, counts);
}

/// tigera/operator makes no Typha, and nothing else, while there are too few Linux nodes for it.
#[test]
fn a_typha_that_is_still_to_be_made() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    assert!(linux(&cluster).is_empty(), "one replica for two nodes");
    for i in 1..4 {
        cluster.observed.nodes.insert(format!("win-{i}"), windows_node());
    }
    cluster.observed.linux.insert("linux-1".into(), linux_node());
    assert_yaml_snapshot!("typha_to_come", linux(&cluster));
}

/// Whose machines they are is a fact of its own: its advisories are reported under any distribution.
#[rstest]
#[case("", "aws:///eu/i-1", None, NetworkType::CalicoBgp, &["WN1105", "WN1106"])]
#[case("+rke2r1", "aws:///eu/i-1", None, NetworkType::CalicoBgp, &["WN1105", "WN1106"])]
#[case("+rke2r1", "aws:///eu/i-1", None, NetworkType::CalicoVxlan, &["WN1105", "WN1108"])]
#[case("+rke2r1", "gce://p/z/i", None, NetworkType::CalicoBgp, &["WN1105"])]
#[case("+rke2r1", "digitalocean://1", None, NetworkType::CalicoVxlan, &["WN1108"])]
#[case("+rke2r1", "vsphere://1", None, NetworkType::CalicoBgp, &["WN1107"])]
#[case("+rke2r1", "", None, NetworkType::CalicoBgp, &["WN1107"])]
#[case("", "", None, NetworkType::CalicoBgp, &["WN1107"])]
#[case("", "", None, NetworkType::CalicoVxlan, &[])]
#[case("", "azure:///s", None, NetworkType::CalicoVxlan, &["WN1108"])]
#[case("+rke2r1", "aws:///eu/i-1", Some(Platform::OpenShift), NetworkType::CalicoBgp, &["WN1105", "WN1106"])]
#[case("", "aws:///eu/i-1", Some(Platform::OnPremises), NetworkType::CalicoBgp, &["WN1107"])]
#[case("", "", Some(Platform::Aws), NetworkType::CalicoBgp, &["WN1105", "WN1106"])]
fn advice_of_the_cloud(
    #[case] distribution: &str,
    #[case] machine: &str,
    #[case] given: Option<Platform>,
    #[case] network: NetworkType,
    #[case] expected: &[&str],
) {
    let mut cluster = Cluster::fresh(network);
    let kubelet = format!("v1.36.3{distribution}");
    for node in cluster.observed.nodes.values_mut() {
        (node.kubelet_version, node.provider_id) = (kubelet.clone(), machine.to_owned());
    }
    for node in cluster.observed.linux.values_mut() {
        (node.kubelet_version, node.provider_id) = (kubelet.clone(), machine.to_owned());
    }
    cluster.edit_spec(|s| s.platform.type_ = given);
    let of_machines = ["WN1105", "WN1106", "WN1107", "WN1108"];
    let plan = cluster.plan();
    let mut codes: Vec<_> = plan.advisories.iter().map(|a| a.code).collect();
    codes.retain(|code| of_machines.contains(code));
    codes.sort_unstable();
    assert_eq!(codes, expected);
}

#[test]
fn the_spec_wins_over_what_was_found() {
    let mut cluster = Cluster::vxlan();
    cluster.observed.linux.get_mut("linux-0").unwrap().kubelet_version = "v1.36.3+k3s1".into();
    assert!(cluster.plan().platform.is_refused(), "Linux nodes count, too");
    cluster.edit_spec(|s| s.platform.type_ = Some(Platform::OnPremises));
    let plan = cluster.plan();
    assert_eq!(plan.platform.platform, Some(Platform::OnPremises));
    assert_eq!(plan.platform.source, "spec.platform.type");
    assert_eq!(
        plan.components[Component::KubeProxy].ownership,
        Ownership::Managed
    );
}
