//! Combines tiers into one list of ACLs (`flattener.go`, with its defects). HNS has no `Pass`, so Felix
//! combines a Pass with each ACL of the next tier.

use std::sync::Arc;

use super::acl::{ANY_PROTOCOL, Acl, AclAction, AddressList, Addresses, Ports};
use crate::net;

/// A panic that ends the process of Felix.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Panic {
    /// Policy set of the Pass.
    pub pass: Arc<str>,
    /// Policy set of the rule of the next tier.
    pub next: Arc<str>,
}

impl Panic {
    /// Text of the panic.
    pub const TEXT: &'static str = "bitset said no end of range";
}

/// One list of ACLs with the effect of the tiers. Each tier must end with an ACL that matches everything.
pub fn flattened(mut tiers: Vec<Vec<Acl>>) -> Result<Vec<Acl>, Panic> {
    for acl in tiers.last_mut().into_iter().flatten() {
        if acl.action == AclAction::Pass {
            acl.action = AclAction::Block;
        }
    }
    let mut tiers = tiers.into_iter();
    let mut flat = tiers.next().unwrap_or_default();
    for next in tiers {
        if !flat.iter().any(|acl| acl.action == AclAction::Pass) {
            break;
        }
        flat = joined(flat, &next)?;
    }
    Ok(flat)
}

fn joined(first: Vec<Acl>, next: &[Acl]) -> Result<Vec<Acl>, Panic> {
    let mut acls = Vec::new();
    for acl in first {
        if acl.action != AclAction::Pass {
            acls.push(acl);
            continue;
        }
        for then in next {
            acls.extend(both(&acl, then)?);
        }
    }
    Ok(acls)
}

/// `then`, restricted to packets that match both ACLs. `None` if no packet does.
fn both(pass: &Acl, then: &Acl) -> Result<Option<Acl>, Panic> {
    let protocol = match (pass.protocol, then.protocol) {
        (ANY_PROTOCOL, protocol) | (protocol, ANY_PROTOCOL) => protocol,
        (a, b) if a == b => a,
        _ => return Ok(None),
    };
    let local = common(&pass.local, &then.local);
    let Some((local, remote)) = local.zip(common(&pass.remote, &then.remote)) else {
        return Ok(None);
    };
    Ok(Some(Acl {
        protocol,
        local,
        remote,
        local_ports: common_ports(&pass.local_ports, &then.local_ports).map_err(|_| panic(pass, then))?,
        remote_ports: common_ports(&pass.remote_ports, &then.remote_ports).map_err(|_| panic(pass, then))?,
        ..then.clone()
    }))
}

fn panic(pass: &Acl, then: &Acl) -> Panic {
    Panic {
        pass: pass.from.clone().unwrap_or_default(),
        next: then.from.clone().unwrap_or_default(),
    }
}

/// Felix's set of ports ends with a port that is in both lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct NoEnd;

fn common(a: &Addresses, b: &Addresses) -> Option<Addresses> {
    let (Some(a), Some(b)) = (a, b) else {
        return Some(a.clone().or_else(|| b.clone()));
    };
    let nets = net::intersection(&a.nets, &b.nets);
    let is_chunk = a.is_chunk || b.is_chunk;
    (!nets.is_empty()).then(|| Some(Arc::new(AddressList::new(nets, is_chunk))))
}

/// Minimum number of bits of Felix's set of ports: Felix creates it with the length `2 ^ 16 + 1`, which is 19
/// in Go.
const FEWEST_BITS: u32 = 19;

/// Ports in both lists. Felix uses a bit set of the length of the highest port. If both lists end with that
/// port, Felix finds no clear bit after the last range and panics. If the lists have no port in common, Felix
/// should drop the rule, but it checks the length of the set instead of its bits: the result has no ports,
/// which matches all ports.
fn common_ports(a: &Ports, b: &Ports) -> Result<Ports, NoEnd> {
    if a.is_empty() || b.is_empty() {
        return Ok(if a.is_empty() { b.clone() } else { a.clone() });
    }
    let (a, b) = (merged(a), merged(b));
    let highest = a
        .iter()
        .chain(&b)
        .map(|(_, high)| *high)
        .max()
        .unwrap_or_default();
    let mut found = Vec::new();
    for (low, high) in &a {
        let overlaps = b.iter().map(|(l, h)| (*low.max(l), *high.min(h)));
        found.extend(overlaps.filter(|(low, high)| low <= high));
    }
    let found = merged(&found);
    let length = FEWEST_BITS.max(u32::from(highest) + 1);
    if found
        .last()
        .is_some_and(|(_, high)| u32::from(*high) + 1 == length)
    {
        return Err(NoEnd);
    }
    Ok(found.into())
}

fn merged(ports: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let mut sorted = ports.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::new();
    for (low, high) in sorted {
        match merged.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    type Range = (u16, u16);

    #[rstest]
    #[case::any(&[], &[(80, 90)], Ok(vec![(80, 90)]))]
    #[case::overlap(&[(80, 90)], &[(85, 443)], Ok(vec![(85, 90)]))]
    #[case::disjoint_means_all(&[(80, 90)], &[(443, 443)], Ok(vec![]))]
    #[case::equal(&[(80, 80)], &[(80, 80)], Err(NoEnd))]
    #[case::same_end(&[(1, 65535)], &[(30000, 65535)], Err(NoEnd))]
    #[case::low_ports(&[(17, 17)], &[(17, 17)], Ok(vec![(17, 17)]))]
    #[case::from_18_on(&[(18, 18)], &[(18, 18)], Err(NoEnd))]
    #[case::touching(&[(80, 85), (86, 90), (443, 443)], &[(80, 90)], Ok(vec![(80, 90)]))]
    fn ports_in_common(
        #[case] a: &[Range],
        #[case] b: &[Range],
        #[case] expected: Result<Vec<Range>, NoEnd>,
    ) {
        let found = common_ports(&a.into(), &b.into());
        assert_eq!(found.map(|ports| ports.to_vec()), expected);
        let found = common_ports(&b.into(), &a.into());
        assert_eq!(found.map(|ports| ports.to_vec()), expected);
    }
}
