//! The JSON output of the commands: the fields of `expected.json` of the shared cases.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::cluster::{Class, Cluster, Endpoint, Refused};
use crate::difference::Difference;
use crate::evaluate::{Effect, Evaluation, RuleEffect};
use crate::felix::{self, Acl, AclAction, Addresses, Lost, MISSING_POLICY_SET, Panic, Ports, RuleType};
use crate::input::Objects;
use crate::model::Direction;
use crate::packet::Packet;
use crate::release::Release;

/// Maximum number of printed addresses; longer lists are printed as their length and checksum.
const LONGEST_LIST: usize = 50;
/// Maximum number of printed ranges of ports.
const LONGEST_PORTS: usize = 100;
const HTTP_IGNORED: &str = "http match ignored: every packet of the layer 3/4 match is taken";
/// Maximum number of example packets in a list.
const EXAMPLES: usize = 6;

/// The result of the evaluation of a cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Objects that Calico's validation refuses, with the error; the other fields are without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<String>,
    /// The result with the refused objects stored; `None` without such objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_stored: Option<IfStored>,
    /// Policies that select no pod of a Windows node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inactive_policies: Vec<String>,
    /// Objects that the release does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Every rule of active policies.
    pub rules: Vec<RuleLine>,
    /// Pods of Windows nodes, by address.
    pub endpoints: Vec<EndpointEntry>,
}

/// The result of the evaluation with refused objects stored.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IfStored {
    /// Whether Felix also refuses a whole policy.
    pub treated_as_missing: bool,
    /// Every rule of active policies.
    pub rules: Vec<RuleLine>,
    /// Pods of Windows nodes, by address.
    pub endpoints: Vec<StoredEndpoint>,
}

/// An endpoint of the cluster with refused objects stored.
#[derive(Clone, Debug, Serialize)]
pub struct StoredEndpoint {
    /// `namespace/name` of the pod.
    pub pod: String,
    /// Result of the comparison, such as `same` or `more-open`.
    pub verdict: &'static str,
    /// ACLs in the order in which Felix sends them to HNS.
    pub acls: Vec<AclLine>,
}

/// The effect of a rule.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleLine {
    /// Kind, namespace and name of the policy.
    pub policy: String,
    /// Direction, seen from the pod.
    pub direction: &'static str,
    /// Position of the rule in the user's object, from 0.
    pub index: usize,
    /// Position among the parts that the rule is split into, from 0.
    pub part: usize,
    /// Number of parts.
    pub parts: usize,
    /// What it does.
    pub action: &'static str,
    /// The effect on Windows, such as `programmed` or `skipped`.
    pub effect: &'static str,
    /// Felix's log text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Number of ACLs.
    pub acls: usize,
    /// Code of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<&'static str>,
    /// For lost rules: whether the loss changes the result of no packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harmless: Option<bool>,
    /// Further explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// A pod of a Windows node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointEntry {
    /// `namespace/name` of the pod.
    pub pod: String,
    /// Its IPv4 address.
    pub ip: String,
    /// The pod's node, for filters; not in the output.
    #[serde(skip)]
    pub node: String,
    /// Tiers with their policies, as Felix receives them.
    pub tiers: Vec<String>,
    /// Names of the profiles, as Felix receives them.
    pub profiles: Vec<String>,
    /// Errors that Felix logs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub felix_errors: Vec<&'static str>,
    /// The panic that ends Felix's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub felix_panic: Option<&'static str>,
    /// ACLs in the order in which Felix sends them to HNS.
    pub acls: Vec<AclLine>,
    /// Result of the comparison, such as `same` or `more-open`.
    pub verdict: &'static str,
    /// Differences by direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<DifferenceEntry>,
}

/// An ACL. An absent field matches everything.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AclLine {
    /// Direction, seen from the pod.
    pub direction: &'static str,
    /// What it does.
    pub action: &'static str,
    /// IANA number of the protocol, or 256 for any.
    pub protocol: u16,
    /// Of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_addresses: Option<List>,
    /// Of the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_addresses: Option<List>,
    /// Of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_ports: Option<PortList>,
    /// Of the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_ports: Option<PortList>,
    /// `Switch` or `Host`: where HNS applies the ACL.
    pub rule_type: &'static str,
    /// The ACL with the lowest number is evaluated first.
    pub priority: u16,
    /// Name of the policy set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Addresses, sorted.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum List {
    /// Every address.
    Items(Vec<String>),
    /// Length and checksum of a long list.
    Long(Long),
}

