//! Findings that have no example packet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Code, Finding, ObjectName, Severity};
use crate::cluster::Cluster;
use crate::felix::{self, Acl, Addresses, Panic};
use crate::model::{Direction, Policy, Rule};

/// Number of combinations of addresses and ports of one rule from which it is a warning.
const MANY: usize = 10_000;

/// Findings that follow from the cluster as a whole.
pub fn of_cluster(cluster: &Cluster) -> Vec<Finding> {
    let mut findings = edits(cluster);
    findings.extend(cluster.host_endpoints.iter().map(|name| {
        let message = "is of a Windows node, where Felix enforces policies at pods only";
        finding(
            Code::HostEndpoint,
            Severity::Warning,
            ObjectName::of_calico("HostEndpoint", "", name),
            message,
        )
    }));
    let not_for_pods = cluster.policies.iter().filter(|p| p.do_not_track || p.pre_dnat);
    findings.extend(not_for_pods.map(|policy| {
        let message = "selects pods of Windows nodes, and is not applied to them";
        let object = ObjectName::of_policy(&policy.id);
        finding(Code::NotForPods, Severity::Info, object, message)
    }));
    findings.extend(cluster.unknown.iter().map(|unknown| {
        let message = format!(
            "Calico {} does not know it and does not enforce it",
            cluster.release
        );
        let object = unknown.object.clone();
        let mut finding = finding(Code::UnknownToRelease, Severity::Warning, object, message);
        finding.field = unknown.field.map(|field| format!("spec.{field}"));
        finding
    }));
    findings
}

/// Findings of objects that Calico refuses. `stored` is the cluster with these objects stored; `opens` tells whether Windows
/// then allows a packet that the policies deny.
pub fn of_refused(stored: &Cluster, opens: bool) -> Vec<Finding> {
    let refusals = stored.refused.iter();
    refusals
        .map(|refusal| {
            let policy = refusal.policy.as_ref();
            let is_missing = policy.is_some_and(|id| stored.missing.contains(id));
            let then = if is_missing {
                "if it is stored nevertheless, Felix treats it as missing and does not apply it to its pods"
            } else {
                "if it is stored nevertheless, Felix uses it without the invalid part"
            };
            let severity = if is_missing || opens {
                Severity::Error
            } else {
                Severity::Warning
            };
            let message = format!("Calico refuses it: {}; {then}", refusal.error);
            finding(Code::Refused, severity, refusal.object.clone(), message)
        })
        .collect()
}

fn finding(code: Code, severity: Severity, object: ObjectName, message: impl Into<String>) -> Finding {
    let entry = code.entry();
    Finding {
        code,
        severity,
        object,
        field: None,
        message: message.into(),
        flow: None,
        fix: entry.fix,
        source: entry.source,
        pods: Arc::default(),
    }
}

/// Findings of panics of Felix, each with the positions of the endpoints whose ACLs cause it.
pub fn panics<'a>(cluster: &Cluster, panics: impl Iterator<Item = (&'a Panic, &'a [usize])>) -> Vec<Finding> {
    let mut pods: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    for (panic, members) in panics {
        let pods = pods.entry((&panic.pass, &panic.next)).or_default();
        pods.extend(members.iter().map(|position| cluster.endpoints[*position].name()));
    }
    let findings = pods.into_iter().map(|((pass, next), pods)| {
        let of_policy = |set: &str| {
            let mut policies = cluster.policies.iter().map(|policy| &policy.id);
            let found = policies.find(|id| set.strip_prefix("policy-") == Some(&id.felix()));
            found.map_or_else(|| ObjectName::other(set), ObjectName::of_policy)
        };
        let message = format!(
            "its Pass and {} have lists of ports that end with the same port: Felix panics, and no pod of the node has its policies",
            of_policy(next)
        );
        let mut finding = finding(Code::FelixPanics, Severity::Error, of_policy(pass), message);
        finding.pods = pods.into_iter().collect();
        finding
    });
    findings.collect()
}

/// Findings about edits that do not reach running pods.
fn edits(cluster: &Cluster) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_used = cluster.classes.iter().any(|class| !class.tiers.is_empty());
    if cluster.release.loses_rule_edits() && is_used {
        let object = ObjectName::other(format!("Calico {}", cluster.release));
        let message =
            "edits of ports, networks and actions of policies do not reach running pods of Windows nodes";
        findings.push(finding(Code::RuleEdits, Severity::Error, object, message));
    }
    if !cluster.release.has_tiers() {
        return findings;
    }
    let later = cluster
        .classes
        .iter()
        .flat_map(|class| class.tiers.iter().skip(1));
    let later: BTreeSet<usize> = later.flat_map(|(_, policies)| policies).copied().collect();
    for policy in later.into_iter().map(|i| &cluster.policies[i]) {
        if Direction::BOTH
            .into_iter()
            .any(|d| policy.governs(d) && names_members(policy, d))
        {
            let message = format!(
                "is in tier {}, after another tier of its pods: pods that match its selectors later are not added to the ACLs of running pods",
                policy.tier
            );
            let object = ObjectName::of_policy(&policy.id);
            findings.push(finding(Code::LaterTierMembers, Severity::Error, object, message));
        }
    }
    findings
}

fn names_members(policy: &Policy, direction: Direction) -> bool {
    let sides = policy.rules(direction).iter().flat_map(Rule::sides);
    let mut sides = sides.filter(|side| side.selector.is_some() || side.service.is_some());
    sides.next().is_some()
}

/// Findings of the rules of a policy that have many addresses.
pub fn many_addresses(cluster: &Cluster, policy: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    for direction in Direction::BOTH.into_iter().filter(|d| policy.governs(*d)) {
        for rule in policy.rules(direction) {
            let acls = felix::of_rule(rule, direction, &cluster.sets, cluster.release);
            findings.extend(long_rule(policy, rule, direction, &acls.unwrap_or_default()));
        }
    }
    findings
}

fn long_rule(policy: &Policy, rule: &Rule, direction: Direction, acls: &[Acl]) -> Option<Finding> {
    let combinations = acls.iter().map(|acl| {
        let ports = acl.local_ports.len().max(1) * acl.remote_ports.len().max(1);
        length(&acl.local).max(1) * length(&acl.remote).max(1) * ports
    });
    let combinations: usize = combinations.sum();
    let is_cut = acls
        .iter()
        .any(|acl| is_chunk(&acl.local) || is_chunk(&acl.remote));
    if combinations < MANY && !is_cut {
        return None;
    }
    let sum =
        |list: fn(&Acl) -> &Addresses| acls.iter().map(|acl| length(list(acl))).max().unwrap_or_default();
    let (own, remote) = (sum(|acl| &acl.local), sum(|acl| &acl.remote));
    let message = format!(
        "makes {} ACLs for each pod that it selects: {own} addresses of pods × {remote} of peers × ports, {combinations} combinations",
        acls.len()
    );
    let severity = if combinations >= MANY {
        Severity::Warning
    } else {
        Severity::Info
    };
    let object = ObjectName::of_policy(&policy.id);
    let mut finding = finding(Code::ManyAddresses, severity, object, message);
    finding.field = Some(format!("spec.{}[{}]", direction.as_str(), rule.origin.index));
    Some(finding)
}

fn length(addresses: &Addresses) -> usize {
    addresses.as_ref().map_or(0, |list| list.nets.len())
}

fn is_chunk(addresses: &Addresses) -> bool {
    addresses.as_ref().is_some_and(|list| list.is_chunk)
}
