//! Converts pods, network sets and host endpoints to items that selectors select (libcalico-go
//! `PodToWorkloadEndpoints` and the update processors).

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};

use super::selectors::{NAME, NAMESPACE, OF_NAMESPACE, OF_SERVICE_ACCOUNT, ORCHESTRATOR, SERVICE_ACCOUNT};
use crate::input::kubernetes::{Node, Texts};
use crate::input::pod::{Container, Pod as Object, PodClass};
use crate::input::{Objects, key};
use crate::model::Name;
use crate::net;

/// Label of a Node with its operating system.
const OS: &str = "kubernetes.io/os";

/// Labels, including inherited ones.
type Labels = BTreeMap<String, String>;

fn owned(texts: &Texts) -> Labels {
    let texts = texts.iter();
    texts
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Something that selectors of rules select: a network set, a host endpoint, or pods of one namespace and template, which
/// have the same labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    labels: Labels,
    /// Its IPv4 addresses.
    pub nets: Vec<Ipv4Net>,
    /// Name, IANA number of the protocol, and port number of each container port.
    pub ports: Vec<(String, u8, u16)>,
    /// Empty for network sets and host endpoints.
    pub pods: Vec<Pod>,
}

/// A pod with an IPv4 address of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// Namespace of the pod.
    pub namespace: Arc<str>,
    /// Name of the pod.
    pub name: Arc<str>,
    /// Name of its node.
    pub node: Arc<str>,
    /// Its IPv4 address.
    pub address: Ipv4Addr,
    /// Names of its profiles, in order of evaluation.
    pub profiles: Arc<[String]>,
}

impl Item {
    /// Value of a label, including labels inherited from the namespace and the service account.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }

    /// All labels, including inherited ones.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

/// Every pod that has an IPv4 address of its own, every network set, and every host endpoint.
pub fn items(objects: &Objects) -> Vec<Item> {
    let inherited = Inherited { objects };
    let sets = objects.network_sets.iter().map(|((namespace, _), set)| {
        let mut labels = owned(&set.metadata.labels);
        if !namespace.is_empty() {
            labels.insert(NAMESPACE.to_owned(), namespace.to_string());
            inherited.add_namespace(&mut labels, namespace);
        }
        without_pods(labels, &set.spec.nets)
    });
    let hosts = objects
        .host_endpoints
        .values()
        .map(|endpoint| without_pods(owned(&endpoint.metadata.labels), &endpoint.spec.expected_ips));
    let mut items = of_pods(objects, &inherited);
    items.extend(sets);
    items.extend(hosts);
    items
}

fn without_pods(labels: Labels, nets: &[String]) -> Item {
    Item {
        labels,
        nets: networks(nets),
        ports: Vec::new(),
        pods: Vec::new(),
    }
}

/// Pods of one namespace and template.
type Group<'a> = (&'a str, *const PodClass);

fn of_pods(objects: &Objects, inherited: &Inherited<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut groups: HashMap<Group<'_>, (usize, Arc<[String]>)> = HashMap::new();
    for ((namespace, name), pod) in &objects.pods {
        let addresses = pod.addresses.get().unwrap_or_default();
        let Some(address) = addresses.first().filter(|_| has_endpoint(pod)) else {
            continue;
        };
        let group = (&**namespace, Arc::as_ptr(&pod.class));
        let (position, profiles) = groups.entry(group).or_insert_with(|| {
            let (item, profiles) = inherited.group(namespace, &pod.class);
            items.push(item);
            (items.len() - 1, profiles)
        });
        if let Some(item) = items.get_mut(*position) {
            item.nets.extend(addresses.iter().copied().map(net::host));
            item.pods.push(Pod {
                namespace: namespace.clone(),
                name: name.clone(),
                node: pod.node.clone(),
                address: *address,
                profiles: profiles.clone(),
            });
        }
    }
    items
}

fn has_endpoint(pod: &Object) -> bool {
    !pod.class.spec.host_network && !pod.node.is_empty() && !pod.has_left_network
}

