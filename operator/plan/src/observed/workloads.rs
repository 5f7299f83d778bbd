//! Facts of DaemonSets on Windows nodes and of their pods.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde_json::Value;
use wn_api::component::Component;
use wn_api::names::{OPERATOR, labels, node_agent};

use super::node_index::OnNode;
use super::proxy_args;
use super::{first_line, items, number, text, time};
use crate::version::Version;

/// A DaemonSet that runs Calico's agent or kube-proxy on Windows nodes, ours or not.
#[derive(Clone, Debug, PartialEq)]
pub struct DaemonSetFacts {
    pub component: Component,
    /// Made by this operator.
    pub ours: bool,
    /// Rendered by tigera/operator from its `Installation`, which owns it.
    pub of_installation: bool,
    pub desired: i32,
    pub updated: i32,
    pub ready: i32,
    /// How many pods may be unavailable during a rolling update. `None` with strategy `OnDelete`, which updates no pod by itself.
    pub max_unavailable: Option<IntOrString>,
    /// The counts speak of the newest generation.
    pub current: bool,
    pub created: Option<Timestamp>,
    /// By the tag of the image that gave it away, else of the first.
    pub version: Option<Version>,
    /// kube-proxy is told to do DSR; `None` when its arguments do not say it.
    pub dsr: Option<bool>,
}

impl DaemonSetFacts {
    /// Facts, when the DaemonSet is about Windows networking at all.
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
fn component_of_label(name: &str) -> Option<Component> {
    let mut all = Component::ALL.into_iter();
    all.find(|component| component.names().daemon_sets.contains(&name))
}

/// A pod of such a DaemonSet.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    pub component: Component,
    /// The node it runs on, or is meant for while it is not scheduled.
    pub node: String,
    /// Why the scheduler does not place it; `None` once it has.
    pub unscheduled: Option<String>,
    pub ready: bool,
    pub deleting: bool,
    pub created: Option<Timestamp>,
    /// When `Ready` last changed.
    pub turned: Option<Timestamp>,
    /// When the youngest of its containers started; `None` while one does not run.
    pub started: Option<Timestamp>,
    /// When container `node` of Calico's agent started, which runs Calico's startup.
    pub startup: Option<Timestamp>,
    /// `VXLAN_VNI` of that container: what an HNS network is made with.
    pub vni: Option<i64>,
    pub trouble: Option<Box<Trouble>>,
    /// End of the last run, when a container was restarted three times or more.
    pub crashed: Option<Timestamp>,
    /// By the tag of its image (kube-proxy).
    pub version: Option<Version>,
    /// kube-proxy is told to do DSR; `None` when its arguments do not say it.
    pub dsr: Option<bool>,
}

/// Why a pod does not run, in the kubelet's words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trouble {
    pub container: String,
    /// `ImagePullBackOff`, `CrashLoopBackOff`, …
    pub reason: String,
    /// The last message of the container, or what the kubelet says; may be empty.
    pub message: String,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.container, self.reason)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// Fewer restarts are a bad start, not a loop. A count beyond it means nothing more and is not kept.
const MANY_RESTARTS: i32 = 3;

impl PodFacts {
    pub fn read(pod: &Value) -> Option<Self> {
        let label = pod
            .pointer("/metadata/labels")
            .and_then(|l| l.get(labels::K8S_APP));
        let component = component_of_label(label?.as_str()?)?;
        let condition = |wanted: &str| items(pod, "/status/conditions").find(|c| text(c, "/type") == wanted);
        let ready = condition("Ready");
        let is_ready = ready.is_some_and(|c| text(c, "/status") == "True");
        let place = text(pod, "/spec/nodeName");
        let statuses = || items(pod, "/status/containerStatuses");
        let started: Option<Vec<_>> = statuses().map(|s| time(s, "/state/running/startedAt")).collect();
        let crashed = statuses()
            .filter(|s| number(s, "/restartCount") >= MANY_RESTARTS)
            .filter_map(|s| time(s, "/lastState/terminated/finishedAt"))
            .max();
        let startup =
            statuses().find(|s| component == Component::NodeAgent && text(s, "/name") == node_agent::STARTUP);
        let vni = items(pod, "/spec/containers")
            .filter(|c| component == Component::NodeAgent && text(c, "/name") == node_agent::STARTUP)
            .flat_map(|c| items(c, "/env"))
            .find(|e| text(e, "/name") == "VXLAN_VNI");
        let image = items(pod, "/spec/containers").map(|c| text(c, "/image")).next();
        Some(Self {
            component,
            node: if place.is_empty() { meant_for(pod) } else { place }.to_owned(),
            unscheduled: place.is_empty().then(|| {
                let why = condition("PodScheduled").map_or("", |c| text(c, "/message"));
                first_line(why, LONGEST)
            }),
            ready: is_ready,
            deleting: pod.pointer("/metadata/deletionTimestamp").is_some(),
            created: time(pod, "/metadata/creationTimestamp"),
            turned: ready.and_then(|c| time(c, "/lastTransitionTime")),
            started: started.and_then(|all| all.into_iter().max()),
            startup: startup.and_then(|s| time(s, "/state/running/startedAt")),
            vni: vni.and_then(|e| text(e, "/value").parse().ok()),
            trouble: if is_ready {
                None
            } else {
                trouble(pod).map(Box::new)
            },
            crashed,
            version: image
                .filter(|_| component == Component::KubeProxy)
                .and_then(version),
            dsr: pod.pointer("/spec").and_then(proxy_args::dsr),
        })
    }
}

