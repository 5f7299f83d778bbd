//! Facts of the pods of components on Windows nodes, and why their containers do not run.

use jiff::Timestamp;
use serde_json::Value;
use wn_api::component::Component;
use wn_api::names::{labels, node_agent};

use super::daemon_sets::{component_of_label, version};
use super::node_index::OnNode;
use super::proxy_args;
use super::{first_line, items, number, text, time};
use crate::version::Version;

/// A pod of a component on a Windows node.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// What it runs.
    pub component: Component,
    /// The node it runs on, or is meant for while it is not scheduled.
    pub node: String,
    /// Why the scheduler does not schedule it; `None` once it is scheduled.
    pub unscheduled: Option<String>,
    /// Condition `Ready` is True.
    pub ready: bool,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// When condition `Ready` last changed.
    pub turned: Option<Timestamp>,
    /// When the youngest of its containers started; `None` while one does not run.
    pub started: Option<Timestamp>,
    /// When container `node` of Calico's agent started, which runs Calico's startup.
    pub startup: Option<Timestamp>,
    /// `VXLAN_VNI` of that container: the VNI that it makes an HNS network with.
    pub vni: Option<i64>,
    /// Why a container does not run; `None` when all run.
    pub trouble: Option<Box<Trouble>>,
    /// End of the last run, when a container was restarted three times or more.
    pub crashed: Option<Timestamp>,
    /// Read from the tag of its image; kube-proxy only.
    pub version: Option<Version>,
    /// kube-proxy does DSR according to its arguments; `None` when they do not show it.
    pub dsr: Option<bool>,
}

/// Why a container does not run, as the kubelet reports it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trouble {
    /// Name of the container.
    pub container: String,
    /// `ImagePullBackOff`, `CrashLoopBackOff`, …
    pub reason: String,
    /// The container's termination message, or else the kubelet's; may be empty.
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

/// Fewer restarts are a bad start, not a crash loop. Higher counts make no difference and are not kept.
const MANY_RESTARTS: i32 = 3;

impl PodFacts {
    /// The facts of a Pod; `None` when it is not a component's.
    pub fn read(pod: &Value) -> Option<Self> {
        let label = pod
            .pointer("/metadata/labels")
            .and_then(|l| l.get(labels::K8S_APP));
        let component = component_of_label(label?.as_str()?)?;
        let condition = |wanted: &str| items(pod, "/status/conditions").find(|c| text(c, "/type") == wanted);
        let ready = condition("Ready");
        let is_ready = ready.is_some_and(|c| text(c, "/status") == "True");
        let bound = text(pod, "/spec/nodeName");
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
            node: if bound.is_empty() { meant_for(pod) } else { bound }.to_owned(),
            unscheduled: bound.is_empty().then(|| {
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

    /// Replaces times after `now` by `now`: the clock of the node or the writer of the status may be wrong.
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

/// The first container that does not run, and why; init containers first because later ones wait for them.
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
    // Between two waits of a crash loop the container runs; the cause of its last end is still its trouble.
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
        message: first_line(cause(message), LONGEST),
    })
}

/// The line with the cause. The message of a program that writes none is the end of its log (`FallbackToLogsOnError`): the last
/// error in it is the cause, after other lines or kube-proxy's list of flags. klog's prefix is removed, because it changes with each
/// restart.
fn cause(message: &str) -> &str {
    let error_line = |line| klog_error(line).or(Some(line).filter(|line| line.starts_with("Error: ")));
    message.lines().rev().find_map(error_line).unwrap_or(message)
}

/// `E1121 18:04:32.000522      32 run.go:72] what it says`, of an error or what ended the program.
fn klog_error(line: &str) -> Option<&str> {
    let (head, text) = line.split_once("] ")?;
    let date = head.strip_prefix(['E', 'F'])?.get(..4)?;
    date.bytes().all(|b| b.is_ascii_digit()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

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
    fn the_line_with_the_cause(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(cause(message), expected);
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