/// The IPv4 networks among texts. 0.0.0.0/0 becomes two halves, because IP sets of Linux cannot contain it
/// (felix/labelindex/named_port_index.go).
fn networks(texts: &[String]) -> Vec<Ipv4Net> {
    let nets = texts.iter().filter_map(|text| net::parse(text));
    let of_version_4 = nets.filter_map(|(_, net)| match net {
        IpNet::V4(net) => Some(net),
        IpNet::V6(_) => None,
    });
    let halves = of_version_4.flat_map(|net| match (net.prefix_len(), net.subnets(1)) {
        (0, Ok(halves)) => halves.collect(),
        _ => vec![net],
    });
    halves.collect()
}

/// Labels that pods inherit from namespaces and service accounts. An item's own labels take precedence.
struct Inherited<'a> {
    objects: &'a Objects,
}

impl Inherited<'_> {
    /// Pods of a namespace and template, still without any, and names of their profiles.
    fn group(&self, namespace: &str, class: &PodClass) -> (Item, Arc<[String]>) {
        let spec = &class.spec;
        let mut labels = owned(&class.labels);
        labels.retain(|label, _| !label.starts_with(OF_NAMESPACE) && !label.starts_with(OF_SERVICE_ACCOUNT));
        labels.insert(NAMESPACE.to_owned(), namespace.to_owned());
        labels.insert(ORCHESTRATOR.to_owned(), "k8s".to_owned());
        let mut profiles = vec![format!("kns.{namespace}")];
        self.add_namespace(&mut labels, namespace);
        if !spec.service_account_name.is_empty() {
            let account = &spec.service_account_name;
            labels.insert(SERVICE_ACCOUNT.to_owned(), account.clone());
            self.add_service_account(&mut labels, namespace, account);
            profiles.push(format!("ksa.{namespace}.{account}"));
        }
        let containers = spec.containers.iter().chain(&spec.init_containers);
        let item = Item {
            labels,
            nets: Vec::new(),
            ports: containers.flat_map(named_ports).collect(),
            pods: Vec::new(),
        };
        (item, profiles.into())
    }

    fn add_namespace(&self, labels: &mut Labels, namespace: &str) {
        if let Some(object) = self.objects.namespaces.get(&key("", namespace)) {
            inherit(labels, OF_NAMESPACE, &object.metadata.labels, namespace);
        }
    }

    fn add_service_account(&self, labels: &mut Labels, namespace: &str, name: &str) {
        if let Some(object) = self.objects.service_accounts.get(&key(namespace, name)) {
            inherit(labels, OF_SERVICE_ACCOUNT, &object.metadata.labels, name);
        }
    }
}

fn inherit(labels: &mut Labels, prefix: &str, of_parent: &Texts, name: &str) {
    for (label, value) in of_parent.iter().filter(|(label, _)| *label != NAME) {
        labels
            .entry(format!("{prefix}{label}"))
            .or_insert_with(|| value.to_owned());
    }
    labels
        .entry(format!("{prefix}{NAME}"))
        .or_insert_with(|| name.to_owned());
}

fn named_ports(container: &Container) -> Vec<(String, u8, u16)> {
    let named = container
        .ports
        .iter()
        .filter(|p| !p.name.is_empty() && p.container_port != 0);
    named
        .filter_map(|port| {
            let protocol = match port.protocol.as_deref() {
                None | Some("" | "TCP") => Name::Tcp,
                Some("UDP") => Name::Udp,
                Some("SCTP") => Name::Sctp,
                Some(_) => return None,
            };
            Some((port.name.clone(), protocol.number(), port.container_port))
        })
        .collect()
}

/// IPv4 addresses of Windows nodes by node, in Felix's order.
pub fn local_addresses(objects: &Objects) -> BTreeMap<String, Vec<Ipv4Addr>> {
    let is_windows = |node: &Node| node.metadata.labels.get(OS).is_some_and(|os| os == "windows");
    let windows = objects.nodes.iter().filter(|(_, node)| is_windows(node));
    windows
        .map(|((_, name), node)| {
            let internal = node.status.addresses.iter().filter(|a| a.r#type == "InternalIP");
            let mut addresses: Vec<Ipv4Addr> = internal.filter_map(|a| a.address.parse().ok()).collect();
            addresses.sort_by_key(ToString::to_string);
            (name.to_string(), addresses)
        })
        .collect()
}
