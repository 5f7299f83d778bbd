//! The second part: faults are injected, reported, and repaired by the operator or by a person.

use anyhow::{Context as _, Result};
use serde_json::Value;
use wn_api::calico::ConfigKind;
use wn_api::names;

use super::live::{Live, is_ready};
use crate::control_plane::Cluster;
use crate::objects::{self, text};
use crate::simulator::{NodeFault, Simulator, words};

/// Older than anything Calico runs on.
const OLD_BUILD: &str = "10.0.20348.100";

pub async fn act(
    cluster: &Cluster,
    simulator: &Simulator,
    [first, last]: &[String; 2],
    live: &mut Live,
    say: &dyn Fn(&str),
) -> Result<()> {
    let client = cluster.client();
    let calico_api = objects::calico_api(&client).await?.context("Calico is there")?;
    let (_, plural) = objects::served(calico_api, ConfigKind::IpamConfiguration);
    let resource = format!("{plural}.{}", calico_api.group());
    say(&format!(
        "\n$ kubectl patch {resource} default -p '{{\"spec\":{{\"strictAffinity\":false}}}}'    # by hand, and it is repaired"
    ));
    let patch = [
        "patch",
        &resource,
        names::SINGLETON,
        "--type=merge",
        "-p",
        r#"{"spec":{"strictAffinity":false}}"#,
    ];
    cluster.kubectl(&patch).await?;
    live.until(&client, say, |o| text(o, "/reason") == "DriftRepaired")
        .await?;

    say(&format!(
        "\n# {last} runs Windows {OLD_BUILD}; the CNI plugin on {first} lost its token"
    ));
    let old = simulator.break_node(last, &NodeFault::Kernel(OLD_BUILD)).await?;
    let token = simulator
        .break_node(first, &NodeFault::Sandbox(words::UNAUTHORIZED))
        .await?;
    let reasons = ["OSBuildUnsupported", "CNITokenInvalid"];
    live.until(&client, say, |o| reasons.iter().all(|reason| is_found(o, reason)))
        .await?;

    say(&format!("\n# {last} is updated, the token on {first} renewed"));
    old.run().await?;
    token.run().await?;
    live.until(&client, say, is_ready).await
}

/// Was the reason found on any node?
fn is_found(config: &Value, reason: &str) -> bool {
    let found = config.pointer("/status/nodes/reasons").and_then(Value::as_array);
    found.into_iter().flatten().any(|r| r["reason"] == reason)
}
