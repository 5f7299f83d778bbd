//! Converts a rule to ACLs (`policysets.go`). Felix skips the whole rule if Windows does not support a part
//! of it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};

use super::acl::{Acl, AclAction, AddressList, Addresses, Ports};
use crate::model::{Action, Direction, Rule, Side};
use crate::net;
use crate::release::Release;
use crate::sets::{Sets, felix_selector};

/// Maximum number of addresses or ports in one ACL.
const CHUNK: usize = 4000;

/// Why a rule has no ACL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lost {
    /// Felix does not support the rule on Windows.
    Skipped(Reason),
    /// The rule is only for IPv6, or its selector and its networks have no address in common.
    NoOp,
    /// A selector or service currently has no IPv4 member. Contains Felix's log text.
    EmptySet(&'static str),
}

/// A match or action that Felix does not support on Windows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Reason {
    IpVersion,
    NegativeMatch,
    IcmpType,
    NamedPort,
    ActionLog,
    ActionPass,
}

impl Reason {
    /// Code of the reason in the output.
    pub const fn code(self) -> &'static str {
        match self {
            Self::IpVersion => "ip-version",
            Self::NegativeMatch => "negative-match",
            Self::IcmpType => "icmp-type",
            Self::NamedPort => "named-port",
            Self::ActionLog => "action-log",
            Self::ActionPass => "action-pass",
        }
    }

    /// Text that Felix logs.
    pub const fn log(self) -> &'static str {
        match self {
            Self::IpVersion => "Skipping rule because it is for an unsupported IP version.",
            Self::NegativeMatch => {
                "Skipping rule because it contains negative matches (currently unsupported)."
            }
            Self::IcmpType => "Skipping rule because it contains ICMP type or code (currently unsupported).",
            Self::NamedPort => "Skipping rule because it contains named port ipsets (currently unsupported).",
            Self::ActionLog | Self::ActionPass => "This rule action is not supported, rule will be skipped",
        }
    }
}

/// The ACLs of a rule, without priorities.
pub fn of_rule(rule: &Rule, direction: Direction, sets: &Sets, release: Release) -> Result<Vec<Acl>, Lost> {
    if let Some(reason) = unsupported(rule) {
        return Err(Lost::Skipped(reason));
    }
    let all = rule
        .sides()
        .into_iter()
        .flat_map(|side| [&side.nets, &side.not_nets]);
    for nets in all {
        if !nets.is_empty() && version_4(nets).is_empty() {
            return Err(Lost::NoOp);
        }
    }
    let mut acl = Acl::new(direction, action(rule.action, release).map_err(Lost::Skipped)?);
    if rule.destination.service.is_some() {
        return of_service(&acl, &rule.destination, sets);
    }
    acl.protocol = rule.protocol.map_or(acl.protocol, |p| u16::from(p.number()));
    let source = addresses(
        &rule.source,
        sets,
        "SrcIpSetIds could not be resolved, rule will be skipped",
    )?;
    let destination = addresses(
        &rule.destination,
        sets,
        "DstIpSetIds could not be resolved, rule will be skipped",
    )?;
    let (source_ports, destination_ports) = (&rule.source.ports, &rule.destination.ports);
    let (local, remote) = match direction {
        Direction::Ingress => ((destination, destination_ports), (source, source_ports)),
        Direction::Egress => ((source, source_ports), (destination, destination_ports)),
    };
    Ok(chunked(&acl, local, remote))
}

/// The first unsupported match, in the order of Felix's checks.
fn unsupported(rule: &Rule) -> Option<Reason> {
    if rule.version().is_some_and(|version| version != 4) {
        return Some(Reason::IpVersion);
    }
    if rule.not_protocol.is_some() || rule.not_icmp.is_some() || rule.sides().into_iter().any(is_negative) {
        return Some(Reason::NegativeMatch);
    }
    if rule.icmp.is_some() {
        return Some(Reason::IcmpType);
    }
    let is_named = rule.sides().into_iter().any(|side| !side.named_ports.is_empty());
    is_named.then_some(Reason::NamedPort)
}

fn is_negative(side: &Side) -> bool {
    let not_alone = side.not_selector.is_some() && side.selector.is_none();
    let not_ports = !side.not_ports.is_empty() || !side.not_named_ports.is_empty();
    !side.not_nets.is_empty() || not_ports || not_alone
}

