//! A live cluster has the findings of its objects after every sequence of changes.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

mod common;

use std::collections::BTreeMap;

use common::{cases, folders, name, policies, workloads};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use wn_workloads::findings::{self, Finding};
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::kinds::Kind;
use wn_workloads::limits::{self, Known};
use wn_workloads::live::Live;
use wn_workloads::release::Release;

/// A change of the cluster.
#[derive(Clone, Debug)]
enum Change {
    Put(Value),
    /// Removes the object at a position, modulo their number.
    Remove(usize),
    /// Another release of Calico.
    Release(Release),
}

/// Group, kind, namespace and name.
type Id = (&'static str, &'static str, String, String);

/// A live cluster and its objects.
struct Cluster {
    live: Live,
    objects: BTreeMap<Id, Value>,
    release: Release,
    known: Known,
}

impl Cluster {
    fn new() -> Self {
        Self {
            live: Live::new(),
            objects: BTreeMap::new(),
            release: Release::NEWEST,
            known: Known::default(),
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Put(object) => self.put(object),
            Change::Remove(position) => {
                let position = position % self.objects.len().max(1);
                let id = self.objects.keys().nth(position).cloned();
                if let Some(id) = id {
                    let kind = Kind::find(id.0, id.1).unwrap();
                    self.live.remove(kind, &id.2, &id.3);
                    self.objects.remove(&id);
                }
            }
            Change::Release(release) => {
                self.release = release;
                self.live.set_known(release, self.known.clone());
            }
        }
    }

    fn put(&mut self, object: Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api = text(&object["apiVersion"]);
        let group = api.split_once('/').map_or("", |(group, _)| group);
        let kind = Kind::find(group, &text(&object["kind"])).unwrap();
        let namespace = match kind.is_namespaced {
            true => text(&object["metadata"]["namespace"]),
            false => String::new(),
        };
        let id = (
            kind.group,
            kind.kind,
            namespace,
            text(&object["metadata"]["name"]),
        );
        self.live.put(kind, object.clone());
        self.objects.insert(id, object);
    }

    /// The findings of all objects, read again from their text.
    fn expected(&self) -> Vec<Finding> {
        let items: Vec<&Value> = self.objects.values().collect();
        let text = json!({"kind": "List", "items": items}).to_string();
        let manifest = Manifest {
            name: "all",
            text: &text,
        };
        let objects = Objects::read([manifest]).unwrap();
        let mut found = findings::all(&objects, self.release);
        found.extend(limits::findings(&objects, &self.known));
        findings::sort(&mut found);
        found
    }
}

fn policy() -> impl Strategy<Value = Value> {
    (1_usize..5).prop_flat_map(policies::policy)
}

/// Pods whose labels, nodes, addresses, accounts and namespaces change. Some share an address.
fn pod() -> impl Strategy<Value = Value> {
    let name = select(vec!["a", "b", "c", "d", "e"]);
    let node = select(vec!["win", "win-2", "linux", ""]);
    let label = select(vec!["a", "b", "c"]);
    let phase = select(vec!["Running", "Running", "Succeeded"]);
    let account = select(vec!["", "", "account"]);
    let namespace = select(vec!["n", "n", "win"]);
    let fields = (name, 1_u8..6, node, label, phase, account, namespace);
    fields.prop_map(|(name, address, node, label, phase, account, namespace)| {
        let mut pod = policies::pod(name, &format!("10.1.0.{address}"), node);
        pod["metadata"]["labels"]["app"] = json!(label);
        pod["metadata"]["namespace"] = json!(namespace);
        pod["spec"]["serviceAccountName"] = json!(account);
        pod["status"]["phase"] = json!(phase);
        pod
    })
}

