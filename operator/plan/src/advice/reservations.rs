//! `IPReservation`s that take addresses from Windows nodes, which have one block each and no other.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::calico::pools;
use crate::observed::reservations::overlap;

const SOURCE: &str =
    "projectcalico.org/v3 IPReservation; libcalico-go lib/ipam (MaxBlocksPerHost 1 on Windows)";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1033",
        severity: Severity::Error,
        title: "A reservation covers every address of a Windows node",
        limit: "A Windows node has one block of addresses and gets no second one: when the whole block is reserved, no pod on the node \
                gets an address.",
        reads: "IPReservation spec.reservedCIDRs; IPAMBlock spec.cidr of Windows nodes",
        fix: "reserve fewer addresses, or release the block so that the node gets another one",
        source: SOURCE,
        check: whole,
    },
    Rule {
        code: "WN1034",
        severity: Severity::Warning,
        title: "A reservation covers addresses in blocks of Windows nodes",
        limit: "Pods do not get reserved addresses. A Windows node has one block only, and Windows uses its first three addresses and \
                its last, reserved or not.",
        reads: "IPReservation spec.reservedCIDRs; IPAMBlock spec.cidr of Windows nodes; IPPool spec.cidr before there are blocks",
        fix: "keep reservations out of the pools of Windows nodes, or expect fewer pods there",
        source: SOURCE,
        check: part,
    },
];

/// How much of a block's addresses for pods a reservation takes.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Taken {
    Nothing,
    Part,
    Whole,
}

/// Windows keeps ordinals 0, 1, 2 and the last.
fn taken(block: Ipv4Net, reserved: &[Ipv4Net]) -> Taken {
    if !reserved.iter().any(|net| overlap(*net, block)) {
        return Taken::Nothing;
    }
    let first = u32::from(block.network()).saturating_add(3);
    let mut pods = (first..u32::from(block.broadcast()))
        .map(Ipv4Addr::from)
        .peekable();
    if pods.peek().is_none() {
        return Taken::Nothing;
    }
    let (mut any, mut all) = (false, true);
    for address in pods {
        let held = reserved.iter().any(|net| net.contains(&address));
        any |= held;
        all &= held;
    }
    match (any, all) {
        (_, true) => Taken::Whole,
        (true, false) => Taken::Part,
        (false, false) => Taken::Nothing,
    }
}

fn hits(cluster: &Cluster, wanted: Taken, what: &str) -> Vec<Hit> {
    if cluster.backend.is_none() {
        return Vec::new();
    }
    let reservations = cluster.observed.calico.reservations.iter();
    reservations
        .filter_map(|(name, reserved)| {
            let blocks = cluster.windows_blocks();
            let hosts = blocks
                .filter(|(_, b)| b.cidr.is_some_and(|cidr| taken(cidr, reserved) == wanted))
                .map(|(_, b)| b.host.as_str());
            Hit::of_many(
                &format!("IPReservation {name}"),
                "spec.reservedCIDRs",
                hosts,
                |nodes| format!("it covers {what} of the addresses for pods on {nodes}"),
            )
        })
        .collect()
}

fn whole(cluster: &Cluster) -> Vec<Hit> {
    hits(cluster, Taken::Whole, "all")
}

fn part(cluster: &Cluster) -> Vec<Hit> {
    let mut found = hits(cluster, Taken::Part, "some");
    // Before a node has its block, any block of the pool may become it.
    if cluster.windows_blocks().next().is_none() {
        found.extend(of_pools(cluster));
    }
    found
}

fn of_pools(cluster: &Cluster) -> Vec<Hit> {
    if cluster.backend.is_none() {
        return Vec::new();
    }
    let pools = pools::serving_windows(cluster.observed);
    let reservations = cluster.observed.calico.reservations.iter();
    reservations
        .filter_map(|(name, reserved)| {
            let touched = pools.iter().filter(|(_, pool)| {
                pool.cidr_v4()
                    .is_some_and(|cidr| reserved.iter().any(|net| overlap(*net, cidr)))
            });
            let names = touched.map(|(pool, _)| *pool);
            Hit::of_many(
                &format!("IPReservation {name}"),
                "spec.reservedCIDRs",
                names,
                |pools| format!("it covers addresses of pools that serve Windows nodes ({pools})"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&["10.1.0.0/24"], "Nothing")]
    #[case(&["10.0.0.0/32", "10.0.0.2/32", "10.0.0.63/32"], "Nothing")]
    #[case(&["10.0.0.3/32"], "Part")]
    #[case(&["10.0.0.62/31"], "Part")]
    #[case(&["10.0.0.0/26"], "Whole")]
    #[case(&["10.0.0.0/27", "10.0.0.32/27"], "Whole")]
    #[case(&["10.0.0.0/8"], "Whole")]
    fn what_windows_keeps_is_not_taken(#[case] reserved: &[&str], #[case] expected: &str) {
        let reserved: Vec<Ipv4Net> = reserved.iter().map(|r| r.parse().unwrap()).collect();
        let word = match taken("10.0.0.0/26".parse().unwrap(), &reserved) {
            Taken::Nothing => "Nothing",
            Taken::Part => "Part",
            Taken::Whole => "Whole",
        };
        assert_eq!(word, expected);
    }

    #[test]
    fn a_block_without_room_for_pods_has_nothing_to_lose() {
        let all = ["0.0.0.0/0".parse().unwrap()];
        assert!(taken("10.0.0.0/30".parse().unwrap(), &all) == Taken::Nothing);
        assert!(taken("255.255.255.255/32".parse().unwrap(), &all) == Taken::Nothing);
    }
}
