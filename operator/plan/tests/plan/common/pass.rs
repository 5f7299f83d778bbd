//! A pass of the operator over a cluster, without its runtime.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wn_api::component::Component;
use wn_api::names::kube_proxy;
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::status::WindowsNodeConfigStatus;
use wn_plan::applied::Applied;
use wn_plan::calico::restore::{self, Restoration};
use wn_plan::decide::{Plan, decide};
use wn_plan::node::ClusterContext;
use wn_plan::observed::{
    AffinityFacts, BlockFacts, DaemonSetFacts, Observed, OwnKind, OwnObject, PodFacts, Source,
    cluster as sources,
};
use wn_plan::status::{self, Outcome, Settled, assemble};
use wn_plan::validate::validate;

use super::{Cluster, NAMESPACE};

impl Cluster {
    pub fn plan(&self) -> Plan {
        let valid = validate(&self.config().spec, &self.observed).unwrap();
        decide(valid, self.config(), &self.observed, &self.contests, self.now)
    }

    /// What the runtime does with a plan, originals first.
    pub fn apply(&mut self, plan: &Plan) {
        if !plan.write {
            return;
        }
        self.store_originals(plan);
        for field in &plan.calico.given_up {
            self.contests.give_up(field.clone(), self.now);
        }
        for object in &plan.contested {
            self.contests.give_up(object, self.now);
        }
        for write in &plan.calico.writes {
            self.store.execute(write);
            for change in write.changes.iter().filter(|c| c.drifted_by.is_some()) {
                self.contests.repaired(change.id.clone(), self.now);
            }
        }
        self.look();
        for write in &plan.objects {
            if write.drift {
                self.contests.repaired(&write.object, self.now);
            }
            self.observed
                .ours
                .insert(write.object.clone(), write.body.clone());
            self.see_daemon_set(&write.object, &write.body);
        }
        for (_, object) in &plan.deletions {
            self.observed.ours.remove(object);
            self.observed
                .daemon_sets
                .remove(&(object.namespace.clone(), object.name.clone()));
        }
        if let Some(config_map) = &plan.services_endpoint {
            self.observed
                .sources
                .insert(Source::ServicesEndpoint, sources::config_map(config_map));
        }
    }

    pub fn store_originals(&mut self, plan: &Plan) {
        if let Some(list) = status::originals_to_store(self.config(), plan) {
            let status = self.config_mut().status.get_or_insert_default();
            status.calico.get_or_insert_default().originals = list.to_vec();
        }
    }

    fn see_daemon_set(&mut self, object: &OwnObject, body: &Value) {
        if object.kind == OwnKind::DaemonSet {
            let facts = DaemonSetFacts::read(body).expect("our own DaemonSets are recognised as such");
            assert!(facts.ours);
            self.observed
                .daemon_sets
                .insert((object.namespace.clone(), object.name.clone()), facts);
        }
    }

    /// A whole pass, with the status it writes.
    pub fn pass(&mut self) -> Plan {
        let plan = self.plan();
        self.apply(&plan);
        if plan.write {
            self.label_nodes(&plan);
        }
        self.config_mut().status = Some(self.status(&plan));
        plan
    }

    pub fn status(&mut self, plan: &Plan) -> WindowsNodeConfigStatus {
        self.status_after(plan, &Applied::default())
    }

    pub fn status_after(&mut self, plan: &Plan, applied: &Applied) -> WindowsNodeConfigStatus {
        let cluster = ClusterContext::of(&self.config().spec, &self.observed, plan);
        let known = self.table.iter().map(|(name, _)| name.to_owned());
        let all: BTreeSet<_> = known.chain(self.observed.nodes.keys().cloned()).collect();
        for node in all {
            self.table.judge(&node, &self.observed, &cluster, self.now);
        }
        let settled = Settled {
            lint: &self.lint,
            generation: self.config().metadata.generation,
            observed: &self.observed,
            plan,
            applied,
            nodes: status::Nodes {
                table: &self.table,
                cluster: &cluster,
            },
        };
        assemble(self.config(), Outcome::Settled(settled), self.now)
    }

    /// The CR is deleted: Calico is restored.
    pub fn restore(&mut self) -> Restoration {
        let restoration = restore::restoration(&self.originals(), &self.observed);
        restoration.writes.iter().for_each(|w| self.store.execute(w));
        self.look();
        restoration
    }

