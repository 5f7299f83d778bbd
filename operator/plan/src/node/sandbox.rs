//! Why pods cannot be created, in the words of the CNI plugin that the kubelet passes on.

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::deadlines::SANDBOX_WINDOW;
use super::pods::HNS_DOWN;
use crate::observed::SandboxFailure;

/// Texts of Calico, client-go and HNS, the cause before what it is wrapped in: an error holds several.
const TEXTS: &[(&str, NodeReason)] = &[
    HNS_DOWN,
    (
        "global strict affinity should not be false for Windows node",
        NodeReason::StrictAffinityFalse,
    ),
    (
        "cannot allocate new block due to per host block limit",
        NodeReason::BlockExhausted,
    ),
    ("cannot find a qualified ippool", NodeReason::NoQualifiedPool),
    ("no configured Calico pools for node", NodeReason::NoPoolForNode),
    (
        "connection is unauthorized: Unauthorized",
        NodeReason::CNITokenInvalid,
    ),
    ("timeout acquiring mutex", NodeReason::CNIStalled),
    ("Could not find vxlan0 in V2", NodeReason::HNSNetworkInconsistent),
    ("Windows does not support VXLANVNI < 4096", NodeReason::VNITooLow),
    // HNS gave the network no ManagementIP, and the plugin dereferences the nil it gets (seen from v3.32.1).
    (
        "Calico CNI panicked during ADD: runtime error: invalid memory address or nil pointer dereference",
        NodeReason::HNSManagementIPMissing,
    ),
    (
        "failed to get net interface for HNSNetwork",
        NodeReason::HNSManagementIPMissing,
    ),
    (
        "timed out waiting for interface matching the management IP",
        NodeReason::HNSManagementIPMissing,
    ),
    (
        "failed to delete existing remote HNSEndpoint",
        NodeReason::HNSEndpointStale,
    ),
    ("failed to create HNSNetwork", NodeReason::HNSNetworkCreateFailed),
    (
        "Calico is currently not ready to process requests",
        NodeReason::DatastoreNotReady,
    ),
    (
        "host must be a URL or a host:port pair",
        NodeReason::APIServerEndpointMissing,
    ),
    // The same of the plugin's kubeconfig with `server: https://:` (seen from v3.32.1).
    (
        "mapping values are not allowed in this context",
        NodeReason::APIServerEndpointMissing,
    ),
];

pub fn check(view: &View) -> Vec<Finding> {
    let recent = |f: &&&SandboxFailure| f.last + SANDBOX_WINDOW > view.now;
    let mut found: Vec<(NodeReason, &SandboxFailure)> = view
        .failures
        .iter()
        .filter(recent)
        .map(|f| (reason(&f.message), *f))
        .collect();
    // One finding a reason, about its first pod by name, until its last failure is old.
    found.sort_by(|(a, x), (b, y)| (a, &x.pod).cmp(&(b, &y.pod)));
    let mut findings: Vec<Finding> = Vec::new();
    for (reason, failure) in found {
        let end = failure.last + SANDBOX_WINDOW;
        match findings.last_mut().filter(|f| f.reason == reason) {
            Some(known) => known.until = known.until.max(Some(end)),
            None => findings.push(find(reason, cause(reason, failure)).until(end)),
        }
    }
    findings
}

fn reason(message: &str) -> NodeReason {
    let known = TEXTS.iter().find(|(text, _)| message.contains(text));
    known.map_or(NodeReason::SandboxCreationFailed, |(_, reason)| *reason)
}

/// The text itself only when it is news: it names a sandbox, and so differs from try to try.
fn cause(reason: NodeReason, failure: &SandboxFailure) -> String {
    let pod = &failure.pod;
    if reason == NodeReason::SandboxCreationFailed {
        format!("pod {pod} cannot be created: {}", without_ids(&failure.message))
    } else {
        format!(
            "pods such as {pod} cannot be created: {}",
            decapitalized(reason.entry().meaning)
        )
    }
}

fn decapitalized(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut words = sentence.chars();
    let first = words.next().filter(|_| !sentence.starts_with("HNS"));
    first.map_or_else(
        || sentence.to_owned(),
        |c| c.to_lowercase().chain(words).collect(),
    )
}

/// Ids of sandboxes and endpoints are long hexadecimal words.
fn without_ids(message: &str) -> String {
    let is_id = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        word.len() >= 12 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
    };
    let words: Vec<_> = message
        .split(' ')
        .map(|w| if is_id(w) { "…" } else { w })
        .collect();
    words.join(" ")
}
