//! What a network type makes of kube-proxy and of Calico.

/// Kind of the HNS network that pods on Windows nodes are attached to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dataplane {
    /// VXLAN on UDP 4789.
    Overlay,
    /// Packets of pods go unencapsulated, with the MAC address of their node.
    L2Bridge,
    /// The platform's own: it makes the network, and its kube-proxy programs it.
    Platform,
}

/// The address kube-proxy gives to connections it load balances on an overlay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceVip {
    /// Not on an overlay.
    None,
    /// The address of this HNS endpoint of the node.
    Endpoint(&'static str),
    /// An address the host-local IPAM plugin reserves of the node's subnet.
    HostLocal,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CalicoRole {
    /// It networks the nodes, so its pools, IPAM and Felix must suit Windows.
    Networking(Backend),
    /// It enforces network policy in HNS networks of that name, on top of another's network; its own
    /// configuration is nobody's concern.
    Policy { hns_networks: &'static str },
}

impl CalicoRole {
    /// `None` where Calico only enforces policy.
    pub const fn backend(self) -> Option<Backend> {
        match self {
            Self::Networking(backend) => Some(backend),
            Self::Policy { .. } => None,
        }
    }

    /// HNS networks Felix may program, as a regular expression.
    pub const fn hns_networks(self) -> &'static str {
        match self {
            Self::Networking(_) => "Calico.*",
            Self::Policy { hns_networks } => hns_networks,
        }
    }
}

/// Calico's networking backend on Windows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backend {
    Vxlan,
    Bgp,
}
