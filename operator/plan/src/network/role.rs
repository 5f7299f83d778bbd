//! What a network option makes of kube-proxy and of Calico.

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

/// Calico's networking backend on Windows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backend {
    Vxlan,
    Bgp,
}
