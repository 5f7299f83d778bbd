//! What time alone brings and takes: failures that grow old, deadlines that pass. And Events that count.

use anyhow::Result;
use jiff::SignedDuration;
use serde_json::Value;
use wn_e2e::objects::text;
use wn_e2e::simulator::{App, Fault, NodeFault, words};
use wn_e2e::test_cluster::minimal;

use super::support::{
    Complaints, all_ready, condition, eventually, expect_events, line, network_condition, node, node_events,
    nodes_of, ready_crowd, summary,
};

/// Ten minutes less this: what is that old is forgotten so soon.
const SOON: SignedDuration = SignedDuration::from_secs(8);
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Nobody deletes the Event, nobody writes anything: the operator looks at the clock.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sandbox_is_forgotten_after_ten_minutes() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    let old = NodeFault::SandboxBefore(words::MUTEX, WINDOW - SOON);
    let _stays = test.simulator.break_node("win-1", &old).await?;
    let stored = condition(&test, "win-1", "False", "CNIStalled").await?;
    assert!(text(&stored, "/message").contains("default/web-0"), "{stored}");
    summary(&test, "1/2").await?;
    // Older than that counts for nothing, even when it is seen for the first time.
    let older = NodeFault::SandboxBefore(words::MUTEX, WINDOW + SOON);
    let _stays = test.simulator.break_node("win-0", &older).await?;

    condition(&test, "win-1", "True", "AsExpected").await?;
    all_ready(&test, 2).await?;
    test.ready().await?;
    assert_eq!(node_events(&test, "win-0", "CNIStalled", "Warning").await?.0, 0);
    Ok(())
}

/// One Event a reason and node, however often the kubelet tries; another reason is another Event.
#[tokio::test(flavor = "multi_thread")]
async fn retries_of_the_kubelet_are_one_event() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    let mut tries = Vec::new();
    for _ in 0..4 {
        tries.push(
            test.simulator
                .break_node("win-0", &NodeFault::Sandbox(words::UNAUTHORIZED))
                .await?,
        );
        condition(&test, "win-0", "False", "CNITokenInvalid").await?;
    }
    test.event("NodesChanged", "1 node: CNITokenInvalid (win-0)")
        .await?;
    test.quiet().await?;
    assert_eq!(
        node_events(&test, "win-0", "CNITokenInvalid", "Warning").await?.0,
        1
    );

    // A cause of higher rank takes its place, and the first one is listed beside it.
    let full = test
        .simulator
        .break_node("win-0", &NodeFault::BlockExhausted)
        .await?;
    condition(&test, "win-0", "False", "BlockExhausted").await?;
    eventually("the other reason is listed", async || {
        let config = test.config().await?;
        let mut wrong = Complaints::default();
        wrong.equal("reason", &line(&config, "win-0")["reason"], "BlockExhausted");
        wrong.contains(
            "also",
            &line(&config, "win-0")["also"].to_string(),
            "CNITokenInvalid",
        );
        Ok(wrong.0)
    })
    .await?;
    test.quiet().await?;
    assert_eq!(
        node_events(&test, "win-0", "BlockExhausted", "Warning").await?.0,
        1
    );
    full.run().await?;
    for one in tries {
        one.run().await?;
    }
    condition(&test, "win-0", "True", "AsExpected").await?;
    test.event("NodesChanged", "1 node: ready (win-0)").await?;
    Ok(())
}

/// Felix has 70 seconds: before, the node comes up; after, it fails, with an Event.
#[tokio::test(flavor = "multi_thread")]
async fn a_passed_deadline_is_an_event() -> Result<()> {
    const NEARLY: SignedDuration = SignedDuration::from_secs(50);
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    test.simulator.age("win-1", NEARLY).await?;
    let repair = test
        .simulator
        .break_node("win-1", &NodeFault::Agents(Fault::AgentNotReady))
        .await?;
    let state = async |wanted: &str| {
        eventually(&format!("win-1 is {wanted}"), async || {
            let config = test.config().await?;
            let mut wrong = Complaints::default();
            wrong.equal("reason", &line(&config, "win-1")["reason"], "AgentNotReady");
            wrong.equal("state", &line(&config, "win-1")["state"], wanted);
            Ok(wrong.0)
        })
        .await
    };
    state("Progressing").await?;
    let before = condition(&test, "win-1", "False", "AgentNotReady").await?;
    assert_eq!(
        node_events(&test, "win-1", "AgentNotReady", "Warning").await?.0,
        0,
        "coming up is no event"
    );
    state("Failing").await?;
    expect_events(&test, "win-1", "AgentNotReady", "Warning", 1).await?;
    test.event("NodesChanged", "1 node: AgentNotReady (win-1)")
        .await?;
    let after = network_condition(&test.node("win-1").await?).clone();
    assert_eq!(
        before["lastTransitionTime"], after["lastTransitionTime"],
        "it was False all the time"
    );
    repair.run().await?;
    all_ready(&test, 2).await
}

/// Ready between two crashes is not ready; three crashes are many until the last one is ten minutes old.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_counts_until_it_is_old() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    for (app, reason) in [
        (App::Agent, "AgentCrashLooping"),
        (App::KubeProxy, "KubeProxyCrashLooping"),
    ] {
        test.simulator.crashed("win-1", app, 2, WINDOW - SOON).await?;
        test.quiet().await?;
        let config = test.config().await?;
        assert_eq!(nodes_of(&config)["reasons"], Value::Null, "two are a bad start");
        test.simulator.crashed("win-1", app, 3, WINDOW - SOON).await?;
        condition(&test, "win-1", "False", reason).await?;
        condition(&test, "win-1", "True", "AsExpected").await?;
        all_ready(&test, 2).await?;
    }
    Ok(())
}

/// The status is bounded and so are the Events: of a storm the config tells in one sentence.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_is_one_event() -> Result<()> {
    const NODES: usize = 8;
    let test = ready_crowd(NODES, minimal("CalicoVXLAN")).await?;
    test.quiet().await?;
    let mut repairs = Vec::new();
    for number in 0..NODES {
        repairs.push(
            test.simulator
                .break_node(&node(number), &NodeFault::BlockExhausted)
                .await?,
        );
    }
    summary(&test, &format!("0/{NODES}")).await?;
    test.quiet().await?;
    let node_events_in = |events: Vec<String>| {
        let of_blocks = events
            .into_iter()
            .filter(|e| e.starts_with("NodesChanged") && e.contains("BlockExhausted"));
        of_blocks.count()
    };
    let times = node_events_in(test.events().await?);
    assert!(times <= 2, "{times} Events of one storm");
    let message = test.condition("NodesReady", "False", "NodesNotReady").await?;
    assert!(
        message.contains("8 nodes: BlockExhausted (win-0, win-1, win-2"),
        "{message}"
    );
    for repair in repairs {
        repair.run().await?;
    }
    all_ready(&test, NODES).await?;
    test.ready().await
}
