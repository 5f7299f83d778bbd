//! Facts of Calico's etcd: how it is reached, and what nodes announce there instead of on their Nodes.

use serde_json::Value;

use super::{NodeFacts, text};

/// State of the etcd that the spec names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EtcdFacts {
    /// Why it cannot be read or written now.
    pub trouble: Option<EtcdTrouble>,
    /// Checksum of CA and client certificate, never of the key; empty without TLS.
    pub certificates: String,
}

/// Why etcd cannot be used. Equal for every attempt that fails for the same reason.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EtcdTrouble {
    /// The Secret that the spec names does not exist.
    SecretMissing,
    /// The API server forbids the operator to read the Secret.
    SecretForbidden,
    /// The Secret has no such key.
    SecretKeyMissing {
        /// Name of the key.
        key: String,
    },
    /// A certificate or the key cannot be used.
    CertificateInvalid {
        /// What the TLS library reports.
        error: String,
    },
    /// No connection to the last member that was tried.
    Unreachable {
        /// URL of the member.
        endpoint: String,
        /// Why, as the client reports it.
        error: String,
    },
}

/// What calico-node announces of its node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Announced {
    /// IPv4 address of the VXLAN tunnel; empty when not announced, as are the other fields.
    pub tunnel_address: String,
    /// MAC address of the VXLAN tunnel.
    pub tunnel_mac: String,
    /// IPv4 address for BGP, with its prefix length.
    pub bgp_address: String,
    /// BGP AS number, as text.
    pub as_number: String,
}

impl Announced {
    /// Reads a `Node` of Calico's own API (libcalico-go `lib/apis/internalapi/node.go`).
    pub fn read(node: &Value) -> Self {
        let number = node
            .pointer("/spec/bgp/asNumber")
            .map(|n| n.as_str().map_or_else(|| n.to_string(), str::to_owned));
        Self {
            tunnel_address: text(node, "/spec/ipv4VXLANTunnelAddr").to_owned(),
            tunnel_mac: text(node, "/spec/vxlanTunnelMACAddr").to_owned(),
            bgp_address: text(node, "/spec/bgp/ipv4Address").to_owned(),
            as_number: number.unwrap_or_default(),
        }
    }

    /// Reads the annotations of a Kubernetes Node.
    pub fn of(node: &NodeFacts) -> Self {
        Self {
            tunnel_address: node.tunnel_address.clone(),
            tunnel_mac: node.tunnel_mac.clone(),
            bgp_address: node.bgp_address.clone(),
            as_number: node.as_number.clone(),
        }
    }
}
