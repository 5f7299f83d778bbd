//! Converts Kubernetes NetworkPolicies to Calico's form (libcalico-go `K8sNetworkPolicyToCalico`).

use super::Converted;
use super::ports::ByProtocol;
use super::selectors::ORCHESTRATOR;
use crate::input::calico::{Entity, PolicySpec, Rule};
use crate::input::kubernetes::{LabelSelector, NetworkPolicySpec, Peer, PolicyPort};
use crate::input::{Port, Protocol};
use crate::model::{Origin, PolicyId, PolicyKind, Tier};
use crate::net;

/// Order of Kubernetes policies among Calico's.
const ORDER: f64 = 1000.0;

/// The policy with its rules split by protocol and peer.
pub fn converted(kind: PolicyKind, namespace: &str, name: &str, spec: &NetworkPolicySpec) -> Converted {
    let ingress = spec
        .ingress
        .iter()
        .map(|rule| rules(&rule.from, &rule.ports, true));
    let egress = spec.egress.iter().map(|rule| rules(&rule.to, &rule.ports, false));
    let (ingress, of_ingress) = with_origins(ingress);
    let (egress, of_egress) = with_origins(egress);
    Converted {
        id: PolicyId {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            kind,
        },
        spec: PolicySpec {
            tier: Tier::DEFAULT.to_owned(),
            order: Some(ORDER),
            selector: pods(Some(&spec.pod_selector)),
            ingress,
            egress,
            types: types(&spec.policy_types),
            ..PolicySpec::default()
        },
        origins: [of_ingress, of_egress],
        validated: false,
    }
}

/// Rules of Calico, each with its origin. A rule that cannot be converted is left out.
pub fn with_origins(rules: impl Iterator<Item = Option<Vec<Rule>>>) -> (Vec<Rule>, Vec<Origin>) {
    let mut all = (Vec::new(), Vec::new());
    for (index, rules) in rules.enumerate() {
        let rules = rules.unwrap_or_default();
        let parts = rules.len();
        all.1.extend((0..parts).map(|part| Origin { index, part, parts }));
        all.0.extend(rules);
    }
    all
}

fn types(written: &[String]) -> Vec<String> {
    let types: Vec<_> = ["Ingress", "Egress"]
        .into_iter()
        .filter(|known| written.iter().any(|t| t == known))
        .map(str::to_owned)
        .collect();
    if types.is_empty() {
        return vec!["Ingress".to_owned()];
    }
    types
}

fn rules(peers: &[Peer], ports: &[PolicyPort], is_ingress: bool) -> Option<Vec<Rule>> {
    let none = [Peer::default()];
    let peers = if peers.is_empty() { None } else { Some(peers) };
    let mut rules = Vec::new();
    for (protocol, ports) in by_protocol(ports)?.simplified() {
        for of_peer in peers.unwrap_or(&none) {
            let entity = if peers.is_some() {
                entity(of_peer)
            } else {
                Entity::default()
            };
            rules.push(rule(protocol.clone(), ports.clone(), entity, is_ingress));
        }
    }
    Some(rules)
}

fn rule(protocol: Option<String>, ports: Vec<Port>, peer: Entity, is_ingress: bool) -> Rule {
    let (source, destination) = if is_ingress {
        let destination = Entity {
            ports,
            ..Entity::default()
        };
        (peer, destination)
    } else {
        (Entity::default(), Entity { ports, ..peer })
    };
    Rule {
        action: "Allow".to_owned(),
        protocol: protocol.map(Protocol::Name),
        source,
        destination,
        ..Rule::default()
    }
}

/// Ports by protocol; `None` if a port is invalid.
fn by_protocol(ports: &[PolicyPort]) -> Option<ByProtocol> {
    if ports.is_empty() {
        return Some(ByProtocol::any());
    }
    let mut all = ByProtocol::default();
    for port in ports {
        let number = match (&port.port, port.end_port) {
            (Some(first), Some(last)) => Some(Port::parse(&format!("{first}:{last}")).ok()?),
            (first, _) => first.clone(),
        };
        all.add(port.protocol.as_deref().unwrap_or("TCP"), number);
    }
    Some(all)
}

fn entity(peer: &Peer) -> Entity {
    let Some(block) = &peer.ip_block else {
        return Entity {
            selector: pods(peer.pod_selector.as_ref()),
            namespace_selector: peer
                .namespace_selector
                .as_ref()
                .map(namespaces)
                .unwrap_or_default(),
            ..Entity::default()
        };
    };
    let network = |text: &String| net::parse(text).map(|(_, net)| net.to_string());
    let Some(nets) = network(&block.cidr) else {
        return Entity::default();
    };
    Entity {
        nets: vec![nets],
        not_nets: block.except.iter().map_while(network).collect(),
        ..Entity::default()
    }
}

/// Converts a selector of pods to Calico's language.
pub fn pods(selector: Option<&LabelSelector>) -> String {
    let of_kubernetes = format!("{ORCHESTRATOR} == 'k8s'");
    let terms = selector.map(terms).unwrap_or_default();
    [vec![of_kubernetes], terms].concat().join(" && ")
}

/// Converts a selector of namespaces to Calico's language; an empty one selects all of them.
pub fn namespaces(selector: &LabelSelector) -> String {
    let terms = terms(selector);
    if terms.is_empty() {
        return "all()".to_owned();
    }
    terms.join(" && ")
}

fn terms(selector: &LabelSelector) -> Vec<String> {
    let labels = selector.match_labels.iter().map(|(k, v)| format!("{k} == '{v}'"));
    let expressions = selector.match_expressions.iter().filter_map(|term| {
        let (key, values) = (&term.key, term.values.join("', '"));
        match term.operator.as_str() {
            "In" => Some(format!("{key} in {{ '{values}' }}")),
            "NotIn" => Some(format!("{key} not in {{ '{values}' }}")),
            "Exists" => Some(format!("has({key})")),
            "DoesNotExist" => Some(format!("! has({key})")),
            _ => None,
        }
    });
    labels.chain(expressions).collect()
}
