//! Facts of DaemonSets on Windows nodes and of their pods.

use serde_json::Value;
use wn_api::names::{self, labels};

use super::{items, number, text};

/// What a DaemonSet or pod on Windows nodes does.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum App {
    NodeAgent,
    KubeProxy,
}

/// A DaemonSet that runs Calico's agent or kube-proxy on Windows nodes, ours or not.
#[derive(Clone, Debug, PartialEq)]
pub struct DaemonSetFacts {
    pub app: App,
    /// Made by this operator.
    pub ours: bool,
    pub desired: i32,
    pub updated: i32,
    pub ready: i32,
    /// The counts speak of the newest generation.
    pub current: bool,
}

impl DaemonSetFacts {
    /// Facts, when the DaemonSet is about Windows networking at all.
    pub fn read(daemon_set: &Value) -> Option<Self> {
        if !targets_windows(daemon_set) {
            return None;
        }
        let app = images(daemon_set).find_map(app_of_image)?;
        let managed_by = daemon_set
            .pointer("/metadata/labels")
            .and_then(|l| l.get(labels::MANAGED_BY));
        Some(Self {
            app,
            ours: managed_by.and_then(Value::as_str) == Some(names::OPERATOR),
            desired: number(daemon_set, "/status/desiredNumberScheduled"),
            updated: number(daemon_set, "/status/updatedNumberScheduled"),
            ready: number(daemon_set, "/status/numberReady"),
            current: daemon_set.pointer("/status/observedGeneration")
                == daemon_set.pointer("/metadata/generation"),
        })
    }
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
fn app_of_image(image: &str) -> Option<App> {
    let path = image.split('@').next().unwrap_or(image);
    let mut elements = path.rsplit('/');
    let name = elements
        .next()
        .unwrap_or_default()
        .split(':')
        .next()
        .unwrap_or_default();
    match (name, elements.next()) {
        ("node-windows" | "calico-node", _) | ("windows", Some("calico")) => Some(App::NodeAgent),
        (name, _) if name.contains("kube-proxy") => Some(App::KubeProxy),
        _ => None,
    }
}

/// A pod of such a DaemonSet.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    pub app: App,
    pub node: String,
    pub ready: bool,
    pub deleting: bool,
    /// Why it is not ready, in the kubelet's words; empty when it does not say.
    pub trouble: String,
}

impl PodFacts {
    pub fn read(pod: &Value) -> Option<Self> {
        let app = match pod
            .pointer("/metadata/labels")
            .and_then(|l| l.get(labels::K8S_APP))?
            .as_str()?
        {
            names::node_agent::DAEMON_SET => App::NodeAgent,
            names::kube_proxy::DAEMON_SET => App::KubeProxy,
            _ => return None,
        };
        let ready = items(pod, "/status/conditions")
            .any(|c| text(c, "/type") == "Ready" && text(c, "/status") == "True");
        Some(Self {
            app,
            node: text(pod, "/spec/nodeName").to_owned(),
            ready,
            deleting: pod.pointer("/metadata/deletionTimestamp").is_some(),
            trouble: if ready {
                String::new()
            } else {
                trouble(pod).unwrap_or_default()
            },
        })
    }
}

/// The first container that says why it does not run, init containers first because later ones wait for them.
fn trouble(pod: &Value) -> Option<String> {
    let init = items(pod, "/status/initContainerStatuses");
    let main = items(pod, "/status/containerStatuses");
    init.chain(main).find_map(container_trouble)
}

fn container_trouble(status: &Value) -> Option<String> {
    let name = text(status, "/name");
    // `PodInitializing` and `ContainerCreating` are stages, not troubles.
    let waiting = Some(text(status, "/state/waiting/reason"))
        .filter(|r| !matches!(*r, "" | "PodInitializing" | "ContainerCreating"))?;
    let last = Some(text(status, "/lastState/terminated/message"))
        .filter(|m| !m.is_empty())
        .unwrap_or_else(|| text(status, "/state/waiting/message"));
    let last = first_line(last);
    Some(if last.is_empty() {
        format!("{name}: {waiting}")
    } else {
        format!("{name}: {waiting}: {last}")
    })
}

/// One bounded line: a message in a status must not grow with what a container printed, nor change with
/// every restart (the kubelet's own back-off message counts up).
fn first_line(text: &str) -> String {
    const LIMIT: usize = 200;
    let line = text.trim().lines().next().unwrap_or_default();
    if line.starts_with("back-off ") {
        String::new()
    } else {
        line.chars().take(LIMIT).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("quay.io/calico/node-windows:v3.32.1", Some(App::NodeAgent))]
    #[case("mirror.local:5000/x/node-windows@sha256:00", Some(App::NodeAgent))]
    #[case("calico/windows:v3.27.0", Some(App::NodeAgent))]
    #[case("example/windows:1", None)]
    #[case("sigwindowstools/calico-node:v3.26-hostprocess", Some(App::NodeAgent))]
    #[case("sigwindowstools/kube-proxy:v1.33.4-calico-hostprocess", Some(App::KubeProxy))]
    #[case("windows-exporter:1", None)]
    fn knows_an_app_by_its_image(#[case] image: &str, #[case] expected: Option<App>) {
        assert_eq!(app_of_image(image), expected);
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

    #[test]
    fn trouble_is_the_termination_message_of_a_crash_loop() {
        let pod = json!({
            "metadata": {"labels": {"k8s-app": "kube-proxy-windows"}},
            "spec": {"nodeName": "win-0"},
            "status": {"containerStatuses": [{
                "name": "kube-proxy",
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}},
                "lastState": {"terminated": {"message": "source-vip flag not set\nstack"}},
            }]},
        });
        let facts = PodFacts::read(&pod).unwrap();
        assert_eq!(
            facts.trouble,
            "kube-proxy: CrashLoopBackOff: source-vip flag not set"
        );
    }
}
