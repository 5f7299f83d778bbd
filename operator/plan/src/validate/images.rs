//! Image fields that a schema cannot judge.

use wn_api::component::Component;
use wn_api::spec::{Image, Management, WindowsNodeConfigSpec};

use super::Violation;
use crate::network;

pub fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    let mut found = Vec::new();
    for component in Component::ALL {
        let path = format!("spec.{}.image", component.names().field);
        found.extend(image(&path, spec.component(component).image));
    }
    found.extend(network_agent(spec));
    found.extend(sibling(&spec.node_agent.image));
    found
}

/// No project publishes the image of a network agent, and a name we made up would be pulled from whoever takes it.
fn network_agent(spec: &WindowsNodeConfigSpec) -> Option<Violation> {
    let agent = network::of(spec.network.type_).agent?;
    let image = &spec.network_agent.image;
    let missing = match (&image.repository, image.tag.is_some() || image.digest.is_some()) {
        (Some(_), true) => return None,
        (Some(_), false) => "tag or digest is missing",
        (None, true) => "repository is missing",
        (None, false) => "repository and tag (or digest) are missing",
    };
    (spec.network_agent.management != Management::External).then(|| {
        Violation::new(
            "spec.networkAgent.image",
            format!(
                "{missing}: no project publishes an image for DaemonSet {}; build one with {} from the recipe in docs/images.md and name it \
                 here, or set spec.networkAgent.management to External",
                agent.daemon_set(),
                agent.image()
            ),
        )
    })
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
