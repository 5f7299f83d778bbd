//! Findings about a policy, a Service and a pod: reported once, on the object, in the status and in metrics, and gone when fixed.

use anyhow::{Result, ensure};
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use wn_e2e::control_plane::{CalicoApi, ClusterOptions};
use wn_e2e::fail_open::{self, CODE, NAMESPACE, POLICY};
use wn_e2e::objects::{self, text};
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{TestCluster, minimal};

/// Code, object in the status, kind and name of the object that has the Event.
const FAULTS: [(&str, &str, &str, &str); 3] = [
    (
        CODE,
        "GlobalNetworkPolicy members-only",
        "GlobalNetworkPolicy",
        POLICY,
    ),
    ("WN3002", "Service shop/web", "Service", "web"),
    ("WN4001", "Deployment shop/worker", "Deployment", "worker"),
];

/// A pod behind a Service, and a fault of each family.
async fn run_into_them(test: &TestCluster) -> Result<()> {
    test.cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
    test.create("deployments", fail_open::deployment("web", false))
        .await?;
    test.create("deployments", fail_open::deployment("worker", true))
        .await?;
    test.create("globalnetworkpolicies", fail_open::policy(test.calico_api))
        .await?;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {
            "selector": {"app": "web"}, "ports": [{"port": 80}], "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
        },
    });
    test.create("services", service).await
}

async fn repair(test: &TestCluster, code: &str) -> Result<()> {
    let fixed = fail_open::fix().to_string();
    let words: &[&str] = match code {
        CODE => &[
            "patch",
            "globalnetworkpolicies.crd.projectcalico.org",
            POLICY,
            "--type=merge",
            "-p",
            &fixed,
        ],
        "WN3002" => &[
            "patch",
            "service",
            "web",
            "-n",
            NAMESPACE,
            "-p",
            r#"{"spec":{"sessionAffinity":"None"}}"#,
        ],
        _ => &["delete", "deployment", "worker", "-n", NAMESPACE],
    };
    test.cluster.kubectl(words).await.map(drop)
}

/// Code and object of each finding of severity Warning or Error in the status, but for those about the release of Calico.
async fn found(test: &TestCluster) -> Result<Vec<(String, String)>> {
    let config = test.config().await?;
    let list = config.pointer("/status/workloads/list").and_then(Value::as_array);
    let mut list = list.cloned().unwrap_or_default();
    list.retain(|finding| finding["severity"] != "Info" && !text(finding, "/object").starts_with("Calico "));
    let line = |f: &Value| (text(f, "/code").to_owned(), text(f, "/object").to_owned());
    let mut found: Vec<_> = list.iter().map(line).collect();
    found.sort();
    Ok(found)
}

async fn wait_for(test: &TestCluster, faults: &[(&str, &str, &str, &str)]) -> Result<()> {
    let expected: Vec<_> = faults.iter().map(|f| (f.0.to_owned(), f.1.to_owned())).collect();
    test.until(&format!("findings {expected:?}"), async || {
        Ok((found(test).await? == expected).then_some(()))
    })
    .await
}

/// Codes and objects of the Events, sorted.
async fn events(test: &TestCluster) -> Result<Vec<String>> {
    let resource = objects::resource("events.k8s.io", "v1", "Event", "events");
    let api: Api<DynamicObject> = Api::all_with(test.client.clone(), &resource);
    let mut all = objects::list(&api).await?;
    all.retain(|e| e["reason"] == "UnsupportedOnWindows");
    let line = |e: &Value| {
        let code = text(e, "/note").split(':').next().unwrap_or_default().to_owned();
        format!(
            "{code} {} {}",
            text(e, "/regarding/kind"),
            text(e, "/regarding/name")
        )
    };
    let mut lines: Vec<_> = all.iter().map(line).collect();
    lines.sort();
    Ok(lines)
}

fn expected_events() -> Vec<String> {
    FAULTS
        .iter()
        .map(|(code, _, kind, name)| format!("{code} {kind} {name}"))
        .collect()
}

async fn series(test: &TestCluster, of: &str) -> Result<Vec<String>> {
    let Some(operator) = &test.operator else {
        return Ok(Vec::new());
    };
    let text = operator.get("/metrics").await?;
    let prefix = format!("windows_node_operator_{of}");
    Ok(text
        .lines()
        .filter(|line| line.starts_with(&prefix))
        .map(str::to_owned)
        .collect())
}

