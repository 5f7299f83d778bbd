//! Addresses: a Windows node has one block, of which Windows keeps four addresses.

use std::collections::BTreeMap;

use super::super::cluster::{Cluster, Host};
use super::super::hit::Hit;
use super::super::units::Running;
use crate::findings::{Code, Finding, ObjectName};
use crate::input::calico::IpPool;
use crate::net;
use crate::selector::Selector;

/// Size of the blocks of a pool that does not say it, in bits of the prefix (Calico IPPool `blockSize`).
const DEFAULT_BLOCK: u8 = 26;
/// Addresses of a block that Windows keeps: the first three and the last (libcalico-go `HostReservedAttr`).
const RESERVED: usize = 4;
/// Owners that a message names.
const OWNERS: usize = 5;

/// Pods on a node, by owner.
type Owners<'a> = BTreeMap<&'a str, Vec<&'a Running<'a>>>;

/// Windows nodes with more pods than addresses. Silent without an IP pool among the objects.
pub fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut on_nodes: BTreeMap<&str, Owners<'_>> = BTreeMap::new();
    for unit in &cluster.units {
        let own_network = |running: &&Running<'_>| !running.pod.class.spec.host_network;
        for running in unit.pods.iter().filter(own_network) {
            let owners = on_nodes.entry(&running.pod.node).or_default();
            owners.entry(unit.object.as_str()).or_default().push(running);
        }
    }
    let hosts = cluster.windows.iter();
    hosts
        .filter_map(|host| of_host(cluster, host, on_nodes.get(host.name)?))
        .collect()
}

fn of_host(cluster: &Cluster<'_>, host: &Host<'_>, owners: &Owners<'_>) -> Option<Finding> {
    let capacity = capacity(cluster, host)?;
    let number: usize = owners.values().map(Vec::len).sum();
    if number <= capacity {
        return None;
    }
    let mut by_size: Vec<(&str, usize)> = owners.iter().map(|(owner, pods)| (*owner, pods.len())).collect();
    by_size.sort_by_key(|(_, pods)| std::cmp::Reverse(*pods));
    let named = by_size
        .iter()
        .take(OWNERS)
        .map(|(owner, pods)| format!("{owner}: {pods}"));
    let message = format!(
        "has {number} pods that need an address, and {capacity} addresses; {}",
        named.collect::<Vec<_>>().join(", ")
    );
    let pods = owners.values().flatten().map(|running| running.name()).collect();
    let hit = Hit::error(Code::TooManyPods, "", message);
    Some(hit.of(&ObjectName::new("", "Node", "", host.name), "", pods))
}

/// Addresses for pods in the largest block that the node can have.
fn capacity(cluster: &Cluster<'_>, host: &Host<'_>) -> Option<usize> {
    let pools = cluster.objects.ip_pools.values();
    let sizes = pools.filter(|pool| serves(pool, host)).filter_map(|pool| {
        let bits = pool.spec.block_size.unwrap_or(DEFAULT_BLOCK);
        let host_bits = 32_u32.checked_sub(u32::from(bits))?;
        1_usize.checked_shl(host_bits)?.checked_sub(RESERVED)
    });
    sizes.max()
}

/// Whether the node can have a block of the pool.
fn serves(pool: &IpPool, host: &Host<'_>) -> bool {
    let labels = &host.node.metadata.labels;
    let label = |name: &str| labels.get(name);
    let selector = &pool.spec.node_selector;
    let is_selected = selector.is_empty() || Selector::parse(selector).is_some_and(|s| s.matches(&label));
    let is_version_4 = net::parse(&pool.spec.cidr).is_some_and(|(address, _)| address.is_ipv4());
    !pool.spec.disabled && is_version_4 && is_selected
}