fn version_4(nets: &[IpNet]) -> Vec<Ipv4Net> {
    let of_version = nets.iter().filter_map(|net| match net {
        IpNet::V4(net) => Some(*net),
        IpNet::V6(_) => None,
    });
    of_version.collect()
}

fn action(action: Action, release: Release) -> Result<AclAction, Reason> {
    match action {
        Action::Allow => Ok(AclAction::Allow),
        Action::Deny => Ok(AclAction::Block),
        Action::Pass if release.has_tiers() => Ok(AclAction::Pass),
        Action::Pass => Err(Reason::ActionPass),
        Action::Log => Err(Reason::ActionLog),
    }
}

/// One ACL per protocol and port of a service's endpoints. Felix ignores all other matches of the rule.
fn of_service(acl: &Acl, destination: &Side, sets: &Sets) -> Result<Vec<Acl>, Lost> {
    let sockets = destination.service.iter().flat_map(|s| sets.service_sockets(s));
    let mut by_port: BTreeMap<(u8, u16), Vec<Ipv4Addr>> = BTreeMap::new();
    for (address, protocol, port) in sockets {
        by_port.entry((*protocol, *port)).or_default().push(*address);
    }
    if by_port.is_empty() {
        return Err(Lost::EmptySet(
            "DstIpPortSetIds could not be resolved, rule will be skipped",
        ));
    }
    let of_port = |((protocol, port), addresses): ((u8, u16), Vec<Ipv4Addr>)| {
        let mut list = AddressList::new(addresses.into_iter().map(net::host).collect(), false);
        list.are_bare = true;
        Acl {
            protocol: u16::from(protocol),
            remote: Some(Arc::new(list)),
            remote_ports: [(port, port)].into(),
            ..acl.clone()
        }
    };
    Ok(by_port.into_iter().map(of_port).collect())
}

/// Networks of one side, or members of its sets; if it has both, the addresses in common.
fn addresses(side: &Side, sets: &Sets, missing: &'static str) -> Result<Vec<Ipv4Net>, Lost> {
    let nets = version_4(&side.nets);
    let mut members: Option<Vec<Ipv4Net>> = None;
    if let Some(selector) = felix_selector(side) {
        members = Some(sets.selected(&selector).nets.clone());
    }
    if let Some(service) = &side.service {
        let of_service = &sets.service(service).nets;
        // Felix combines both sets, although the rule means their common members; Calico's API refuses both
        // in one rule.
        members.get_or_insert_default().extend(of_service);
        if of_service.is_empty() {
            return Err(Lost::EmptySet(missing));
        }
    }
    let Some(members) = members else {
        return Ok(nets);
    };
    if members.is_empty() {
        return Err(Lost::EmptySet(missing));
    }
    if nets.is_empty() {
        return Ok(members);
    }
    let both = net::intersection(&nets, &members);
    if both.is_empty() {
        return Err(Lost::NoOp);
    }
    Ok(both)
}

/// One ACL per combination of chunks of local addresses, local ports, remote addresses and remote ports.
fn chunked(
    acl: &Acl,
    local: (Vec<Ipv4Net>, &Vec<(u16, u16)>),
    remote: (Vec<Ipv4Net>, &Vec<(u16, u16)>),
) -> Vec<Acl> {
    let (local_lists, remote_lists) = (address_chunks(local.0), address_chunks(remote.0));
    let (local_ports, remote_ports) = (port_chunks(local.1), port_chunks(remote.1));
    let mut acls = Vec::new();
    for local in &local_lists {
        for local_ports in &local_ports {
            for remote in &remote_lists {
                acls.extend(remote_ports.iter().map(|remote_ports| Acl {
                    local: local.clone(),
                    local_ports: local_ports.clone(),
                    remote: remote.clone(),
                    remote_ports: remote_ports.clone(),
                    ..acl.clone()
                }));
            }
        }
    }
    acls
}

fn address_chunks(mut nets: Vec<Ipv4Net>) -> Vec<Addresses> {
    if nets.is_empty() {
        return vec![None];
    }
    nets.sort_unstable();
    let is_chunk = nets.len() > CHUNK;
    let list = |nets: &[Ipv4Net]| Some(Arc::new(AddressList::new(nets.to_vec(), is_chunk)));
    nets.chunks(CHUNK).map(list).collect()
}

fn port_chunks(ports: &[(u16, u16)]) -> Vec<Ports> {
    if ports.is_empty() {
        return vec![Ports::default()];
    }
    ports.chunks(CHUNK).map(Ports::from).collect()
}
