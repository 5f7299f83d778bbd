//! Computes the ACLs of an endpoint (`endpoint_mgr.go`).

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::acl::{Acl, AclAction, AddressList, RuleType};
use super::flatten::{Panic, flattened};
use super::rules::of_rule;
use crate::cluster::{Class, Cluster};
use crate::model::{Direction, Policy, PolicyId, Tier};
use crate::net;

/// Felix logs this text if a staged policy is among the policies of an endpoint.
pub const MISSING_POLICY_SET: &str = "error: Unable to find Policy set, replacing with a deny rule";

/// Priority of the ACL that allows the node to reach its pods.
const NODE_PRIORITY: u16 = 900;
/// Priority of the first rule of a policy.
const FIRST_PRIORITY: u16 = 1000;
/// The last priority that Felix assigns.
const LAST_PRIORITY: u16 = 65000;

/// ACLs of all endpoints of a class, without the ACL that allows traffic from the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Acls {
    pub ingress: Vec<Acl>,
    pub egress: Vec<Acl>,
    /// Whether Felix did not find a policy set.
    pub misses_policy_set: bool,
}

impl Acls {
    /// The ACLs of a direction, in order of priority.
    pub fn of(&self, direction: Direction) -> &[Acl] {
        match direction {
            Direction::Ingress => &self.ingress,
            Direction::Egress => &self.egress,
        }
    }
}

/// Cache of the ACLs of policies.
pub type PolicySets = HashMap<(PolicyId, Direction), Arc<[Acl]>>;

/// Computes the ACLs of the endpoints of a class.
pub fn of_class(cluster: &Cluster, class: &Class, sets: &mut PolicySets) -> Result<Acls, Panic> {
    let (ingress, misses_in) = of_direction(cluster, class, Direction::Ingress, sets)?;
    let (egress, misses_out) = of_direction(cluster, class, Direction::Egress, sets)?;
    Ok(Acls {
        ingress,
        egress,
        misses_policy_set: misses_in || misses_out,
    })
}

/// The ACL that allows a node to reach its pods; `None` for a node without an address.
pub fn allow_from_node(addresses: &[Ipv4Addr]) -> Option<Acl> {
    if addresses.is_empty() {
        return None;
    }
    let nets = addresses.iter().copied().map(net::host).collect();
    Some(Acl {
        remote: Some(Arc::new(AddressList::new(nets, false))),
        priority: NODE_PRIORITY,
        from: Some("allow-host-to-endpoint".into()),
        ..Acl::new(Direction::Ingress, AclAction::Allow)
    })
}

fn of_direction(
    cluster: &Cluster,
    class: &Class,
    direction: Direction,
    sets: &mut PolicySets,
) -> Result<(Vec<Acl>, bool), Panic> {
    let mut tiers = Vec::new();
    let (mut is_default, mut misses) = (false, false);
    for (tier, policies) in cluster.tiers_of(class, direction) {
        is_default |= tier.name == Tier::DEFAULT;
        let (acls, misses_one) = of_tier(cluster, tier, &policies, direction, sets);
        misses |= misses_one;
        tiers.push(acls);
    }
    // Packets at the end of the default tier do not continue to the profiles.
    if !is_default {
        tiers.push(of_profiles(cluster, class, direction));
    }
    let mut acls = if cluster.release.has_own_priorities() {
        numbered(flattened(tiers)?)
    } else {
        with_shared_priorities(tiers.into_iter().next().unwrap_or_default())
    };
    acls.push(Acl {
        rule_type: RuleType::Host,
        ..Acl::new(direction, AclAction::Allow)
    });
    Ok((acls, misses))
}

/// ACLs of a tier's policies, and whether a policy set is missing: Felix does not program staged policies,
/// but looks for their sets.
fn of_tier(
    cluster: &Cluster,
    tier: &Tier,
    policies: &[&Policy],
    direction: Direction,
    sets: &mut PolicySets,
) -> (Vec<Acl>, bool) {
    let mut acls = Vec::new();
    let found = policies.iter().take_while(|policy| !policy.id.kind.is_staged());
    for policy in found {
        let set = sets
            .entry((policy.id.clone(), direction))
            .or_insert_with(|| of_policy(cluster, policy, direction));
        acls.extend(set.iter().cloned());
    }
    let end = if tier.passes() {
        AclAction::Pass
    } else {
        AclAction::Block
    };
    acls.push(Acl::new(direction, end));
    (acls, policies.iter().any(|policy| policy.id.kind.is_staged()))
}

fn of_policy(cluster: &Cluster, policy: &Policy, direction: Direction) -> Arc<[Acl]> {
    let from: Arc<str> = format!("policy-{}", policy.id.felix()).into();
    let rules = policy.rules(direction).iter();
    let acls = rules.filter_map(|rule| of_rule(rule, direction, &cluster.sets, cluster.release).ok());
    acls.flatten()
        .map(|acl| Acl {
            from: Some(from.clone()),
            ..acl
        })
        .collect()
}

/// A profile that does not exist denies everything.
fn of_profiles(cluster: &Cluster, class: &Class, direction: Direction) -> Vec<Acl> {
    let mut acls = Vec::new();
    for profile in class.profiles.iter() {
        let action = match cluster.profiles.get(profile) {
            Some(true) => AclAction::Allow,
            Some(false) => continue,
            None => AclAction::Block,
        };
        acls.push(Acl {
            from: Some(format!("profile-{profile}").into()),
            ..Acl::new(direction, action)
        });
    }
    acls.push(Acl::new(direction, AclAction::Block));
    acls
}

/// Assigns a priority to each ACL, or one to each run of ACLs with the same action if there are more ACLs
/// than priorities. A single ACL keeps the priority that it had at the end of its tier.
fn numbered(mut acls: Vec<Acl>) -> Vec<Acl> {
    if let [only] = acls.as_mut_slice() {
        only.priority = FIRST_PRIORITY + 1;
        return acls;
    }
    let is_many = acls.len() >= usize::from(LAST_PRIORITY - FIRST_PRIORITY);
    let mut priority = FIRST_PRIORITY;
    let mut last: Option<AclAction> = None;
    for acl in &mut acls {
        if last.is_some_and(|last| !is_many || last != acl.action) {
            priority = priority.wrapping_add(1);
        }
        acl.priority = priority;
        last = Some(acl.action);
    }
    acls
}

/// Assigns one priority to each run of ACLs with the same action, and one to the end.
fn with_shared_priorities(mut acls: Vec<Acl>) -> Vec<Acl> {
    let mut priority = FIRST_PRIORITY;
    let end = acls.len().saturating_sub(1);
    for i in 0..acls.len() {
        if i == end || (i > 0 && acls[i].action != acls[i - 1].action) {
            priority = priority.wrapping_add(1);
        }
        acls[i].priority = priority;
    }
    acls
}