/// Ports as HNS gets them.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PortList {
    /// Every port or range, separated by commas.
    Text(String),
    /// Length and checksum of a long list.
    Long(Long),
}

/// A list that is too long to print.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Long {
    /// Number of items.
    pub count: usize,
    /// SHA-256 of the items joined by commas; absent if the members are random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Packets of one direction for which Windows differs from the policies.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DifferenceEntry {
    /// Direction, seen from the pod.
    pub direction: &'static str,
    /// Number of packets that were compared.
    pub packets: usize,
    /// Examples of packets that Windows allows and the policies deny.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_open: Vec<String>,
    /// Number of these packets.
    pub more_open_count: usize,
    /// Examples of packets that Windows denies and the policies allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_closed: Vec<String>,
    /// Number of these packets.
    pub more_closed_count: usize,
}

impl Report {
    /// Evaluates the cluster of `objects`.
    pub fn new(objects: &Objects, release: Release) -> Self {
        let evaluation = Evaluation::new(objects, release, Refused::LeftOut);
        let cluster = &evaluation.cluster;
        let refused = cluster.refused.iter();
        Self {
            rejected: refused.map(|r| format!("{}: {}", r.object, r.error)).collect(),
            if_stored: (!cluster.refused.is_empty()).then(|| IfStored::new(objects, release)),
            inactive_policies: cluster.inactive.iter().map(ToString::to_string).collect(),
            unknown: cluster.unknown.iter().map(ToString::to_string).collect(),
            rules: rule_lines(&evaluation),
            endpoints: endpoints(&evaluation),
        }
    }
}

impl IfStored {
    fn new(objects: &Objects, release: Release) -> Self {
        let evaluation = Evaluation::new(objects, release, Refused::Stored);
        let endpoints = endpoints(&evaluation).into_iter().map(|entry| StoredEndpoint {
            pod: entry.pod,
            verdict: entry.verdict,
            acls: entry.acls,
        });
        Self {
            treated_as_missing: !evaluation.cluster.missing.is_empty(),
            rules: rule_lines(&evaluation),
            endpoints: endpoints.collect(),
        }
    }
}

/// The rules of an evaluation.
fn rule_lines(evaluation: &Evaluation) -> Vec<RuleLine> {
    evaluation.rules().iter().map(RuleLine::new).collect()
}

impl RuleLine {
    fn new(rule: &RuleEffect<'_>) -> Self {
        let (effect, reason, reason_code) = words(rule.effect);
        let origin = rule.rule.origin;
        Self {
            policy: rule.policy.id.to_string(),
            direction: rule.direction.as_str(),
            index: origin.index,
            part: origin.part,
            parts: origin.parts,
            action: rule.rule.action.as_str(),
            effect,
            reason,
            acls: rule.acls,
            reason_code,
            harmless: matches!(rule.effect, Effect::Lost(_)).then_some(rule.is_harmless),
            note: (rule.effect == Effect::Wider { of_http: true }).then_some(HTTP_IGNORED),
        }
    }
}

/// The words of an effect: effect, reason and code of the reason.
fn words(effect: Effect) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    match effect {
        Effect::Programmed => ("programmed", None, None),
        Effect::Wider { of_http: true } => ("programmed-wider", None, Some("http-ignored")),
        Effect::Wider { of_http: false } => ("programmed-wider", None, None),
        Effect::AsBlock => (
            "programmed-as-block",
            Some("flattener: setting pass rules in last tier to block"),
            Some("pass-in-last-tier"),
        ),
        Effect::Lost(Lost::Skipped(reason)) => ("skipped", Some(reason.log()), Some(reason.code())),
        Effect::Lost(Lost::NoOp) => ("no-op", Some("rule is a no-op"), None),
        Effect::Lost(Lost::EmptySet(log)) => ("empty-set", Some(log), None),
        Effect::Staged => (
            "staged",
            Some("staged policy: its rules are not programmed"),
            None,
        ),
        Effect::NotApplied => (
            "not-applied",
            Some("the policy is not in the tiers of any workload endpoint in this direction"),
            None,
        ),
    }
}

