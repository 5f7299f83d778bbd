//! What the node announced of its tunnel, or of BGP: other nodes route by it.

use std::net::Ipv4Addr;

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::deadlines::SET_UP;

pub fn check(view: &View) -> Vec<Finding> {
    if !view.calico_networks() {
        Vec::new()
    } else if view.overlay() {
        address(view).into_iter().chain(vni(view)).collect()
    } else {
        bgp(view).into_iter().chain(as_number(view)).collect()
    }
}

fn address(view: &View) -> Option<Finding> {
    let announced = &view.announced;
    let missing = match (announced.tunnel_address.as_str(), announced.tunnel_mac.as_str()) {
        ("", _) => ("IPv4VXLANTunnelAddr", "ipv4VXLANTunnelAddr"),
        (_, "") => ("VXLANTunnelMACAddr", "vxlanTunnelMACAddr"),
        _ => return stale(view),
    };
    Some(find(NodeReason::TunnelAddressMissing, absent(view, missing)).due(view.began() + SET_UP, view.now))
}

/// What is missing: an annotation of the Node, or a field of Calico's node in etcd.
fn absent(view: &View, (annotation, field): (&str, &str)) -> String {
    if view.in_etcd {
        format!("Calico's node {} in etcd has no spec.{field}", view.name)
    } else {
        format!("the Node has no annotation projectcalico.org/{annotation}")
    }
}

/// The tunnel's address is the second of the node's block (Calico, `EnsureVXLANTunnelAddr`).
fn stale(view: &View) -> Option<Finding> {
    let announced: Option<Ipv4Addr> = view.announced.tunnel_address.parse().ok();
    let expected: Vec<_> = view
        .blocks
        .iter()
        .filter_map(|b| b.cidr)
        .map(|cidr| Ipv4Addr::from(u32::from(cidr.network()) + 1))
        .collect();
    let fits = expected.is_empty() || announced.is_some_and(|a| expected.contains(&a));
    (!fits).then(|| {
        let cause = format!(
            "the announced tunnel address is {}, but the node's block requires {}",
            view.announced.tunnel_address, expected[0]
        );
        find(NodeReason::TunnelAddressStale, cause)
    })
}

fn vni(view: &View) -> Option<Finding> {
    let own = view.cluster.own_vnis.get(view.name)?;
    (*own != view.cluster.vni).then(|| {
        let cause = format!(
            "FelixConfiguration node.{} has VNI {own}, but the cluster uses {}",
            view.name, view.cluster.vni
        );
        find(NodeReason::VNIMismatch, cause)
    })
}

fn bgp(view: &View) -> Option<Finding> {
    view.announced.bgp_address.is_empty().then(|| {
        find(
            NodeReason::BGPAddressMissing,
            absent(view, ("IPv4Address", "bgp.ipv4Address")),
        )
        .due(view.began() + SET_UP, view.now)
    })
}

/// Without the annotation that of `BGPConfiguration` `default` counts. Written as a number or as two of 16 bits.
fn as_number(view: &View) -> Option<Finding> {
    let text = view.announced.as_number.as_str();
    let dotted = |(high, low): (&str, &str)| high.parse::<u16>().is_ok() && low.parse::<u16>().is_ok();
    let valid = text.is_empty() || text.parse::<u32>().is_ok() || text.split_once('.').is_some_and(dotted);
    (!valid).then(|| {
        let place = if view.in_etcd {
            "spec.bgp.asNumber of Calico's node in etcd"
        } else {
            "annotation projectcalico.org/ASNumber"
        };
        let cause = format!("{place} is {text:?}");
        find(NodeReason::BGPASNumberInvalid, cause)
    })
}
