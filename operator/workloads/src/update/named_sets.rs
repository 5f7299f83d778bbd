//! Felix's IP sets by name: rules with the same set share it (felix/calc/rule_scanner.go).

use crate::model::{Policy, Protocol, Side};
use crate::sets::{Sets, Socket, felix_selector};

/// One side of a rule, with its role: sets of services have ports only if they are the destination.
#[derive(Clone, Copy)]
pub struct End<'a> {
    side: &'a Side,
    is_source: bool,
    protocol: Option<Protocol>,
}

/// Both sides of all rules.
pub fn ends(policy: &Policy) -> impl Iterator<Item = End<'_>> {
    let rules = policy.inbound.iter().chain(&policy.outbound);
    rules.flat_map(|rule| {
        [(&rule.source, true), (&rule.destination, false)].map(|(side, is_source)| End {
            side,
            is_source,
            protocol: rule.protocol,
        })
    })
}

/// Names of the sets by which Felix finds a policy: those of selectors and services.
pub fn referenced(end: End<'_>) -> impl Iterator<Item = String> {
    end.selector_set().into_iter().chain(end.service_set())
}

/// All sets of one side of a rule, with their members.
pub fn of_end(end: End<'_>, sets: &Sets) -> Vec<(String, Vec<String>)> {
    let side = end.side;
    let selector = felix_selector(side);
    let mut all = Vec::new();
    if let Some((name, selector)) = end.selector_set().zip(selector.as_ref()) {
        all.push((name, texts(&sets.selected(selector).nets)));
    } else if let (None, Some(not)) = (&selector, &side.not_selector) {
        all.push((not.to_string(), texts(&sets.selected(not).nets)));
    }
    if let Some((name, service)) = end.service_set().zip(side.service.as_ref()) {
        let members = if end.is_source {
            texts(&sets.service(service).nets)
        } else {
            sockets(sets.service_sockets(service).iter())
        };
        all.push((name, members));
    }
    let of = selector.map_or_else(|| "all()".to_owned(), |selector| selector.to_string());
    for name in side.named_ports.iter().chain(&side.not_named_ports) {
        let protocol = end.protocol.map(Protocol::number);
        let members = sets.named_port(side, name).iter();
        let members = members.filter(|(_, number, _)| protocol.is_none_or(|p| p == *number));
        all.push((format!("port {protocol:?} {name} of {of}"), sockets(members)));
    }
    all
}

impl End<'_> {
    /// Name of the set of the selector. `None` if the side has only named ports, whose sets the selector
    /// already filters.
    fn selector_set(self) -> Option<String> {
        let has_numbers = !self.side.ports.is_empty() || self.side.named_ports.is_empty();
        let selector = felix_selector(self.side).filter(|_| has_numbers)?;
        Some(selector.to_string())
    }

    fn service_set(self) -> Option<String> {
        let (namespace, name) = self.side.service.as_ref()?;
        let kind = if self.is_source { "svcnoport" } else { "svc" };
        Some(format!("{kind} {namespace}/{name}"))
    }
}

fn texts<T: ToString>(members: &[T]) -> Vec<String> {
    members.iter().map(ToString::to_string).collect()
}

fn sockets<'a>(members: impl Iterator<Item = &'a Socket>) -> Vec<String> {
    let texts = members.map(|(address, protocol, port)| format!("{address},{protocol}:{port}"));
    texts.collect()
}
