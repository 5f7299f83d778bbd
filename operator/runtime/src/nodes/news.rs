//! What happened to nodes between two writes of the status, told in one Event.

use std::collections::BTreeMap;

use wn_api::node_reasons::NodeReason;
use wn_plan::finding::names_of;
use wn_plan::node::{Judgement, State};

type Standing = (State, Option<NodeReason>);

#[derive(Debug, Default)]
pub struct News {
    /// By node: what it was when the status was last written, and what it is.
    nodes: BTreeMap<String, (Option<Standing>, Standing)>,
}

impl News {
    pub fn add(&mut self, node: &str, judged: &Judgement) {
        let Some(verdict) = &judged.verdict else {
            self.nodes.remove(node);
            return;
        };
        let is = (verdict.state, verdict.cause().map(|c| c.reason));
        let was = self.nodes.get(node).map_or(judged.was, |(was, _)| *was);
        self.nodes.insert(node.to_owned(), (was, is));
    }

    /// One sentence, and whether it is bad; `None` when nothing is worth telling.
    pub fn take(&mut self) -> Option<(String, bool)> {
        let mut by_reason: BTreeMap<Option<NodeReason>, Vec<String>> = BTreeMap::new();
        for (node, (was, is)) in std::mem::take(&mut self.nodes) {
            if is_told(was, is) {
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
        (!parts.is_empty()).then(|| (parts.join("; "), bad))
    }
}

/// Coming up is no news, nor is a new node that works; what came back to where it was is none, either.
fn is_told(was: Option<Standing>, is: Standing) -> bool {
    match is.0 {
        State::Progressing => false,
        State::Ready => was.is_some_and(|(state, _)| state != State::Ready),
        State::Unknown | State::Failing => was != Some(is),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use wn_api::node_reasons::Weight;
    use wn_plan::node::{Finding, Verdict};

    fn judged(was: Option<Standing>, is: Standing) -> Judgement {
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

    const READY: Standing = (State::Ready, None);
    const FULL: Standing = (State::Failing, Some(NodeReason::BlockExhausted));

    #[test]
    fn changes_are_told_together_and_once() {
        let mut news = News::default();
        for node in ["a", "b"] {
            news.add(node, &judged(Some(READY), FULL));
        }
        news.add("c", &judged(Some(FULL), READY));
        news.add("d", &judged(None, READY));
        let (told, bad) = news.take().unwrap();
        assert_eq!(told, "2 nodes: BlockExhausted (a, b); 1 node: ready (c)");
        assert!(bad && news.take().is_none());
    }

    #[test]
    fn there_and_back_is_no_news() {
        let mut news = News::default();
        news.add("a", &judged(Some(READY), FULL));
        news.add("a", &judged(Some(FULL), READY));
        news.add(
            "b",
            &judged(Some(FULL), (State::Progressing, Some(NodeReason::AgentNotReady))),
        );
        assert!(news.take().is_none());
    }
}
