//! From a config to running pods, and from a changed config to other pods.

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::{Value, json};
use wn_api::reasons::conditions;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions, NodeSpec};
use wn_e2e::test_cluster::{TestCluster, at, minimal};

use super::support::{AGENT, PROXY, arguments, container, daemon_set_until, image, variable};

fn names(daemon_set: &Value, list: &str) -> Vec<String> {
    let all = daemon_set.pointer(&format!("/spec/template/spec/{list}"));
    let all = all.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|c| c["name"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn vxlan_runs_on_every_windows_node() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 3,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    for node in ["windows-0", "windows-1", "windows-2"] {
        assert_eq!(test.simulator.problems(node), Vec::<String>::new());
    }

    let agent = test.daemon_set(AGENT).await?;
    assert_eq!(
        names(&agent, "initContainers"),
        ["uninstall-calico", "install-cni"]
    );
    assert_eq!(names(&agent, "containers"), ["node", "felix"]);
    assert_eq!(image(&agent), "quay.io/calico/node-windows:v3.32.1");
    assert_eq!(
        variable(&agent, "KUBERNETES_SERVICE_HOST"),
        Some("api.lab.example")
    );
    let version = test.cluster.kubernetes_version();
    let proxy = test.daemon_set(PROXY).await?;
    assert_eq!(
        image(&proxy),
        format!("docker.io/sigwindowstools/kube-proxy:{version}-calico-hostprocess")
    );
    let given = arguments(&proxy);
    assert!(given.contains(&"--enable-dsr=true"), "{given:?}");
    assert!(
        !given.iter().any(|a| a.starts_with("--feature-gates")),
        "{given:?}"
    );
    assert_eq!(variable(&proxy, "SOURCE_VIP_ENDPOINT"), Some("Calico_ep"));

    let config = test.config().await?;
    let set = at(&config, "/status/conditions")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    let types: Vec<_> = set.iter().filter_map(|c| c["type"].as_str()).collect();
    assert_eq!(types, conditions::ALL);
    let status = at(&config, "/status")?;
    assert_eq!(status["nodes"]["summary"], "3/3");
    for (workload, name, version) in [("nodeAgent", AGENT, "v3.32.1"), ("kubeProxy", PROXY, version)] {
        let found = &status[workload];
        assert_eq!(found["management"], "Managed");
        assert_eq!(found["daemonSet"], format!("windows-node-operator/{name}"));
        assert_eq!(found["version"], version);
        assert_eq!([&found["desired"], &found["updated"], &found["ready"]], [3, 3, 3]);
    }
    assert_eq!(status["kubeProxy"]["flags"], container(&proxy)["args"]);

    // At rest: nothing is written, and a node that joins needs no write but to the status.
    test.quiet().await?;
    let since = Timestamp::now();
    test.cluster.add_node(NodeSpec::windows("windows-3")).await?;
    test.until("the new node is counted and ready", async || {
        let config = test.config().await?;
        let summary = config.pointer("/status/nodes/summary");
        Ok((summary == Some(&json!("4/4"))).then_some(()))
    })
    .await?;
    test.ready().await?;
    let written = test.writes_since(since)?;
    let other = written
        .iter()
        .find(|w| w.subresource != "status" && w.resource != "events");
    assert!(other.is_none(), "{other:?}");
    Ok(())
}

/// With Calico's native API, which is also set in the agent's environment.
#[tokio::test(flavor = "multi_thread")]
async fn bgp_runs_confd_and_needs_no_source_vip() -> Result<()> {
    let options = ClusterOptions {
        calico_api: CalicoApi::V3,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.ready().await?;
    assert_eq!(test.simulator.problems("windows-0"), Vec::<String>::new());
    let agent = test.daemon_set(AGENT).await?;
    assert_eq!(names(&agent, "containers"), ["node", "felix", "confd"]);
    assert_eq!(variable(&agent, "CALICO_NETWORKING_BACKEND"), Some("windows-bgp"));
    let proxy = test.daemon_set(PROXY).await?;
    assert_eq!(variable(&proxy, "SOURCE_VIP_ENDPOINT"), None);
    test.quiet().await?;

    // To the other type and everything follows.
    test.apply(minimal("CalicoVXLAN")).await?;
    daemon_set_until(&test, AGENT, "no confd", |d| {
        names(d, "containers") == ["node", "felix"]
    })
    .await?;
    test.ready().await?;
    assert_eq!(test.simulator.problems("windows-0"), Vec::<String>::new());
    let proxy = test.daemon_set(PROXY).await?;
    assert_eq!(variable(&proxy, "SOURCE_VIP_ENDPOINT"), Some("Calico_ep"));
    Ok(())
}

/// Written as users write them, quantities above all: the API server stores some in another form, and
/// that must not look like drift.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_the_spec_roll_both() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let before = generation(&test).await?;

    let resources = json!({
        "requests": {"cpu": "1000m", "memory": "1e9"},
        "limits": {"cpu": "2.5", "memory": "2048Mi"},
    });
    let tolerations = json!([{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}]);
    test.apply(json!({
        "network": {"type": "CalicoVXLAN"},
        "imageRegistry": "mirror.corp:5000/hub",
        "nodeAgent": {
            "logLevel": "Debug", "resources": resources, "tolerations": tolerations,
            "imagePullSecrets": [{"name": "pull"}],
            "updateStrategy": {"type": "RollingUpdate", "maxUnavailable": "25%"},
        },
        "kubeProxy": {
            "resources": resources, "image": {"tag": "own"}, "extraArgs": ["--v=4"],
            "featureGates": {"WinDSRX": true}, "updateStrategy": {"maxUnavailable": "2"},
        },
    }))
    .await?;
    let agent = daemon_set_until(&test, AGENT, "from the mirror", |d| {
        image(d) == "mirror.corp:5000/hub/calico/node-windows:v3.32.1"
    })
    .await?;
    let proxy = daemon_set_until(&test, PROXY, "from the mirror", |d| {
        image(d) == "mirror.corp:5000/hub/sigwindowstools/kube-proxy:own"
    })
    .await?;
    test.ready().await?;
    assert_ne!(before, generation(&test).await?);
    let rolling = |d: &Value| {
        d.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable")
            .cloned()
    };
    assert_eq!(rolling(&agent), Some(json!("25%")));
    assert_eq!(rolling(&proxy), Some(json!(2)));
    assert_eq!(
        container(&proxy)["resources"]["requests"]["cpu"],
        "1",
        "stored as the API server likes it"
    );
    // The user's, and of our own readiness taint: it waits for just this pod.
    let found = agent
        .pointer("/spec/template/spec/tolerations")
        .and_then(Value::as_array);
    let found = found.map_or(&[][..], Vec::as_slice);
    assert_eq!(found[..1], *tolerations.as_array().context("a list")?);
    assert_eq!(found[1]["key"], wn_api::names::READINESS_TAINT);
    assert_eq!(
        agent.pointer("/spec/template/spec/imagePullSecrets/0/name"),
        Some(&json!("pull"))
    );
    let given = arguments(&proxy);
    assert!(
        given.contains(&"--v=4") && given.contains(&"--feature-gates=WinDSRX=true"),
        "{given:?}"
    );
    let debug = container(&agent)["env"].as_array().cloned().unwrap_or_default();
    assert!(
        debug.iter().any(|v| v["value"]
            .as_str()
            .is_some_and(|l| l.eq_ignore_ascii_case("debug"))),
        "{debug:?}"
    );

    // What was written stays as written: not one more write.
    let settled = generation(&test).await?;
    let since = test.quiet().await?;
    assert_eq!(settled, generation(&test).await?);
    assert!(test.writes_since(since)?.is_empty());

    // And back again: what was ours alone is taken out.
    test.apply(minimal("CalicoVXLAN")).await?;
    daemon_set_until(&test, PROXY, "as at first", |d| {
        arguments(d).iter().all(|a| *a != "--v=4") && !image(d).starts_with("mirror")
    })
    .await?;
    test.ready().await?;
    let agent = test.daemon_set(AGENT).await?;
    assert_eq!(agent.pointer("/spec/template/spec/imagePullSecrets"), None);
    assert_eq!(container(&agent)["resources"].get("limits"), None);
    test.quiet().await?;
    let events = test.events().await?;
    assert!(
        !events.iter().any(|e| e.starts_with("DriftRepaired")),
        "our own change is no drift: {events:?}"
    );
    Ok(())
}

async fn generation(test: &TestCluster) -> Result<[Value; 2]> {
    let of =
        async |name| Ok::<_, anyhow::Error>(test.daemon_set(name).await?["metadata"]["generation"].clone());
    Ok([of(AGENT).await?, of(PROXY).await?])
}
