//! The life of an agent on a node, in order: what each program does.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::fixture::{AgentFixture, NEIGHBOUR, NODE};
use super::network::Kind;
use crate::hns::{Acl, Endpoint};
use crate::objects::text;

const KUBECONFIG: &str = "C:/etc/cni/net.d/calico-kubeconfig";
/// Of `node-service.ps1`.
pub const STARTUP: [&str; 3] = [
    "$env:CONTAINER_SANDBOX_MOUNT_POINT/CalicoWindows/calico-node.exe",
    "-startup",
    "-complete-startup",
];
const MONITOR_TOKEN: &[&str] = &[
    "$env:CONTAINER_SANDBOX_MOUNT_POINT/CalicoWindows/calico-node.exe",
    "-monitor-token",
];
/// Of `felix-service.ps1`.
const FELIX: &[&str] = &[
    "$env:CONTAINER_SANDBOX_MOUNT_POINT/CalicoWindows/calico-node.exe",
    "-felix",
];
const POD: &str = "served";
const CLIENT: &str = "client";
const CLIENT_IP: &str = "10.99.0.7";
/// Where Calico's CNI plugin gives it none.
const POD_IP: &str = "10.245.0.10";
/// Time for Felix to act on a change, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(90);
/// For one probe: `timeoutSeconds` of the pod, and what a loaded machine takes.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);

pub struct Step {
    pub name: &'static str,
    pub kinds: &'static [Kind],
    /// What must come out, where that is the same on every network.
    pub goal: &'static str,
    go: for<'a> fn(&'a mut AgentFixture) -> LocalBoxFuture<'a, Result<String>>,
}

impl Step {
    /// What was found; an error where it is not what it must be.
    pub async fn go(&self, fixture: &mut AgentFixture) -> Result<String> {
        let found = (self.go)(fixture).await?;
        ensure!(
            self.goal.is_empty() || found == self.goal,
            "{found}, not {}",
            self.goal
        );
        Ok(found)
    }
}

const CALICOS: &[Kind] = &[Kind::Vxlan, Kind::Bgp];
const EVERY: &[Kind] = &[Kind::Vxlan, Kind::Bgp, Kind::PolicyOnly];

pub const STEPS: &[Step] = &[
    Step {
        name: "installer",
        kinds: CALICOS,
        goal: "CNI configuration and kubeconfig",
        go: |fixture| installer(fixture).boxed_local(),
    },
    Step {
        name: "startup",
        kinds: EVERY,
        goal: "",
        go: |fixture| startup(fixture).boxed_local(),
    },
    Step {
        name: "token refresher",
        kinds: CALICOS,
        goal: "a new token",
        go: |fixture| token_refresher(fixture).boxed_local(),
    },
    Step {
        name: "Felix",
        kinds: EVERY,
        goal: "ready",
        go: |fixture| felix(fixture).boxed_local(),
    },
    Step {
        name: "CNI ADD",
        kinds: CALICOS,
        goal: "an attached endpoint in the node's block",
        go: |fixture| cni_add(fixture).boxed_local(),
    },
    Step {
        name: "NetworkPolicy",
        kinds: EVERY,
        goal: "the client's port allowed, all else blocked",
        go: |fixture| policy(fixture).boxed_local(),
    },
    Step {
        name: "another node",
        kinds: &[Kind::Vxlan],
        goal: "a remote subnet with isolation id 4096",
        go: |fixture| remote_subnet(fixture).boxed_local(),
    },
    Step {
        name: "CNI DEL",
        kinds: CALICOS,
        goal: "no endpoint",
        go: |fixture| cni_del(fixture).boxed_local(),
    },
    Step {
        name: "preStop hook",
        kinds: EVERY,
        goal: "",
        go: |fixture| shutdown(fixture).boxed_local(),
    },
    Step {
        name: "refused requests",
        kinds: EVERY,
        goal: "none",
        go: |fixture| refused(fixture).boxed_local(),
    },
];

pub fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

async fn installer(fixture: &mut AgentFixture) -> Result<String> {
    let env = fixture
        .rendered
        .env("install-cni")
        .context("no container install-cni")?;
    let command = words(&["$env:CONTAINER_SANDBOX_MOUNT_POINT/opt/cni/bin/install.exe"]);
    fixture
        .sandbox
        .run(&command, env, fixture.hns.port())
        .await?
        .well()?;
    let list: Value = serde_json::from_str(&fixture.sandbox.read("C:/etc/cni/net.d/10-calico.conflist")?)?;
    let plugin = &list["plugins"][0];
    ensure!(
        plugin["type"] == "calico"
            && plugin["kubernetes"]["kubeconfig"]
                .as_str()
                .is_some_and(|path| path.eq_ignore_ascii_case(KUBECONFIG)),
        "{list}"
    );
    ensure!(plugin["windows_loopback_DSR"] == json!(true), "{list}");
    ensure!(!token(fixture)?.is_empty(), "no token in {KUBECONFIG}");
    Ok("CNI configuration and kubeconfig".to_owned())
}

