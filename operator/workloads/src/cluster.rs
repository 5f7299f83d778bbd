//! A cluster as Felix on its Windows nodes sees it: active policies in evaluation order, sets of addresses,
//! endpoints.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::convert::{self, Converted, Item, Pod};
use crate::findings::ObjectName;
use crate::index::Index;
use crate::input::Objects;
use crate::model::{Direction, Policy, PolicyId, PolicyKind, Tier};
use crate::release::Release;
use crate::sets::Sets;
use crate::validate::{self, Refusal};

pub use crate::validate::Refused;

/// A cluster as one release of Calico evaluates it.
#[derive(Debug)]
pub struct Cluster {
    /// Release of Calico that evaluates the policies.
    pub release: Release,
    /// Policies that are active on some Windows node, in order of evaluation within their tiers.
    pub policies: Vec<Policy>,
    /// Tiers, in order of evaluation.
    pub tiers: Vec<Tier>,
    /// Sets of addresses that rules refer to.
    pub sets: Sets,
    /// Pods of Windows nodes, sorted by address.
    pub endpoints: Vec<Endpoint>,
    /// Groups of endpoints that have the same policies and profiles.
    pub classes: Vec<Class>,
    /// The address of every pod, with `namespace/name` of the pod.
    pub pods: BTreeMap<Ipv4Addr, String>,
    /// Policies that select no pod of a Windows node.
    pub inactive: Vec<PolicyId>,
    /// Objects of kinds and fields that the release does not know.
    pub unknown: Vec<Unknown>,
    /// Objects that Calico's API refuses.
    pub refused: Vec<Refusal>,
    /// Policies that Felix treats as missing, because it cannot use them.
    pub missing: Vec<PolicyId>,
    /// HostEndpoints of Windows nodes.
    pub host_endpoints: Vec<String>,
    /// Profiles that exist, by name: true if the profile allows everything, false if it has no rules.
    pub profiles: HashMap<String, bool>,
}

/// An object that the release does not know.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The object.
    pub object: ObjectName,
    /// The field that is not known, if the kind is.
    pub field: Option<&'static str>,
}

/// Prints the object, and the field in parentheses.
impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "{} (field {field})", self.object),
            None => write!(f, "{}", self.object),
        }
    }
}

/// A pod of a Windows node.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The pod.
    pub pod: Pod,
    /// Position in `classes`.
    pub class: usize,
    /// Addresses of its node.
    pub node_addresses: Arc<[Ipv4Addr]>,
}

/// Policies and profiles that a group of endpoints shares.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Class {
    /// Position of each tier and positions of its policies, in order of evaluation.
    pub tiers: Vec<(usize, Vec<usize>)>,
    /// Names of the profiles, in order of evaluation.
    pub profiles: Arc<[String]>,
}

impl Cluster {
    /// Builds the cluster of `objects`, as `release` evaluates it.
    pub fn new(objects: &Objects, release: Release, refused: Refused) -> Self {
        let mut unknown = Vec::new();
        let known = known(objects, release, &mut unknown);
        let refusals = validate::refusals(objects, &known, release);
        let is_refused = |id: &PolicyId| refusals.iter().any(|r| r.policy.as_ref() == Some(id));
        let (mut policies, mut missing) = (Vec::new(), Vec::new());
        for converted in known {
            if refused == Refused::LeftOut && is_refused(&converted.id) {
                continue;
            }
            match convert::model(&converted) {
                Some(policy) if validate::felix_accepts(&policy) => policies.push(policy),
                _ => missing.push(converted.id),
            }
        }
        sort(&mut policies, release);
        let left_out = validate::left_out(objects, &refusals, refused);
        let objects = left_out.as_ref().unwrap_or(objects);
        let items = convert::items(objects);
        let mut cluster = Self::with_policies(objects, release, policies, &items);
        cluster.unknown = unknown;
        cluster.refused = refusals;
        cluster.missing = missing;
        cluster
    }

    fn with_policies(objects: &Objects, release: Release, all: Vec<Policy>, items: &[Item]) -> Self {
        let nodes: BTreeMap<String, Arc<[Ipv4Addr]>> = convert::local_addresses(objects)
            .into_iter()
            .map(|(node, addresses)| (node, addresses.into()))
            .collect();
        let local = |item: &Item| item.pod.as_ref().is_some_and(|pod| nodes.contains_key(&pod.node));
        let index = Index::new(items);
        let tiers = convert::tiers(objects, release, all.iter().map(|p| p.tier.as_str()));
        let (mut policies, mut inactive) = (Vec::new(), Vec::new());
        let mut of_item: HashMap<usize, Vec<usize>> = HashMap::new();
        for policy in all {
            let selected = index.positions(&policy.selector).filter(|i| local(&items[*i]));
            let selected: Vec<usize> = selected.collect();
            if selected.is_empty() && !policy.everywhere {
                inactive.push(policy.id);
                continue;
            }
            for item in selected {
                of_item.entry(item).or_default().push(policies.len());
            }
            policies.push(policy);
        }
        inactive.sort_by_key(ToString::to_string);
        let leaves_out = release.leaves_out_covered_members();
        let sets = Sets::new(policies.iter(), &index, objects, leaves_out);
        let mut classes = Classes::new(&policies, &tiers);
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for (i, pod) in items
            .iter()
            .enumerate()
            .filter_map(|(i, item)| Some((i, item.pod.as_ref()?)))
        {
            if let Some(node_addresses) = nodes.get(&pod.node) {
                endpoints.push(Endpoint {
                    class: classes.of(of_item.get(&i).map_or(&[], Vec::as_slice), &pod.profiles),
                    pod: pod.clone(),
                    node_addresses: node_addresses.clone(),
                });
            }
        }
        endpoints.sort_by(|a, b| {
            (a.pod.address, &a.pod.namespace, &a.pod.name).cmp(&(
                b.pod.address,
                &b.pod.namespace,
                &b.pod.name,
            ))
        });
        let classes = classes.all;
        Self {
            release,
            policies,
            tiers,
            sets,
            endpoints,
            classes,
            pods: items.iter().filter_map(named_address).collect(),
            inactive,
            unknown: Vec::new(),
            refused: Vec::new(),
            missing: Vec::new(),
            host_endpoints: objects
                .host_endpoints
                .iter()
                .filter(|(_, endpoint)| nodes.contains_key(&endpoint.spec.node))
                .map(|((_, name), _)| name.clone())
                .collect(),
            profiles: profiles(objects),
        }
    }

