//! The list of nodes: bounded, worst first, each line enough to act on.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use wn_api::WindowsNodeConfigSpec;
use wn_api::names::NODE_LIST_LIMIT;
use wn_api::node_reasons::{NodeReason, Weight};
use wn_api::status::{NodeStatus, NodesStatus, ReasonCount};

use super::Nodes;
use super::conditions::to_the_second;
use crate::node::{Entry, State, condition_status};
use crate::observed::{NodeFacts, Observed};

/// Nodes that are named for each reason.
const NAMES: usize = 3;

/// Bytes the list may take, as JSON: an object in etcd has 1.5 MB, and every watcher of ours gets all of it.
const LIST_BUDGET: usize = 150_000;

pub fn status(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    nodes: Nodes,
    now: Timestamp,
) -> NodesStatus {
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let mut sorted: Vec<_> = nodes.table.iter().collect();
    let total = count(sorted.len());
    let of = |state: State| count(sorted.iter().filter(|(_, e)| e.state == state).count());
    let [not_selected, ready, unknown, progressing, failing] = State::ALL.map(of);
    let reasons = reasons(&sorted);
    // By name already; a stable sort keeps that within each state.
    sorted.sort_by_key(|(_, entry)| Reverse(entry.state));
    let limit = spec.node_list_limit.unwrap_or(NODE_LIST_LIMIT);
    let mut left = LIST_BUDGET;
    let list: Vec<_> = sorted
        .iter()
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .filter_map(|(name, entry)| node(name, entry, observed, nodes, now))
        .take_while(|node| {
            let size = size(node);
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        })
        .collect();
    NodesStatus {
        summary: format!("{}/{}", ready + unknown, total - not_selected),
        total,
        not_selected,
        ready: ready + unknown,
        progressing,
        failing,
        unknown,
        reasons,
        omitted: total - count(list.len()),
        list,
    }
}

/// Every reason that was found anywhere, the most frequent first.
fn reasons(nodes: &[(&str, &Entry)]) -> Vec<ReasonCount> {
    let mut found: BTreeMap<NodeReason, (usize, Vec<String>)> = BTreeMap::new();
    for (name, entry) in nodes {
        for reason in entry.reason.iter().chain(&entry.others) {
            let (count, names) = found.entry(*reason).or_default();
            *count += 1;
            if names.len() < NAMES {
                names.push((*name).to_owned());
            }
        }
    }
    let mut counts: Vec<_> = found
        .into_iter()
        .map(|(reason, (count, names))| ReasonCount {
            reason: reason.as_str().to_owned(),
            nodes: i32::try_from(count).unwrap_or(i32::MAX),
            names,
        })
        .collect();
    counts.sort_by_key(|c| Reverse(c.nodes));
    counts
}

fn node(name: &str, entry: &Entry, observed: &Observed, nodes: Nodes, now: Timestamp) -> Option<NodeStatus> {
    let facts = observed.nodes.get(name)?;
    let verdict = nodes.table.full(name, observed, nodes.cluster, now)?;
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let cause = verdict.cause();
    let rest = verdict.findings.iter().skip(usize::from(cause.is_some()));
    let (advice, also): (Vec<_>, Vec<_>) = rest.partition(|f| f.weight == Weight::Advice);
    Some(NodeStatus {
        name: name.to_owned(),
        ready: entry.state.works(),
        state: entry.state.as_str().to_owned(),
        reason: cause.map(|f| f.reason.as_str().to_owned()),
        message: cause
            .map(|f| f.message.clone())
            .or_else(|| not_selected(entry.state)),
        since: Some(Time(to_the_second(since(entry, facts)))),
        also: also.into_iter().map(|f| f.reason.as_str().to_owned()).collect(),
        advice: advice
            .into_iter()
            .map(|f| format!("{}: {}", f.reason, f.message))
            .collect(),
        os_build: some(&facts.kernel_version),
        kubelet: some(&facts.kubelet_version),
    })
}

fn not_selected(state: State) -> Option<String> {
    let message =
        "spec.nodeSelector does not select the node: the operator runs nothing on it, and it is not judged";
    (state == State::NotSelected).then(|| message.to_owned())
}

/// Since when the node's condition has its status. It is taken from the Node, so that a restart of the operator changes nothing.
fn since(entry: &Entry, facts: &NodeFacts) -> Timestamp {
    let status = condition_status(entry.state);
    let stored = facts
        .condition
        .as_ref()
        .filter(|condition| condition.status == status);
    stored
        .and_then(|condition| condition.since)
        .unwrap_or(entry.since)
}

/// As JSON, near enough: names of fields, quotes and the escapes of messages included.
fn size(node: &NodeStatus) -> usize {
    const FIELDS: usize = 200;
    let texts = [&node.message, &node.reason, &node.os_build, &node.kubelet];
    let lists = node.also.iter().chain(&node.advice);
    FIELDS
        + node.name.len()
        + texts
            .into_iter()
            .flatten()
            .chain(lists)
            .map(|t| t.len() * 11 / 10 + 4)
            .sum::<usize>()
}
