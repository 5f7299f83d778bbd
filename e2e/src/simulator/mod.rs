//! Windows nodes without Windows: kwok keeps the nodes and all other pods, this does what Calico's agent
//! and kube-proxy would do on them, and fails where they fail.
//!
//! Invariant: an agent is judged by nothing but what it would read itself, that is its pod's environment,
//! arguments and ConfigMaps, and Calico's objects. Nothing here knows the operator, and no rule is taken
//! from it: each names the upstream source it comes from.

mod agent;
mod agent_run;
mod cache;
mod claim;
mod cni_config;
mod containers;
mod discovery;
mod engine;
mod failure;
mod faults;
mod feeds;
mod gates;
mod hostname_hash;
pub(crate) mod ipam;
mod kube_proxy;
mod network_agent;
mod node;
mod node_faults;
mod pod_status;
mod rights;
mod seen;
mod selector;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use tokio::task::JoinHandle;

pub(crate) use containers::{Env, Files, Resolved, all_containers};
pub use faults::Fault;
pub use node_faults::{App, NodeFault, Repair, words};

/// What a pod's containers are given, with these ConfigMaps.
pub(crate) fn resolve(pod: &Pod, config_maps: &containers::ConfigMaps) -> Result<Vec<containers::Resolved>> {
    let context = containers::PodContext {
        config_maps,
        cluster_ip: None,
        node_ip: "",
    };
    containers::resolve(pod, &context).map_err(|why| anyhow!("{why:?}"))
}

/// Runs until it is dropped.
pub struct Simulator {
    shared: Arc<engine::Shared>,
    task: JoinHandle<()>,
}

impl Simulator {
    /// Needs the rights of a cluster administrator. Calico may be installed later.
    pub fn start(client: Client) -> Self {
        let (shared, woken) = engine::Shared::new(client);
        let shared = Arc::new(shared);
        let task = tokio::spawn(engine::run(Arc::clone(&shared), woken));
        Self { shared, task }
    }

    /// Makes `fault` happen on `node`, until `clear`.
    pub fn inject(&self, node: &str, fault: Fault) {
        self.shared.faults().insert(node, fault);
        self.shared.wake(node);
    }

    /// Takes back every fault of `node`.
    pub fn clear(&self, node: &str) {
        self.shared.faults().clear(node);
        self.shared.wake(node);
    }

    /// What the agents on `node` would have in their logs: `<container>: <why it is not ready>`.
    pub fn problems(&self, node: &str) -> Vec<String> {
        self.shared.problems(node)
    }

    /// The same of every node on which one is not ready.
    pub fn all_problems(&self) -> BTreeMap<String, Vec<String>> {
        self.shared.all_problems()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod live_tests;
