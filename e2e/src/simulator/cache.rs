//! What the simulator knows of the cluster, and which nodes a change concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Service};
use kube::ResourceExt as _;
use kube_runtime::watcher::Event;
use serde_json::Value;
use wn_api::calico::CalicoApi;

use super::containers::ConfigMaps;
use super::ipam::{Blocks, Cidr, Pool};

pub const AGENT: &str = "calico-node-windows";
pub const KUBE_PROXY: &str = "kube-proxy-windows";
pub const KUBE_PROXY_NO_DSR: &str = "kube-proxy-windows-no-dsr";
pub const FLANNEL: &str = "kube-flannel-windows";
pub const STATIC_ROUTES: &str = "static-routes-windows";

/// One event of a watch.
pub enum Change {
    Node(Event<Box<Node>>),
    Pod(Event<Box<Pod>>),
    ConfigMap(Event<Box<ConfigMap>>),
    Service(Event<Box<Service>>),
    /// Names of custom resource definitions.
    Definition(Event<String>),
    Calico(CalicoApi, CalicoKind, Event<(String, Value)>),
}

/// Calico's resources that an agent reads when it starts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CalicoKind {
    IpamConfig,
    Pool,
    Block,
}

/// Which nodes have to be looked at again.
#[derive(Debug, Eq, PartialEq)]
pub enum Concerns {
    Nobody,
    Node(String),
    Everybody,
}

/// The objects of one of Calico's APIs.
#[derive(Clone, Default)]
pub struct Calico {
    pub strict_affinity: Option<bool>,
    pub pools: BTreeMap<String, Pool>,
    /// Are all blocks known? Before that a node might be given a second one.
    pub complete: bool,
    /// By name, so that a deletion finds its entry.
    blocks: BTreeMap<String, (Cidr, Option<String>)>,
}

impl Calico {
    pub fn blocks(&self) -> Blocks {
        self.blocks.values().cloned().collect()
    }

    /// Books a block before its watch event comes, so that no other node is given it meanwhile.
    pub fn book(&mut self, cidr: Cidr, node: Option<&str>) {
        self.blocks.insert(cidr.dashed(), (cidr, node.map(str::to_owned)));
    }
}

#[derive(Default)]
pub struct Cache {
    pub nodes: BTreeMap<String, Arc<Node>>,
    /// Windows agents by node, then by namespace and name.
    pub pods: BTreeMap<String, BTreeMap<String, Arc<Pod>>>,
    pub config_maps: ConfigMaps,
    pub cluster_ip: Option<String>,
    pub definitions: BTreeSet<String>,
    v1: Calico,
    v3: Calico,
}

impl Cache {
    pub fn calico(&self, api: CalicoApi) -> &Calico {
        match api {
            CalicoApi::V1 => &self.v1,
            // What is in etcd no API serves; native resources have its shape.
            CalicoApi::V3 | CalicoApi::Etcd => &self.v3,
        }
    }

    pub fn calico_mut(&mut self, api: CalicoApi) -> &mut Calico {
        match api {
            CalicoApi::V1 => &mut self.v1,
            CalicoApi::V3 | CalicoApi::Etcd => &mut self.v3,
        }
    }

    /// Takes a change over. An agent that runs writes to its pod and node, so those events concern the
    /// one node; what all agents read concerns all.
    pub fn apply(&mut self, change: Change) -> Concerns {
        match change {
            Change::Node(Event::Apply(node) | Event::InitApply(node)) => {
                let name = node.name_any();
                self.nodes.insert(name.clone(), Arc::from(node));
                Concerns::Node(name)
            }
            Change::Node(Event::Delete(node)) => {
                let name = node.name_any();
                self.nodes.remove(&name);
                Concerns::Node(name)
            }
            Change::Node(Event::Init) => {
                self.nodes.clear();
                Concerns::Nobody
            }
            Change::Pod(Event::Apply(pod) | Event::InitApply(pod)) => {
                let Some(node) = bound_to(&pod) else {
                    return Concerns::Nobody;
                };
                self.pods
                    .entry(node.clone())
                    .or_default()
                    .insert(key(&pod), Arc::from(pod));
                Concerns::Node(node)
            }
            Change::Pod(Event::Delete(pod)) => {
                let Some(node) = bound_to(&pod) else {
                    return Concerns::Nobody;
                };
                self.pods.entry(node.clone()).or_default().remove(&key(&pod));
                Concerns::Node(node)
            }
            Change::Pod(Event::Init) => {
                self.pods.clear();
                Concerns::Nobody
            }
            Change::ConfigMap(event) => self.config_map(event),
            Change::Service(Event::Apply(service) | Event::InitApply(service)) => {
                let ip = service.spec.and_then(|spec| spec.cluster_ip);
                let changed = self.cluster_ip != ip;
                self.cluster_ip = ip;
                if changed {
                    Concerns::Everybody
                } else {
                    Concerns::Nobody
                }
            }
            Change::Definition(event) => self.definition(event),
            Change::Calico(api, object, event) => self.calico_event(api, object, event),
            Change::Node(Event::InitDone) | Change::Pod(Event::InitDone) | Change::Service(_) => {
                Concerns::Nobody
            }
        }
    }

