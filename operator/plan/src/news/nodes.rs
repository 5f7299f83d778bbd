//! What changed of nodes between two writes of the status, as one Event that counts them.

use std::collections::BTreeMap;

use wn_api::node_reasons::NodeReason;
use wn_api::reasons::events;

use super::News;
use crate::finding::names_of;
use crate::node::{Judgement, NodeUpdate, State};

type Health = (State, Option<NodeReason>);

/// Nodes whose verdict changed since the status was last written.
#[derive(Debug, Default)]
pub struct NodeNews {
    /// By node: its health when the status was last written, and now.
    nodes: BTreeMap<String, (Option<Health>, Health)>,
}

impl NodeNews {
    /// Adds a verdict. A verdict that the Node's stored condition already shows is no news: the operator published it
    /// before a restart.
    pub fn add(&mut self, node: &str, judged: &Judgement, update: Option<&NodeUpdate>) {
        let stored = update.is_some_and(|m| !m.news);
        if !judged.changed || (judged.was.is_none() && stored) {
            return;
        }
        let Some(verdict) = &judged.verdict else {
            self.nodes.remove(node);
            return;
        };
        let is = (verdict.state, verdict.cause().map(|c| c.reason));
        let was = self.nodes.get(node).map_or(judged.was, |(was, _)| *was);
        self.nodes.insert(node.to_owned(), (was, is));
    }

    /// Takes what was added; `None` when nothing of it is worth an Event.
    pub fn take(&mut self) -> Option<News> {
        let mut by_reason: BTreeMap<Option<NodeReason>, Vec<String>> = BTreeMap::new();
        for (node, (was, is)) in std::mem::take(&mut self.nodes) {
            if is_news(was, is) {
                by_reason.entry(is.1).or_default().push(node);
            }
        }
        let bad = by_reason.keys().any(Option::is_some);
        let parts: Vec<_> = by_reason
            .iter()
            .rev()
            .map(|(reason, nodes)| {
                let noun = if nodes.len() == 1 { "node" } else { "nodes" };
                let what = reason.map_or("ready", NodeReason::as_str);
                format!(
                    "{} {noun}: {what} ({})",
                    nodes.len(),
                    names_of(nodes.iter().map(String::as_str))
                )
            })
            .collect();
        (!parts.is_empty()).then(|| News::new(bad, events::NODES_CHANGED, parts.join("; ")))
    }
}

/// A node that comes up is no news, nor is a new node that works, nor one that changed and changed back.
fn is_news(was: Option<Health>, is: Health) -> bool {
    match is.0 {
        State::Progressing | State::NotSelected => false,
        State::Ready => was.is_some_and(|(state, _)| state != State::Ready),
        State::Unknown | State::Failing => was != Some(is),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use wn_api::node_reasons::Weight;

    use crate::node::{Finding, Verdict};

    fn judged(was: Option<Health>, is: Health) -> Judgement {
        let finding = |reason| Finding {
            reason,
            weight: Weight::Failing,
            message: String::new(),
            until: None::<Timestamp>,
        };
        let verdict = Verdict {
            state: is.0,
            findings: is.1.map(finding).into_iter().collect(),
            recheck: None,
            network_made: None,
        };
        Judgement {
            was,
            verdict: Some(verdict),
            changed: true,
        }
    }

    const READY: Health = (State::Ready, None);
    const FULL: Health = (State::Failing, Some(NodeReason::BlockExhausted));

    #[test]
    fn changes_are_one_event() {
        let mut news = NodeNews::default();
        for node in ["a", "b"] {
            news.add(node, &judged(Some(READY), FULL), None);
        }
        news.add("c", &judged(Some(FULL), READY), None);
        news.add("d", &judged(None, READY), None);
        let expected = "2 nodes: BlockExhausted (a, b); 1 node: ready (c)";
        assert_eq!(
            news.take(),
            Some(News::warning(events::NODES_CHANGED, expected.into()))
        );
        assert_eq!(news.take(), None);
    }

    #[test]
    fn what_changed_back_is_no_news() {
        let mut news = NodeNews::default();
        news.add("a", &judged(Some(READY), FULL), None);
        news.add("a", &judged(Some(FULL), READY), None);
        news.add(
            "b",
            &judged(Some(FULL), (State::Progressing, Some(NodeReason::AgentNotReady))),
            None,
        );
        assert!(news.take().is_none());
    }

    #[test]
    fn an_event_from_before_a_restart_is_not_repeated() {
        for (stored, expected) in [(true, None), (false, Some("1 node: BlockExhausted (a)"))] {
            let mut news = NodeNews::default();
            let update = NodeUpdate {
                news: !stored,
                ..NodeUpdate::default()
            };
            news.add("a", &judged(None, FULL), Some(&update));
            assert_eq!(news.take().map(|n| n.note).as_deref(), expected);
        }
    }
}
