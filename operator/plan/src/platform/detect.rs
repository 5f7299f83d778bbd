//! What platforms leave on their nodes, and what a cluster is therefore. Nobody is asked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use wn_api::spec::{Platform, WindowsNodeConfigSpec};

use super::behaviour::{CLOUDS, name};
use crate::observed::{Labels, Observed};

/// A platform, and how it was detected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// The platform.
    pub platform: Platform,
    /// How it was detected, for the status.
    pub source: String,
}

/// The spec's word, or what was found.
pub fn of(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Found> {
    match spec.platform.type_ {
        Some(platform) => Some(Found {
            platform,
            source: "spec.platform.type".to_owned(),
        }),
        None => detect(observed),
    }
}

/// The cloud that nodes are machines of, whatever distribution runs on them: the spec's word, or what `providerID` says.
/// `None` where they are machines of one's own, or no cloud that is known.
pub fn cloud(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Platform> {
    match spec.platform.type_ {
        Some(Platform::OnPremises) => None,
        Some(given) if CLOUDS.contains(&given) => Some(given),
        _ => cloud_of_machines(observed),
    }
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
struct NodeSigns<'a> {
    labels: &'a Labels,
    kubelet: &'a str,
    machine: &'a str,
}

impl NodeSigns<'_> {
    /// The sign that proves most.
    fn sign(&self) -> Option<(Place, Platform, String)> {
        let found = SIGNS.iter().filter_map(|(place, sign, platform)| {
            let text = match place {
                Place::Label => {
                    let label = self.labels.names().find(|l| l.starts_with(sign))?;
                    format!("label {label}")
                }
                Place::Kubelet => (self.kubelet.contains(sign) && at_home(*platform, self.machine))
                    .then(|| format!("kubelet {}", self.kubelet))?,
                // Without what names the machine: the same for every node.
                Place::Machine => self
                    .machine
                    .starts_with(sign)
                    .then(|| format!("providerID {sign}"))?,
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
fn detect(observed: &Observed) -> Option<Found> {
    let windows = observed.nodes.iter().map(|(node, n)| {
        let signs = NodeSigns {
            labels: &n.labels,
            kubelet: &n.kubelet_version,
            machine: &n.provider_id,
        };
        (node, signs)
    });
    let linux = observed.linux.iter().map(|(node, n)| {
        let signs = NodeSigns {
            labels: &n.labels,
            kubelet: &n.kubelet_version,
            machine: &n.provider_id,
        };
        (node, signs)
    });
    let mut any = false;
    let mut votes: BTreeMap<(bool, Platform), Votes> = BTreeMap::new();
    for (node, signs) in windows.chain(linux) {
        any = true;
        let Some((place, platform, sign)) = signs.sign() else {
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
            source: "no node shows signs of another platform".to_owned(),
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

/// The cloud whose machines most nodes are; of a tie the first of `SIGNS`.
fn cloud_of_machines(observed: &Observed) -> Option<Platform> {
    let windows = observed.nodes.values().map(|n| n.provider_id.as_str());
    let linux = observed.linux.values().map(|n| n.provider_id.as_str());
    let machines: Vec<_> = windows.chain(linux).collect();
    let signs = SIGNS
        .iter()
        .filter(|(place, _, platform)| *place == Place::Machine && CLOUDS.contains(platform));
    let counts = signs.map(|(_, sign, platform)| {
        let nodes = machines.iter().filter(|m| m.starts_with(sign));
        (nodes.count(), *platform)
    });
    let best = counts.rev().max_by_key(|(nodes, _)| *nodes)?;
    (best.0 > 0).then_some(best.1)
}
