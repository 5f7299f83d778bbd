//! Platforms that are known by name, and on which everything is done.

use anyhow::{Result, ensure};
use wn_api::names::{kube_proxy, node_agent};
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::objects::text;
use wn_e2e::test_cluster::{TestCluster, minimal};

/// Waits until the status names the platform and how it was detected.
pub async fn known_as(test: &TestCluster, name: &str, source: &str) -> Result<()> {
    test.until(&format!("the platform is {name} by {source}"), async || {
        let config = test.config().await?;
        let hit = text(&config, "/status/platform/name") == name
            && text(&config, "/status/platform/source").contains(source);
        Ok(hit.then_some(()))
    })
    .await
}

/// The sign is on the machine, on a Linux node or a Windows node alike; the maker's mark outweighs it.
#[tokio::test(flavor = "multi_thread")]
async fn machines_of_clouds_are_known_and_everything_is_done_there() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    known_as(&test, "on-premises", "no node shows signs").await?;
    for (name, provider) in [
        ("AWS", "aws:///eu-central-1a/i-0123"),
        ("GCE", "gce://project/zone/theirs"),
        ("Azure", "azure:///subscriptions/x"),
        ("DigitalOcean", "digitalocean://4711"),
    ] {
        let scheme = format!("providerID {}", &provider[..provider.find("//").unwrap_or(0) + 2]);
        test.cluster
            .add_node(NodeSpec::linux("theirs").provider_id(provider))
            .await?;
        known_as(&test, name, &format!("{scheme} on node theirs")).await?;
        test.condition_says("PlatformSupported", "True", "AsExpected", &[name])
            .await?;
        test.condition("Advisories", "True", "AdvisoriesFound").await?;
        for daemon_set in [node_agent::DAEMON_SET, kube_proxy::DAEMON_SET] {
            ensure!(
                !test.daemon_set(daemon_set).await?.is_null(),
                "{daemon_set} on {name}"
            );
        }
        // A maker's mark on one node says more than machines of all.
        test.cluster
            .add_node(NodeSpec::linux("made").label("node.openshift.io/os_id", "rhel"))
            .await?;
        known_as(
            &test,
            "OpenShift (WMCO)",
            "label node.openshift.io/os_id on node made",
        )
        .await?;
        test.cluster.remove_node("made").await?;
        known_as(&test, name, &scheme).await?;
        test.cluster.remove_node("theirs").await?;
    }
    known_as(&test, "on-premises", "no node shows signs").await?;
    test.ready().await
}

/// The user's word stands above what was found.
#[tokio::test(flavor = "multi_thread")]
async fn the_platform_can_be_set() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.cluster
        .add_node(NodeSpec::linux("theirs").provider_id("openstack:///4711"))
        .await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.condition("PlatformSupported", "False", "PlatformUnsupported")
        .await?;
    let mut spec = minimal("CalicoVXLAN");
    spec["platform"] = serde_json::json!({"type": "OnPremises"});
    test.apply(spec).await?;
    known_as(&test, "on-premises", "spec.platform.type").await?;
    test.ready().await
}