fn endpoints(evaluation: &Evaluation) -> Vec<EndpointEntry> {
    let entries = evaluation.endpoints().map(|(i, endpoint)| {
        let class = &evaluation.cluster.classes[endpoint.class];
        let misses = evaluation.misses_policy_set(endpoint);
        let differences = evaluation.differences[i].iter();
        EndpointEntry {
            pod: endpoint.name(),
            ip: endpoint.pod.address.to_string(),
            node: endpoint.pod.node.to_string(),
            tiers: tier_lines(&evaluation.cluster, class),
            profiles: class.profiles.to_vec(),
            felix_errors: if misses {
                vec![MISSING_POLICY_SET]
            } else {
                Vec::new()
            },
            felix_panic: evaluation.panics(endpoint).then_some(Panic::TEXT),
            acls: acl_lines(evaluation, endpoint),
            verdict: evaluation.verdict(i).as_str(),
            difference: differences.map(DifferenceEntry::new).collect(),
        }
    });
    entries.collect()
}

/// Tiers of a class as Felix receives them.
fn tier_lines(cluster: &Cluster, class: &Class) -> Vec<String> {
    let lines = class.tiers.iter().map(|(tier, policies)| {
        let names = |direction| {
            let policies = policies.iter().map(|i| &cluster.policies[*i]);
            let names = policies.filter(|policy| policy.governs(direction));
            names
                .map(|policy| policy.id.felix())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let (ingress, egress) = (names(Direction::Ingress), names(Direction::Egress));
        let tier = &cluster.tiers[*tier];
        let line = format!(
            "{} (end {}) in:[{ingress}] out:[{egress}]",
            tier.name, tier.default_action
        );
        (line, ingress.is_empty() && egress.is_empty())
    });
    lines
        .filter(|(_, is_empty)| !is_empty)
        .map(|(line, _)| line)
        .collect()
}

/// ACLs of an endpoint in the order in which Felix sends them to HNS; none if Felix panics.
pub(crate) fn acl_lines(evaluation: &Evaluation, endpoint: &Endpoint) -> Vec<AclLine> {
    let Some(acls) = evaluation.acls(endpoint) else {
        return Vec::new();
    };
    let from_node = felix::allow_from_node(&endpoint.node_addresses);
    let all = from_node.iter().chain(&acls.ingress).chain(&acls.egress);
    all.map(AclLine::new).collect()
}

impl AclLine {
    fn new(acl: &Acl) -> Self {
        Self {
            direction: match acl.direction {
                Direction::Ingress => "In",
                Direction::Egress => "Out",
            },
            action: match acl.action {
                AclAction::Allow => "Allow",
                AclAction::Block | AclAction::Pass => "Block",
            },
            protocol: acl.protocol,
            local_addresses: list(&acl.local),
            remote_addresses: list(&acl.remote),
            local_ports: port_list(&acl.local_ports),
            remote_ports: port_list(&acl.remote_ports),
            rule_type: match acl.rule_type {
                RuleType::Switch => "Switch",
                RuleType::Host => "Host",
            },
            priority: acl.priority,
            from: acl.from.as_ref().map(ToString::to_string),
        }
    }
}

fn list(addresses: &Addresses) -> Option<List> {
    let list = addresses.as_ref()?;
    let items: Vec<String> = list.texts().collect();
    if !list.is_chunk && items.len() <= LONGEST_LIST {
        return Some(List::Items(items));
    }
    Some(List::Long(Long {
        count: items.len(),
        sha256: (!list.is_chunk).then(|| checksum(&items.join(","))),
    }))
}

fn port_list(ports: &Ports) -> Option<PortList> {
    if ports.is_empty() {
        return None;
    }
    let texts: Vec<String> = ports
        .iter()
        .map(|(low, high)| match low == high {
            true => low.to_string(),
            false => format!("{low}-{high}"),
        })
        .collect();
    let text = texts.join(",");
    Some(if texts.len() <= LONGEST_PORTS {
        PortList::Text(text)
    } else {
        PortList::Long(Long {
            count: texts.len(),
            sha256: Some(checksum(&text)),
        })
    })
}

fn checksum(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl DifferenceEntry {
    fn new(difference: &Difference) -> Self {
        let direction = difference.direction;
        let examples = |packets: &[Packet]| {
            let examples = spread(packets).into_iter();
            examples.map(|packet| packet.describe(direction)).collect()
        };
        Self {
            direction: direction.as_str(),
            packets: difference.packets,
            more_open: examples(&difference.more_open),
            more_open_count: difference.more_open.len(),
            more_closed: examples(&difference.more_closed),
            more_closed_count: difference.more_closed.len(),
        }
    }
}

/// A few packets, spread evenly over the list.
fn spread(packets: &[Packet]) -> Vec<&Packet> {
    let number = packets.len().min(EXAMPLES);
    let place = |i: usize| i * (packets.len() - 1) / (number - 1).max(1);
    (0..number).map(|i| &packets[place(i)]).collect()
}