fn token(fixture: &AgentFixture) -> Result<String> {
    let text = fixture.sandbox.read(KUBECONFIG)?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("token: "));
    Ok(line.unwrap_or_default().trim_matches('"').to_owned())
}

pub async fn start_up(fixture: &AgentFixture) -> Result<crate::windows::Ended> {
    fixture.run("node", &words(&STARTUP)).await
}

async fn startup(fixture: &mut AgentFixture) -> Result<String> {
    start_up(fixture).await?.well()?;
    if fixture.network.kind == Kind::PolicyOnly {
        let reason = fixture.network_reason().await?;
        let made = fixture
            .hns
            .networks()
            .iter()
            .any(|network| network.name == "Calico");
        ensure!(!made, "it made an HNS network");
        ensure!(
            reason != "CalicoIsUp",
            "it says that the node's network is Calico's"
        );
        return Ok("touches neither HNS nor NetworkUnavailable".to_owned());
    }
    let block = fixture.block_of(NODE).await?.context("no block")?;
    let networks = fixture.hns.networks();
    let network = networks.iter().find(|network| network.name == "Calico");
    let network = network.context("no HNS network Calico")?;
    ensure!(network.subnet() == block, "{network:?} is not of block {block}");
    fixture
        .hns
        .endpoint_named("Calico_ep")
        .context("no endpoint Calico_ep")?;
    let reason = fixture.network_reason().await?;
    let node = fixture.test.node(NODE).await?;
    let tunnel = text(
        &node,
        "/metadata/annotations/projectcalico.org~1IPv4VXLANTunnelAddr",
    );
    let id = network.vsid().map_or(String::new(), |vsid| format!(" {vsid}"));
    let tunnel = if tunnel.is_empty() { "" } else { ", tunnel address" };
    Ok(format!("{}{id}, {reason}{tunnel}", network.type_))
}

async fn token_refresher(fixture: &mut AgentFixture) -> Result<String> {
    let before = token(fixture)?;
    fixture.launch("token-refresher", "node", &words(MONITOR_TOKEN))?;
    until("a new token", async || {
        Ok((token(fixture)? != before).then_some(()))
    })
    .await?;
    fixture.running.clear();
    Ok("a new token".to_owned())
}

async fn felix(fixture: &mut AgentFixture) -> Result<String> {
    fixture.launch("felix", "felix", &words(FELIX))?;
    let probe = fixture
        .rendered
        .readiness("felix")
        .context("felix has no readiness probe")?;
    let ready = until("Felix is ready", async || {
        // One that hangs is a failed one, as to the kubelet.
        match tokio::time::timeout(PROBE_LIMIT, fixture.run("felix", &probe)).await {
            Ok(ended) => Ok((ended?.code == Some(0)).then_some(())),
            Err(_) => Ok(None),
        }
    });
    if let Err(error) = ready.await {
        let log = fixture
            .running
            .last()
            .map(crate::control_plane::process::Process::last_words);
        bail!("{error:#}; Felix:\n{}", log.unwrap_or_default());
    }
    Ok("ready".to_owned())
}

async fn cni_add(fixture: &mut AgentFixture) -> Result<String> {
    create_pod(fixture, POD, NODE).await?;
    let namespace = fixture.hns.add_namespace()?;
    let ended = fixture.plugin("ADD", POD, &namespace).await?.well()?;
    let result: Value = serde_json::from_str(&ended.output).with_context(|| ended.output.clone())?;
    let address = text(&result, "/ips/0/address")
        .split('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    let endpoint = endpoint_of(fixture, &address).with_context(|| format!("no endpoint of {address}"))?;
    ensure!(endpoint.is_attached(), "{endpoint:?}");
    let block: ipnet::IpNet = fixture.block_of(NODE).await?.context("no block")?.parse()?;
    ensure!(
        block.contains(&address.parse::<std::net::IpAddr>()?),
        "{address} is not in {block}"
    );
    set_address(fixture, POD, &address).await?;
    Ok("an attached endpoint in the node's block".to_owned())
}

async fn policy(fixture: &mut AgentFixture) -> Result<String> {
    if fixture.network.kind == Kind::PolicyOnly {
        // Another's CNI plugin networks the pod.
        create_pod(fixture, POD, NODE).await?;
        fixture.hns.add_pod(fixture.network.hns_network(), POD_IP)?;
        fixture.hns.attach(POD_IP)?;
        set_address(fixture, POD, POD_IP).await?;
    }
    create_pod(fixture, CLIENT, NEIGHBOUR).await?;
    set_address(fixture, CLIENT, CLIENT_IP).await?;
    let policy = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "from-client", "namespace": "default"},
        "spec": {
            "podSelector": {"matchLabels": {"app": POD}},
            "policyTypes": ["Ingress"],
            "ingress": [{
                "from": [{"podSelector": {"matchLabels": {"app": CLIENT}}}],
                "ports": [{"protocol": "TCP", "port": 8080}],
            }],
        },
    });
    fixture.test.create("networkpolicies", policy).await?;
    let pod = fixture
        .test
        .cluster
        .kubectl(&["get", "pod", POD, "-o", "jsonpath={.status.podIP}"])
        .await?;
    let acls = || endpoint_of(fixture, pod.trim()).map(|endpoint| endpoint.acls());
    let found = until("the policy is programmed", async || {
        Ok(acls().filter(|acls| enforced(acls)).map(drop))
    });
    if let Err(error) = found.await {
        let log = fixture
            .running
            .last()
            .map(crate::control_plane::process::Process::last_words);
        bail!(
            "{error:#}; rules {:#?}; Felix:\n{}",
            acls(),
            log.unwrap_or_default()
        );
    }
    Ok("the client's port allowed, all else blocked".to_owned())
}

