//! The second act: a network policy that Windows does not enforce is found, explained and fixed.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::process::Command;

use super::live::Live;
use crate::control_plane::Cluster;
use crate::fail_open::{self, CODE, NAMESPACE, POLICY};
use crate::objects::{self, text};
use crate::operator::Operator;
use kube::api::{Api, DynamicObject, PostParams};

pub async fn act(cluster: &Cluster, live: &mut Live, say: &dyn Fn(&str)) -> Result<()> {
    let client = cluster.client();
    let calico_api = objects::calico_api(&client).await?.context("Calico is there")?;
    let policy = fail_open::policy(calico_api);
    say(&format!(
        "\n# A pod on a Windows node, and a policy that denies everyone but the pods of the cluster:\n{:#}",
        policy["spec"]
    ));
    cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
    let web = fail_open::deployment("web", false);
    create(cluster, "deployments", web).await?;
    create(cluster, "globalnetworkpolicies", policy).await?;
    live.until(&client, say, |o| text(o, "/reason") == "UnsupportedOnWindows")
        .await?;

    say(&format!("\n$ windows-node-operator explain {CODE}"));
    say(&explain().await?);

    let patch = fail_open::fix().to_string();
    let resource = format!("globalnetworkpolicies.{}", calico_api.group());
    say(&format!(
        "\n$ kubectl patch {resource} {POLICY} --type=merge -p '{patch}'    # the same without a negation"
    ));
    cluster
        .kubectl(&["patch", &resource, POLICY, "--type=merge", "-p", &patch])
        .await?;
    live.until(&client, say, is_fixed).await
}

async fn create(cluster: &Cluster, plural: &str, object: Value) -> Result<()> {
    let (group, version) = text(&object, "/apiVersion").split_once('/').context("a group")?;
    let resource = objects::resource(group, version, text(&object, "/kind"), plural);
    let api: Api<DynamicObject> = match text(&object, "/metadata/namespace") {
        "" => Api::all_with(cluster.client(), &resource),
        namespace => Api::namespaced_with(cluster.client(), namespace, &resource),
    };
    api.create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    Ok(())
}

async fn explain() -> Result<String> {
    let output = Command::new(Operator::built().await?)
        .args(["explain", CODE])
        .output()
        .await?;
    if !output.status.success() {
        bail!("explain {CODE}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Is the config's status without the finding?
fn is_fixed(config: &Value) -> bool {
    let status = config.pointer("/status/workloads");
    let list = status.and_then(|status| status["list"].as_array());
    status.is_some() && list.into_iter().flatten().all(|finding| finding["code"] != CODE)
}
