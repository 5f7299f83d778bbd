//! Converts ClusterNetworkPolicies to Calico's form (libcalico-go `K8sClusterNetworkPolicyToCalico`).

use super::Converted;
use super::kubernetes::{namespaces, pods, with_origins};
use super::ports::ByProtocol;
use super::tiers::{ADMIN, BASELINE};
use crate::input::calico::{Entity, PolicySpec, Rule as V3Rule};
use crate::input::cluster_policy::{ClusterNetworkPolicy, Peer, PortMatch, ProtocolMatch, Rule};
use crate::input::{Port, Protocol};
use crate::model::{PolicyId, PolicyKind};
use crate::net;

/// Converts the policy. `None` for a policy that Calico skips: without a known tier or without a subject.
pub fn converted(name: &str, policy: &ClusterNetworkPolicy) -> Option<Converted> {
    let spec = &policy.spec;
    let tier = match spec.tier.as_str() {
        "Admin" => ADMIN,
        "Baseline" => BASELINE,
        _ => return None,
    };
    let (namespace_selector, selector) = match (&spec.subject.namespaces, &spec.subject.pods) {
        (Some(subject), _) => (namespaces(subject), pods(None)),
        (None, Some(subject)) => (
            namespaces(&subject.namespace_selector),
            pods(Some(&subject.pod_selector)),
        ),
        (None, None) => return None,
    };
    let (ingress, of_ingress) = with_origins(spec.ingress.iter().map(|rule| rules(rule, true)));
    let (egress, of_egress) = with_origins(spec.egress.iter().map(|rule| rules(rule, false)));
    let types = [("Ingress", &ingress), ("Egress", &egress)];
    let types: Vec<String> = types
        .iter()
        .filter(|(_, rules)| !rules.is_empty())
        .map(|(name, _)| (*name).to_owned())
        .collect();
    Some(Converted {
        id: PolicyId {
            name: name.to_owned(),
            namespace: String::new(),
            kind: PolicyKind::ClusterNetworkPolicy,
        },
        spec: PolicySpec {
            tier: tier.to_owned(),
            order: Some(f64::from(spec.priority)),
            selector,
            namespace_selector,
            ingress,
            egress,
            types,
            ..PolicySpec::default()
        },
        origins: [of_ingress, of_egress],
        validated: false,
    })
}

/// A rule that cannot be converted denies everything, unless it would have allowed something.
fn rules(rule: &Rule, is_ingress: bool) -> Option<Vec<V3Rule>> {
    let action = match rule.action.as_str() {
        "Accept" => "Allow",
        "Deny" => "Deny",
        "Pass" => "Pass",
        _ => return None,
    };
    let converted = all_rules(rule, action, is_ingress);
    if converted.is_none() && action != "Allow" {
        return Some(vec![V3Rule {
            action: "Deny".to_owned(),
            ..V3Rule::default()
        }]);
    }
    converted
}

fn all_rules(rule: &Rule, action: &str, is_ingress: bool) -> Option<Vec<V3Rule>> {
    let mut rules = Vec::new();
    for (protocol, ports) in by_protocol(&rule.protocols)?.simplified() {
        for peer in &rule.peers {
            let peer = entity(peer, is_ingress)?;
            let (source, destination) = if is_ingress {
                (peer, Entity::default())
            } else {
                (Entity::default(), peer)
            };
            rules.push(V3Rule {
                action: action.to_owned(),
                protocol: protocol.clone().map(Protocol::Name),
                source,
                destination: Entity {
                    ports: ports.clone(),
                    ..destination
                },
                ..V3Rule::default()
            });
        }
    }
    Some(rules)
}

fn entity(peer: &Peer, is_ingress: bool) -> Option<Entity> {
    let mut entity = Entity::default();
    if let Some(selector) = &peer.namespaces {
        entity.namespace_selector = namespaces(selector);
    }
    if let Some(selected) = &peer.pods {
        entity.selector = pods(Some(&selected.pod_selector));
        entity.namespace_selector = namespaces(&selected.namespace_selector);
    }
    if !is_ingress {
        let nets = peer.networks.iter().map(|text| net::parse(text));
        entity.nets = nets.map(|net| Some(net?.1.to_string())).collect::<Option<_>>()?;
    }
    let is_any = peer.namespaces.is_some() || peer.pods.is_some() || !entity.nets.is_empty();
    is_any.then_some(entity)
}

/// Ports by protocol; `None` if a port is invalid.
fn by_protocol(protocols: &[ProtocolMatch]) -> Option<ByProtocol> {
    let mut all = ByProtocol::default();
    for protocol in protocols {
        let known = [
            ("TCP", &protocol.tcp),
            ("UDP", &protocol.udp),
            ("SCTP", &protocol.sctp),
        ];
        if let Some((name, Some(ports))) = known.iter().find(|(_, ports)| ports.is_some()) {
            all.add(name, port(ports)?);
        } else if protocol.destination_named_port.is_empty() {
            return Some(ByProtocol::any());
        } else {
            all.add("", Some(Port::Named(protocol.destination_named_port.clone())));
        }
    }
    Some(if protocols.is_empty() {
        ByProtocol::any()
    } else {
        all
    })
}

/// `None` for a range that ends before it begins, `Some(None)` for all ports.
fn port(ports: &PortMatch) -> Option<Option<Port>> {
    let Some(port) = &ports.destination_port else {
        return Some(None);
    };
    Some(match (port.number, &port.range) {
        (0, None) => None,
        (0, Some(range)) if range.start <= range.end => Some(Port::Range(range.start, range.end)),
        (0, Some(_)) => return None,
        (number, _) => Some(Port::Range(number, number)),
    })
}
