//! Which Event is published for which change.
//!
//! Invariant: equal inputs give equal news, and what did not change gives none. A restart publishes nothing twice, because
//! the stored status and the stored conditions of Nodes show what was published before.

mod nodes;

use std::borrow::Cow;

use wn_api::calico::ConfigKind;
use wn_api::reasons::{Reason, conditions, events};
use wn_api::status::WindowsNodeConfigStatus;

use crate::advice;
use crate::applied::Applied;
use crate::calico::Write;
use crate::decide::Plan;
use crate::field::Change;
use crate::observed::NetworkCondition;
use crate::status::{Outcome, describe};

pub use nodes::NodeNews;

/// An Event to publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct News {
    /// Type `Warning`, else `Normal`.
    pub warning: bool,
    /// Reason of the Event, one of [`wn_api::reasons::events`] or a `NodeReason`.
    pub reason: Cow<'static, str>,
    /// Message of the Event.
    pub note: String,
}

impl News {
    /// An Event of type `Normal`.
    pub const fn normal(reason: &'static str, note: String) -> Self {
        Self::new(false, reason, note)
    }

    /// An Event of type `Warning`.
    pub const fn warning(reason: &'static str, note: String) -> Self {
        Self::new(true, reason, note)
    }

    const fn new(warning: bool, reason: &'static str, note: String) -> Self {
        Self {
            warning,
            reason: Cow::Borrowed(reason),
            note,
        }
    }
}

/// The news of a pass that ended before there was a plan to apply. Published when the status changes.
pub fn of_outcome(outcome: Outcome) -> Option<News> {
    let (reason, note) = match outcome {
        Outcome::Unreadable { message } => (events::INVALID_SPEC, message.to_owned()),
        Outcome::Refused { violations } => (events::INVALID_SPEC, joined(violations)),
        Outcome::Unread { finding } => {
            let note = format!("{}: {}", finding.reason.as_str(), finding.message);
            (events::NOT_READY, note)
        }
        Outcome::Unsupported { platform } => {
            let messages = platform.findings.iter().map(|f| &f.message);
            (events::PLATFORM_UNSUPPORTED, joined(messages))
        }
        Outcome::Restoring { .. } | Outcome::Settled(_) => return None,
    };
    Some(News::warning(reason, note))
}

/// The news of a status beside the stored one: advisories it did not have, and a changed condition `Ready`.
pub fn of_status(stored: Option<&WindowsNodeConfigStatus>, new: &WindowsNodeConfigStatus) -> Vec<News> {
    let advisories = new.advisories.as_ref().and_then(|new| {
        let (note, grave) = advice::news(stored.and_then(|s| s.advisories.as_ref()), new)?;
        Some(News::new(grave, events::ADVISORIES_FOUND, note))
    });
    advisories.into_iter().chain(readiness(stored, new)).collect()
}

fn readiness(stored: Option<&WindowsNodeConfigStatus>, new: &WindowsNodeConfigStatus) -> Option<News> {
    let ready = |status: &WindowsNodeConfigStatus| {
        let mut conditions = status.conditions.iter();
        conditions.find(|c| c.type_ == conditions::READY).cloned()
    };
    let (was, is) = (stored.and_then(ready)?, ready(new)?);
    (was.status != is.status).then(|| match is.status.as_str() {
        "True" => News::normal(events::READY, is.message),
        _ => News::warning(events::NOT_READY, format!("{}: {}", is.reason, is.message)),
    })
}

/// The news of what was written to the cluster.
pub fn of_writes(plan: &Plan, applied: &Applied) -> Vec<News> {
    let objects = plan.objects.iter();
    let drifted = objects.filter(|o| o.drift && applied.objects.contains(&o.object));
    let repaired = drifted.map(|o| format!("{} was changed or deleted, and is restored", o.object));
    let repaired = repaired.map(|note| News::normal(events::DRIFT_REPAIRED, note));
    applied.calico.iter().flat_map(of_write).chain(repaired).collect()
}

fn of_write(write: &Write) -> impl Iterator<Item = News> {
    let (drifted, first): (Vec<_>, Vec<_>) = write.changes.iter().partition(|c| c.drifted_by.is_some());
    let repaired = |change: &&Change| {
        let by = change.drifted_by.as_deref().unwrap_or_default();
        format!("{}: it was changed by {by}", describe(change))
    };
    let reason = match write.kind {
        ConfigKind::FlannelConfiguration => events::NETWORK_PATCHED,
        ConfigKind::IpamConfiguration
        | ConfigKind::IpPool
        | ConfigKind::FelixConfiguration
        | ConfigKind::Installation => events::CALICO_PATCHED,
    };
    let news = [
        News::normal(events::DRIFT_REPAIRED, joined(drifted.iter().map(repaired))),
        News::normal(reason, joined(first.into_iter().map(describe))),
    ];
    news.into_iter().filter(|news| !news.note.is_empty())
}

/// The news of a write that restores original values.
pub fn of_restore(write: &Write) -> News {
    let reason = match write.kind {
        ConfigKind::FlannelConfiguration => events::NETWORK_RESTORED,
        ConfigKind::IpamConfiguration
        | ConfigKind::IpPool
        | ConfigKind::FelixConfiguration
        | ConfigKind::Installation => events::CALICO_RESTORED,
    };
    News::normal(reason, joined(write.changes.iter().map(describe)))
}

/// The findings of a plan that begin at a moment users want to know. Published when they differ from the last ones.
pub fn of_findings(plan: &Plan) -> Vec<News> {
    let findings = plan.calico.findings.iter().chain(&plan.network);
    let news = findings.filter_map(|finding| {
        let reason = match finding.reason {
            Reason::FieldConflict => events::FIELD_CONFLICT,
            Reason::Contested => events::CONTESTED,
            _ => return None,
        };
        Some(News::warning(reason, finding.message.clone()))
    });
    news.collect()
}

