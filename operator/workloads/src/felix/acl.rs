//! An ACL of HNS.

use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::Ipv4Net;

use crate::model::Direction;
use crate::net::Spans;

/// Number that HNS uses for any protocol.
pub const ANY_PROTOCOL: u16 = 256;

/// Action of an ACL. `Pass` exists only inside Felix; the flattener replaces it before HNS gets the ACLs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AclAction {
    Allow,
    Block,
    Pass,
}

/// Where HNS applies an ACL.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleType {
    /// At the port of the pod on the virtual switch.
    Switch,
    /// In the firewall of the host, where it only allows traffic.
    Host,
}

/// Addresses that an ACL matches; `None` matches any address.
pub type Addresses = Option<Arc<AddressList>>;

/// A list of addresses.
#[derive(Debug, PartialEq)]
pub struct AddressList {
    /// Sorted networks.
    pub nets: Vec<Ipv4Net>,
    /// The same addresses as ranges.
    pub spans: Spans,
    /// Whether addresses are written without a prefix length: members of a service's set.
    pub are_bare: bool,
    /// Whether this is a part of a longer list. The members of a part are random.
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

    /// The addresses as Felix writes them.
    pub fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.nets.iter().map(|net| match self.are_bare {
            true => net.addr().to_string(),
            false => net.to_string(),
        })
    }
}

/// Ranges of ports that an ACL matches, as written. An empty list matches any port.
pub type Ports = Arc<[(u16, u16)]>;

/// An ACL.
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
    /// The ACL with the lowest number is evaluated first.
    pub priority: u16,
    /// Name of the policy set; `None` at the end of a tier.
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

    /// Whether the ACL matches a packet in HNS. A port is `None` if the protocol has no ports.
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
