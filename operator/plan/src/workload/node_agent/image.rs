//! The images of Calico's agent: one for its containers, one that installs the CNI plugin.

use wn_api::spec::Image;

use crate::version::Version;
use crate::workload::image::{DefaultImage, reference};

/// tigera/operator's default registry changed with v3.30 (`pkg/components/images.go`).
const FIRST_ON_QUAY: (u32, u32) = (3, 30);
const NODE: &str = "node-windows";
const CNI: &str = "cni-windows";

/// The two images of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Image of the agent's containers.
    pub node: String,
    /// Image that installs the CNI plugin.
    pub cni: String,
}

/// The CNI image is the sibling of the node image: same registry, folder and tag. A digest names one image
/// only, so beside a digest the sibling has the tag of Calico's version.
pub fn images(image: &Image, calico_version: &Version, global_registry: Option<&str>) -> Images {
    let default = |name: &str| DefaultImage {
        registry: registry(calico_version),
        repository: format!("calico/{name}"),
        tag: calico_version.to_string(),
    };
    let folder = image
        .repository
        .as_deref()
        .and_then(|repository| repository.strip_suffix(NODE));
    let sibling = Image {
        repository: folder.map(|folder| format!("{folder}{CNI}")),
        digest: None,
        ..image.clone()
    };
    Images {
        node: reference(image, default(NODE), global_registry),
        cni: reference(&sibling, default(CNI), global_registry),
    }
}

fn registry(calico_version: &Version) -> &'static str {
    let quay = (calico_version.major, calico_version.minor) >= FIRST_ON_QUAY;
    if quay { "quay.io" } else { "docker.io" }
}
