//! What gives a platform away, and which one wins where several are seen.

use rstest::rstest;
use wn_api::spec::Platform;
use wn_plan::observed::{LinuxNodeFacts, NodeFacts, Observed};
use wn_plan::platform::{self, Found};

use crate::common::spec;

fn detect(observed: &Observed) -> Option<Found> {
    platform::of(&spec("{}"), observed)
}

fn windows(label: &str, kubelet: &str, machine: &str) -> NodeFacts {
    NodeFacts {
        labels: [(label, "x")].into(),
        kubelet_version: kubelet.to_owned(),
        provider_id: machine.to_owned(),
        ..NodeFacts::default()
    }
}

fn linux(label: &str, kubelet: &str, machine: &str) -> LinuxNodeFacts {
    LinuxNodeFacts {
        labels: [(label, "x")].into(),
        kubelet_version: kubelet.to_owned(),
        provider_id: machine.to_owned(),
        ..LinuxNodeFacts::default()
    }
}

/// Every sign, on a Windows node and on a Linux node.
#[rstest]
#[case(
    "eks.amazonaws.com/nodegroup",
    "v1.33.0",
    "aws:///a/i-1",
    Platform::Eks,
    "label eks.amazonaws.com/nodegroup on node n"
)]
#[case(
    "zone/x",
    "v1.33.0-eks-8ccc7ba",
    "aws:///a/i-1",
    Platform::Eks,
    "kubelet v1.33.0-eks-8ccc7ba on node n"
)]
#[case(
    "zone/x",
    "v1.33.0-eks-1-33-2",
    "vsphere://1",
    Platform::OnPremises,
    "no node shows signs of another platform"
)]
#[case(
    "kubernetes.azure.com/cluster",
    "v1.33.0",
    "azure:///x",
    Platform::Aks,
    "label kubernetes.azure.com/cluster on node n"
)]
#[case(
    "cloud.google.com/gke-nodepool",
    "v1.33.0",
    "gce://p/z/n",
    Platform::Gke,
    "label cloud.google.com/gke-nodepool on node n"
)]
#[case(
    "zone/x",
    "v1.33.0-gke.100",
    "gce://p/z/n",
    Platform::Gke,
    "kubelet v1.33.0-gke.100 on node n"
)]
#[case(
    "windowsmachineconfig.openshift.io/version",
    "v1.33.0",
    "aws:///a",
    Platform::OpenShift,
    "label windowsmachineconfig.openshift.io/version on node n"
)]
#[case(
    "node.openshift.io/os_id",
    "v1.33.0",
    "openstack:///a",
    Platform::OpenShift,
    "label node.openshift.io/os_id on node n"
)]
#[case(
    "zone/x",
    "v1.33.4+rke2r1",
    "openstack:///a",
    Platform::Rke2,
    "kubelet v1.33.4+rke2r1 on node n"
)]
#[case(
    "zone/x",
    "v1.33.4+k3s1",
    "k3s://n",
    Platform::K3s,
    "kubelet v1.33.4+k3s1 on node n"
)]
#[case(
    "zone/x",
    "v1.33.4",
    "aws:///eu/i-1",
    Platform::Aws,
    "providerID aws:// on node n"
)]
#[case(
    "zone/x",
    "v1.33.4",
    "gce://p/z/n",
    Platform::Gce,
    "providerID gce:// on node n"
)]
#[case(
    "zone/x",
    "v1.33.4",
    "azure:///x",
    Platform::Azure,
    "providerID azure:// on node n"
)]
#[case(
    "zone/x",
    "v1.33.4",
    "digitalocean://7",
    Platform::DigitalOcean,
    "providerID digitalocean:// on node n"
)]
#[case("zone/x", "v1.33.4", "ibm://7", Platform::Iks, "providerID ibm:// on node n")]
#[case(
    "zone/x",
    "v1.33.4",
    "openstack:///7",
    Platform::OpenStack,
    "providerID openstack:// on node n"
)]
#[case(
    "zone/x",
    "v1.33.4",
    "",
    Platform::OnPremises,
    "no node shows signs of another platform"
)]
#[case(
    "zone/x",
    "v1.33.4",
    "vsphere://42",
    Platform::OnPremises,
    "no node shows signs of another platform"
)]
fn recognised_by(
    #[case] label: &str,
    #[case] kubelet: &str,
    #[case] machine: &str,
    #[case] platform: Platform,
    #[case] source: &str,
) {
    let expected = Some(Found {
        platform,
        source: source.to_owned(),
    });
    let mut of_windows = Observed::default();
    of_windows
        .nodes
        .insert("n".into(), windows(label, kubelet, machine));
    assert_eq!(detect(&of_windows), expected);
    let mut of_linux = Observed::default();
    of_linux.linux.insert("n".into(), linux(label, kubelet, machine));
    assert_eq!(detect(&of_linux), expected);
}

#[test]
fn without_nodes_nothing_is_known() {
    assert_eq!(detect(&Observed::default()), None);
}

#[test]
fn makers_outweigh_machines_and_most_nodes_win() {
    let mut observed = Observed::default();
    for i in 0..5 {
        let machine = linux("x/y", "v1.33.4", "aws:///i");
        observed.linux.insert(format!("l{i}"), machine);
    }
    let found = |o: &Observed| detect(o).map(|f| f.platform);
    assert_eq!(found(&observed), Some(Platform::Aws));
    let stray = windows("x/y", "v1.33.4", "openstack:///i");
    observed.nodes.insert("w0".into(), stray);
    assert_eq!(found(&observed), Some(Platform::Aws), "one stray machine");
    observed
        .nodes
        .insert("w1".into(), windows("eks.amazonaws.com/x", "v1.33.4", "aws:///i"));
    assert_eq!(
        found(&observed),
        Some(Platform::Eks),
        "its maker's mark on one node is enough"
    );
    observed
        .nodes
        .insert("w2".into(), windows("cloud.google.com/gke-x", "v1.33.4", ""));
    assert_eq!(
        found(&observed),
        Some(Platform::Gke),
        "a tie: the one less can be done on"
    );
    observed
        .nodes
        .insert("w3".into(), windows("eks.amazonaws.com/x", "v1.33.4", ""));
    let both = detect(&observed).unwrap();
    assert_eq!(both.platform, Platform::Eks);
    assert_eq!(
        both.source,
        "label eks.amazonaws.com/x on node w1, and on most nodes; GKE has label cloud.google.com/gke-x on node w2"
    );
}
