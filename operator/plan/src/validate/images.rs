//! Image fields that a schema cannot judge, and quantities.

use wn_api::spec::{Image, Resources, WindowsNodeConfigSpec};

use super::Violation;
use crate::quantity;

pub fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    let mut found = Vec::new();
    found.extend(image("spec.nodeAgent.image", &spec.node_agent.image));
    found.extend(image("spec.kubeProxy.image", &spec.kube_proxy.image));
    found.extend(sibling(&spec.node_agent.image));
    found.extend(spec.node_agent.resources.iter().flat_map(|r| resources("spec.nodeAgent.resources", r)));
    found.extend(spec.kube_proxy.resources.iter().flat_map(|r| resources("spec.kubeProxy.resources", r)));
    found
}

fn image(path: &str, image: &Image) -> Option<Violation> {
    let both = image.tag.is_some() && image.digest.is_some();
    both.then(|| Violation::new(path, "has tag and digest: set one of them"))
}

/// The agent is two images, of one release: one field names both.
fn sibling(image: &Image) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(repository) = image.repository.as_deref().filter(|r| !r.ends_with("node-windows")) {
        found.push(Violation::new(
            "spec.nodeAgent.image.repository",
            format!("{repository:?} must end in node-windows: its sibling cni-windows is used too"),
        ));
    }
    if image.digest.is_some() {
        found.push(Violation::new(
            "spec.nodeAgent.image.digest",
            "a digest cannot name two images (node-windows and cni-windows): set tag instead",
        ));
    }
    found
}

fn resources(path: &str, resources: &Resources) -> Vec<Violation> {
    let lists = [("requests", &resources.requests), ("limits", &resources.limits)];
    let all = lists.into_iter().flat_map(|(list, map)| map.iter().map(move |(name, q)| (list, name, q)));
    all.filter(|(_, _, q)| quantity::parse(q).is_none())
        .map(|(list, name, q)| {
            Violation::new(format!("{path}.{list}.{name}"), format!("{q:?} is not a quantity such as 100m or 500Mi"))
        })
        .collect()
}
