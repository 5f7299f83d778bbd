//! What platforms leave on their nodes, and what a cluster is therefore. Nobody is asked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use wn_api::spec::Platform;

use super::name;
use crate::observed::{Labels, Observed};

/// A platform, and what gave it away.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    pub platform: Platform,
    pub source: String,
}

/// What a sign is found in, by how much it proves: who makes the cluster marks its nodes, while the machine only
/// says whose it is, and anybody's Kubernetes may run there.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Place {
    /// `spec.providerID` begins with it.
    Machine,
    /// `kubeletVersion` contains it.
    Kubelet,
    /// The name of a label begins with it.
    Label,
}

/// Of signs that prove as much, the first wins on a node. Sources: each maker's labels; `providerID` as the cloud
/// providers write it; versions as kubelets report them.
const SIGNS: [(Place, &str, Platform); 16] = [
    (Place::Label, "eks.amazonaws.com/", Platform::Eks),
    (Place::Label, "kubernetes.azure.com/", Platform::Aks),
    (Place::Label, "cloud.google.com/gke-", Platform::Gke),
    (
        Place::Label,
        "windowsmachineconfig.openshift.io/",
        Platform::OpenShift,
    ),
    (Place::Label, "node.openshift.io/", Platform::OpenShift),
    (Place::Kubelet, "+rke2r", Platform::Rke2),
    (Place::Kubelet, "+k3s", Platform::K3s),
    // Nodes nobody labelled, such as self-managed groups of EKS.
    (Place::Kubelet, "-eks-", Platform::Eks),
    (Place::Kubelet, "-gke.", Platform::Gke),
    (Place::Machine, AWS, Platform::Aws),
    (Place::Machine, GCE, Platform::Gce),
    (Place::Machine, "azure://", Platform::Azure),
    (Place::Machine, "digitalocean://", Platform::DigitalOcean),
    (Place::Machine, "ibm://", Platform::Iks),
    (Place::Machine, "ibmcloud://", Platform::Iks),
    (Place::Machine, "openstack://", Platform::OpenStack),
];

const AWS: &str = "aws://";
const GCE: &str = "gce://";

/// Makers also sell the Kubernetes of their cloud for other machines (EKS Distro, GKE on-premises), with the same versions.
fn at_home(platform: Platform, machine: &str) -> bool {
    match platform {
        Platform::Eks => machine.starts_with(AWS),
        Platform::Gke => machine.starts_with(GCE),
        _ => true,
    }
}

/// The part of a node that signs are in.
struct Marks<'a> {
    labels: &'a Labels,
    kubelet: &'a str,
    machine: &'a str,
}

impl Marks<'_> {
    /// The sign that proves most.
    fn sign(&self) -> Option<(Place, Platform, String)> {
        let found = SIGNS.iter().filter_map(|(place, mark, platform)| {
            let text = match place {
                Place::Label => {
                    let label = self.labels.names().find(|l| l.starts_with(mark))?;
                    format!("label {label}")
                }
                Place::Kubelet => (self.kubelet.contains(mark) && at_home(*platform, self.machine))
                    .then(|| format!("kubelet {}", self.kubelet))?,
                // Without what names the machine: the same for every node.
                Place::Machine => self
                    .machine
                    .starts_with(mark)
                    .then(|| format!("providerID {mark}"))?,
            };
            Some((*place, *platform, text))
        });
        // The first of those that prove most.
        found.min_by_key(|(place, _, _)| Reverse(*place))
    }
}

/// What the signs of one platform amount to.
struct Votes {
    nodes: usize,
    /// On the first node: Windows nodes come first, each kind by name.
    first: String,
}

/// Makers' marks outweigh those of machines; of equals, the platform of most nodes: one stray label must not decide for
/// fifty others. Nodes without a sign do not count: on-premises is what is left when no node has one.
pub fn detect(observed: &Observed) -> Option<Found> {
    let windows = observed.nodes.iter().map(|(node, n)| {
        let marks = Marks {
            labels: &n.labels,
            kubelet: &n.kubelet_version,
            machine: &n.provider_id,
        };
        (node, marks)
    });
    let linux = observed.linux.iter().map(|(node, n)| {
        let marks = Marks {
            labels: &n.labels,
            kubelet: &n.kubelet_version,
            machine: &n.provider_id,
        };
        (node, marks)
    });
    let mut any = false;
    let mut votes: BTreeMap<(bool, Platform), Votes> = BTreeMap::new();
    for (node, marks) in windows.chain(linux) {
        any = true;
        let Some((place, platform, sign)) = marks.sign() else {
            continue;
        };
        votes
            .entry((place == Place::Machine, platform))
            .or_insert_with(|| Votes {
                nodes: 0,
                first: format!("{sign} on node {node}"),
            })
            .nodes += 1;
    }
    let best = votes
        .iter()
        .min_by_key(|((machine, platform), v)| (*machine, Reverse(v.nodes), Reverse(*platform)));
    let Some((winner, won)) = best else {
        return any.then(|| Found {
            platform: Platform::OnPremises,
            source: "no node has the mark of another platform".to_owned(),
        });
    };
    let rival = votes.iter().find(|(key, _)| key.0 == winner.0 && *key != winner);
    let source = match rival {
        Some(((_, other), seen)) => format!(
            "{}, and on most nodes; {} has {}",
            won.first,
            name(*other),
            seen.first
        ),
        None => won.first.clone(),
    };
    Some(Found {
        platform: winner.1,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::{LinuxNodeFacts, NodeFacts};
    use rstest::rstest;

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
        "no node has the mark of another platform"
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
        "no node has the mark of another platform"
    )]
    #[case(
        "zone/x",
        "v1.33.4",
        "vsphere://42",
        Platform::OnPremises,
        "no node has the mark of another platform"
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
}