async fn test_cluster() -> Result<TestCluster> {
    let mut test = TestCluster::without_operator(ClusterOptions::default()).await?;
    test.cluster.install_calico_policy(CalicoApi::V1).await?;
    run_into_them(&test).await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    Ok(test)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_is_reported_once_and_goes_when_it_is_fixed() -> Result<()> {
    let mut test = test_cluster().await?;
    wait_for(&test, &FAULTS).await?;
    let parts = ["WN2001 GlobalNetworkPolicy members-only", "see status.workloads"];
    test.condition_says("WorkloadsSupported", "False", "WorkloadsUnsupported", &parts)
        .await?;
    test.until("an Event on each object", async || {
        Ok((events(&test).await? == expected_events()).then_some(()))
    })
    .await?;
    let described = test
        .cluster
        .kubectl(&["describe", "service", "web", "-n", NAMESPACE])
        .await?;
    ensure!(described.contains("UnsupportedOnWindows"), "{described}");
    let metric = "workload_findings{code=\"WN3002\",severity=\"Warning\",object_namespace=\"shop\"} 1";
    ensure!(
        series(&test, metric).await?.len() == 1,
        "{:?}",
        series(&test, "workload_findings").await?
    );

    test.quiet().await?;
    test.kill_operator();
    test.start_operator().await?;
    test.until("workloads are read again", async || {
        Ok((!series(&test, "workload_findings{").await?.is_empty()).then_some(()))
    })
    .await?;
    test.quiet().await?;
    ensure!(
        events(&test).await? == expected_events(),
        "{:?}",
        events(&test).await?
    );

    let mut left = FAULTS.to_vec();
    while let Some((code, ..)) = left.pop() {
        repair(&test, code).await?;
        wait_for(&test, &left).await?;
    }
    // With it goes what is wrong with every policy in this release of Calico.
    let delete = ["delete", "globalnetworkpolicies.crd.projectcalico.org", POLICY];
    test.cluster.kubectl(&delete).await?;
    test.condition("WorkloadsSupported", "True", "AsExpected").await?;
    test.until("no series of a fault is left", async || {
        let left = series(&test, "workload_findings{").await?;
        Ok(left.iter().all(|line| line.contains("Info")).then_some(()))
    })
    .await?;
    test.ready().await
}

async fn is_watching(test: &TestCluster, wanted: bool) -> Result<()> {
    test.until(&format!("workloads are watched: {wanted}"), async || {
        let watches = series(test, "watch_age_seconds{topic=\"workloads/").await?;
        Ok((watches.is_empty() != wanted).then_some(()))
    })
    .await
}

/// Without the right to read a kind the others are reported, and `Ready` is as it was. Disabled, nothing is watched.
#[tokio::test(flavor = "multi_thread")]
async fn forbidden_kinds_and_disabled() -> Result<()> {
    let mut test = test_cluster().await?;
    is_watching(&test, true).await?;
    test.kill_operator();
    let role = format!("{NAME}-workloads");
    let remove = r#"[{"op": "remove", "path": "/rules/0"}]"#;
    test.cluster
        .kubectl(&["patch", "clusterrole", &role, "--type=json", "-p", remove])
        .await?;
    test.start_operator().await?;
    let parts = [
        "services cannot be read: grant get, list and watch",
        "WN4001 Deployment shop/worker",
    ];
    test.condition_says("WorkloadsSupported", "False", "WorkloadsUnsupported", &parts)
        .await?;
    let config = test.config().await?;
    let unread = config
        .pointer("/status/workloads/unreadKinds")
        .and_then(Value::as_array);
    ensure!(
        unread.is_some_and(|kinds| kinds.contains(&json!("services"))),
        "{config:#}"
    );
    test.ready().await?;

    let mut spec = minimal("CalicoVXLAN");
    spec["workloads"] = json!({"lint": "Disabled"});
    test.apply(spec).await?;
    test.condition("WorkloadsSupported", "True", "LintDisabled")
        .await?;
    is_watching(&test, false).await?;
    ensure!(test.config().await?.pointer("/status/workloads").is_none());
    ensure!(series(&test, "workload_findings{").await?.is_empty());
    test.ready().await
}
