//! The Windows nodes that the operator runs its DaemonSets on: those with the labels of `spec.nodeSelector`.

use std::collections::BTreeMap;

use wn_api::names::labels;

use crate::observed::{NodeFacts, Observed};

/// Has the node all labels of the selector, as the scheduler compares them?
pub fn selects(selector: &BTreeMap<String, String>, node: &NodeFacts) -> bool {
    let mut wanted = selector.iter().filter(|(label, _)| *label != labels::OS);
    wanted.all(|(label, value)| node.labels.get(label) == Some(value.as_str()))
}

/// The selected nodes, by name.
pub fn nodes<'a>(
    selector: &'a BTreeMap<String, String>,
    observed: &'a Observed,
) -> impl Iterator<Item = (&'a str, &'a NodeFacts)> {
    let all = observed
        .nodes
        .iter()
        .filter(move |(_, node)| selects(selector, node));
    all.map(|(name, node)| (name.as_str(), node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[], true)]
    #[case(&[("kubernetes.io/os", "windows")], true)]
    #[case(&[("canary", "yes")], true)]
    #[case(&[("canary", "no")], false)]
    #[case(&[("canary", "yes"), ("pool", "")], false)]
    fn every_label_counts(#[case] selector: &[(&str, &str)], #[case] expected: bool) {
        let own = |(label, value): &(&str, &str)| ((*label).to_owned(), (*value).to_owned());
        let node = NodeFacts {
            labels: [("canary", "yes")].into(),
            ..NodeFacts::default()
        };
        assert_eq!(selects(&selector.iter().map(own).collect(), &node), expected);
    }
}
