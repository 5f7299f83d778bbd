//! An L2Bridge, and a route to every other node's pod CIDR (microsoft/SDN `Kubernetes/windows/AddRoutes.ps1`).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wn_api::names::network_agent as names;
use wn_api::reasons::Reason;
use wn_api::spec::WindowsNodeConfigSpec;

use super::profile::{NetworkAgent, NetworkChecks};
use super::reach::{self, Adjacency};
use crate::finding::Finding;
use crate::observed::Observed;
use crate::workload::network_agent::{Parts, STATIC_ROUTES_SCRIPT, cni, env, policies, policy, workload};
use crate::workload::{RenderContext, Workload};

pub struct StaticRoutes;

/// The HNS network that the script makes.
pub const BRIDGE: &str = "cbr0";
/// A ConfigMap holds a mebibyte: about 15 000 nodes, three times as many as Kubernetes is made for.
const LARGEST_TABLE: usize = 1_000_000;

impl NetworkChecks for StaticRoutes {
    fn findings(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        let too_many = (table(observed).len() > LARGEST_TABLE).then(|| Finding {
            reason: Reason::InputInvalid,
            message: "there are more nodes than fit into one ConfigMap: use another network type".to_owned(),
        });
        let found = [too_many, reach::pod_cidr_conflict(observed)];
        found.into_iter().flatten().collect()
    }

    /// Routes of the cloud may lead where a layer 2 network does not, so differing networks are no fault by themselves.
    fn notes(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<String> {
        let routes = "Linux nodes and routers between nodes need routes to the Windows nodes' pod CIDRs, which the API does not show";
        let adjacent = match reach::adjacency(observed) {
            Adjacency::Same => None,
            Adjacency::Different(which) => Some(format!(
                "{which}: routes via the nodes' addresses work on one layer 2 network only, unless the cloud has routes to the nodes"
            )),
            Adjacency::CannotKnow => {
                Some("the API does not show whether all nodes are on one layer 2 network".to_owned())
            }
        };
        std::iter::once(routes.to_owned()).chain(adjacent).collect()
    }
}

pub struct Agent;

impl NetworkAgent for Agent {
    fn daemon_set(&self) -> &'static str {
        names::STATIC_ROUTES_DAEMON_SET
    }

    fn container(&self) -> &'static str {
        names::STATIC_ROUTES_CONTAINER
    }

    fn image(&self) -> &'static str {
        "hns.psm1 and the CNI plugins host-local and win-bridge"
    }

    fn workload(
        &self,
        spec: &WindowsNodeConfigSpec,
        observed: &Observed,
        context: &RenderContext,
    ) -> Option<Workload> {
        let nodes = table(observed);
        (nodes.len() <= LARGEST_TABLE).then_some(())?;
        let parts = Parts {
            name: names::STATIC_ROUTES_DAEMON_SET,
            service_account: names::STATIC_ROUTES_SERVICE_ACCOUNT,
            container: names::STATIC_ROUTES_CONTAINER,
            config_map: names::STATIC_ROUTES_CONFIG_MAP,
            mount: "/etc/static-routes-windows",
            script: STATIC_ROUTES_SCRIPT,
            files: BTreeMap::from([(
                names::CNI_KEY.to_owned(),
                cni(&plugin(&reach::pod_network(observed), context)),
            )]),
            arguments: Vec::new(),
            env: vec![env("HNS_NETWORK", context.hns_network.clone())],
            ready_file: r"C:\run\static-routes\ready",
            health_port: None,
            followed: Some((
                names::STATIC_ROUTES_NODES,
                "/etc/static-routes-windows-nodes",
                BTreeMap::from([(names::NODES_KEY.to_owned(), nodes)]),
            )),
        };
        workload(&spec.network_agent, parts, context)
    }
}

/// One line a node: pod CIDR, address, name.
fn table(observed: &Observed) -> String {
    reach::table(observed)
        .into_iter()
        .map(|(cidr, ip, name)| format!("{cidr} {ip} {name}\n"))
        .collect()
}

/// The pods' gateway is .2, the node's endpoint in the bridge, which host-local would give away: it begins at .3.
fn plugin(pod_network: &str, context: &RenderContext) -> Value {
    let mut policies = policies(pod_network, &["__MANAGEMENT_SUBNET__"], context);
    policies.push(policy(
        "SDNRoute",
        &json!({"DestinationPrefix": "__NODE_IP__/32", "NeedEncap": true}),
    ));
    json!({
        "name": context.hns_network,
        "cniVersion": "0.3.1",
        "type": "win-bridge",
        "apiVersion": 2,
        "capabilities": {"portMappings": true, "dns": true},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "__POD_CIDR__", "rangeStart": "__RANGE_START__"}]]},
        "dns": {"nameservers": context.dns_servers, "search": context.dns_search},
        "policies": policies,
    })
}
