//! Calico's own validation: what its API server and `calicoctl` refuse (libcalico-go `lib/validator/v3`), and
//! what Felix refuses in addition if it is stored nevertheless (`lib/validator/v1`).

mod fields;
mod policy;
mod rule;

use crate::convert::{self, Converted};
use crate::findings::ObjectName;
use crate::input::Objects;
use crate::model::{Policy, PolicyId, Protocol, Rule, Side};
use crate::net;
use crate::release::Release;
use fields::Fields;

/// An object that Calico's API refuses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The policy; `None` for other objects.
    pub policy: Option<PolicyId>,
    /// Kind and name.
    pub object: ObjectName,
    /// Each invalid field with the error.
    pub error: String,
}

impl Refusal {
    fn new(policy: Option<PolicyId>, object: ObjectName, fields: &Fields) -> Option<Self> {
        let error = fields.error()?;
        Some(Self {
            policy,
            object,
            error,
        })
    }
}

/// How to treat objects that Calico's API refuses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// Evaluate the cluster without them.
    LeftOut,
    /// Evaluate the cluster as if they were stored.
    Stored,
}

/// Why Calico's API refuses a policy; `None` if it does not.
pub fn refusal(policy: &Converted, release: Release) -> Option<Refusal> {
    if !policy.validated {
        return None;
    }
    let fields = policy::fields(policy, release);
    Refusal::new(
        Some(policy.id.clone()),
        ObjectName::of_policy(&policy.id),
        &fields,
    )
}

/// Every refused object, by kind and name. `policies` are the refused policies.
pub fn refusals(
    objects: &Objects,
    policies: impl Iterator<Item = Refusal>,
    release: Release,
) -> Vec<Refusal> {
    let mut all: Vec<Refusal> = policies.chain(sets(objects)).collect();
    if release.has_tiers() {
        all.extend(tiers(objects));
    }
    all.sort_by(|a, b| a.object.cmp(&b.object));
    all
}

fn sets(objects: &Objects) -> impl Iterator<Item = Refusal> + '_ {
    objects
        .network_sets
        .iter()
        .filter_map(|((namespace, name), set)| {
            let mut fields = Fields::default();
            for (i, text) in set.spec.nets.iter().enumerate() {
                if net::parse(text).is_none() {
                    fields.tag(&format!("Nets[{i}]"), text, "cidr");
                }
            }
            Refusal::new(None, set_name(namespace, name), &fields)
        })
}

fn set_name(namespace: &str, name: &str) -> ObjectName {
    let kind = match namespace {
        "" => "GlobalNetworkSet",
        _ => "NetworkSet",
    };
    ObjectName::of_calico(kind, namespace, name)
}

fn tier_name(name: &str) -> ObjectName {
    ObjectName::of_calico("Tier", "", name)
}

fn tiers(objects: &Objects) -> impl Iterator<Item = Refusal> + '_ {
    objects.tiers.iter().filter_map(|((_, name), tier)| {
        let mut fields = Fields::default();
        if !policy::is_label(name) {
            fields.reason(
                "Metadata.Name",
                name,
                "name must consist of lower case alphanumeric characters or '-' (regex: [a-z0-9]([-a-z0-9]*[a-z0-9])?)",
            );
        }
        if !["", "Pass", "Deny"].contains(&tier.spec.default_action.as_str()) {
            fields.tag("DefaultAction", &tier.spec.default_action, "action");
        }
        Refusal::new(None, tier_name(name), &fields)
    })
}

/// The objects without refused tiers and network sets; `None` if nothing is left out.
pub fn left_out(objects: &Objects, refusals: &[Refusal], refused: Refused) -> Option<Objects> {
    let others = refusals.iter().filter(|refusal| refusal.policy.is_none());
    let names: Vec<&ObjectName> = others.map(|refusal| &refusal.object).collect();
    if names.is_empty() || refused == Refused::Stored {
        return None;
    }
    let mut objects = objects.clone();
    objects
        .tiers
        .retain(|(_, name), _| !names.contains(&&tier_name(name)));
    objects
        .network_sets
        .retain(|(namespace, name), _| !names.contains(&&set_name(namespace, name)));
    Some(objects)
}

/// The objects that Calico's API accepts.
pub fn accepted(objects: &Objects, release: Release) -> Objects {
    let policies = convert::sources(objects).filter_map(|(id, source)| source.converted(&id));
    let refused = policies.filter_map(|policy| refusal(&policy, release));
    let refusals = refusals(objects, refused, release);
    let mut accepted = left_out(objects, &refusals, Refused::LeftOut).unwrap_or_else(|| objects.clone());
    let refused: Vec<&PolicyId> = refusals
        .iter()
        .filter_map(|refusal| refusal.policy.as_ref())
        .collect();
    accepted
        .calico_policies
        .retain(|(kind, (namespace, name)), _| !refused.contains(&&convert::id(*kind, namespace, name)));
    accepted
}

/// Whether Felix accepts a stored policy.
pub fn felix_accepts(policy: &Policy) -> bool {
    policy
        .inbound
        .iter()
        .chain(&policy.outbound)
        .all(felix_accepts_rule)
}

fn felix_accepts_rule(rule: &Rule) -> bool {
    let has = |test: fn(&Side) -> bool| rule.sides().into_iter().any(test);
    let has_numbers = has(|side| !side.ports.is_empty() || !side.not_ports.is_empty());
    let has_names = has(|side| !side.named_ports.is_empty() || !side.not_named_ports.is_empty());
    let ports_fit = match rule.protocol {
        None => !has_numbers,
        Some(protocol) => supports_ports(protocol) || !(has_numbers || has_names),
    };
    let of_icmp = rule.icmp.iter().chain(&rule.not_icmp);
    let mut icmp =
        of_icmp.map(|i| (0..255).contains(&i.kind) && i.code.is_none_or(|c| (0..=255).contains(&c)));
    let is_zero = |protocol: Option<Protocol>| protocol == Some(Protocol::Number(0));
    let has_port_zero = has(|side| side.ports.iter().chain(&side.not_ports).any(|(low, _)| *low == 0));
    let version_fits = rule.ip_version.is_none_or(|version| version == 4 || version == 6);
    ports_fit
        && version_fits
        && icmp.all(|fits| fits)
        && !is_zero(rule.protocol)
        && !is_zero(rule.not_protocol)
        && !has_port_zero
}

/// Whether the protocol is TCP, UDP or SCTP.
fn supports_ports(protocol: Protocol) -> bool {
    matches!(protocol.number(), 6 | 17 | 132)
}
