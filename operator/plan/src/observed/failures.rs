//! Facts of Events that report that a pod's sandbox could not be created.
//!
//! Whoever may create Events may write such an Event about any pod and node, so an Event is a claim. It counts when
//! it looks like the kubelet's and the pod confirms it: a pod with that uid exists, is bound to that node and has no sandbox.

use jiff::Timestamp;
use serde_json::Value;

use super::node_index::OnNode;
use super::{first_line, items, text, time};

/// A pod whose sandbox the kubelet could not create.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxFailure {
    /// Name of the Node.
    pub node: String,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// Uid of the pod.
    pub uid: String,
    /// The kubelet's message, one bounded line.
    pub message: String,
    /// When the kubelet last failed.
    pub last: Timestamp,
}

/// `reason` of the Events, as the kubelet writes it.
pub const REASON: &str = "FailedCreatePodSandBox";

const KUBELET: &str = "kubelet";

impl SandboxFailure {
    /// The claim of an Event; `None` when it is not the kubelet's `FailedCreatePodSandBox` about a pod.
    pub fn read(event: &Value) -> Option<Self> {
        if text(event, "/reason") != REASON || text(event, "/involvedObject/kind") != "Pod" {
            return None;
        }
        let times = [
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/eventTime",
            "/metadata/creationTimestamp",
        ];
        // client-go's two recorders name component and node in different fields, newer ones in both.
        let component = agreed(event, ["/source/component", "/reportingComponent"])?;
        let node = agreed(event, ["/source/host", "/reportingInstance"])?;
        let uid = text(event, "/involvedObject/uid");
        (component == KUBELET && !uid.is_empty()).then_some(())?;
        Some(Self {
            node: node.to_owned(),
            pod: format!(
                "{}/{}",
                text(event, "/involvedObject/namespace"),
                text(event, "/involvedObject/name")
            ),
            uid: uid.to_owned(),
            message: first_line(text(event, "/message"), 512),
            last: times.iter().find_map(|p| time(event, p))?,
        })
    }

    /// Namespace and name of the pod.
    pub fn pod_key(&self) -> (&str, &str) {
        self.pod.split_once('/').unwrap_or_default()
    }

    /// Is it about the same pod on the same node?
    pub fn is_of_same_pod(&self, other: &Self) -> bool {
        (&self.node, &self.pod, &self.uid) == (&other.node, &other.pod, &other.uid)
    }

    /// Does the pod confirm it? It must be that very pod, bound to that node, neither finished nor going, and without a
    /// sandbox. So a failure is over as soon as the pod runs.
    pub fn is_borne_out_by(&self, pod: &Value) -> bool {
        let condition = |wanted: &str| {
            let mut conditions = items(pod, "/status/conditions");
            conditions.any(|c| text(c, "/type") == wanted && text(c, "/status") == "True")
        };
        let running = |statuses: &str| items(pod, statuses).any(|s| s.pointer("/state/running").is_some());
        // The condition is there since Kubernetes 1.29; a container that runs has a sandbox on any version.
        let has_sandbox = condition("PodReadyToStartContainers")
            || condition("Ready")
            || running("/status/containerStatuses")
            || running("/status/initContainerStatuses");
        text(pod, "/metadata/uid") == self.uid
            && text(pod, "/spec/nodeName") == self.node
            && pod.pointer("/metadata/deletionTimestamp").is_none()
            && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
            && !has_sandbox
    }
}

/// What both fields say, or the one that says anything; `None` when they differ.
fn agreed<'a>(event: &'a Value, fields: [&str; 2]) -> Option<&'a str> {
    let mut values = fields
        .map(|field| text(event, field))
        .into_iter()
        .filter(|t| !t.is_empty());
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

impl OnNode for SandboxFailure {
    fn node(&self) -> &str {
        &self.node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn event() -> Value {
        json!({
            "reason": REASON, "source": {"component": "kubelet", "host": "win-0"}, "lastTimestamp": "2026-01-01T00:00:07Z",
            "involvedObject": {"kind": "Pod", "namespace": "a", "name": "b", "uid": "u"}, "message": "x\ny",
            "reportingComponent": "kubelet", "reportingInstance": "win-0",
            "metadata": {"creationTimestamp": "2026-01-01T00:00:01Z"},
        })
    }

    fn with(mut value: Value, place: &str, new: Value) -> Value {
        let (parent, name) = place.rsplit_once('/').unwrap();
        value.pointer_mut(parent).unwrap()[name] = new;
        value
    }

    #[test]
    fn both_forms_of_an_event_name_node_and_time() {
        let old = with(
            with(event(), "/reportingComponent", "".into()),
            "/reportingInstance",
            "".into(),
        );
        let new = with(event(), "/source", json!({}));
        let new = with(
            with(new, "/lastTimestamp", Value::Null),
            "/eventTime",
            "2026-01-01T00:00:07.000000Z".into(),
        );
        let facts = SandboxFailure::read(&old).unwrap();
        assert_eq!((facts.pod.as_str(), facts.message.as_str()), ("a/b", "x"));
        assert_eq!(Some(facts), SandboxFailure::read(&new));
    }

    #[rstest]
    #[case::of_another_reason("/reason", "Pulled")]
    #[case::of_no_kubelet("/source/component", "my-controller")]
    #[case::of_two_reporters("/reportingComponent", "my-controller")]
    #[case::of_two_nodes("/reportingInstance", "win-1")]
    #[case::about_no_pod("/involvedObject/kind", "Node")]
    #[case::about_any_pod_of_the_name("/involvedObject/uid", "")]
    fn other_events_are_none_of_ours(#[case] place: &str, #[case] value: &str) {
        assert!(SandboxFailure::read(&event()).is_some());
        assert_eq!(SandboxFailure::read(&with(event(), place, value.into())), None);
    }

    /// What no clock says is not taken for a time; the API server's own remains.
    #[rstest]
    #[case("9999-12-30T21:59:00Z")]
    #[case("1969-12-31T23:59:59Z")]
    #[case("yesterday")]
    fn an_impossible_time_is_none(#[case] time: &str) {
        let read = SandboxFailure::read(&with(event(), "/lastTimestamp", time.into())).unwrap();
        assert_eq!(read.last.to_string(), "2026-01-01T00:00:01Z");
    }

    fn pod() -> Value {
        json!({
            "metadata": {"namespace": "a", "name": "b", "uid": "u"},
            "spec": {"nodeName": "win-0"},
            "status": {"phase": "Pending", "conditions": [], "containerStatuses": [
                {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}},
            ]},
        })
    }

    #[rstest]
    #[case::made_anew("/metadata/uid", json!("v"))]
    #[case::elsewhere("/spec/nodeName", json!("win-1"))]
    #[case::nowhere("/spec/nodeName", json!(""))]
    #[case::going("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]
    #[case::done("/status/phase", json!("Succeeded"))]
    #[case::has_a_sandbox("/status/conditions", json!([{"type": "PodReadyToStartContainers", "status": "True"}]))]
    #[case::runs("/status/containerStatuses", json!([{"state": {"running": {}}}]))]
    #[case::initializes("/status/initContainerStatuses", json!([{"state": {"running": {}}}]))]
    fn a_pod_that_does_not_bear_it_out(#[case] place: &str, #[case] value: Value) {
        let failure = SandboxFailure::read(&event()).unwrap();
        assert!(failure.is_borne_out_by(&pod()));
        assert!(!failure.is_borne_out_by(&with(pod(), place, value)));
    }
}
