//! Facts of Events that say that a pod's sandbox could not be made.

use jiff::Timestamp;
use serde_json::Value;

use super::filed::OnNode;
use super::{first_line, text, time};

/// What the kubelet could not do, and when it last tried.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxFailure {
    pub node: String,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// The kubelet's message, one bounded line.
    pub message: String,
    pub last: Timestamp,
}

/// `reason` of the Events, as the kubelet writes it.
pub const REASON: &str = "FailedCreatePodSandBox";

impl SandboxFailure {
    pub fn read(event: &Value) -> Option<Self> {
        if text(event, "/reason") != REASON {
            return None;
        }
        let times = [
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/eventTime",
            "/metadata/creationTimestamp",
        ];
        // client-go's two recorders name the node in different fields.
        let nodes = ["/source/host", "/reportingInstance"];
        Some(Self {
            node: nodes
                .iter()
                .map(|p| text(event, p))
                .find(|n| !n.is_empty())?
                .to_owned(),
            pod: format!(
                "{}/{}",
                text(event, "/involvedObject/namespace"),
                text(event, "/involvedObject/name")
            ),
            message: first_line(text(event, "/message"), 512),
            last: times.iter().find_map(|p| time(event, p))?,
        })
    }
}

impl OnNode for SandboxFailure {
    fn node(&self) -> &str {
        &self.node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_forms_of_an_event_name_node_and_time() {
        let old = json!({
            "reason": REASON, "source": {"host": "win-0"}, "lastTimestamp": "2026-01-01T00:00:07Z",
            "involvedObject": {"namespace": "a", "name": "b"}, "message": "x\ny",
        });
        let new = json!({
            "reason": REASON, "reportingInstance": "win-0", "eventTime": "2026-01-01T00:00:07.000000Z",
            "involvedObject": {"namespace": "a", "name": "b"}, "message": "x", "source": {},
        });
        let facts = SandboxFailure::read(&old).unwrap();
        assert_eq!((facts.pod.as_str(), facts.message.as_str()), ("a/b", "x"));
        assert_eq!(Some(facts), SandboxFailure::read(&new));
    }

    #[test]
    fn other_events_are_none_of_ours() {
        assert_eq!(
            SandboxFailure::read(&json!({"reason": "Pulled", "source": {"host": "win-0"}})),
            None
        );
    }
}
