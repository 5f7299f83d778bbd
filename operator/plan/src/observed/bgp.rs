//! Facts of Calico's BGP: `BGPConfiguration` `default` and the `BGPPeer`s.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{items, text};

/// What there is of BGP. Without a `BGPConfiguration`, Calico's defaults.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BgpFacts {
    /// CIDRs of `spec.serviceClusterIPs`, `serviceExternalIPs` and `serviceLoadBalancerIPs`: advertised.
    pub service_cluster_ips: Vec<String>,
    /// CIDRs of `spec.serviceExternalIPs`.
    pub service_external_ips: Vec<String>,
    /// CIDRs of `spec.serviceLoadBalancerIPs`.
    pub service_lb_ips: Vec<String>,
    /// Every node peers with every other; the default.
    pub node_to_node_mesh: bool,
    /// `spec.asNumber`; `None` means Calico's default, 64512.
    pub as_number: Option<u32>,
    /// `BGPPeer`s by name.
    pub peers: BTreeMap<String, BgpPeer>,
}

impl Default for BgpFacts {
    fn default() -> Self {
        Self {
            service_cluster_ips: Vec::new(),
            service_external_ips: Vec::new(),
            service_lb_ips: Vec::new(),
            node_to_node_mesh: true,
            as_number: None,
            peers: BTreeMap::new(),
        }
    }
}

impl BgpFacts {
    /// As `BGPConfiguration` `default` says, or Calico's defaults when it is `None`; with the same peers.
    #[must_use]
    pub fn configured(self, configuration: Option<&Value>) -> Self {
        let fresh = Self {
            peers: self.peers,
            ..Self::default()
        };
        let Some(object) = configuration else {
            return fresh;
        };
        let cidrs = |field: &str| {
            items(object, &format!("/spec/{field}"))
                .map(|entry| text(entry, "/cidr").to_owned())
                .filter(|cidr| !cidr.is_empty())
                .collect()
        };
        Self {
            service_cluster_ips: cidrs("serviceClusterIPs"),
            service_external_ips: cidrs("serviceExternalIPs"),
            service_lb_ips: cidrs("serviceLoadBalancerIPs"),
            node_to_node_mesh: object.pointer("/spec/nodeToNodeMeshEnabled") != Some(&Value::Bool(false)),
            as_number: object
                .pointer("/spec/asNumber")
                .and_then(Value::as_u64)
                .and_then(|n| u32::try_from(n).ok()),
            ..fresh
        }
    }
}

/// A `BGPPeer`: from the nodes that `node` or `node_selector` name, to `peer_ip` or the nodes of `peer_selector`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BgpPeer {
    /// `spec.node`; empty when unset, as are the other fields.
    pub node: String,
    /// `spec.nodeSelector`.
    pub node_selector: String,
    /// `spec.peerIP`: an address, with a port or without.
    pub peer_ip: String,
    /// `spec.peerSelector`.
    pub peer_selector: String,
}

impl BgpPeer {
    /// The peer of a `BGPPeer`; fields that cannot be read are empty.
    pub fn read(object: &Value) -> Self {
        let field = |name: &str| text(object, &format!("/spec/{name}")).to_owned();
        Self {
            node: field("node"),
            node_selector: field("nodeSelector"),
            peer_ip: field("peerIP"),
            peer_selector: field("peerSelector"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_that_goes_leaves_the_peers() {
        let peer = BgpPeer::read(&json!({"spec": {"peerIP": "10.0.0.1", "nodeSelector": "all()"}}));
        assert_eq!(
            (peer.peer_ip.as_str(), peer.node_selector.as_str()),
            ("10.0.0.1", "all()")
        );
        let facts = BgpFacts {
            peers: [("a".to_owned(), peer)].into(),
            ..BgpFacts::default()
        };
        let configuration = json!({"spec": {
            "nodeToNodeMeshEnabled": false, "asNumber": 64512, "serviceClusterIPs": [{"cidr": "10.96.0.0/12"}, {}],
        }});
        let read = facts.clone().configured(Some(&configuration));
        assert!(!read.node_to_node_mesh);
        assert_eq!(read.as_number, Some(64512));
        assert_eq!(read.service_cluster_ips, ["10.96.0.0/12"]);
        assert_eq!(read.configured(None), facts);
    }
}
