//! Which IP pools can serve a Windows node, and which serve Linux pods already.

use ipnet::Ipv4Net;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::labels;

use super::selector;
use crate::observed::{ConfigObject, Labels, Observed};

/// A block longer than this cannot hold the four addresses HNS reserves and a pod
/// (libcalico-go `lib/ipam/ipam.go`, `getMaxPrefixLen`).
pub const LONGEST_WINDOWS_BLOCK: i64 = 29;
/// Calico's default for IPv4.
const DEFAULT_BLOCK: i64 = 26;

/// Addresses of a block that Windows keeps: the first three and the last.
const RESERVED: u64 = 4;

/// Every pool, by name.
pub fn all(observed: &Observed) -> impl Iterator<Item = (&str, &ConfigObject)> {
    let objects = observed.calico.objects.iter();
    objects
        .filter(|((kind, _), _)| *kind == ConfigKind::IpPool)
        .map(|((_, name), pool)| (name.as_str(), pool))
}

/// Enabled IPv4 pools from which a Windows node could be given a block for pods.
pub fn serving_windows(observed: &Observed) -> Vec<(&str, &ConfigObject)> {
    let nodes = windows_labels(observed);
    all(observed).filter(|(_, pool)| serves(pool, &nodes)).collect()
}

/// The same of a pool in an Installation, which spells its fields like an IPPool's as far as they decide about this.
pub fn could_serve_windows(observed: &Observed, pool: &Value) -> bool {
    let pool = ConfigObject::read(ConfigKind::IpPool, &json!({ "spec": pool }));
    serves(&pool, &windows_labels(observed))
}

/// Do pods on Linux nodes hold addresses of the range?
pub fn in_use_cidr(observed: &Observed, cidr: &str) -> bool {
    let pool = json!({ "spec": { "cidr": cidr } });
    in_use(observed, &ConfigObject::read(ConfigKind::IpPool, &pool))
}

/// A pool as far as it decides which Windows nodes are given a block of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Offer {
    /// `spec.nodeSelector`; empty means all nodes.
    pub selector: String,
    /// Its blocks have room for Windows.
    pub fits: bool,
}

impl Offer {
    /// A selector we cannot read may well match.
    pub fn selects(&self, labels: &Labels) -> bool {
        selector::matches(&self.selector, labels).unwrap_or(true)
    }
}

/// The pools that IPAM takes blocks for pods from.
pub fn offers(observed: &Observed) -> Vec<Offer> {
    all(observed)
        .filter(|(_, pool)| {
            is_enabled_v4(pool) && allows_workloads(pool) && pool.text("assignmentMode") != "Manual"
        })
        .map(|(_, pool)| Offer {
            selector: pool.text("nodeSelector").to_owned(),
            fits: block_size(pool) <= LONGEST_WINDOWS_BLOCK,
        })
        .collect()
}

fn serves(pool: &ConfigObject, nodes: &[&Labels]) -> bool {
    is_enabled_v4(pool) && block_size(pool) <= LONGEST_WINDOWS_BLOCK && selects(pool, nodes)
}

/// Would IPAM take the pool for a pod on a Windows node, if its addresses were of any use there?
pub fn selects_windows(observed: &Observed, pool: &ConfigObject) -> bool {
    selects(pool, &windows_labels(observed))
}

fn selects(pool: &ConfigObject, nodes: &[&Labels]) -> bool {
    allows_workloads(pool)
        && pool.text("assignmentMode") != "Manual"
        // A selector that cannot be read selects nothing: a pool that may not be Windows nodes' is not touched.
        && nodes.iter().any(|labels| selector::matches(pool.text("nodeSelector"), labels) == Some(true))
}

/// Pools that would serve workloads of Windows nodes if their blocks had room.
pub fn with_small_blocks(observed: &Observed) -> impl Iterator<Item = &str> {
    let small = |pool: &ConfigObject| {
        let size = pool.spec.get("blockSize").and_then(Value::as_i64);
        is_enabled_v4(pool) && allows_workloads(pool) && size.is_some_and(|s| s > LONGEST_WINDOWS_BLOCK)
    };
    all(observed)
        .filter(move |(_, pool)| small(pool))
        .map(|(name, _)| name)
}

/// Pools with a `nodeSelector` that cannot be read. One is enough to have Calico's IPAM fail on every node
/// (libcalico-go `lib/ipam/ipam.go`, `determinePools`).
pub fn with_unreadable_selector(observed: &Observed) -> impl Iterator<Item = &str> {
    let unreadable = |pool: &ConfigObject| {
        is_enabled_v4(pool) && selector::matches(pool.text("nodeSelector"), &Labels::default()).is_none()
    };
    all(observed)
        .filter(move |(_, pool)| unreadable(pool))
        .map(|(name, _)| name)
}

/// Prefix length of the pool's blocks.
pub fn block_size(pool: &ConfigObject) -> i64 {
    pool.number("blockSize").unwrap_or(DEFAULT_BLOCK)
}