/// Namespaces, accounts, nodes, sets, tiers and endpoints of Services that policies refer to.
fn other() -> impl Strategy<Value = Value> {
    let label = || select(vec!["a", "b"]);
    let node = (select(vec!["win", "win-2"]), select(vec!["windows", "linux"]), 1_u8..3).prop_map(
        |(name, os, address)| {
            json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/os": os}},
                "status": {"addresses": [{"type": "InternalIP", "address": format!("10.1.0.{address}")}]},
            })
        },
    );
    let namespace = (select(vec!["n", "win"]), label()).prop_map(|(name, label)| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": label}}})
    });
    let tier = (
        select(vec!["first", "second"]),
        select(vec!["Pass", "Deny", "no"]),
        1_u8..3,
    )
        .prop_map(|(name, action, order)| {
            json!({
                "apiVersion": "projectcalico.org/v3", "kind": "Tier", "metadata": {"name": name},
                "spec": {"order": order, "defaultAction": action},
            })
        });
    let set = (label(), select(vec!["10.1.0.0/30", "10.2.0.0/16", "no"])).prop_map(|(label, net)| {
        json!({
            "apiVersion": "crd.projectcalico.org/v1", "kind": "GlobalNetworkSet",
            "metadata": {"name": "set", "labels": {"app": label}}, "spec": {"nets": [net]},
        })
    });
    let of_kubernetes = (label(), label(), select(vec!["80", "\"http\""])).prop_map(|(own, peer, port)| {
        let port: Value = serde_json::from_str(port).unwrap();
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": "k", "namespace": "n"},
            "spec": {
                "podSelector": {"matchLabels": {"app": own}},
                "ingress": [{
                    "from": [
                        {"namespaceSelector": {"matchLabels": {"team": peer}}},
                        {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/30"]}},
                    ],
                    "ports": [{"port": port}],
                }],
            },
        })
    });
    let slice = (1_u8..6, 80_u16..82, select(vec!["win", "linux"])).prop_map(|(address, port, node)| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "s", "namespace": "n", "labels": {"kubernetes.io/service-name": "s"}},
            "endpoints": [{"addresses": [format!("10.1.0.{address}")], "nodeName": node}],
            "ports": [{"port": port, "protocol": "TCP"}],
        })
    });
    let with_service = select(vec!["Allow", "Deny"]).prop_map(|action| {
        json!({
            "apiVersion": "projectcalico.org/v3", "kind": "NetworkPolicy",
            "metadata": {"name": "with-service", "namespace": "n"},
            "spec": {"egress": [{"action": action, "protocol": "TCP", "destination": {
                "services": {"name": "s", "namespace": "n"},
            }}]},
        })
    });
    let account = label().prop_map(|label| {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "account", "namespace": "n", "labels": {"role": label}},
        })
    });
    prop_oneof![
        node,
        namespace,
        tier,
        set,
        of_kubernetes,
        slice,
        with_service,
        account
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let of_limits = workloads::world().prop_flat_map(select);
    prop_oneof![
        4 => policy().prop_map(Change::Put),
        4 => pod().prop_map(Change::Put),
        4 => other().prop_map(Change::Put),
        2 => of_limits.prop_map(Change::Put),
        3 => any::<usize>().prop_map(Change::Remove),
        1 => select(Release::ALL.to_vec()).prop_map(Change::Release),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn findings_are_those_of_the_objects(
        first in (policy(), policy(), policy()),
        changes in prop::collection::vec(prop::collection::vec(change(), 1..3), 1..16),
    ) {
        let mut cluster = Cluster::new();
        for object in policies::world().into_iter().chain([first.0, first.1, first.2]) {
            cluster.put(object);
        }
        for step in changes {
            step.into_iter().for_each(|change| cluster.apply(change));
            let before = cluster.live.findings().to_vec();
            let is_changed = cluster.live.evaluate();
            let expected = cluster.expected();
            prop_assert_eq!(cluster.live.findings(), &expected[..]);
            prop_assert_eq!(is_changed, before != expected);
            prop_assert!(!cluster.live.evaluate());
        }
    }
}

/// The objects of a file of a shared case.
fn items(file: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let documents = text.split("\n---").map(|text| text.trim_start_matches("---"));
    let values = documents.map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
    values.filter(|value| !value.is_null()).collect()
}

/// Each case becomes the next one, object by object.
#[test]
fn cases_follow_each_other() {
    let Some(folder) = cases("live-cases") else {
        return;
    };
    let mut cluster = Cluster::new();
    for case in folders(&folder.join("cases")) {
        let next = items(&case.join("input.yaml"));
        while !cluster.objects.is_empty() && cluster.objects.len() % 7 != 3 {
            cluster.apply(Change::Remove(cluster.objects.len() / 2));
        }
        for object in next {
            cluster.put(object);
        }
        cluster.live.evaluate();
        assert_eq!(cluster.live.findings(), cluster.expected(), "{}", name(&case));
    }
}

#[test]
fn an_object_that_cannot_be_read_is_listed_and_left_out() {
    let mut live = Live::new();
    let kind = Kind::find("", "Service").unwrap();
    let service = |port: Value| {
        json!({
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": port}]},
        })
    };
    live.put(kind, service(json!(80)));
    live.put(kind, service(json!(70_000)));
    let found: Vec<_> = live
        .unreadable()
        .map(|one| (one.kind, one.namespace, one.name))
        .collect();
    assert_eq!(found, [("Service", "shop", "web")]);
    let error = live.unreadable().next().unwrap().error.to_owned();
    assert!(error.starts_with("spec.ports[0].port: "), "{error}");
    assert_eq!(live.keys(kind), [("shop".to_owned(), "web".to_owned())]);
    live.put(kind, service(json!(80)));
    assert_eq!(live.unreadable().count(), 0);
    assert_eq!(live.keys(kind).len(), 1);
    live.remove(kind, "shop", "web");
    assert_eq!(live.keys(kind), []);
}
