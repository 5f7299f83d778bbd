//! Platforms that run parts of Windows networking themselves, recognised by what they leave on their nodes.

use wn_api::spec::{Platform, WindowsNodeConfigSpec};

use crate::finding::Finding;
use crate::observed::{NodeFacts, Observed};

/// How a platform is written, as its maker does.
pub const fn name(platform: Platform) -> &'static str {
    match platform {
        Platform::OnPremises => "on-premises",
        Platform::Aws => "AWS",
        Platform::Gce => "GCE",
        Platform::Azure => "Azure",
        Platform::DigitalOcean => "DigitalOcean",
        Platform::OpenShift => "OpenShift (WMCO)",
        Platform::Rke2 => "RKE2",
        Platform::Aks => "AKS",
        Platform::Eks => "EKS",
        Platform::Gke => "GKE",
        Platform::Iks => "IKS",
        Platform::OpenStack => "OpenStack",
        Platform::K3s => "K3s",
    }
}

/// What the cluster runs on, and what follows of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlatformPlan {
    pub platform: Option<Platform>,
    /// What gave it away.
    pub source: String,
    /// Why it is not supported; nothing is written to the cluster then.
    pub findings: Vec<Finding>,
}

pub fn plan(_: &WindowsNodeConfigSpec, observed: &Observed) -> PlatformPlan {
    of_cluster(observed).map_or_else(PlatformPlan::default, |(platform, source)| PlatformPlan {
        platform: Some(platform),
        source,
        findings: Vec::new(),
    })
}

/// The platform of a node, and what gave it away.
pub fn of_node(node: &NodeFacts) -> Option<(Platform, String)> {
    const LABELS: [(&str, Platform); 4] = [
        ("eks.amazonaws.com/", Platform::Eks),
        ("kubernetes.azure.com/", Platform::Aks),
        ("cloud.google.com/gke-", Platform::Gke),
        ("windowsmachineconfig.openshift.io/", Platform::OpenShift),
    ];
    let label = LABELS.iter().find_map(|(prefix, platform)| {
        let label = node.labels.names().find(|l| l.starts_with(prefix))?;
        Some((*platform, format!("label {label}")))
    });
    // RKE2 runs kube-proxy and the agent inside rke2.exe (rke2 `pkg/executor/pebinary`).
    let rke2 = || {
        node.kubelet_version
            .contains("+rke2r")
            .then(|| (Platform::Rke2, format!("kubelet {}", node.kubelet_version)))
    };
    label.or_else(rke2)
}

/// The first Windows node of a platform, by name.
pub fn of_cluster(observed: &Observed) -> Option<(Platform, String)> {
    observed.nodes.iter().find_map(|(name, node)| {
        let (platform, sign) = of_node(node)?;
        Some((platform, format!("{sign} on node {name}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("eks.amazonaws.com/nodegroup", "v1.33.0-eks-1", Some(Platform::Eks))]
    #[case("kubernetes.azure.com/cluster", "v1.33.0", Some(Platform::Aks))]
    #[case("cloud.google.com/gke-nodepool", "v1.33.0", Some(Platform::Gke))]
    #[case(
        "windowsmachineconfig.openshift.io/version",
        "v1.33.0",
        Some(Platform::OpenShift)
    )]
    #[case("zone", "v1.33.4+rke2r1", Some(Platform::Rke2))]
    #[case("zone", "v1.33.4+k3s1", None)]
    fn recognised_by(#[case] label: &str, #[case] kubelet: &str, #[case] expected: Option<Platform>) {
        let node = NodeFacts {
            labels: [(label, "")].into(),
            kubelet_version: kubelet.to_owned(),
            ..NodeFacts::default()
        };
        assert_eq!(of_node(&node).map(|(p, _)| p), expected);
    }
}
