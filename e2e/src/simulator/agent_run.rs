//! An agent's start: all its rules, then everything a successful start writes, then whether Felix gets in sync.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Client, Error, ResourceExt as _};
use wn_api::calico::CalicoApi;

use super::agent::{self, AgentInput};
use super::claim::{self, Claim};
use super::containers::Resolved;
use super::discovery;
use super::engine::Shared;
use super::failure::{Failure, Kind, refuse};
use super::faults::Fault;
use super::ipam::{self, Cidr, Pool};
use super::kube_proxy::Network;
use super::node::{Seen, View, failed, given, is_host_process, now, start_id};
use super::pod_status::Outcome;
use super::rights;

/// What becomes of the agent in `pod` now.
pub async fn look(shared: &Shared, view: &mut View, pod: &Pod) -> Result<Seen, Error> {
    let id = start_id(pod);
    let rivals = view.agents.len().saturating_sub(1);
    if rivals > 0 {
        view.run.started.remove(&id);
    }
    let crash = view.faults.iter().find_map(|fault| fault.agent_crash());
    if crash.is_some() {
        view.run.started.remove(&id);
    }
    if !view.run.started.contains_key(&id) {
        let given = match given(shared, view, pod, Fault::AgentImagePull) {
            Ok(given) => given,
            Err(seen) => return Ok(seen),
        };
        if let Some(words) = crash {
            return Ok(failed(view, pod, "node", Failure::exit(words)));
        }
        let started = match start_agent(shared, view, pod, &given, rivals).await {
            // Start-up and Felix try again every second, and nothing wakes us when a role changes.
            Err(Error::Api(status)) if status.code == 403 => {
                shared.wake_later(&view.node.name_any());
                refuse(true, Kind::Waits, rights::unauthorized(&status.message))
            }
            result => result?,
        };
        if let Err(failure) = started {
            let first = given.first().map_or("", |one| one.name.as_str());
            let container = if failure.kind == Kind::Exit {
                "install-cni"
            } else {
                first
            };
            return Ok(failed(view, pod, container, failure));
        }
        view.run.started.insert(id, view.at.clone());
    }
    if view.faults.contains(&Fault::AgentNotReady) {
        return Ok((Outcome::Running, Some("felix is not ready: injected".to_owned())));
    }
    Ok((Outcome::Ready, None))
}

/// All the rules, then everything a successful start writes, then Felix.
async fn start_agent(
    shared: &Shared,
    view: &mut View,
    pod: &Pod,
    given: &[Resolved],
    rivals: usize,
) -> Result<Result<(), Failure>, Error> {
    let container = |name: &str| given.iter().find(|one| one.name == name);
    let client = rights::client(&shared.client, pod);
    let Some(Resolved { env, image, .. }) = container("node") else {
        return Ok(Err(Failure {
            kind: Kind::Waits,
            message: "the pod has no container node".to_owned(),
        }));
    };
    let node = Arc::clone(&view.node);
    let name = node.name_any();
    let (api, before_ipam, verdict, no_config, (networked, asks_ipam)) = {
        let cache = shared.cache();
        let served = cache
            .definitions
            .iter()
            .filter_map(|one| discovery::ipam_group(one));
        let api = discovery::api(env, &served.map(str::to_owned).collect());
        let calico = api.map(|api| cache.calico(api));
        let pools: Vec<Pool> = calico
            .into_iter()
            .flat_map(|calico| calico.pools.values().cloned())
            .collect();
        let input = AgentInput {
            host_process: is_host_process(pod),
            install: container("install-cni").map(|one| &one.env),
            node: env,
            node_name: &name,
            node_labels: node.labels(),
            node_ip: view.ip.as_deref(),
            cluster_ip: cache.cluster_ip.as_deref(),
            api_served: calico.is_some_and(|calico| calico.complete),
            strict_affinity: calico.and_then(|calico| calico.strict_affinity),
            pools: &pools,
            pod_cidr: node.spec.as_ref().is_some_and(|s| s.pod_cidr.is_some()),
            has_block: calico.is_some_and(|calico| ipam::block_of(&calico.blocks(), &name).is_some()),
            rivals,
        };
        let networked = agent::networked(&input);
        let asks_ipam = agent::asks_ipam(&input);
        let before_ipam = agent::before_ipam(&input).is_ok();
        let no_config = asks_ipam && input.strict_affinity.is_none() && before_ipam;
        let verdict = agent::start(&input);
        (api, before_ipam, verdict, no_config, (networked, asks_ipam))
    };
    let no_default_pools = env.get("NO_DEFAULT_POOLS").is_some_and(|value| value == "true");
    if let Some(api) = api.filter(|_| before_ipam) {
        if !no_default_pools {
            claim::ensure_pool(&client, api).await?;
        }
        if let Some(version) = rights::version(image) {
            claim::announce(&client, api, version).await?;
        }
    }
    if let Some(api) = api.filter(|_| no_config) {
        claim::ensure_config(&client, api).await?;
    }
    let (Ok(()), Some(api)) = (&verdict, api) else {
        return Ok(verdict);
    };
    let overlay = env
        .get("CALICO_NETWORKING_BACKEND")
        .is_some_and(|backend| backend == "vxlan");
    let block = if asks_ipam {
        let Some(block) = ensure_block(shared, &client, api, &node).await? else {
            // `noFreeBlocksError`, `libcalico-go/lib/ipam`.
            return Ok(Err(Failure {
                kind: Kind::Waits,
                message: "No Free Blocks".to_owned(),
            }));
        };
        Some(block)
    } else {
        None
    };
    if networked {
        view.run.network = Some(if overlay {
            Network::Overlay
        } else {
            Network::L2Bridge
        });
    }
    let ip = view.ip.as_deref().unwrap_or_default();
    let mut patch = claim::node_patch(ip, block.filter(|_| overlay), &now());
    if !networked {
        // Recorded from v3.32.1: without networking neither `-startup` nor `-shutdown` touches the condition.
        patch["status"] = serde_json::json!({});
    }
    claim::annotate(&client, &node, &patch).await?;
    let synced = rights::felix(&client, &shared.lists, env, api, image).await?;
    if synced.is_err() {
        shared.wake_later(&name);
    }
    Ok(synced)
}

/// `EnsureBlock`: the node's own block, else a free one. `None` when there is none.
async fn ensure_block(
    shared: &Shared,
    client: &Client,
    api: CalicoApi,
    node: &Node,
) -> Result<Option<Cidr>, Error> {
    let name = node.name_any();
    loop {
        let candidate = {
            let mut cache = shared.cache();
            let calico = cache.calico_mut(api);
            let blocks = calico.blocks();
            let pools: Vec<Pool> = calico.pools.values().cloned().collect();
            let free = || ipam::first_free(&agent::pools(&pools, node.labels()), &blocks);
            let candidate = ipam::block_of(&blocks, &name).or_else(free);
            if let Some(cidr) = candidate {
                calico.book(cidr, Some(&name));
            }
            candidate
        };
        let Some(cidr) = candidate else { return Ok(None) };
        match claim::claim(client, api, cidr, &name, &now()).await? {
            Claim::Mine => return Ok(Some(cidr)),
            Claim::Taken => shared.cache().calico_mut(api).book(cidr, None),
        }
    }
}