    fn config_map(&mut self, event: Event<Box<ConfigMap>>) -> Concerns {
        let key = |map: &ConfigMap| (map.namespace().unwrap_or_default(), map.name_any());
        match event {
            Event::Apply(map) | Event::InitApply(map) => {
                let (key, data) = (key(&map), map.data.unwrap_or_default());
                // Most ConfigMaps of a cluster are none of an agent's business: leases, CA bundles.
                if self.config_maps.get(&key) == Some(&data) {
                    return Concerns::Nobody;
                }
                self.config_maps.insert(key, data);
                Concerns::Everybody
            }
            Event::Delete(map) => {
                self.config_maps.remove(&key(&map));
                Concerns::Everybody
            }
            Event::Init | Event::InitDone => Concerns::Nobody,
        }
    }

    fn definition(&mut self, event: Event<String>) -> Concerns {
        match event {
            Event::Apply(name) | Event::InitApply(name) => {
                if self.definitions.insert(name) {
                    Concerns::Everybody
                } else {
                    Concerns::Nobody
                }
            }
            Event::Delete(name) => {
                self.definitions.remove(&name);
                Concerns::Everybody
            }
            Event::Init => {
                self.definitions.clear();
                Concerns::Nobody
            }
            Event::InitDone => Concerns::Nobody,
        }
    }

    fn calico_event(
        &mut self,
        api: CalicoApi,
        object: CalicoKind,
        event: Event<(String, Value)>,
    ) -> Concerns {
        let calico = self.calico_mut(api);
        match (object, event) {
            (CalicoKind::Block, Event::InitDone) => calico.complete = true,
            (_, Event::InitDone) | (CalicoKind::IpamConfig, Event::Init) => return Concerns::Nobody,
            (CalicoKind::IpamConfig, Event::Apply((_, spec)) | Event::InitApply((_, spec))) => {
                calico.strict_affinity = spec["strictAffinity"].as_bool();
            }
            (CalicoKind::IpamConfig, Event::Delete(_)) => calico.strict_affinity = None,
            (CalicoKind::Pool, Event::Init) => calico.pools.clear(),
            (CalicoKind::Pool, Event::Apply((name, spec)) | Event::InitApply((name, spec))) => {
                match Pool::parse(&spec) {
                    Some(pool) => calico.pools.insert(name, pool),
                    None => calico.pools.remove(&name),
                };
            }
            (CalicoKind::Pool, Event::Delete((name, _))) => drop(calico.pools.remove(&name)),
            // Nobody waits for a block to come; a block that goes may be the one a full pool lacked.
            (CalicoKind::Block, Event::Init) => {
                calico.blocks.clear();
                calico.complete = false;
                return Concerns::Nobody;
            }
            (CalicoKind::Block, Event::Apply((name, spec)) | Event::InitApply((name, spec))) => {
                if let Some(cidr) = spec["cidr"].as_str().and_then(Cidr::parse) {
                    let holder = spec["affinity"]
                        .as_str()
                        .and_then(|text| text.strip_prefix("host:"));
                    calico.blocks.insert(name, (cidr, holder.map(str::to_owned)));
                }
                return Concerns::Nobody;
            }
            (CalicoKind::Block, Event::Delete((name, _))) => drop(calico.blocks.remove(&name)),
        }
        Concerns::Everybody
    }
}

fn bound_to(pod: &Pod) -> Option<String> {
    pod.spec
        .as_ref()
        .and_then(|spec| spec.node_name.clone())
        .filter(|name| !name.is_empty())
}

fn key(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_concerns_those_who_read_it() {
        let mut cache = Cache::default();
        let api = CalicoApi::V1;
        let object = |name: &str, spec: Value| Event::Apply((name.to_owned(), spec));
        let pool = object("default", json!({"cidr": "10.244.0.0/16"}));
        assert_eq!(
            cache.apply(Change::Calico(api, CalicoKind::Pool, pool)),
            Concerns::Everybody
        );
        let config = object("default", json!({"strictAffinity": true}));
        assert_eq!(
            cache.apply(Change::Calico(api, CalicoKind::IpamConfig, config)),
            Concerns::Everybody
        );
        let block = object("b", json!({"cidr": "10.244.0.0/26", "affinity": "host:win-0"}));
        assert_eq!(
            cache.apply(Change::Calico(api, CalicoKind::Block, block)),
            Concerns::Nobody
        );
        assert_eq!(cache.calico(api).strict_affinity, Some(true));
        assert_eq!(cache.calico(api).blocks().len(), 1);
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "ns"}, "spec": {"nodeName": "win-0", "containers": []},
        }))
        .unwrap();
        assert_eq!(
            cache.apply(Change::Pod(Event::Apply(Box::new(pod)))),
            Concerns::Node("win-0".to_owned())
        );
    }
}
