//! Verdicts on nodes whose network agent does not work.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use serde_json::Value;
use wn_api::node_reasons::NodeReason as Reason;
use wn_e2e::control_plane::NodeSpec;
use wn_e2e::objects::text;
use wn_e2e::simulator::{App, Fault, NodeFault};
use wn_e2e::test_cluster::TestCluster;

use super::base::*;

/// Waits until the node has this reason in one of these states; its line in the status.
async fn line(test: &TestCluster, node: &str, reason: Reason, states: &[&str]) -> Result<Value> {
    test.until(&format!("{node} is {states:?} {reason}"), async || {
        let config = test.config().await?;
        let list = config.pointer("/status/nodes/list").and_then(Value::as_array);
        let found = list.into_iter().flatten().find(|n| n["name"] == node).cloned();
        Ok(found.filter(|n| n["reason"] == reason.as_str() && states.contains(&text(n, "/state"))))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_network_agent() -> Result<()> {
    let mut test = test_cluster().await?;
    install_flannel(&test, "host-gw").await?;
    test.start_operator().await?;
    test.apply(spec("FlannelHostGateway")).await?;
    test.ready().await?;
    // Otherwise what is under way would be no failure yet.
    test.simulator
        .age("windows-0", SignedDuration::from_hours(1))
        .await?;
    // The termination message of a container stays: the fault without an end comes first.
    let rows = [
        (
            Reason::NetworkAgentNotReady,
            NodeFault::Agents(Fault::NetworkAgentNotReady),
            "Progressing",
        ),
        (
            Reason::NetworkAgentCrashLooping,
            NodeFault::Agents(Fault::NetworkAgentCrash("panic: runtime error")),
            "Failing",
        ),
        (
            Reason::PodCIDRMissing,
            NodeFault::Agents(Fault::NetworkAgentCrash(
                "failed to acquire lease: node \"windows-0\" pod cidr not assigned",
            )),
            "Failing",
        ),
        (
            Reason::NetworkAgentImagePullFailed,
            NodeFault::Successor(App::NetworkAgent, Fault::NetworkAgentImagePull),
            "Failing",
        ),
        (
            Reason::NetworkAgentNotScheduled,
            NodeFault::NoRoom(App::NetworkAgent),
            "Progressing",
        ),
    ];
    for (reason, fault, state) in rows {
        let repair = test.simulator.break_node("windows-0", &fault).await?;
        let found = line(&test, "windows-0", reason, &[state, "Failing"]).await?;
        ensure!(!text(&found, "/message").is_empty(), "{found}");
        repair.run().await?;
        test.ready().await?;
    }

    // Nothing of Calico's networking is asked of such a node.
    let node = test.node("windows-0").await?.to_string();
    ensure!(!node.contains("projectcalico.org/"), "{node}");
    test.cluster.add_node(NodeSpec::windows("windows-1")).await?;
    line(
        &test,
        "windows-1",
        Reason::PodCIDRMissing,
        &["Progressing", "Failing"],
    )
    .await?;
    assign_pod_cidr(&test, "windows-1", "10.244.2.0/24").await?;
    test.ready().await
}
