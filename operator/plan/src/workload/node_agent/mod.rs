//! Calico's agent on Windows nodes. No manifest of it is published any more; this is the one tigera/operator
//! renders (`pkg/render/windows.go`), for clusters that run Calico without that operator.

mod cni_config;
mod command_line;
mod containers;
mod env;
mod etcd;
mod image;

use k8s_openapi::api::apps::v1::DaemonSet;
use wn_api::calico::CalicoApi;
use wn_api::component::Component;
use wn_api::names::annotations::ETCD_CHECKSUM;
use wn_api::names::node_agent as names;
use wn_api::spec::NodeAgent;

use super::meta::{Base, config_map, daemon_set};
use super::{RenderContext, Workload};
use crate::version::Version;
use command_line::CommandLines;

pub use cni_config::net_dir;
pub use containers::bin_dir;
pub use env::MANAGED as MANAGED_ENV;
pub use image::{Images, images};

/// The agent keeps nothing that would need longer to save (tigera/operator, `nodeTerminationGracePeriodSeconds`).
const GRACE_PERIOD: i64 = 5;

/// Renders the DaemonSet of Calico's node agent, and its ConfigMap where Calico networks the nodes.
pub fn node_agent(
    spec: &NodeAgent,
    calico_version: &Version,
    api: CalicoApi,
    context: &RenderContext,
) -> Workload {
    let base = Base {
        name: names::DAEMON_SET,
        component: Component::NodeAgent,
        service_account: names::SERVICE_ACCOUNT,
        grace_period: GRACE_PERIOD,
        tolerations: &spec.tolerations,
        pull_secrets: &spec.image_pull_secrets,
        update_strategy: &spec.update_strategy,
    };
    let config_map = context.calico.backend().is_some().then(|| {
        let cni = cni_config::render(spec, api, context);
        config_map(names::CONFIG_MAP, names::CONFIG_KEY, cni, &base, context)
    });
    let images = images(&spec.image, calico_version, context.image_registry.as_deref());
    let contents = containers::contents(spec, &images, CommandLines::of(calico_version), api, context);
    let mut daemon_set = daemon_set(&base, contents, config_map.as_ref(), context);
    note_certificates(&mut daemon_set, context);
    Workload {
        config_map,
        daemon_set,
        followed: None,
    }
}

/// New certificates roll the pods: calico-node reads them when it starts, and only the installer, an init container,
/// copies them for the CNI plugin.
fn note_certificates(daemon_set: &mut DaemonSet, context: &RenderContext) {
    if let (Some(etcd), Some(spec)) = (&context.etcd, &mut daemon_set.spec) {
        let template = spec.template.metadata.get_or_insert_default();
        let annotations = template.annotations.get_or_insert_default();
        annotations.insert(ETCD_CHECKSUM.to_owned(), etcd.certificates.clone());
    }
}
