//! Facts of DaemonSets that run components on Windows nodes, ours or not.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde_json::Value;
use wn_api::component::Component;
use wn_api::names::{OPERATOR, labels};

use super::proxy_args;
use super::{items, number, text, time};
use crate::version::Version;

/// A DaemonSet that runs Calico's agent or kube-proxy on Windows nodes, ours or not.
#[derive(Clone, Debug, PartialEq)]
pub struct DaemonSetFacts {
    /// What it runs.
    pub component: Component,
    /// This operator created it.
    pub ours: bool,
    /// Rendered by tigera/operator from its `Installation`, which owns it.
    pub of_installation: bool,
    /// `status.desiredNumberScheduled`.
    pub desired: i32,
    /// `status.updatedNumberScheduled`.
    pub updated: i32,
    /// `status.numberReady`.
    pub ready: i32,
    /// How many pods may be unavailable during a rolling update. `None` with strategy `OnDelete`, which updates no pod by itself.
    pub max_unavailable: Option<IntOrString>,
    /// The counts are those of the newest generation.
    pub current: bool,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Read from the tag of the image that identifies the component, else from the first image.
    pub version: Option<Version>,
    /// kube-proxy does DSR according to its arguments; `None` when they do not show it.
    pub dsr: Option<bool>,
}

impl DaemonSetFacts {
    /// The facts of a DaemonSet; `None` when it is no component on Windows nodes.
    pub fn read(daemon_set: &Value) -> Option<Self> {
        if !targets_windows(daemon_set) {
            return None;
        }
        let label = |name: &str| daemon_set.pointer("/metadata/labels")?.get(name)?.as_str();
        let ours = label(labels::MANAGED_BY) == Some(OPERATOR);
        // Images of network agents are the users' own and have any name.
        let by_name = || {
            label(labels::K8S_APP)
                .filter(|_| ours)
                .and_then(component_of_label)
        };
        let by_image = images(daemon_set).find_map(|image| Some((component_of_image(image)?, image)));
        let component = by_name().or(by_image.map(|(component, _)| component))?;
        Some(Self {
            component,
            ours,
            of_installation: items(daemon_set, "/metadata/ownerReferences")
                .any(|o| text(o, "/kind") == "Installation"),
            desired: number(daemon_set, "/status/desiredNumberScheduled"),
            updated: number(daemon_set, "/status/updatedNumberScheduled"),
            ready: number(daemon_set, "/status/numberReady"),
            max_unavailable: max_unavailable(daemon_set),
            current: daemon_set.pointer("/status/observedGeneration")
                == daemon_set.pointer("/metadata/generation"),
            created: time(daemon_set, "/metadata/creationTimestamp"),
            version: by_image
                .map(|(_, image)| image)
                .or_else(|| images(daemon_set).next())
                .and_then(version),
            dsr: daemon_set
                .pointer("/spec/template/spec")
                .and_then(proxy_args::dsr),
        })
    }
}

fn max_unavailable(daemon_set: &Value) -> Option<IntOrString> {
    let strategy = daemon_set.pointer("/spec/updateStrategy");
    if strategy.is_some_and(|strategy| text(strategy, "/type") == "OnDelete") {
        return None;
    }
    let given = strategy.and_then(|strategy| strategy.pointer("/rollingUpdate/maxUnavailable"));
    let given = given.and_then(|value| IntOrString::deserialize(value).ok());
    // The API server's default.
    Some(given.unwrap_or(IntOrString::Int(1)))
}

/// Release of Calico's agent on Linux nodes, by the tag of its image. The container has this name in every manifest, chart and
/// operator that installs it.
pub fn linux_agent(daemon_set: &Value) -> Option<Version> {
    if targets_windows(daemon_set) {
        return None;
    }
    items(daemon_set, "/spec/template/spec/containers")
        .filter(|container| text(container, "/name") == "calico-node")
        .map(|container| text(container, "/image"))
        .find(|image| !of_enterprise(image))
        .and_then(version)
}

/// Calico Enterprise counts its releases on its own.
pub fn of_enterprise(image: &str) -> bool {
    image.contains("tigera/") || image.contains("cnx-")
}

