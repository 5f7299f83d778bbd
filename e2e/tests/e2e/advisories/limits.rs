//! A cluster that runs into many limits at once, and repairs them one by one.

use anyhow::{Context as _, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::objects::text;
use wn_e2e::test_cluster::{TestCluster, condition, minimal};

use super::support::*;

/// In the expected order: the most severe first, then by code.
const ALL: &[&str] = &[
    "WN1050", "WN1001", "WN1002", "WN1005", "WN1006", "WN1007", "WN1020", "WN1021", "WN1024", "WN1034",
    "WN1040", "WN1060", "WN1061", "WN1062", "WN1080", "WN1004", "WN1010",
];

async fn run_into_them(test: &TestCluster) -> Result<()> {
    let spec = json!({
        "wireguardEnabled": true, "bpfEnabled": true, "vxlanMTU": 1400, "prometheusMetricsEnabled": true,
        "policySyncPathPrefix": "/var/run/nodeagent", "ipv6Support": true, "healthEnabled": false,
    });
    felix(test, spec).await?;
    let pool =
        json!({"cidr": "fd00:10::/48", "blockSize": 122, "nodeSelector": "all()", "natOutgoing": true});
    create(test, "IPPool", "ippools", "v6", pool).await?;
    let pool = json!({
        "cidr": "10.250.0.0/16", "nodeSelector": "kubernetes.io/os == 'linux'", "vxlanMode": "CrossSubnet",
        "ipipMode": "Never", "natOutgoing": true,
    });
    create(test, "IPPool", "ippools", "of-linux", pool).await?;
    let bgp = json!({"serviceClusterIPs": [{"cidr": "10.96.0.0/12"}]});
    create(test, "BGPConfiguration", "bgpconfigurations", DEFAULT, bgp).await?;
    for (name, node) in [("eth0", NODE), ("vm", "a-virtual-machine")] {
        let endpoint = json!({"node": node, "interfaceName": "eth0"});
        create(test, "HostEndpoint", "hostendpoints", name, endpoint).await?;
    }
    let controllers = json!({"controllers": {"node": {"hostEndpoint": {"autoCreate": "Enabled"}}}});
    create(
        test,
        "KubeControllersConfiguration",
        "kubecontrollersconfigurations",
        DEFAULT,
        controllers,
    )
    .await?;
    let pod = json!({"metadata": {"labels": {"app": "exporter"}},
        "spec": {"containers": [{"name": "c", "image": "registry.example.com/exporter:1"}]}});
    let daemon_set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "exporter", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "exporter"}}, "template": pod},
    });
    test.create("daemonsets", daemon_set).await?;
    let reservation = json!({"reservedCIDRs": ["10.244.0.40/32"]});
    create(test, "IPReservation", "ipreservations", "held", reservation).await
}

/// The node's block as libcalico writes it, with a pod of last year in it, or without.
async fn old_pod(test: &TestCluster, is_there: bool) -> Result<()> {
    let mut allocations = vec![Value::Null; 64];
    for ordinal in [0, 1, 2, 63] {
        allocations[ordinal] = json!(0);
    }
    let mut attributes = vec![
        json!({"handle_id": "windows-reserved-ipam-handle", "secondary": {"note": "windows host rsvd"}}),
    ];
    let mut free: Vec<_> = (3..63).collect();
    if is_there {
        allocations[3] = json!(1);
        free.remove(0);
        attributes.push(json!({"handle_id": "k8s-pod-network.0a1b", "secondary": {
            "namespace": "default", "node": NODE, "pod": "web-0", "timestamp": "2025-01-02 03:04:05.678901234 +0000 UTC",
        }}));
    }
    let spec = json!({"allocations": allocations, "attributes": attributes, "unallocated": free});
    patch(test, "IPAMBlock", "ipamblocks", "10-244-0-0-26", spec).await
}

