//! Calico's agent on Windows nodes. No manifest of it is published any more; this is the one tigera/operator
//! renders (`pkg/render/windows.go`), for clusters that run Calico without that operator.

mod cni_config;
mod command_line;
mod containers;
mod env;
mod etcd;

use k8s_openapi::api::apps::v1::DaemonSet;
use wn_api::calico::CalicoApi;
use wn_api::names::annotations::ETCD_CHECKSUM;
use wn_api::names::node_agent as names;
use wn_api::spec::{Image, NodeAgent};

use super::image::{DefaultImage, reference};
use super::meta::{Base, config_map, daemon_set};
use super::{Surroundings, Workload};
use crate::network::role::{Backend, CalicoRole};
use crate::version::Version;
use command_line::CommandLines;

pub use cni_config::net_dir;
pub use containers::bin_dir;
pub use env::MANAGED as MANAGED_ENV;

/// tigera/operator's default registry changed with v3.30 (`pkg/components/images.go`).
const FIRST_ON_QUAY: (u32, u32) = (3, 30);
const NODE: &str = "node-windows";
const CNI: &str = "cni-windows";
/// The agent keeps nothing that would need longer to save (tigera/operator, `nodeTerminationGracePeriodSeconds`).
const GRACE_PERIOD: i64 = 5;

/// Name of the networking backend, in `CALICO_NETWORKING_BACKEND` and as `mode` in the CNI configuration.
fn backend(role: CalicoRole) -> &'static str {
    match role {
        CalicoRole::Networking(Backend::Vxlan) => "vxlan",
        CalicoRole::Networking(Backend::Bgp) => "windows-bgp",
        CalicoRole::Policy { .. } => "none",
    }
}

/// Does Calico enforce policy in a network that is not its own?
fn policy_only(role: CalicoRole) -> bool {
    matches!(role, CalicoRole::Policy { .. })
}

/// The two images of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    pub node: String,
    pub cni: String,
}

pub fn node_agent(
    spec: &NodeAgent,
    calico_version: &Version,
    api: CalicoApi,
    around: &Surroundings,
) -> Workload {
    let base = Base {
        name: names::DAEMON_SET,
        component: "node-agent",
        service_account: names::SERVICE_ACCOUNT,
        grace_period: GRACE_PERIOD,
        tolerations: &spec.tolerations,
        pull_secrets: &spec.image_pull_secrets,
        update_strategy: &spec.update_strategy,
    };
    let config_map = (!policy_only(around.calico)).then(|| {
        let cni = cni_config::render(spec, api, around);
        config_map(names::CONFIG_MAP, names::CONFIG_KEY, cni, &base, around)
    });
    let images = images(&spec.image, calico_version, around.image_registry.as_deref());
    let contents = containers::contents(spec, &images, CommandLines::of(calico_version), api, around);
    let mut daemon_set = daemon_set(&base, contents, config_map.as_ref(), around);
    note_certificates(&mut daemon_set, around);
    Workload {
        config_map,
        daemon_set,
        followed: None,
    }
}

/// New certificates roll the pods: calico-node reads them when it starts, and only the installer, an init container,
/// copies them for the CNI plugin.
fn note_certificates(daemon_set: &mut DaemonSet, around: &Surroundings) {
    if let (Some(etcd), Some(spec)) = (&around.etcd, &mut daemon_set.spec) {
        let template = spec.template.metadata.get_or_insert_default();
        let annotations = template.annotations.get_or_insert_default();
        annotations.insert(ETCD_CHECKSUM.to_owned(), etcd.certificates.clone());
    }
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
