//! Finds why the result of a packet differs: the first rule on its path that Windows does not apply as
//! written.

use super::table::Code;
use crate::cluster::{Cluster, Endpoint};
use crate::difference::is_about;
use crate::felix::{self, Lost, Reason};
use crate::meaning::Flow;
use crate::model::{Action, Direction, Policy, PolicyId, Rule, Tier};
use crate::packet::Packet;

/// A rule, or a policy, that Windows does not apply as written.
#[derive(Clone, Copy)]
pub struct Cause<'a> {
    /// Kind of the finding.
    pub code: Code,
    /// The policy.
    pub policy: &'a Policy,
    /// Direction of the packets.
    pub direction: Direction,
    /// `None` if the cause is the policy as a whole.
    pub rule: Option<&'a Rule>,
}

impl Cause<'_> {
    /// Identifies the cause: packets with the same key have the same cause.
    pub fn key(&self) -> (Code, PolicyId, Direction, usize) {
        let index = self.rule.map_or(0, |rule| rule.origin.index);
        (self.code, self.policy.id.clone(), self.direction, index)
    }
}

/// The cause of the different result of a packet; `None` if no policy of the pod is involved.
pub fn of<'a>(
    cluster: &'a Cluster,
    endpoint: &Endpoint,
    direction: Direction,
    packet: &Packet,
) -> Option<Cause<'a>> {
    let class = &cluster.classes[endpoint.class];
    let tiers: Vec<_> = cluster.tiers_of(class, direction).collect();
    let reaches_profiles = !tiers.iter().any(|(tier, _)| tier.name == Tier::DEFAULT);
    let local = endpoint.pod.address;
    let flow = Flow::new(packet, local, direction);
    let mut ports_of_pass = None;
    let mut last = None;
    for (i, (_, policies)) in tiers.iter().enumerate() {
        let is_last = i + 1 == tiers.len() && !reaches_profiles;
        for policy in policies {
            let cause = |code, rule| Cause {
                code,
                policy,
                direction,
                rule,
            };
            if policy.id.kind.is_staged() {
                return Some(cause(Code::Staged, None));
            }
            for rule in policy.rules(direction) {
                let is_matched = flow.is_matched(rule, &cluster.sets);
                let code = match felix::of_rule(rule, direction, &cluster.sets, cluster.release) {
                    Err(Lost::Skipped(reason)) if is_matched => lost(reason),
                    Ok(_) if is_matched && rule.http => Some(Code::HttpIgnored),
                    Ok(_) if is_matched && rule.action == Action::Pass && is_last => {
                        Some(Code::PassInLastTier)
                    }
                    Ok(acls) if !is_matched && rule.destination.service.is_some() => {
                        let is_wider = acls.iter().any(|acl| is_about(acl, direction, packet, local));
                        is_wider.then_some(Code::ServiceAlone)
                    }
                    _ => None,
                };
                if let Some(code) = code {
                    return Some(cause(code, Some(rule)));
                }
                if rule.action == Action::Pass && has_ports(rule) && ports_of_pass.is_none() {
                    ports_of_pass = Some(cause(Code::PassOpensPorts, Some(rule)));
                }
                last = Some(cause(Code::Unexplained, Some(rule)));
            }
        }
    }
    ports_of_pass.or(last)
}

/// The code of a lost rule. `None` for Log, which decides nothing, and for rules for IPv6, because the sample
/// has only IPv4 packets.
const fn lost(reason: Reason) -> Option<Code> {
    match reason {
        Reason::NegativeMatch => Some(Code::NegativeMatch),
        Reason::NamedPort => Some(Code::NamedPort),
        Reason::IcmpType => Some(Code::IcmpType),
        Reason::ActionPass => Some(Code::PassUnsupported),
        Reason::ActionLog | Reason::IpVersion => None,
    }
}

fn has_ports(rule: &Rule) -> bool {
    rule.sides().into_iter().any(|side| !side.ports.is_empty())
}