/// The news of a condition that was stored on a Node.
pub fn of_node(condition: &NetworkCondition) -> News {
    let works = condition.status == "True";
    News {
        warning: !works,
        reason: match works {
            true => Cow::Borrowed(events::NETWORK_READY),
            false => Cow::Owned(condition.reason.clone()),
        },
        note: condition.message.clone(),
    }
}

fn joined(parts: impl IntoIterator<Item = impl ToString>) -> String {
    let parts: Vec<_> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;
    use wn_api::status::AdvisoriesStatus;

    use crate::field::FieldId;
    use crate::finding::Finding;

    fn status(ready: &str, advisory: Option<&str>) -> WindowsNodeConfigStatus {
        let condition = json!({
            "type": "Ready", "status": ready, "reason": "R", "message": "M", "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let list: Vec<_> = advisory
            .map(|severity| {
                json!({"code": "WN1", "severity": severity, "object": "o", "message": "m", "source": "s"})
            })
            .into_iter()
            .collect();
        let advisories: AdvisoriesStatus =
            serde_json::from_value(json!({"summary": "", "omitted": 0, "list": list})).unwrap();
        WindowsNodeConfigStatus {
            conditions: vec![serde_json::from_value(condition).unwrap()],
            advisories: Some(advisories),
            ..WindowsNodeConfigStatus::default()
        }
    }

    fn lines(news: &[News]) -> Vec<String> {
        let line = |n: &News| {
            format!(
                "{} {}: {}",
                if n.warning { "Warning" } else { "Normal" },
                n.reason,
                n.note
            )
        };
        news.iter().map(line).collect()
    }

    #[rstest]
    #[case::same(("True", None), ("True", None), &[])]
    #[case::ready(("False", None), ("True", None), &["Normal Ready: M"])]
    #[case::not_ready(("True", None), ("False", None), &["Warning NotReady: R: M"])]
    #[case::unknown(("True", None), ("Unknown", None), &["Warning NotReady: R: M"])]
    #[case::advisory(("True", None), ("True", Some("Warning")), &["Normal AdvisoriesFound: WN1 o: m"])]
    #[case::grave(("True", None), ("True", Some("Error")), &["Warning AdvisoriesFound: WN1 o: m"])]
    #[case::known(("True", Some("Warning")), ("True", Some("Warning")), &[])]
    #[case::over(("True", Some("Warning")), ("True", None), &[])]
    fn of_statuses(
        #[case] stored: (&str, Option<&str>),
        #[case] new: (&str, Option<&str>),
        #[case] expected: &[&str],
    ) {
        let news = of_status(Some(&status(stored.0, stored.1)), &status(new.0, new.1));
        assert_eq!(lines(&news), expected);
    }

    /// The first status says nothing of `Ready`: there is no change.
    #[test]
    fn of_a_first_status() {
        let news = of_status(None, &status("False", Some("Warning")));
        assert_eq!(lines(&news), ["Normal AdvisoriesFound: WN1 o: m"]);
    }

    #[rstest]
    #[case(ConfigKind::IpPool, "CalicoPatched", "CalicoRestored")]
    #[case(ConfigKind::FlannelConfiguration, "NetworkPatched", "NetworkRestored")]
    fn of_drift_and_first_writes(#[case] kind: ConfigKind, #[case] patched: &str, #[case] restored: &str) {
        let change = |field: &str, by: Option<&str>| Change {
            id: FieldId {
                kind,
                name: "n".into(),
                field: field.into(),
            },
            from: Some(json!(1)),
            to: Some(json!(2)),
            drifted_by: by.map(str::to_owned),
        };
        let write = Write {
            kind,
            name: "n".into(),
            action: crate::calico::Action::Create {
                spec: serde_json::Map::new(),
            },
            changes: vec![change("a", None), change("b", Some("them")), change("c", None)],
        };
        let news: Vec<_> = of_write(&write).collect();
        let text = |field: &str| describe(&change(field, None));
        let expected = [
            format!("Normal DriftRepaired: {}: it was changed by them", text("b")),
            format!("Normal {patched}: {}; {}", text("a"), text("c")),
        ];
        assert_eq!(lines(&news), expected);
        assert_eq!(of_restore(&write).reason, restored);
    }

    #[test]
    fn of_a_pass_that_ended_early() {
        let finding = Finding {
            reason: Reason::ReadForbidden,
            message: "nodes".into(),
        };
        let unread = of_outcome(Outcome::Unread { finding: &finding });
        assert_eq!(
            lines(unread.as_slice()),
            ["Warning NotReady: ReadForbidden: nodes"]
        );
        let unreadable = of_outcome(Outcome::Unreadable { message: "m" });
        assert_eq!(lines(unreadable.as_slice()), ["Warning InvalidSpec: m"]);
        assert_eq!(of_outcome(Outcome::Restoring { message: "m" }), None);
    }

    #[rstest]
    #[case("True", "Normal WindowsNetworkReady: m")]
    #[case("False", "Warning BlockExhausted: m")]
    #[case("Unknown", "Warning BlockExhausted: m")]
    fn of_a_condition_of_a_node(#[case] status: &str, #[case] expected: &str) {
        let condition = NetworkCondition {
            status: status.into(),
            reason: "BlockExhausted".into(),
            message: "m".into(),
            since: None,
            heartbeat: None,
        };
        assert_eq!(lines(&[of_node(&condition)]), [expected]);
    }
}
