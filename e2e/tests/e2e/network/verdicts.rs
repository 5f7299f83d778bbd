//! What is said of nodes whose network agent does not do its work.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use serde_json::Value;
use wn_api::node_reasons::NodeReason as Reason;
use wn_e2e::control_plane::NodeSpec;
use wn_e2e::objects::text;
use wn_e2e::simulator::{App, Fault, Mishap};
use wn_e2e::stage::Stage;

use super::base::*;

/// Waits until the node has this reason in one of these states; its line in the status.
async fn line(stage: &Stage, node: &str, reason: Reason, states: &[&str]) -> Result<Value> {
    stage
        .until(&format!("{node} is {states:?} {reason}"), async || {
            let config = stage.config().await?;
            let list = config.pointer("/status/nodes/list").and_then(Value::as_array);
            let found = list.into_iter().flatten().find(|n| n["name"] == node).cloned();
            Ok(found.filter(|n| n["reason"] == reason.as_str() && states.contains(&text(n, "/state"))))
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_network_agent() -> Result<()> {
    let mut stage = stage().await?;
    install_flannel(&stage, "host-gw").await?;
    stage.start().await?;
    stage.apply(spec("FlannelHostGateway")).await?;
    stage.ready().await?;
    // Otherwise what is under way would be no failure yet.
    stage
        .simulator
        .age("windows-0", SignedDuration::from_hours(1))
        .await?;
    // What a container last said stays with it: the one that never ended comes first.
    let rows = [
        (
            Reason::NetworkAgentNotReady,
            Mishap::Agents(Fault::NetworkAgentNotReady),
            "Progressing",
        ),
        (
            Reason::NetworkAgentCrashLooping,
            Mishap::Agents(Fault::NetworkAgentCrash("panic: runtime error")),
            "Failing",
        ),
        (
            Reason::PodCIDRMissing,
            Mishap::Agents(Fault::NetworkAgentCrash(
                "failed to acquire lease: node \"windows-0\" pod cidr not assigned",
            )),
            "Failing",
        ),
        (
            Reason::NetworkAgentImagePullFailed,
            Mishap::Successor(App::NetworkAgent, Fault::NetworkAgentImagePull),
            "Failing",
        ),
        (
            Reason::NetworkAgentNotScheduled,
            Mishap::NoRoom(App::NetworkAgent),
            "Progressing",
        ),
    ];
    for (reason, mishap, state) in rows {
        let mend = stage.simulator.befall("windows-0", &mishap).await?;
        let found = line(&stage, "windows-0", reason, &[state, "Failing"]).await?;
        ensure!(!text(&found, "/message").is_empty(), "{found}");
        mend.run().await?;
        stage.ready().await?;
    }

    // Nothing of Calico's networking is asked of such a node.
    let node = stage.node("windows-0").await?.to_string();
    ensure!(!node.contains("projectcalico.org/"), "{node}");
    stage.cluster.add_node(NodeSpec::windows("windows-1")).await?;
    line(
        &stage,
        "windows-1",
        Reason::PodCIDRMissing,
        &["Progressing", "Failing"],
    )
    .await?;
    pod_cidr(&stage, "windows-1", "10.244.2.0/24").await?;
    stage.ready().await
}