impl PodFacts {
    /// With every time that is still to come set to now: a node's clock may be wrong, and so may the writer of a status.
    #[must_use]
    pub fn not_after(mut self, now: Timestamp) -> Self {
        for time in [
            &mut self.created,
            &mut self.turned,
            &mut self.started,
            &mut self.crashed,
        ] {
            *time = time.map(|at| at.min(now));
        }
        self
    }
}

impl OnNode for PodFacts {
    fn node(&self) -> &str {
        &self.node
    }
}

/// The DaemonSet controller pins a pod to its node by this affinity, before the scheduler binds it.
fn meant_for(pod: &Value) -> &str {
    const TERMS: &str =
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    items(pod, TERMS)
        .flat_map(|term| items(term, "/matchFields"))
        .find(|f| text(f, "/key") == "metadata.name")
        .map_or("", |f| text(f, "/values/0"))
}

/// `…/kube-proxy:v1.33.4-calico-hostprocess`.
pub fn version(image: &str) -> Option<Version> {
    let tag = image.split('@').next()?.rsplit_once(':')?.1;
    let mut version: Version = tag.parse().ok()?;
    version.suffix = String::new();
    Some(version)
}

/// The first container that says why it does not run, init containers first because later ones wait for them.
fn trouble(pod: &Value) -> Option<Trouble> {
    let init = items(pod, "/status/initContainerStatuses");
    let main = items(pod, "/status/containerStatuses");
    init.chain(main).find_map(container_trouble)
}

/// Longest message kept of a container.
const LONGEST: usize = 200;

fn container_trouble(status: &Value) -> Option<Trouble> {
    // `PodInitializing` and `ContainerCreating` are stages, not troubles.
    let waiting = Some(text(status, "/state/waiting/reason"))
        .filter(|r| !matches!(*r, "" | "PodInitializing" | "ContainerCreating"));
    // Between two waits of a crash loop the container runs: what ended it last is still its trouble.
    let ended = text(status, "/lastState/terminated/reason");
    let failed = (!ended.is_empty() && ended != "Completed").then_some("Restarted");
    let reason = waiting.or(failed)?;
    let last = text(status, "/lastState/terminated/message");
    let message = if last.is_empty() {
        // The kubelet's own back-off message counts up.
        Some(text(status, "/state/waiting/message"))
            .filter(|m| !m.starts_with("back-off "))
            .unwrap_or_default()
    } else {
        last
    };
    Some(Trouble {
        container: text(status, "/name").to_owned(),
        reason: reason.to_owned(),
        message: first_line(telling(message), LONGEST),
    })
}

/// The line that says why. A program that writes no message of its own has the end of its log as message
/// (`FallbackToLogsOnError`): the last error in it says why, after lines that say nothing, or after kube-proxy's
/// whole list of flags. Without klog's head, which is another at each restart.
fn telling(message: &str) -> &str {
    let said = |line| klog_error(line).or(Some(line).filter(|line| line.starts_with("Error: ")));
    message.lines().rev().find_map(said).unwrap_or(message)
}

/// `E1121 18:04:32.000522      32 run.go:72] what it says`, of an error or what ended the program.
fn klog_error(line: &str) -> Option<&str> {
    let (head, said) = line.split_once("] ")?;
    let date = head.strip_prefix(['E', 'F'])?.get(..4)?;
    date.bytes().all(|b| b.is_ascii_digit()).then_some(said)
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

    #[rstest]
    #[case::own_message(
        "HNS network Calico did not appear\nmore",
        "HNS network Calico did not appear\nmore"
    )]
    #[case::klog(
        "I1121 18:04:21.4      32 server.go:228] \"Successfully retrieved NodeIPs\"\n\
         E1121 18:04:32.0      32 run.go:72] \"command failed\" err=\"source-vip flag not set\"\n\n",
        "\"command failed\" err=\"source-vip flag not set\""
    )]
    #[case::after_the_flags(
        "      --write-config-to string   If set, write the default\n\nError: unknown flag: --v9\n",
        "Error: unknown flag: --v9"
    )]
    #[case::no_error("Everything] fine\n", "Everything] fine\n")]
    fn the_line_that_says_why(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(telling(message), expected);
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
            facts.trouble.unwrap().to_string(),
            "kube-proxy: CrashLoopBackOff: source-vip flag not set"
        );
    }
}
