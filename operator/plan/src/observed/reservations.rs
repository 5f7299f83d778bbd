//! `IPReservation`s: addresses that Calico's IPAM gives to nobody. Those of IPv4; Windows has no other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde_json::Value;

use super::items;

/// By name.
pub type Reservations = BTreeMap<String, Vec<Ipv4Net>>;

/// `spec.reservedCIDRs`, IPv4.
pub fn read(object: &Value) -> Vec<Ipv4Net> {
    let cidrs = items(object, "/spec/reservedCIDRs").filter_map(Value::as_str);
    cidrs
        .filter_map(|c| {
            c.parse()
                .ok()
                .or_else(|| c.parse::<Ipv4Addr>().ok().map(Ipv4Net::from))
        })
        .collect()
}

/// Is the address reserved?
pub fn cover(reservations: &Reservations, address: Ipv4Addr) -> bool {
    reservations.values().flatten().any(|net| net.contains(&address))
}

/// Have two ranges an address in common?
pub fn overlap(a: Ipv4Net, b: Ipv4Net) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges_and_single_addresses_of_ipv4() {
        let object = json!({"spec": {"reservedCIDRs": ["10.0.0.0/30", "fd00::/64", "10.0.1.7", "nonsense"]}});
        let reservations = [("r".to_owned(), read(&object))].into();
        let covered = |a: [u8; 4]| cover(&reservations, a.into());
        assert!(covered([10, 0, 0, 3]) && covered([10, 0, 1, 7]));
        assert!(!covered([10, 0, 0, 4]) && !covered([10, 0, 1, 6]));
    }
}
