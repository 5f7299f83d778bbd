//! A packet that a pod receives or sends.

use std::fmt;
use std::net::Ipv4Addr;

use crate::model::{Direction, Name};

/// IANA number of GRE, which represents all protocols that no rule names.
pub const OTHER_PROTOCOL: u8 = 47;

/// Source port of a client, if no rule needs another one.
pub const CLIENT_PORT: u16 = 40_000;

/// A packet that a pod receives or sends; a [`Direction`] says which.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Packet {
    /// Address of the other end.
    pub remote: Ipv4Addr,
    /// Protocol, with its ports or ICMP type.
    pub content: Content,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Content {
    /// Type and code.
    Icmp(u8, u8),
    /// With source and destination port.
    Ports(PortProtocol, u16, u16),
    /// Another protocol, by its IANA number.
    Other(u8),
}

/// Protocols with ports.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PortProtocol {
    Tcp,
    Udp,
    Sctp,
}

impl PortProtocol {
    /// Every protocol with ports.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Sctp];

    /// The IANA number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => Name::Tcp.number(),
            Self::Udp => Name::Udp.number(),
            Self::Sctp => Name::Sctp.number(),
        }
    }

    /// The name in upper case, such as `TCP`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }
}

impl Content {
    /// The IANA number of the protocol.
    pub const fn protocol(self) -> u8 {
        match self {
            Self::Icmp(..) => Name::Icmp.number(),
            Self::Ports(protocol, ..) => protocol.number(),
            Self::Other(number) => number,
        }
    }

    /// Source and destination port, where the protocol has ports.
    pub const fn ports(self) -> (Option<u16>, Option<u16>) {
        match self {
            Self::Ports(_, source, destination) => (Some(source), Some(destination)),
            Self::Icmp(..) | Self::Other(_) => (None, None),
        }
    }
}

impl Packet {
    /// A text such as `tcp from 10.0.0.1 dport 80`, with `to` for a packet that leaves the pod.
    pub fn describe(&self, direction: Direction) -> String {
        let way = match direction {
            Direction::Ingress => "from",
            Direction::Egress => "to",
        };
        format!("{} {way} {}{}", self.content, self.remote, Details(self.content))
    }
}

/// Prints the protocol and its ports or ICMP type.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Icmp(..) => f.write_str("icmp"),
            Self::Ports(protocol, ..) => f.write_str(protocol.as_str()),
            Self::Other(number) => write!(f, "proto {number}"),
        }
    }
}

struct Details(Content);

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Content::Icmp(kind, code) => write!(f, " type {kind} code {code}"),
            Content::Ports(_, CLIENT_PORT, destination) => write!(f, " dport {destination}"),
            Content::Ports(_, source, destination) => write!(f, " dport {destination} sport {source}"),
            Content::Other(_) => Ok(()),
        }
    }
}
