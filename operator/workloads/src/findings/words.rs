//! The texts of findings.

use std::fmt::Write as _;

use super::cause::Cause;
use super::table::Code;
use crate::cluster::{Cluster, Endpoint};
use crate::difference::deciding;
use crate::felix::{AclAction, Acls};
use crate::meaning::{Decider, Meanings};
use crate::model::{Direction, PolicyKind, Rule, Side};
use crate::packet::{CLIENT_PORT, Content, Packet};

/// Path of the field that is the cause.
pub fn field(cause: &Cause<'_>) -> String {
    let Some(rule) = cause.rule else {
        return "spec".to_owned();
    };
    let at = format!("spec.{}[{}]", cause.direction.as_str(), rule.origin.index);
    match cause.policy.id.kind {
        PolicyKind::Kubernetes | PolicyKind::StagedKubernetes => {
            let peers = match cause.direction {
                Direction::Ingress => "from",
                Direction::Egress => "to",
            };
            match cause.code {
                Code::NegativeMatch => format!("{at}.{peers}[].ipBlock.except"),
                Code::NamedPort => format!("{at}.ports"),
                _ => at,
            }
        }
        PolicyKind::ClusterNetworkPolicy => match cause.code {
            Code::NamedPort => format!("{at}.protocols"),
            Code::PassInLastTier | Code::PassUnsupported => format!("{at}.action"),
            _ => at,
        },
        _ => match calico_field(cause.code, rule) {
            Some(field) => format!("{at}.{field}"),
            None => at,
        },
    }
}

fn calico_field(code: Code, rule: &Rule) -> Option<String> {
    let of_side = |names: fn(&Side) -> Option<&'static str>| {
        let source = names(&rule.source).map(|name| format!("source.{name}"));
        source.or_else(|| names(&rule.destination).map(|name| format!("destination.{name}")))
    };
    match code {
        Code::NegativeMatch if rule.not_protocol.is_some() => Some("notProtocol".to_owned()),
        Code::NegativeMatch if rule.not_icmp.is_some() => Some("notICMP".to_owned()),
        Code::NegativeMatch => of_side(negative_field),
        Code::NamedPort => of_side(|side| (!side.named_ports.is_empty()).then_some("ports")),
        Code::PassOpensPorts => of_side(|side| (!side.ports.is_empty()).then_some("ports")),
        Code::IcmpType => Some("icmp".to_owned()),
        Code::HttpIgnored => Some("http".to_owned()),
        Code::ServiceAlone => Some("destination.services".to_owned()),
        Code::PassInLastTier | Code::PassUnsupported => Some("action".to_owned()),
        _ => None,
    }
}

fn negative_field(side: &Side) -> Option<&'static str> {
    if !side.not_nets.is_empty() {
        Some("notNets")
    } else if !side.not_ports.is_empty() || !side.not_named_ports.is_empty() {
        Some("notPorts")
    } else {
        (side.not_selector.is_some() && side.selector.is_none()).then_some("notSelector")
    }
}

/// What is different on Windows.
pub fn what(cause: &Cause<'_>) -> String {
    match (cause.code, cause.rule) {
        (Code::Staged, _) => "Felix drops every packet that comes to the staged policy".to_owned(),
        (Code::HttpIgnored, _) => {
            "the rule matches every packet, not only the requests that it names".to_owned()
        }
        (Code::ServiceAlone, _) => "the rule matches every packet to the service's endpoints".to_owned(),
        (Code::PassInLastTier, _) => "Pass in the last tier blocks".to_owned(),
        (Code::PassOpensPorts, _) => "a rule of the next tier matches all ports".to_owned(),
        (Code::Unexplained, _) => "the ACLs differ from what the policies mean".to_owned(),
        (_, Some(rule)) => format!("the rule ({}) is skipped", rule.action.as_str()),
        (_, None) => "the policy is not enforced as written".to_owned(),
    }
}

/// The effect on Windows. `open` and `closed` tell whether packets are allowed or denied although they should not be;
/// `cuts_off` is true if no packet is allowed.
pub fn message(what: &str, open: bool, closed: bool, cuts_off: bool) -> String {
    let mut message = format!("on Windows {what}");
    let effect = match (open, closed) {
        (true, true) => {
            "some traffic that should be denied is allowed, and some traffic that should be allowed is denied"
        }
        (true, false) => "traffic that should be denied is allowed",
        _ => "traffic that should be allowed is denied",
    };
    let _ = write!(message, ": {effect}");
    if cuts_off {
        message.push_str("; no packet is allowed in this direction");
    }
    message
}

/// Describes a packet, such as
/// `TCP 443 from shop/client (10.244.2.5) to shop/web: denied by policy P rule 2, allowed on Windows`.
pub fn flow(
    cluster: &Cluster,
    acls: &Acls,
    endpoint: &Endpoint,
    direction: Direction,
    packet: &Packet,
) -> String {
    let class = &cluster.classes[endpoint.class];
    let local = endpoint.pod.address;
    let meaning = Meanings::new(cluster, class, direction).of(packet, local);
    let by = match meaning.decider {
        Decider::Rule(policy, rule) => format!("by {policy} rule {}", rule.origin.index + 1),
        Decider::EndOfTier(tier) => format!("at the end of tier {}", tier.name),
        Decider::Profile => "by the pod's profile".to_owned(),
    };
    let remote = match cluster.pods.get(&packet.remote) {
        Some(pod) => format!("{pod} ({})", packet.remote),
        None => packet.remote.to_string(),
    };
    let ends = match direction {
        Direction::Ingress => format!("from {remote} to {}", endpoint.name()),
        Direction::Egress => format!("from {} to {remote}", endpoint.name()),
    };
    let acl = deciding(acls.of(direction), direction, packet, local);
    let action = acl.map_or(AclAction::Block, |acl| acl.action);
    let on_windows = if action == AclAction::Allow {
        "allowed"
    } else {
        "denied"
    };
    let from = acl
        .and_then(|acl| acl.from.as_deref())
        .unwrap_or("the end of a tier");
    let meant = if meaning.is_allowed { "allowed" } else { "denied" };
    format!(
        "{} {ends}: {meant} {by}, {on_windows} on Windows by {from}",
        content(packet.content)
    )
}

fn content(content: Content) -> String {
    match content {
        Content::Icmp(kind, code) => format!("ICMP type {kind} code {code}"),
        Content::Ports(protocol, CLIENT_PORT, port) => format!("{} {port}", protocol.name()),
        Content::Ports(protocol, source, port) => {
            format!("{} {port} (source port {source})", protocol.name())
        }
        Content::Other(number) => format!("protocol {number}"),
    }
}
