//! Converts pods, network sets and host endpoints to items that selectors select (libcalico-go
//! `PodToWorkloadEndpoints` and the update processors).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};

use super::selectors::{NAME, NAMESPACE, OF_NAMESPACE, OF_SERVICE_ACCOUNT, ORCHESTRATOR, SERVICE_ACCOUNT};
use crate::input::kubernetes::{Node, Texts};
use crate::input::pod::{Container, Pod as Object};
use crate::input::{Key, Objects};
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

/// Something that selectors of rules select.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    labels: Labels,
    /// Its IPv4 addresses.
    pub nets: Vec<Ipv4Net>,
    /// Set for a pod; `None` for network sets and host endpoints.
    pub pod: Option<Pod>,
}

/// A pod with an IPv4 address of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// Name of its node.
    pub node: String,
    /// Its IPv4 address.
    pub address: Ipv4Addr,
    /// Names of its profiles, in order of evaluation.
    pub profiles: Arc<[String]>,
    /// Name, IANA number of the protocol, and port number of each container port.
    pub ports: Vec<(String, u8, u16)>,
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
    let pods = objects
        .pods
        .iter()
        .filter_map(|(key, pod)| of_pod(key, pod, &inherited));
    let sets = objects.network_sets.iter().map(|((namespace, _), set)| {
        let mut labels = owned(&set.metadata.labels);
        if !namespace.is_empty() {
            labels.insert(NAMESPACE.to_owned(), namespace.clone());
            inherited.add_namespace(&mut labels, namespace);
        }
        Item {
            labels,
            nets: networks(&set.spec.nets),
            pod: None,
        }
    });
    let hosts = objects.host_endpoints.values().map(|endpoint| Item {
        labels: owned(&endpoint.metadata.labels),
        nets: networks(&endpoint.spec.expected_ips),
        pod: None,
    });
    pods.chain(sets).chain(hosts).collect()
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

fn of_pod((namespace, name): &Key, pod: &Object, inherited: &Inherited<'_>) -> Option<Item> {
    let spec = &pod.class.spec;
    if spec.host_network || pod.node.is_empty() || pod.has_left_network {
        return None;
    }
    let nets: Vec<Ipv4Net> = pod.addresses.get()?.iter().copied().map(net::host).collect();
    let address = nets.first()?.addr();
    let mut labels = owned(&pod.class.labels);
    labels.retain(|label, _| !label.starts_with(OF_NAMESPACE) && !label.starts_with(OF_SERVICE_ACCOUNT));
    labels.insert(NAMESPACE.to_owned(), namespace.clone());
    labels.insert(ORCHESTRATOR.to_owned(), "k8s".to_owned());
    let mut profiles = vec![format!("kns.{namespace}")];
    inherited.add_namespace(&mut labels, namespace);
    if !spec.service_account_name.is_empty() {
        let account = &spec.service_account_name;
        labels.insert(SERVICE_ACCOUNT.to_owned(), account.clone());
        inherited.add_service_account(&mut labels, namespace, account);
        profiles.push(format!("ksa.{namespace}.{account}"));
    }
    Some(Item {
        labels,
        nets,
        pod: Some(Pod {
            namespace: namespace.clone(),
            name: name.clone(),
            node: pod.node.to_string(),
            address,
            profiles: profiles.into(),
            ports: [&spec.containers, &spec.init_containers]
                .into_iter()
                .flatten()
                .flat_map(named_ports)
                .collect(),
        }),
    })
}

/// Labels that pods inherit from namespaces and service accounts. An item's own labels take precedence.
struct Inherited<'a> {
    objects: &'a Objects,
}

impl Inherited<'_> {
    fn add_namespace(&self, labels: &mut Labels, namespace: &str) {
        if let Some(object) = self
            .objects
            .namespaces
            .get(&(String::new(), namespace.to_owned()))
        {
            inherit(labels, OF_NAMESPACE, &object.metadata.labels, namespace);
        }
    }

    fn add_service_account(&self, labels: &mut Labels, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        if let Some(object) = self.objects.service_accounts.get(&key) {
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
            (name.clone(), addresses)
        })
        .collect()
}
