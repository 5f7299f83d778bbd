//! Image fields that a schema cannot judge.

use wn_api::spec::{Image, WindowsNodeConfigSpec};

use super::Violation;

pub fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    let mut found = Vec::new();
    found.extend(image("spec.nodeAgent.image", &spec.node_agent.image));
    found.extend(image("spec.kubeProxy.image", &spec.kube_proxy.image));
    found.extend(sibling(&spec.node_agent.image));
    found
}

fn image(path: &str, image: &Image) -> Option<Violation> {
    let both = image.tag.is_some() && image.digest.is_some();
    both.then(|| Violation::new(path, "has tag and digest: set one of them"))
}

/// The agent is two images, of one release: one field names both.
fn sibling(image: &Image) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(repository) = image
        .repository
        .as_deref()
        .filter(|r| !r.ends_with("node-windows"))
    {
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
