//! Whether every node can have a block of addresses of its own: with `strictAffinity` none borrows another's.
//!
//! Blocks are counted, not addresses: a node whose block is full takes another one, too, which nobody can foresee.

use std::collections::BTreeSet;

use super::{pools, selector};
use crate::finding::names_of;
use crate::observed::{ConfigObject, Observed};

/// A pool that nodes take blocks of by themselves.
struct Pool<'a> {
    name: &'a str,
    pool: &'a ConfigObject,
    free: u64,
}

/// Nodes, and those of them without a block, that depend on some pools and no others.
#[derive(Clone, Copy, Default)]
struct Nodes {
    all: u64,
    without: u64,
}

/// Pools with too few free blocks, and the nodes that have none.
#[derive(Debug, Eq, PartialEq)]
pub struct Short {
    /// Names of the pools, at most three.
    pub pools: String,
    /// Names of the nodes, at most three.
    pub nodes: String,
}

/// Pools that have fewer free blocks than there are nodes without one that can take blocks of no other pool.
pub fn too_small(observed: &Observed) -> Option<Short> {
    short(observed, |nodes| nodes.without)
}

/// The same, when as many nodes more join as a tenth of those that are there.
pub fn nearly_too_small(observed: &Observed) -> Option<Short> {
    short(observed, |nodes| nodes.without + nodes.all / 10 + 1)
}

fn short(observed: &Observed, wanted: impl Fn(Nodes) -> u64) -> Option<Short> {
    let pools: Vec<_> = pools::all(observed)
        .filter_map(|(name, pool)| candidate(observed, name, pool))
        .collect();
    let count = u64::try_from(observed.nodes.len() + observed.linux.len()).unwrap_or(u64::MAX);
    let most = wanted(Nodes {
        all: count,
        without: count,
    });
    if pools.iter().all(|p| p.free >= most) {
        return None;
    }
    let nodes = nodes(observed, &pools);
    // Nodes that share no pool cannot take each other's blocks, those that share some can: each group by itself, and all together.
    let mut groups: BTreeSet<_> = nodes.iter().map(|(_, of, _)| of.clone()).collect();
    groups.insert(groups.iter().flatten().copied().collect());
    let of_group = |group: &BTreeSet<usize>| {
        nodes
            .iter()
            .filter(|(_, of, _)| of.is_subset(group))
            .fold(Nodes::default(), |sum, (_, _, has)| Nodes {
                all: sum.all + 1,
                without: sum.without + u64::from(!has),
            })
    };
    let free = |group: &BTreeSet<usize>| group.iter().map(|i| pools[*i].free).fold(0, u64::saturating_add);
    let group = groups
        .iter()
        .find(|group| !group.is_empty() && free(group) < wanted(of_group(group)))?;
    let without = nodes.iter().filter(|(_, of, has)| !has && of.is_subset(group));
    Some(Short {
        pools: names_of(group.iter().map(|i| pools[*i].name)),
        nodes: names_of(without.map(|(name, _, _)| *name)),
    })
}

fn candidate<'a>(observed: &Observed, name: &'a str, pool: &'a ConfigObject) -> Option<Pool<'a>> {
    let cidr = pool
        .cidr_v4()
        .filter(|_| pools::is_enabled_v4(pool) && pools::allows_workloads(pool))?;
    if pool.text("assignmentMode") == "Manual" {
        return None;
    }
    let bits = u32::try_from(pools::block_size(pool) - i64::from(cidr.prefix_len())).ok()?;
    let blocks = 1_u64.checked_shl(bits)?;
    let taken = observed.calico.blocks.values();
    let taken = taken
        .filter(|b| b.cidr.is_some_and(|block| cidr.contains(&block)))
        .count();
    let free = blocks.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
    Some(Pool { name, pool, free })
}

/// Each node that pods may be scheduled on, the pools it can take blocks of, and whether it has one of these.
fn nodes<'a>(observed: &'a Observed, pools: &[Pool]) -> Vec<(&'a str, BTreeSet<usize>, bool)> {
    let windows = observed.nodes.iter().filter(|(_, n)| n.schedulable);
    let windows = windows.map(|(name, n)| (name, &n.labels, pools::LONGEST_WINDOWS_BLOCK));
    let linux = observed.linux.iter().filter(|(_, n)| n.schedulable);
    let linux = linux.map(|(name, n)| (name, &n.labels, 32));
    let all = windows.chain(linux).map(|(name, labels, longest)| {
        let selects = |p: &Pool| {
            pools::block_size(p.pool) <= longest
                && selector::matches(p.pool.text("nodeSelector"), labels) == Some(true)
        };
        let of: BTreeSet<_> = (0..pools.len()).filter(|i| selects(&pools[*i])).collect();
        let within = |i: &usize| {
            let cidr = pools[*i].pool.cidr_v4();
            let mut blocks = observed.calico.blocks.of(name);
            blocks.any(|b| {
                b.cidr
                    .zip(cidr)
                    .is_some_and(|(block, pool)| pool.contains(&block))
            })
        };
        let has = of.iter().any(within);
        (name.as_str(), of, has)
    });
    // One that no pool selects gets no address in any case.
    all.filter(|(_, of, _)| !of.is_empty()).collect()
}
