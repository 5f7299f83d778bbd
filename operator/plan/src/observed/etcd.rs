//! Facts of Calico's etcd: how it is reached, and what nodes announce there instead of on their Nodes.

use serde_json::Value;

use super::{NodeFacts, text};

/// How it stands with the etcd that the spec names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EtcdFacts {
    /// Why it cannot be read or written now.
    pub trouble: Option<EtcdTrouble>,
    /// Checksum of authority and client certificate; empty without TLS. Never of the key.
    pub certificates: String,
}

/// Nothing in it changes from try to try.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EtcdTrouble {
    SecretMissing,
    /// The API server does not let us read it.
    SecretForbidden,
    SecretKeyMissing {
        key: String,
    },
    CertificateInvalid {
        error: String,
    },
    Unreachable {
        endpoint: String,
        error: String,
    },
}

/// What calico-node says of its node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Announced {
    pub tunnel_address: String,
    pub tunnel_mac: String,
    pub bgp_address: String,
    pub as_number: String,
}

impl Announced {
    /// Of a `Node` of Calico's (libcalico-go `lib/apis/internalapi/node.go`).
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

    /// Of annotations of a Kubernetes Node.
    pub fn of(node: &NodeFacts) -> Self {
        Self {
            tunnel_address: node.tunnel_address.clone(),
            tunnel_mac: node.tunnel_mac.clone(),
            bgp_address: node.bgp_address.clone(),
            as_number: node.as_number.clone(),
        }
    }
}