/// Pods a Windows node can have with one block of this prefix length.
pub fn capacity(block_size: i64) -> u64 {
    let bits = u32::try_from(32 - block_size).unwrap_or_default().min(32);
    (1_u64 << bits).saturating_sub(RESERVED)
}

/// Is it an IPv4 pool that is not disabled?
pub fn is_enabled_v4(pool: &ConfigObject) -> bool {
    !pool.is_true("disabled") && pool.cidr_v4().is_some()
}

/// May pods have addresses of it (`spec.allowedUses`)?
pub fn allows_workloads(pool: &ConfigObject) -> bool {
    match pool.spec.get("allowedUses").and_then(Value::as_array) {
        Some(uses) if !uses.is_empty() => uses.iter().any(|u| u == "Workload"),
        _ => true,
    }
}

/// Labels of the Windows nodes; before the first one joins, of the node that will.
fn windows_labels(observed: &Observed) -> Vec<&Labels> {
    static EXPECTED: std::sync::LazyLock<Labels> =
        std::sync::LazyLock::new(|| [(labels::OS, labels::WINDOWS), ("kubernetes.io/arch", "amd64")].into());
    if observed.nodes.is_empty() {
        vec![&EXPECTED]
    } else {
        observed.nodes.values().map(|n| &n.labels).collect()
    }
}

/// Do pods on Linux nodes hold addresses of the pool?
pub fn in_use(observed: &Observed, pool: &ConfigObject) -> bool {
    let Some(cidr) = pool.cidr_v4() else { return false };
    let within = |block: Ipv4Net| cidr.contains(&block);
    observed
        .calico
        .blocks
        .values()
        .any(|b| b.serves_linux_pods && b.cidr.is_some_and(within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::{BlockFacts, NodeFacts};
    use rstest::rstest;

    fn pool(spec: Value) -> ConfigObject {
        ConfigObject::read(ConfigKind::IpPool, &json!({ "spec": spec }))
    }

    fn cluster(spec: Value) -> Observed {
        let mut observed = Observed::default();
        observed
            .calico
            .objects
            .insert((ConfigKind::IpPool, "p".into()), pool(spec));
        let labels = [(labels::OS, labels::WINDOWS)].into();
        observed.nodes.insert(
            "win-0".into(),
            NodeFacts {
                labels,
                ..NodeFacts::default()
            },
        );
        observed
    }

    #[rstest]
    #[case(json!({"cidr": "10.0.0.0/16"}), true)]
    #[case(json!({"cidr": "10.0.0.0/16", "disabled": true}), false)]
    #[case(json!({"cidr": "fd00::/48"}), false)]
    #[case(json!({"cidr": "10.0.0.0/16", "blockSize": 29}), true)]
    #[case(json!({"cidr": "10.0.0.0/16", "blockSize": 30}), false)]
    #[case(json!({"cidr": "10.0.0.0/16", "allowedUses": ["Tunnel"]}), false)]
    #[case(json!({"cidr": "10.0.0.0/16", "allowedUses": ["Workload", "Tunnel"]}), true)]
    #[case(json!({"cidr": "10.0.0.0/16", "assignmentMode": "Manual"}), false)]
    #[case(json!({"cidr": "10.0.0.0/16", "nodeSelector": "kubernetes.io/os == 'linux'"}), false)]
    #[case(json!({"cidr": "10.0.0.0/16", "nodeSelector": "all()"}), true)]
    #[case(json!({"cidr": "10.0.0.0/16", "nodeSelector": "unreadable ~ 1"}), false)]
    fn serves_windows(#[case] spec: Value, #[case] expected: bool) {
        assert_eq!(
            !serving_windows(&cluster(spec.clone())).is_empty(),
            expected,
            "{spec}"
        );
    }

    #[rstest]
    #[case(26, 60)]
    #[case(29, 4)]
    #[case(30, 0)]
    #[case(0, (1 << 32) - 4)]
    #[case(-5, (1 << 32) - 4)]
    #[case(99, 0)]
    fn room_for_pods(#[case] block_size: i64, #[case] expected: u64) {
        assert_eq!(capacity(block_size), expected);
    }

    #[test]
    fn used_by_blocks_inside_the_pool_only() {
        let mut observed = cluster(json!({"cidr": "10.0.0.0/16"}));
        let block = |cidr: &str| BlockFacts {
            cidr: cidr.parse().ok(),
            serves_linux_pods: true,
            ..BlockFacts::default()
        };
        let the_pool = pool(json!({"cidr": "10.0.0.0/16"}));
        observed
            .calico
            .blocks
            .insert((String::new(), "b".into()), block("10.1.0.0/26"));
        assert!(!in_use(&observed, &the_pool));
        observed
            .calico
            .blocks
            .insert((String::new(), "c".into()), block("10.0.3.0/26"));
        assert!(in_use(&observed, &the_pool));
    }
}
