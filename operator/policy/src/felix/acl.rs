//! One ACL, as HNS gets it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::Ipv4Net;

use crate::model::Direction;
use crate::net::Spans;

/// HNS' number for any protocol.
pub const ANY_PROTOCOL: u16 = 256;

/// What an ACL does. `Pass` is Felix' own and reaches HNS as what comes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AclAction {
    Allow,
    Block,
    Pass,
}

/// Where HNS applies an ACL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleType {
    /// At the pod's port of the virtual switch.
    Switch,
    /// In the firewall of the host: only lets traffic through.
    Host,
}

/// Addresses that an ACL matches. `None` is any.
pub type Addresses = Option<Arc<AddressList>>;

/// A list of addresses.
#[derive(Debug, PartialEq)]
pub struct AddressList {
    /// In order.
    pub nets: Vec<Ipv4Net>,
    /// The same.
    pub spans: Spans,
    /// Written without a prefix length: members of a service's set.
    pub are_bare: bool,
    /// Part of a longer list: which members are here is chance.
    pub is_chunk: bool,
}

impl AddressList {
    /// A list written with prefix lengths.
    pub fn new(nets: Vec<Ipv4Net>, is_chunk: bool) -> Self {
        Self {
            spans: Spans::of(&nets),
            nets,
            are_bare: false,
            is_chunk,
        }
    }

    /// As Felix writes them.
    pub fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.nets.iter().map(|net| match self.are_bare {
            true => net.addr().to_string(),
            false => net.to_string(),
        })
    }
}

/// Ranges of ports that an ACL matches, as written. None is any.
pub type Ports = Arc<[(u16, u16)]>;

/// One ACL.
#[derive(Clone, Debug, PartialEq)]
pub struct Acl {
    pub direction: Direction,
    pub action: AclAction,
    pub protocol: u16,
    pub local: Addresses,
    pub remote: Addresses,
    pub local_ports: Ports,
    pub remote_ports: Ports,
    pub rule_type: RuleType,
    /// Lower wins.
    pub priority: u16,
    /// Policy set; absent at the end of a tier.
    pub from: Option<Arc<str>>,
}

impl Acl {
    /// An ACL that matches everything.
    pub fn new(direction: Direction, action: AclAction) -> Self {
        Self {
            direction,
            action,
            protocol: ANY_PROTOCOL,
            local: None,
            remote: None,
            local_ports: Ports::default(),
            remote_ports: Ports::default(),
            rule_type: RuleType::Switch,
            priority: 0,
            from: None,
        }
    }

    /// Whether HNS would take a packet for one that the ACL is about. A port is absent where the protocol has none.
    pub fn matches(
        &self,
        protocol: u8,
        (local, local_port): (Ipv4Addr, Option<u16>),
        (remote, remote_port): (Ipv4Addr, Option<u16>),
    ) -> bool {
        (self.protocol == ANY_PROTOCOL || self.protocol == u16::from(protocol))
            && has(&self.local, local)
            && has(&self.remote, remote)
            && has_port(&self.local_ports, local_port)
            && has_port(&self.remote_ports, remote_port)
    }
}

fn has(addresses: &Addresses, address: Ipv4Addr) -> bool {
    addresses.as_ref().is_none_or(|list| list.spans.contains(address))
}

fn has_port(ports: &Ports, port: Option<u16>) -> bool {
    ports.is_empty()
        || port.is_some_and(|port| ports.iter().any(|(low, high)| (*low..=*high).contains(&port)))
}
