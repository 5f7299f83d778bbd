//! Addresses and lists of networks.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};

/// Reads a network or an address as Calico does: returns the address as written, and the network without host
/// bits.
pub fn parse(text: &str) -> Option<(IpAddr, IpNet)> {
    if let Ok(net) = text.parse::<IpNet>() {
        return Some((net.addr(), net.trunc()));
    }
    let address: IpAddr = text.parse().ok()?;
    Some((address, IpNet::from(address)))
}

/// The /32 network of an address.
pub fn host(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::from(address)
}

/// The networks that are in both lists: of two networks that overlap, the smaller one.
pub fn intersection(a: &[Ipv4Net], b: &[Ipv4Net]) -> Vec<Ipv4Net> {
    let (in_a, in_b) = (Cover::new(a), Cover::new(b));
    let of_a = a.iter().filter(|net| in_b.covers(**net));
    let of_b = b.iter().filter(|net| in_a.covers(**net));
    let both: BTreeSet<Ipv4Net> = of_a.chain(of_b).copied().collect();
    both.into_iter().collect()
}

/// The networks that no other network of the list covers, in order.
pub fn without_covered(nets: &[Ipv4Net]) -> Vec<Ipv4Net> {
    let cover = Cover::new(nets);
    let outer: BTreeSet<Ipv4Net> = nets
        .iter()
        .filter(|net| net.supernet().is_none_or(|s| !cover.covers(s)))
        .copied()
        .collect();
    outer.into_iter().collect()
}

/// Finds whether one of many networks covers another.
struct Cover {
    nets: HashSet<Ipv4Net>,
    lengths: BTreeSet<u8>,
}

impl Cover {
    fn new(nets: &[Ipv4Net]) -> Self {
        Self {
            nets: nets.iter().map(Ipv4Net::trunc).collect(),
            lengths: nets.iter().map(Ipv4Net::prefix_len).collect(),
        }
    }

    fn covers(&self, net: Ipv4Net) -> bool {
        self.lengths.range(..=net.prefix_len()).any(|length| {
            Ipv4Net::new(net.addr(), *length).is_ok_and(|wider| self.nets.contains(&wider.trunc()))
        })
    }
}

/// A set of IPv4 addresses, as sorted ranges that neither overlap nor are adjacent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Spans(Vec<(u32, u32)>);

impl Spans {
    /// No address.
    pub const EMPTY: Self = Self(Vec::new());

    /// All addresses of the networks.
    pub fn of<'a>(nets: impl IntoIterator<Item = &'a Ipv4Net>) -> Self {
        let mut ranges: Vec<(u32, u32)> = nets
            .into_iter()
            .map(|net| (net.network().to_bits(), net.broadcast().to_bits()))
            .collect();
        ranges.sort_unstable();
        let mut spans: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match spans.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => spans.push((low, high)),
            }
        }
        Self(spans)
    }

    /// Whether the address is in the set.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        let bits = address.to_bits();
        let after = self.0.partition_point(|(low, _)| *low <= bits);
        after > 0 && self.0[after - 1].1 >= bits
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// First and last address of each range.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn nets(text: &str) -> Vec<Ipv4Net> {
        text.split_whitespace().map(|n| n.parse().unwrap()).collect()
    }

    #[rstest]
    #[case("0.0.0.0/0", "128.0.0.0/1 0.0.0.0/1", "0.0.0.0/1 128.0.0.0/1")]
    #[case("10.0.0.1/32", "10.0.0.1/32", "10.0.0.1/32")]
    #[case("10.0.1.0/24", "10.0.2.0/24", "")]
    #[case(
        "10.0.1.0/24 10.0.2.1/32",
        "10.0.2.0/24 10.0.1.1/32",
        "10.0.1.1/32 10.0.2.1/32"
    )]
    #[case("10.0.0.0/8 10.1.0.0/16", "10.1.1.0/24", "10.1.1.0/24")]
    fn of_two_that_meet_the_smaller(#[case] a: &str, #[case] b: &str, #[case] both: &str) {
        assert_eq!(intersection(&nets(a), &nets(b)), nets(both));
        assert_eq!(intersection(&nets(b), &nets(a)), nets(both));
    }

    #[test]
    fn covered_networks_go() {
        let outer = without_covered(&nets(
            "10.0.0.1/32 10.0.0.0/8 10.1.0.0/16 11.0.0.1/32 11.0.0.1/32",
        ));
        assert_eq!(outer, nets("10.0.0.0/8 11.0.0.1/32"));
        assert_eq!(without_covered(&nets("0.0.0.0/0 1.2.3.4/32")), nets("0.0.0.0/0"));
    }

    #[test]
    fn spans_join_what_touches() {
        let spans = Spans::of(&nets("10.0.0.0/25 10.0.0.128/25 255.255.255.255/32 0.0.0.0/32"));
        assert_eq!(spans.ranges().len(), 3);
        assert!(spans.contains(Ipv4Addr::new(10, 0, 0, 200)));
        assert!(spans.contains(Ipv4Addr::BROADCAST));
        assert!(!spans.contains(Ipv4Addr::new(10, 0, 1, 0)));
        assert!(!Spans::default().contains(Ipv4Addr::UNSPECIFIED));
    }
}