    /// The tiers with policies for a direction, each with these policies in order.
    pub fn tiers_of<'a>(
        &'a self,
        class: &'a Class,
        direction: Direction,
    ) -> impl Iterator<Item = (&'a Tier, Vec<&'a Policy>)> + 'a {
        class.tiers.iter().filter_map(move |(tier, policies)| {
            let policies = policies.iter().map(|i| &self.policies[*i]);
            let policies: Vec<_> = policies.filter(|p| p.governs(direction)).collect();
            (!policies.is_empty()).then(|| (&self.tiers[*tier], policies))
        })
    }
}

impl Endpoint {
    /// `namespace/name`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.pod.namespace, self.pod.name)
    }
}

fn named_address(item: &Item) -> Option<(Ipv4Addr, String)> {
    let pod = item.pod.as_ref()?;
    Some((pod.address, format!("{}/{}", pod.namespace, pod.name)))
}

/// Policies whose kind and fields the release knows; the names of the others are added to `unknown`.
fn known(objects: &Objects, release: Release, unknown: &mut Vec<Unknown>) -> Vec<Converted> {
    if !release.has_tiers() {
        let tiers = objects.tiers.keys();
        unknown.extend(tiers.map(|(_, name)| Unknown {
            object: ObjectName::of_calico("Tier", "", name),
            field: None,
        }));
    }
    let mut all = convert::policies(objects);
    all.retain(|policy| {
        let is_known = match policy.id.kind {
            PolicyKind::ClusterNetworkPolicy => release.has_cluster_policies(),
            kind if kind.is_staged() => release.has_staged(),
            _ => true,
        };
        let tier = policy.spec.tier.as_str();
        let is_of_unknown_tier = !release.has_tiers() && !["", Tier::DEFAULT].contains(&tier);
        if !is_known || is_of_unknown_tier {
            unknown.push(Unknown {
                object: ObjectName::of_policy(&policy.id),
                field: is_known.then_some("tier"),
            });
        }
        is_known && !is_of_unknown_tier
    });
    all
}

fn sort(policies: &mut [Policy], release: Release) {
    policies.sort_by(|a, b| {
        let name = |p: &Policy| {
            if release.sorts_by_stored_name() {
                stored_name(p)
            } else {
                format!("{}/{}/{}", p.id.name, p.id.namespace, p.id.kind.felix())
            }
        };
        a.order.total_cmp(&b.order).then_with(|| name(a).cmp(&name(b)))
    });
}

/// The name under which Calico up to v3.31 stores the policy.
fn stored_name(policy: &Policy) -> String {
    let PolicyId {
        name,
        namespace,
        kind,
    } = &policy.id;
    let of_tier = format!("{}.", policy.tier);
    let name = match kind {
        PolicyKind::Kubernetes | PolicyKind::StagedKubernetes => format!("knp.default.{name}"),
        _ if name.starts_with(&of_tier) => name.clone(),
        _ => format!("{of_tier}{name}"),
    };
    let staged = if kind.is_staged() { "staged:" } else { "" };
    match namespace.as_str() {
        "" => format!("{staged}{name}"),
        namespace => format!("{namespace}/{staged}{name}"),
    }
}

/// The profiles of namespaces, which allow everything, and of service accounts, which have no rules.
fn profiles(objects: &Objects) -> HashMap<String, bool> {
    let namespaces = objects
        .namespaces
        .keys()
        .map(|(_, name)| (format!("kns.{name}"), true));
    let accounts = objects.service_accounts.keys();
    let accounts = accounts.map(|(namespace, name)| (format!("ksa.{namespace}.{name}"), false));
    namespaces.chain(accounts).collect()
}

/// Groups endpoints with the same policies and profiles.
struct Classes<'a> {
    policies: &'a [Policy],
    tier_of: HashMap<&'a str, usize>,
    all: Vec<Class>,
    positions: HashMap<Class, usize>,
}

impl<'a> Classes<'a> {
    fn new(policies: &'a [Policy], tiers: &'a [Tier]) -> Self {
        let tiers = tiers.iter().enumerate();
        Self {
            policies,
            tier_of: tiers.map(|(i, tier)| (tier.name.as_str(), i)).collect(),
            all: Vec::new(),
            positions: HashMap::new(),
        }
    }

    fn of(&mut self, policies: &[usize], profiles: &Arc<[String]>) -> usize {
        let mut tiers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for policy in policies {
            if let Some(tier) = self.tier_of.get(self.policies[*policy].tier.as_str()) {
                tiers.entry(*tier).or_default().push(*policy);
            }
        }
        let class = Class {
            tiers: tiers.into_iter().collect(),
            profiles: profiles.clone(),
        };
        if let Some(position) = self.positions.get(&class) {
            return *position;
        }
        self.all.push(class.clone());
        self.positions.insert(class, self.all.len() - 1);
        self.all.len() - 1
    }
}
