//! One installation: how the container is confined, what it takes, and what happens when parts of the node are killed.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use kube::{Client, Config};
use serde_json::{Value, json};
use wn_e2e::calico_fields::IPAM;
use wn_e2e::objects::text;
use wn_e2e::operator::{MEMORY_LIMIT, NAME, USER};
use wn_e2e::real_node::Container;
use wn_e2e::test_cluster::{LIMIT, minimal};

use super::{Real, WINDOWS_NODES};

const MIB: u64 = 1024 * 1024;
/// What a user may expect with a few Windows nodes: half of the limit.
const MEMORY_GOAL: u64 = MEMORY_LIMIT / 2;

#[tokio::test(flavor = "multi_thread")]
async fn the_image_runs_as_the_chart_confines_it() -> Result<()> {
    let Some(real) = Real::start("real_node_pod").await? else {
        return Ok(());
    };
    for pod in real.pods().await? {
        ensure!(restarts(&pod) == 0, "it was restarted: {pod:#}");
        confined(&real.node.container(&pod)?)?;
    }
    real.test.apply(minimal("CalicoVXLAN")).await?;
    real.test.ready().await?;
    for pod in real.pods().await? {
        println!(
            "{WINDOWS_NODES} Windows nodes: {}",
            memory(&real.node.container(&pod)?)?
        );
    }
    metrics_through_the_service(&real).await?;

    // A kubelet that starts requests new tokens; the operator reads them within a minute, without a restart.
    let before = credentials(&real, Timestamp::UNIX_EPOCH)?;
    let restarted = Timestamp::now();
    real.node.kill("kubelet")?;
    new_token(&real, &before, restarted).await?;
    repaired(&real).await?;
    real.node.kill("containerd")?;
    repaired(&real).await?;
    a_killed_container_is_started_again(&real).await?;
    real.test.delete_and_wait().await
}

fn restarts(pod: &Value) -> u64 {
    let count = pod.pointer("/status/containerStatuses/0/restartCount");
    count.and_then(Value::as_u64).unwrap_or_default()
}

/// By what the kernel says of the process, not by what the pod asks for.
fn confined(container: &Container) -> Result<()> {
    let ids = "65532 65532 65532 65532";
    let expected = [
        ("Uid", ids),
        ("Gid", ids),
        ("CapEff", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("NoNewPrivs", "1"),
        // With a filter.
        ("Seccomp", "2"),
    ];
    for (field, value) in expected {
        let found = container.status(field)?;
        ensure!(found == value, "{field} is {found}, not {value}");
    }
    let options = container.root_options()?;
    ensure!(
        options.split(',').any(|option| option == "ro"),
        "the root is {options}"
    );
    Ok(())
}

/// What it takes, for people.
fn memory(container: &Container) -> Result<String> {
    let (memory, resident) = (container.memory(), container.resident()?);
    ensure!(memory.limit == MEMORY_LIMIT, "{memory:?}");
    let most = resident.max(memory.usage);
    ensure!(most <= MEMORY_GOAL, "{resident} B, {memory:?}");
    let [resident, usage] = [resident, memory.usage].map(|bytes| bytes as f64 / MIB as f64);
    Ok(format!(
        "{resident:.1} MiB resident, {usage:.1} MiB in the cgroup"
    ))
}

/// kube-proxy leads from the ClusterIP to a pod.
async fn metrics_through_the_service(real: &Real) -> Result<()> {
    real.upgrade("service.enabled=true").await?;
    let address =
        format!("get service {NAME} -n {NAME} -o jsonpath={{.spec.clusterIP}}:{{.spec.ports[0].port}}");
    let address: SocketAddr = real.kubectl(&address).await?.parse()?;
    let (local, _relay) = real.node.reach(address).await?;
    let client = Client::try_from(Config::new(format!("http://{local}").parse()?))?;
    real.test
        .until("metrics through the Service", async || {
            let request = http::Request::get("/metrics").body(Vec::new())?;
            let text = client.request_text(request).await.unwrap_or_default();
            Ok(text.contains("windows_node_operator_leader").then_some(()))
        })
        .await
}

/// Somebody changes what the operator set, and it is repaired.
async fn repaired(real: &Real) -> Result<()> {
    let edit = real
        .test
        .edit(IPAM, "default", json!({"strictAffinity": false}), "kubectl-edit");
    edit.await?;
    let field = real.test.field(IPAM, "default", "strictAffinity", json!(true));
    field.await.with_context(|| real.node.logs())
}

/// While the kubelet starts it again, the other replica repairs.
async fn a_killed_container_is_started_again(real: &Real) -> Result<()> {
    let leader = real.leader().await?;
    let name = text(&leader, "/metadata/name").to_owned();
    let before = restarts(&leader);
    real.node.container(&leader)?.kill()?;
    repaired(real).await?;
    real.test
        .until(&format!("{name} is restarted and ready"), async || {
            let pod = real.pod(&name).await?;
            let ready = pod.pointer("/status/containerStatuses/0/ready") == Some(&json!(true));
            Ok((restarts(&pod) == before + 1 && ready).then_some(()))
        })
        .await
        .with_context(|| real.node.logs())
}

/// Tokens that the operator has used since a moment.
fn credentials(real: &Real, since: Timestamp) -> Result<BTreeSet<String>> {
    let log = real.test.cluster.audit_log()?.since(since);
    Ok(log
        .by(USER)
        .iter()
        .map(|event| event.credential.clone())
        .collect())
}

async fn new_token(real: &Real, before: &BTreeSet<String>, since: Timestamp) -> Result<()> {
    ensure!(!before.is_empty() && !before.contains(""), "{before:?}");
    // The operator reads the file once a minute.
    for _ in 0..2 {
        let seen = real.test.until("a request with a new token", async || {
            let now = credentials(real, since)?;
            Ok((!now.is_subset(before)).then_some(()))
        });
        if seen.await.is_ok() {
            return Ok(());
        }
    }
    anyhow::bail!(
        "no request with a new token within {:?}\n{}",
        LIMIT * 2,
        real.node.logs()
    )
}