fn targets_windows(daemon_set: &Value) -> bool {
    let spec = "/spec/template/spec";
    let selector = daemon_set
        .pointer(&format!("{spec}/nodeSelector"))
        .and_then(|s| s.get(labels::OS));
    let affinity = format!(
        "{spec}/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
    );
    selector.and_then(Value::as_str) == Some(labels::WINDOWS)
        || items(daemon_set, &affinity)
            .flat_map(|term| items(term, "/matchExpressions"))
            .any(|e| {
                text(e, "/key") == labels::OS
                    && text(e, "/operator") == "In"
                    && items(e, "/values").any(|v| v == labels::WINDOWS)
            })
}

fn images(daemon_set: &Value) -> impl Iterator<Item = &str> {
    let containers = items(daemon_set, "/spec/template/spec/containers");
    containers.map(|c| text(c, "/image"))
}

/// By the image's last path element, so that mirrors are recognised: `node-windows` is Calico's since
/// v3.27.3, `windows` under `calico/` the one before, `calico-node` sig-windows-tools' hostprocess image.
fn component_of_image(image: &str) -> Option<Component> {
    let path = image.split('@').next().unwrap_or(image);
    let mut elements = path.rsplit('/');
    let name = elements
        .next()
        .unwrap_or_default()
        .split(':')
        .next()
        .unwrap_or_default();
    match (name, elements.next()) {
        ("node-windows" | "calico-node", _) | ("windows", Some("calico")) => Some(Component::NodeAgent),
        (name, _) if name.contains("kube-proxy") => Some(Component::KubeProxy),
        // sig-windows-tools' `flannel`, until April 2025.
        (name, _) if name.contains("flannel") => Some(Component::NetworkAgent),
        _ => None,
    }
}

/// By label `k8s-app`, whose value is the name of the DaemonSet.
pub(super) fn component_of_label(name: &str) -> Option<Component> {
    let mut all = Component::ALL.into_iter();
    all.find(|component| component.names().daemon_sets.contains(&name))
}

/// The version in the tag of an image, e.g. `…/kube-proxy:v1.33.4-calico-hostprocess`, without its suffix.
pub fn version(image: &str) -> Option<Version> {
    let tag = image.split('@').next()?.rsplit_once(':')?.1;
    let mut version: Version = tag.parse().ok()?;
    version.suffix = String::new();
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("quay.io/calico/node-windows:v3.32.1", Some(Component::NodeAgent))]
    #[case("mirror.local:5000/x/node-windows@sha256:00", Some(Component::NodeAgent))]
    #[case("calico/windows:v3.27.0", Some(Component::NodeAgent))]
    #[case("example/windows:1", None)]
    #[case("sigwindowstools/calico-node:v3.26-hostprocess", Some(Component::NodeAgent))]
    #[case(
        "sigwindowstools/kube-proxy:v1.33.4-calico-hostprocess",
        Some(Component::KubeProxy)
    )]
    #[case("windows-exporter:1", None)]
    fn knows_a_component_by_its_image(#[case] image: &str, #[case] expected: Option<Component>) {
        assert_eq!(component_of_image(image), expected);
    }

    #[test]
    fn only_daemon_sets_on_windows_count() {
        let on = |selector: serde_json::Value| {
            json!({"spec": {"template": {"spec": {"nodeSelector": selector,
                "containers": [{"image": "x/kube-proxy:v1"}]}}}})
        };
        assert!(DaemonSetFacts::read(&on(json!({"kubernetes.io/os": "windows"}))).is_some());
        assert!(DaemonSetFacts::read(&on(json!({"kubernetes.io/os": "linux"}))).is_none());
    }

    #[rstest]
    #[case::upstream("quay.io/calico/node:v3.32.1", "linux", Some("v3.32.1"))]
    #[case::rke2("rancher/hardened-calico:v3.30.3-build20251015", "linux", Some("v3.30.3"))]
    #[case::mirror("hub.corp:5000/calico/node", "linux", None)]
    #[case::digest("quay.io/calico/node:v3.32.1@sha256:00", "linux", Some("v3.32.1"))]
    #[case::enterprise("quay.io/tigera/cnx-node:v3.22.0", "linux", None)]
    #[case::windows("quay.io/calico/node-windows:v3.32.1", "windows", None)]
    fn release_on_linux_nodes(#[case] image: &str, #[case] os: &str, #[case] expected: Option<&str>) {
        let daemon_set = json!({"spec": {"template": {"spec": {
            "nodeSelector": {labels::OS: os},
            "containers": [{"name": "sidecar", "image": "x:v9.9.9"}, {"name": "calico-node", "image": image}],
        }}}});
        let found = linux_agent(&daemon_set).map(|version| version.to_string());
        assert_eq!(found.as_deref(), expected);
    }
}