/// HNS takes the rule with the lowest number first.
fn enforced(acls: &[Acl]) -> bool {
    let inward = |acl: &&Acl| acl.direction == "In" && acl.rule_type == "Switch";
    let allowed = acls
        .iter()
        .filter(inward)
        .find(|acl| acl.action == "Allow" && acl.remote_addresses.contains(CLIENT_IP));
    let blocked = acls
        .iter()
        .filter(inward)
        .find(|acl| acl.action == "Block" && acl.remote_addresses.is_empty());
    allowed.zip(blocked).is_some_and(|(allowed, blocked)| {
        allowed.protocols == "6" && allowed.local_ports == "8080" && allowed.priority < blocked.priority
    })
}

async fn remote_subnet(fixture: &mut AgentFixture) -> Result<String> {
    let block = fixture
        .block_of(NEIGHBOUR)
        .await?
        .context("the neighbour has no block")?;
    let found = until("the neighbour's block", async || {
        let networks = fixture.hns.networks();
        let mut all = networks.iter().flat_map(|network| network.remote_subnets());
        Ok(all.find(|subnet| subnet.destination_prefix == block))
    });
    Ok(format!(
        "a remote subnet with isolation id {}",
        found.await?.isolation_id
    ))
}

async fn cni_del(fixture: &mut AgentFixture) -> Result<String> {
    let pod = fixture
        .test
        .cluster
        .kubectl(&["get", "pod", POD, "-o", "jsonpath={.status.podIP}"])
        .await?;
    let namespace = fixture.hns.namespace().context("no namespace")?;
    fixture.plugin("DEL", POD, &namespace).await?.well()?;
    Ok(if endpoint_of(fixture, pod.trim()).is_some() {
        "the endpoint stays"
    } else {
        "no endpoint"
    }
    .to_owned())
}

async fn shutdown(fixture: &mut AgentFixture) -> Result<String> {
    fixture.running.clear();
    let hooks = fixture.rendered.pre_stop();
    for (container, command) in &hooks {
        fixture.run(container, command).await?.well()?;
    }
    let of: Vec<_> = hooks.iter().map(|(container, _)| container.as_str()).collect();
    let of = if of.is_empty() {
        "none".to_owned()
    } else {
        format!("of {}", of.join(", "))
    };
    Ok(match fixture.network_reason().await?.as_str() {
        "" => of,
        reason => format!("{of}, {reason}"),
    })
}

async fn refused(fixture: &mut AgentFixture) -> Result<String> {
    let all = fixture.refused()?;
    Ok(if all.is_empty() {
        "none".to_owned()
    } else {
        all.join(", ")
    })
}

fn endpoint_of(fixture: &AgentFixture, address: &str) -> Option<Endpoint> {
    fixture
        .hns
        .endpoints()
        .into_iter()
        .find(|endpoint| !endpoint.is_remote() && endpoint.address() == address)
}

async fn create_pod(fixture: &AgentFixture, name: &str, node: &str) -> Result<()> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example/app"}]},
    });
    fixture.test.create("pods", pod).await?;
    // kwok gives it an address of its own, before which the real one would be lost.
    let ready = ["wait", "pod", name, "--for=condition=Ready", "--timeout=60s"];
    fixture.test.cluster.kubectl(&ready).await.map(drop)
}

/// As the kubelet writes it.
async fn set_address(fixture: &AgentFixture, pod: &str, address: &str) -> Result<()> {
    let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}}).to_string();
    let words = [
        "patch",
        "pod",
        pod,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ];
    fixture.test.cluster.kubectl(&words).await.map(drop)
}

async fn until<T>(what: &str, look: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("{what}: not within {LIMIT:?}")
}