    /// Every pod of both DaemonSets runs on every Windows node, and works.
    pub fn roll_out(&mut self) {
        let selector = &self.config().spec.node_selector;
        let selected = wn_plan::selection::nodes(selector, &self.observed);
        let nodes: Vec<_> = selected.map(|(name, _)| name.to_owned()).collect();
        for (i, node) in nodes.iter().enumerate() {
            set_up(&mut self.observed, node, i);
        }
        let label = |node: &String| {
            self.observed.nodes[node]
                .labels
                .get(KUBE_PROXY_GROUP)
                .map(str::to_owned)
        };
        let labels: BTreeMap<_, _> = nodes.iter().map(|node| (node.clone(), label(node))).collect();
        for ((_, name), facts) in self.observed.daemon_sets.iter_mut().filter(|(_, f)| f.ours) {
            let (component, dsr) = (facts.component, facts.dsr);
            let of_group = match name.as_str() {
                kube_proxy::DAEMON_SET => Some(None),
                kube_proxy::NO_DSR_DAEMON_SET => Some(Some(kube_proxy::NO_DSR)),
                _ => None,
            };
            let selected: Vec<_> = labels
                .iter()
                .filter(|(_, label)| of_group.is_none_or(|group| group == label.as_deref()))
                .map(|(node, _)| node)
                .collect();
            let count = i32::try_from(selected.len()).unwrap();
            *facts = DaemonSetFacts {
                desired: count,
                updated: count,
                ready: count,
                current: true,
                ..facts.clone()
            };
            for node in selected {
                let pod = PodFacts {
                    ready: true,
                    dsr,
                    ..pod(component, node)
                };
                // One of each component a node, whichever DaemonSet made it.
                let name = of_group.map_or(name.as_str(), |_| kube_proxy::DAEMON_SET);
                self.observed
                    .pods
                    .insert((NAMESPACE.into(), format!("{name}-{node}")), pod);
            }
        }
    }

    /// What the writer of nodes does to labels, after a pass that decided on groups.
    fn label_nodes(&mut self, plan: &Plan) {
        let cluster = ClusterContext::of(&self.config().spec, &self.observed, plan);
        for node in self.observed.nodes.values_mut() {
            let others = node.labels.iter().filter(|(name, _)| *name != KUBE_PROXY_GROUP);
            let group = cluster.label(node).map(|group| (KUBE_PROXY_GROUP, group));
            node.labels = others.chain(group).collect();
        }
    }
}

/// What Calico's agent leaves behind on the API when it has set up a node.
pub fn set_up(observed: &mut Observed, node: &str, i: usize) {
    let key = (String::new(), node.to_owned());
    let net = format!("10.{}.{}", 100 + i / 256, i % 256);
    let block = BlockFacts {
        cidr: format!("{net}.0/26").parse().ok(),
        host: node.to_owned(),
        reserved: true,
        ..BlockFacts::default()
    };
    let affinity = AffinityFacts {
        node: node.to_owned(),
        cidr: format!("{net}.0/26"),
        confirmed: true,
    };
    observed.calico.blocks.insert(key.clone(), block);
    observed.calico.affinities.insert(key, affinity);
    if let Some(facts) = observed.nodes.get_mut(node) {
        facts.tunnel_address = format!("{net}.1");
        facts.tunnel_mac = "00:15:5d:00:00:01".into();
        facts.bgp_address = "192.168.0.1/24".into();
    }
}

/// A pod that runs and is not ready.
pub fn pod(component: Component, node: &str) -> PodFacts {
    PodFacts {
        component,
        node: node.to_owned(),
        unscheduled: None,
        ready: false,
        deleting: false,
        created: None,
        turned: None,
        started: None,
        startup: None,
        vni: None,
        trouble: None,
        crashed: None,
        version: None,
        dsr: None,
    }
}

/// The writes of a plan, one line each, for tables a person can read.
pub fn lines(plan: &Plan) -> Vec<String> {
    plan.calico
        .writes
        .iter()
        .flat_map(|w| &w.changes)
        .map(status::describe)
        .collect()
}

/// Reason and message of each finding.
pub fn findings(plan: &Plan) -> Vec<String> {
    plan.calico
        .findings
        .iter()
        .map(|f| format!("{}: {}", f.reason.as_str(), f.message))
        .collect()
}
