//! Converts policies of `projectcalico.org/v3` to the model.

use std::sync::Arc;

use super::Converted;
use super::selectors::{self, peer, policy_selector};
use crate::input::calico::{
    CalicoPolicy, Entity, Icmp as V3Icmp, PolicyKind as V3Kind, PolicySpec, Rule as V3Rule,
};
use crate::input::{Port, Protocol as V3Protocol};
use crate::model::{Action, Icmp, Name, Origin, Policy, PolicyId, PolicyKind, Protocol, Rule, Side, Tier};
use crate::net;

const EVERYWHERE: &str = "AssumeNeededOnEveryNode";

/// The ID of a policy of Calico.
pub fn id(kind: V3Kind, namespace: &str, name: &str) -> PolicyId {
    PolicyId {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        kind: match kind {
            V3Kind::NetworkPolicy => PolicyKind::Calico,
            V3Kind::GlobalNetworkPolicy => PolicyKind::Global,
            V3Kind::StagedNetworkPolicy => PolicyKind::StagedCalico,
            V3Kind::StagedGlobalNetworkPolicy => PolicyKind::StagedGlobal,
            V3Kind::StagedKubernetesNetworkPolicy => PolicyKind::StagedKubernetes,
        },
    }
}

/// The policy with one part per rule.
pub fn converted(kind: V3Kind, namespace: &str, name: &str, policy: &CalicoPolicy) -> Converted {
    let origins = |rules: &[V3Rule]| -> Vec<Origin> {
        let origin = |index| Origin {
            index,
            part: 0,
            parts: 1,
        };
        (0..rules.len()).map(origin).collect()
    };
    let spec = &policy.spec;
    Converted {
        id: id(kind, namespace, name),
        origins: [origins(&spec.ingress), origins(&spec.egress)],
        spec: if policy.stored {
            spec.clone()
        } else {
            with_defaults(spec)
        },
        validated: true,
    }
}

/// The spec with the defaults of Calico's API. Without `types`, the rules determine the directions.
fn with_defaults(spec: &PolicySpec) -> PolicySpec {
    let mut spec = spec.clone();
    if spec.types.is_empty() {
        let types: &[&str] = match (spec.ingress.is_empty(), spec.egress.is_empty()) {
            (_, true) => &["Ingress"],
            (true, false) => &["Egress"],
            (false, false) => &["Ingress", "Egress"],
        };
        spec.types = types.iter().map(|&t| t.to_owned()).collect();
    }
    spec
}

/// Converts the policy to the model. `None` if a selector, action or protocol is invalid: Felix treats such a
/// policy as missing.
pub fn model(policy: &Converted) -> Option<Policy> {
    let Converted { id, spec, .. } = policy;
    let named = |name: &str| spec.types.iter().any(|t| t.eq_ignore_ascii_case(name));
    let both = spec.types.is_empty();
    let rules = |rules: &[V3Rule], origins: &[Origin]| -> Option<Vec<Rule>> {
        let pairs = rules.iter().zip(origins);
        pairs.map(|(r, origin)| rule(r, *origin, &id.namespace)).collect()
    };
    let is_global = id.namespace.is_empty();
    Some(Policy {
        id: id.clone(),
        tier: match spec.tier.as_str() {
            "" => Tier::DEFAULT.to_owned(),
            tier => tier.to_owned(),
        },
        order: spec.order.unwrap_or(f64::INFINITY),
        selector: policy_selector(spec, &id.namespace)?,
        ingress: both || named("ingress"),
        egress: both || named("egress"),
        do_not_track: is_global && spec.do_not_track,
        pre_dnat: is_global && spec.pre_dnat,
        everywhere: spec.performance_hints.iter().any(|hint| hint == EVERYWHERE),
        inbound: rules(&spec.ingress, &policy.origins[0])?,
        outbound: rules(&spec.egress, &policy.origins[1])?,
    })
}

fn rule(rule: &V3Rule, origin: Origin, namespace: &str) -> Option<Rule> {
    Some(Rule {
        origin,
        action: action(&rule.action)?,
        ip_version: rule.ip_version,
        protocol: rule.protocol.as_ref().map_or(Some(None), protocol)?,
        not_protocol: rule.not_protocol.as_ref().map_or(Some(None), protocol)?,
        icmp: rule.icmp.and_then(icmp),
        not_icmp: rule.not_icmp.and_then(icmp),
        http: rule.http.is_some(),
        source: side(&rule.source, namespace)?,
        destination: side(&rule.destination, namespace)?,
    })
}

fn action(text: &str) -> Option<Action> {
    let all = [Action::Allow, Action::Deny, Action::Log, Action::Pass];
    all.into_iter()
        .find(|action| action.as_str().eq_ignore_ascii_case(text))
}

/// Converts a protocol; `None` for an unknown name.
fn protocol(protocol: &V3Protocol) -> Option<Option<Protocol>> {
    match protocol {
        V3Protocol::Number(number) => Some(Some(Protocol::Number(*number))),
        V3Protocol::Name(name) => Name::parse(name).map(|name| Some(Protocol::Named(name))),
    }
}

/// A code without a type matches nothing in Felix; validation refuses it.
fn icmp(icmp: V3Icmp) -> Option<Icmp> {
    let V3Icmp { r#type, code } = icmp;
    r#type.map(|kind| Icmp { kind, code })
}

fn side(entity: &Entity, namespace: &str) -> Option<Side> {
    let nets = |texts: &[String]| {
        let nets = texts.iter().filter_map(|text| net::parse(text));
        nets.map(|(_, net)| net).collect()
    };
    let service = entity.services.as_ref();
    Some(Side {
        nets: nets(&entity.nets),
        not_nets: nets(&entity.not_nets),
        ports: numbers(&entity.ports),
        named_ports: names(&entity.ports),
        not_ports: numbers(&entity.not_ports),
        not_named_ports: names(&entity.not_ports),
        selector: peer(entity, namespace)?,
        not_selector: selectors::optional(&entity.not_selector)?,
        service: service
            .filter(|s| !s.name.is_empty())
            .map(|s| (s.namespace.clone(), s.name.clone())),
    })
}

fn numbers(ports: &[Port]) -> Vec<(u16, u16)> {
    let range = |port: &Port| match port {
        Port::Range(low, high) => Some((*low, *high)),
        Port::Named(_) => None,
    };
    ports.iter().filter_map(range).collect()
}

fn names(ports: &[Port]) -> Vec<Arc<str>> {
    let name = |port: &Port| match port {
        Port::Named(name) => Some(name.as_str().into()),
        Port::Range(..) => None,
    };
    ports.iter().filter_map(name).collect()
}
