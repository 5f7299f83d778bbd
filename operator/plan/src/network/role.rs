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

/// What Calico does on Windows nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CalicoRole {
    /// It networks the nodes, so its pools, IPAM and Felix must suit Windows.
    Networking(Backend),
    /// It only enforces network policy, on top of another network; the operator does not check its configuration.
    Policy {
        /// Names of the HNS networks, as a regular expression.
        hns_networks: &'static str,
    },
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
    /// VXLAN on UDP 4789.
    Vxlan,
    /// Routes by BGP, without encapsulation.
    Bgp,
}
