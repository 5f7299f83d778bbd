//! The images of the DaemonSets for a spec and two versions, known without a cluster: what a registry of an air-gapped cluster
//! must hold.

use std::collections::BTreeSet;

use wn_api::spec::{Management, WindowsNodeConfigSpec};

use super::{kube_proxy, network_agent, node_agent};
use crate::network;
use crate::version::Version;

/// References of the images of every DaemonSet that is not `External`. `None` where the network type needs an agent and the
/// spec names no image of it, which `validate` refuses.
pub fn images(
    spec: &WindowsNodeConfigSpec,
    calico: &Version,
    kubernetes: &Version,
) -> Option<BTreeSet<String>> {
    let registry = spec.image_registry.as_deref();
    let profile = network::of(spec.network.type_);
    let mut all = BTreeSet::new();
    if spec.node_agent.management != Management::External {
        let agent = node_agent::images(&spec.node_agent.image, calico, registry);
        all.insert(agent.node);
        if profile.calico.backend().is_some() {
            all.insert(agent.cni);
        }
    }
    if profile.agent.is_some() && spec.network_agent.management != Management::External {
        all.insert(network_agent::image(&spec.network_agent.image, registry)?);
    }
    if !profile.is_of_platform() && spec.kube_proxy.management != Management::External {
        let asked = spec
            .kube_proxy
            .version
            .as_deref()
            .and_then(|version| version.parse().ok());
        let version = asked.as_ref().unwrap_or(kubernetes);
        all.insert(kube_proxy::image(&spec.kube_proxy.image, version, registry));
    }
    Some(all)
}
