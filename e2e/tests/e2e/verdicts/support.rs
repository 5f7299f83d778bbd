//! What several tests here need: many nodes, and all the places that report a verdict.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::objects::text;
use wn_e2e::test_cluster::{LIMIT, TestCluster};

/// What a block of 64 addresses holds besides Windows' own four: with more there would be advice on every node.
pub const PODS: u32 = 60;
const POLL: Duration = Duration::from_millis(50);

pub fn node(number: usize) -> String {
    format!("win-{number}")
}

/// A node about which there is nothing to say.
pub fn flawless(name: &str) -> NodeSpec {
    NodeSpec::windows(name).max_pods(PODS)
}

/// A running operator and that many nodes, `win-0` and so on; no config yet.
pub async fn crowd(nodes: usize) -> Result<TestCluster> {
    let options = ClusterOptions {
        windows_nodes: 0,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    for number in 0..nodes {
        test.cluster.add_node(flawless(&node(number))).await?;
    }
    Ok(test)
}

/// The same with a config, and everything ready.
pub async fn ready_crowd(nodes: usize, spec: Value) -> Result<TestCluster> {
    let test = crowd(nodes).await?;
    test.apply(spec).await?;
    test.ready().await?;
    all_ready(&test, nodes).await?;
    Ok(test)
}

pub fn spec(taint: &str) -> Value {
    json!({"network": {"type": "CalicoVXLAN"}, "readiness": {"taint": taint}})
}

/// Waits until nothing is complained of any more; the error tells the last complaints.
pub async fn eventually(what: &str, look: impl AsyncFn() -> Result<Vec<String>>) -> Result<()> {
    let began = Instant::now();
    loop {
        let complaints = look().await?;
        if complaints.is_empty() {
            return Ok(());
        }
        if began.elapsed() > LIMIT {
            bail!(
                "{what}: not within {} s\n  {}",
                LIMIT.as_secs(),
                complaints.join("\n  ")
            );
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Complaints about values that are not as expected.
#[derive(Default)]
pub struct Complaints(pub Vec<String>);

impl Complaints {
    pub fn equal(&mut self, what: &str, found: &Value, expected: impl Into<Value>) {
        let expected = expected.into();
        if *found != expected {
            self.0.push(format!("{what} is {found}, not {expected}"));
        }
    }

    pub fn holds(&mut self, what: impl FnOnce() -> String, ok: bool) {
        if !ok {
            self.0.push(what());
        }
    }

    pub fn contains(&mut self, what: &str, found: &str, part: &str) {
        self.holds(
            || format!("{what} is {found:?}, without {part:?}"),
            found.contains(part),
        );
    }
}

/// `status.nodes` of the config.
pub fn nodes_of(config: &Value) -> &Value {
    config.pointer("/status/nodes").unwrap_or(&Value::Null)
}

/// The line about a node in `status.nodes.list`.
pub fn line<'a>(config: &'a Value, node: &str) -> &'a Value {
    let list = nodes_of(config)["list"].as_array();
    let found = list.into_iter().flatten().find(|n| n["name"] == node);
    found.unwrap_or(&Value::Null)
}

/// What `status.nodes.reasons` says of a reason.
pub fn count<'a>(config: &'a Value, reason: &str) -> &'a Value {
    let counts = nodes_of(config)["reasons"].as_array();
    let found = counts.into_iter().flatten().find(|c| c["reason"] == reason);
    found.unwrap_or(&Value::Null)
}

/// Our condition on a Node.
pub fn network_condition(node: &Value) -> &Value {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == NODE_CONDITION);
    found.unwrap_or(&Value::Null)
}

/// Keys of a Node's taints.
pub fn taints(node: &Value) -> Vec<String> {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array);
    let keys = taints.into_iter().flatten().map(|t| text(t, "/key").to_owned());
    keys.collect()
}

/// How often the operator published an Event of a reason on a Node, repetitions included, and the newest note.
pub async fn node_events(test: &TestCluster, node: &str, reason: &str, type_: &str) -> Result<(i64, String)> {
    let mut events = test.events_on("Node", node).await?;
    events.retain(|e| e["reason"] == reason && e["type"] == type_);
    let times = |e: &Value| e.pointer("/series/count").and_then(Value::as_i64).unwrap_or(1);
    events.sort_by_key(|e| text(e, "/eventTime").to_owned());
    let note = events.last().map(|e| text(e, "/note").to_owned());
    Ok((events.iter().map(times).sum(), note.unwrap_or_default()))
}

/// Waits until the operator has published that many Events of a reason on a Node.
pub async fn expect_events(
    test: &TestCluster,
    node: &str,
    reason: &str,
    type_: &str,
    wanted: i64,
) -> Result<()> {
    eventually(&format!("Events {reason} on {node}"), async || {
        let (times, note) = node_events(test, node, reason, type_).await?;
        let mut wrong = Complaints::default();
        wrong.holds(|| format!("{times}, not {wanted}; {note}"), times == wanted);
        Ok(wrong.0)
    })
    .await
}

/// Every Event of the operator, repetitions counted, on the Nodes and on the config.
pub async fn count_events(test: &TestCluster, nodes: usize) -> Result<usize> {
    let mut sum = 0;
    let mut places = vec![("WindowsNodeConfig", "default".to_owned())];
    places.extend((0..nodes).map(|number| ("Node", node(number))));
    for (kind, name) in places {
        for event in test.events_on(kind, &name).await? {
            let times = event
                .pointer("/series/count")
                .and_then(Value::as_u64)
                .unwrap_or(1);
            sum += usize::try_from(times)?;
        }
    }
    Ok(sum)
}

/// Nodes with a reason, as the metrics say.
pub async fn metric(test: &TestCluster, reason: &str) -> Result<Option<f64>> {
    let Some(operator) = &test.operator else {
        return Ok(None);
    };
    let name = format!("windows_node_operator_nodes_by_reason{{reason=\"{reason}\"}}");
    let body = operator.get("/metrics").await?;
    let value = body.lines().find_map(|line| line.strip_prefix(&name));
    Ok(value.and_then(|v| v.trim().parse().ok()))
}

/// Waits until the config counts `ready` of `total` nodes as ready.
pub async fn summary(test: &TestCluster, wanted: &str) -> Result<()> {
    eventually(&format!("{wanted} nodes are ready"), async || {
        let config = test.config().await?;
        let mut wrong = Complaints::default();
        wrong.equal("summary", &nodes_of(&config)["summary"], wanted);
        if !wrong.0.is_empty() {
            wrong.0.push(nodes_of(&config)["reasons"].to_string());
        }
        Ok(wrong.0)
    })
    .await
}

pub async fn all_ready(test: &TestCluster, nodes: usize) -> Result<()> {
    summary(test, &format!("{nodes}/{nodes}")).await
}

/// Waits until our condition on a Node has this status and reason; the condition.
pub async fn condition(test: &TestCluster, node: &str, status: &str, reason: &str) -> Result<Value> {
    let what = format!("condition of {node}: {status} {reason}");
    test.until(&what, async || {
        let condition = network_condition(&test.node(node).await?).clone();
        Ok((condition["status"] == status && condition["reason"] == reason).then_some(condition))
    })
    .await
}