async fn repair(test: &TestCluster, code: &str) -> Result<()> {
    let remove = |field: &str| json!({ field: null });
    match code {
        "WN1001" => felix(test, remove("wireguardEnabled")).await,
        "WN1002" => felix(test, json!({"bpfEnabled": false})).await,
        "WN1004" => felix(test, remove("ipv6Support")).await,
        "WN1005" => felix(test, json!({"vxlanMTU": 0})).await,
        "WN1006" => felix(test, json!({"windowsManageFirewallRules": "Enabled"})).await,
        "WN1007" => felix(test, remove("policySyncPathPrefix")).await,
        "WN1010" => felix(test, json!({"healthEnabled": true})).await,
        "WN1020" => {
            let selector = json!({"nodeSelector": "kubernetes.io/os == 'linux'"});
            test.edit(POOL, "v6", selector, PERSON).await
        }
        "WN1021" => {
            test.edit(POOL, "of-linux", json!({"vxlanMode": "Always"}), PERSON)
                .await
        }
        "WN1024" => old_pod(test, false).await,
        "WN1034" => delete(test, "ipreservations", "held").await,
        "WN1040" => delete(test, "bgpconfigurations", DEFAULT).await,
        "WN1050" => no_route_reflector(test).await,
        "WN1080" => {
            let words = ["delete", "daemonset", "exporter", "-n", "default"];
            test.cluster.kubectl(&words).await.map(drop)
        }
        "WN1060" => delete(test, "hostendpoints", "eth0").await,
        "WN1061" => {
            let controllers = json!({"controllers": {"node": {"hostEndpoint": {"autoCreate": "Disabled"}}}});
            patch(
                test,
                "KubeControllersConfiguration",
                "kubecontrollersconfigurations",
                DEFAULT,
                controllers,
            )
            .await
        }
        _ => delete(test, "hostendpoints", "vm").await,
    }
}

fn ready(config: &Value) -> Result<&Value> {
    condition(config, "Ready").context("there is no condition Ready")
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn each_is_reported_once_and_goes_when_it_is_fixed(#[case] calico_api: CalicoApi) -> Result<()> {
    let mut test = test_cluster(calico_api, true).await?;
    run_into_them(&test).await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    // The node has its block now.
    old_pod(&test, true).await?;
    test.edit(POOL, POOL_NAME, json!({"natOutgoing": false}), PERSON)
        .await?;
    test.edit(POOL, POOL_NAME, json!({"natOutgoing": true}), PERSON)
        .await?;
    let config = advised(&test, ALL).await?;
    let summary = "1 Error, 14 Warning, 2 Info";
    ensure!(config["status"]["advisories"]["summary"] == summary, "{config:#}");
    test.condition_says("Advisories", "True", "AdvisoriesFound", &[summary])
        .await?;
    let list = list(&config);
    for advisory in &list {
        for field in ["object", "field", "message", "source", "severity"] {
            ensure!(!text(advisory, &format!("/{field}")).is_empty(), "{advisory}");
        }
    }
    ensure!(list[9]["object"] == "IPReservation held", "{}", list[9]);
    ensure!(
        text(&list[9], "/message").contains("some of the addresses for pods on win-0"),
        "{}",
        list[9]
    );
    ensure!(
        metric(&test, "advisories{code=\"WN1001\",severity=\"Warning\"}").await? == Some(1.0),
        "metrics"
    );
    test.quiet().await?;

    // What was there from the start in one Event, and what came later in another.
    let events = advisory_events(&test).await?;
    ensure!((2..=3).contains(&events.len()), "{events:#?}");
    ensure!(
        events[0].0 == "Warning" && events[0].1.starts_with("WN1050 Windows nodes: win-0"),
        "{events:#?}"
    );
    ensure!(
        events.iter().skip(1).any(|(_, note)| note.contains("WN1024")),
        "{events:#?}"
    );
    test.kill_operator();
    test.start_operator().await?;
    test.quiet().await?;
    ensure!(
        advisory_events(&test).await? == events,
        "a restart reports again: {:#?}",
        advisory_events(&test).await?
    );
    ensure!(codes(&test.config().await?) == ALL);

    // One by one they go, and the cluster was ready all the time.
    let since = ready(&test.config().await?)?["lastTransitionTime"].clone();
    let mut left = ALL.to_vec();
    for code in ALL.iter().rev() {
        repair(&test, code).await?;
        left.retain(|c| c != code);
        let config = advised(&test, &left).await.context(*code)?;
        ensure!(ready(&config)?["status"] == "True", "{code}: {config:#}");
    }
    let none = test.condition("Advisories", "False", "AsExpected").await?;
    ensure!(none == "none", "{none}");
    let config = test.config().await?;
    ensure!(ready(&config)?["lastTransitionTime"] == since, "it was not ready");
    ensure!(
        metric(&test, "advisories{code=\"WN1001\",severity=\"Warning\"}").await? == Some(0.0),
        "metrics"
    );
    ensure!(
        advisory_events(&test).await? == events,
        "that one goes is no Event"
    );

    // One that comes again is news again.
    felix(&test, json!({"wireguardEnabled": true})).await?;
    advised(&test, &["WN1001"]).await?;
    test.event("AdvisoriesFound", "WN1001 FelixConfiguration default: ")
        .await?;
    test.until("it is reported", async || {
        Ok((advisory_events(&test).await?.len() == events.len() + 1).then_some(()))
    })
    .await
}
