//! Tiers in the order of evaluation.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::input::Objects;
use crate::model::Tier;
use crate::release::Release;

/// Tier of ClusterNetworkPolicies of tier `Admin`.
pub const ADMIN: &str = "kube-admin";
/// Tier of ClusterNetworkPolicies of tier `Baseline`.
pub const BASELINE: &str = "kube-baseline";

/// Name, order and default action of the tiers that Calico creates (projectcalico/api
/// `pkg/apis/projectcalico/v3/tier.go`).
const BUILT_IN: [(&str, f64, &str); 3] = [
    (Tier::DEFAULT, 1_000_000.0, "Deny"),
    (ADMIN, 1_000.0, "Pass"),
    (BASELINE, 10_000_000.0, "Pass"),
];

/// Built-in tiers and those of the objects; last, tiers that policies name but that do not exist.
pub fn tiers<'a>(objects: &Objects, release: Release, named: impl Iterator<Item = &'a str>) -> Vec<Tier> {
    let mut tiers: BTreeMap<String, Tier> = BUILT_IN
        .iter()
        .map(|(name, order, action)| {
            let tier = Tier {
                name: (*name).to_owned(),
                order: Some(*order),
                default_action: (*action).to_owned(),
            };
            ((*name).to_owned(), tier)
        })
        .collect();
    if release.has_tiers() {
        for ((_, name), tier) in &objects.tiers {
            let tier = Tier {
                name: name.to_string(),
                order: tier.spec.order,
                // Every value other than Pass denies.
                default_action: match tier.spec.default_action.as_str() {
                    "Pass" => "Pass".to_owned(),
                    _ => "Deny".to_owned(),
                },
            };
            tiers.insert(name.to_string(), tier);
        }
    }
    let mut sorted: Vec<Tier> = tiers.values().cloned().collect();
    sorted.sort_by(|a, b| by_order(a.order, b.order).then_with(|| a.name.cmp(&b.name)));
    let mut missing: Vec<&str> = named.filter(|name| !tiers.contains_key(*name)).collect();
    missing.sort_unstable();
    missing.dedup();
    sorted.extend(missing.into_iter().map(|name| Tier {
        name: name.to_owned(),
        order: None,
        default_action: String::new(),
    }));
    sorted
}

fn by_order(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}
