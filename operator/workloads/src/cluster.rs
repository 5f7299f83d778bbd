//! A cluster as Felix on its Windows nodes sees it: active policies in evaluation order, sets of addresses,
//! endpoints.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::convert::{self, Item, Pod};
use crate::findings::ObjectName;
use crate::index::Index;
use crate::input::Objects;
use crate::model::{Direction, Policy, PolicyId, PolicyKind, Tier};
use crate::prepared::{Policies, Prepared};
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
    pub policies: Vec<Arc<Policy>>,
    /// Number of the form of each of these policies.
    pub numbers: Vec<u64>,
    /// Tiers, in order of evaluation.
    pub tiers: Vec<Tier>,
    /// Sets of addresses that rules refer to.
    pub sets: Sets,
    /// Pods of Windows nodes, sorted by address.
    pub endpoints: Vec<Endpoint>,
    /// Groups of endpoints that have the same policies and profiles.
    pub classes: Vec<Class>,
    /// The address of every pod, with `namespace/name` of the pod.
    pub pods: BTreeMap<Ipv4Addr, PodName>,
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

/// Namespace and name of a pod.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PodName(Arc<str>, Arc<str>);

/// Prints `namespace/name`.
impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
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
        Self::with(objects, release, refused, &mut Policies::default())
    }

    /// The same, with the policies of an earlier state of the cluster, as far as they are the same.
    pub fn with(objects: &Objects, release: Release, refused: Refused, prepared: &mut Policies) -> Self {
        let mut unknown = Vec::new();
        let known = known(prepared.of(objects, release), objects, release, &mut unknown);
        let of_policies = known.iter().filter_map(|prepared| prepared.refusal.clone());
        let refusals = validate::refusals(objects, of_policies, release);
        let (mut policies, mut missing) = (Vec::new(), Vec::new());
        for prepared in known {
            if refused == Refused::LeftOut && prepared.refusal.is_some() {
                continue;
            }
            match &prepared.policy {
                Some(policy) => policies.push((prepared.number, policy.clone())),
                None => missing.push(prepared.id.clone()),
            }
        }
        sort(&mut policies, release);
        let left_out = validate::left_out(objects, &refusals, refused);
        let objects = left_out.as_ref().unwrap_or(objects);
        let items = convert::items(objects);
        let mut cluster = Self::with_policies(objects, release, policies, items);
        cluster.unknown = unknown;
        cluster.refused = refusals;
        cluster.missing = missing;
        cluster
    }

    fn with_policies(
        objects: &Objects,
        release: Release,
        all: Vec<(u64, Arc<Policy>)>,
        items: Vec<Item>,
    ) -> Self {
        let nodes: BTreeMap<String, Arc<[Ipv4Addr]>> = convert::local_addresses(objects)
            .into_iter()
            .map(|(node, addresses)| (node, addresses.into()))
            .collect();
        let is_local = |pod: &Pod| nodes.contains_key(&*pod.node);
        let local = |item: &Item| item.pods.iter().any(is_local);
        let index = Index::new(&items);
        let tiers = convert::tiers(objects, release, all.iter().map(|(_, p)| p.tier.as_str()));
        let (mut policies, mut numbers, mut inactive) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_item: HashMap<usize, Vec<usize>> = HashMap::new();
        for (number, policy) in all {
            let selected = index.positions(&policy.selector).filter(|i| local(&items[*i]));
            let selected: Vec<usize> = selected.collect();
            if selected.is_empty() && !policy.everywhere {
                inactive.push(policy.id.clone());
                continue;
            }
            for item in selected {
                of_item.entry(item).or_default().push(policies.len());
            }
            policies.push(policy);
            numbers.push(number);
        }
        inactive.sort_by_cached_key(ToString::to_string);
        let leaves_out = release.leaves_out_covered_members();
        let sets = Sets::new(
            policies.iter().map(|policy| &**policy),
            &index,
            objects,
            leaves_out,
        );
        let mut classes = Classes::new(&policies, &tiers);
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let mut pods = item.pods.iter().filter(|pod| is_local(pod)).peekable();
            let Some(first) = pods.peek() else { continue };
            let class = classes.of(of_item.get(&i).map_or(&[], Vec::as_slice), &first.profiles);
            endpoints.extend(pods.filter_map(|pod| {
                Some(Endpoint {
                    class,
                    pod: pod.clone(),
                    node_addresses: nodes.get(&*pod.node)?.clone(),
                })
            }));
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
            numbers,
            tiers,
            pods: by_address(&items),
            sets: sets.with_items(items),
            endpoints,
            classes,
            inactive,
            unknown: Vec::new(),
            refused: Vec::new(),
            missing: Vec::new(),
            host_endpoints: objects
                .host_endpoints
                .iter()
                .filter(|(_, endpoint)| nodes.contains_key(&endpoint.spec.node))
                .map(|((_, name), _)| name.to_string())
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
            let policies = policies.iter().map(|i| &*self.policies[*i]);
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

/// Every pod by its address. Of pods with the same address the last one by name counts.
fn by_address(items: &[Item]) -> BTreeMap<Ipv4Addr, PodName> {
    let mut pods: BTreeMap<Ipv4Addr, PodName> = BTreeMap::new();
    for pod in items.iter().flat_map(|item| &item.pods) {
        let name = PodName(pod.namespace.clone(), pod.name.clone());
        match pods.entry(pod.address) {
            Entry::Occupied(mut known) if *known.get() < name => {
                known.insert(name);
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                free.insert(name);
            }
        }
    }
    pods
}

/// Policies whose kind and fields the release knows; the names of the others are added to `unknown`.
fn known(
    mut all: Vec<Arc<Prepared>>,
    objects: &Objects,
    release: Release,
    unknown: &mut Vec<Unknown>,
) -> Vec<Arc<Prepared>> {
    if !release.has_tiers() {
        let tiers = objects.tiers.keys();
        unknown.extend(tiers.map(|(_, name)| Unknown {
            object: ObjectName::of_calico("Tier", "", name),
            field: None,
        }));
    }
    all.retain(|policy| {
        let is_known = match policy.id.kind {
            PolicyKind::ClusterNetworkPolicy => release.has_cluster_policies(),
            kind if kind.is_staged() => release.has_staged(),
            _ => true,
        };
        let tier = policy.tier.as_str();
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

fn sort(policies: &mut [(u64, Arc<Policy>)], release: Release) {
    let name = |p: &Policy| {
        if release.sorts_by_stored_name() {
            stored_name(p)
        } else {
            format!("{}/{}/{}", p.id.name, p.id.namespace, p.id.kind.felix())
        }
    };
    policies.sort_by_cached_key(|(_, policy)| (ByOrder(policy.order), name(policy)));
}

/// An order of policies that can be compared.
#[derive(PartialEq)]
struct ByOrder(f64);

impl Eq for ByOrder {}

impl PartialOrd for ByOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
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
    policies: &'a [Arc<Policy>],
    tier_of: HashMap<&'a str, usize>,
    all: Vec<Class>,
    positions: HashMap<Class, usize>,
}

impl<'a> Classes<'a> {
    fn new(policies: &'a [Arc<Policy>], tiers: &'a [Tier]) -> Self {
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
