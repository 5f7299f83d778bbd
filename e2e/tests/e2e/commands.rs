//! The commands that read a cluster, as a user runs them with a kubeconfig that grants reading and nothing else.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::operator::Operator;
use wn_e2e::test_cluster::{TestCluster, at, minimal};

const READER: &str = "reader";
/// The user the API server sees.
const USER: &str = "system:serviceaccount:default:reader";

/// A kubeconfig that may get and list everything.
async fn reader(test: &TestCluster) -> Result<PathBuf> {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": READER, "namespace": "default"}});
    test.create("serviceaccounts", account).await?;
    let group = "rbac.authorization.k8s.io/v1";
    let role = json!({
        "apiVersion": group, "kind": "ClusterRole", "metadata": {"name": READER},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}],
    });
    test.create("clusterroles", role).await?;
    let binding = json!({
        "apiVersion": group, "kind": "ClusterRoleBinding", "metadata": {"name": READER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
        "subjects": [{"kind": "ServiceAccount", "name": READER, "namespace": "default"}],
    });
    test.create("clusterrolebindings", binding).await?;
    test.cluster.token_kubeconfig("default", READER).await
}

/// What a command printed and its exit code.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    fn has(&self, code: i32, parts: &[&str]) -> Result<()> {
        ensure!(self.code == Some(code), "exit code {code} expected: {self:#?}");
        for part in parts {
            ensure!(
                self.stdout.contains(part),
                "{part:?} is not in the output: {self:#?}"
            );
        }
        Ok(())
    }
}

async fn run(kubeconfig: &Path, arguments: &[&str]) -> Result<Run> {
    let output = tokio::process::Command::new(Operator::built().await?)
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .env_remove("KUBECONFIG")
        .kill_on_drop(true)
        .output()
        .await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Run {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_status_and_diagnose_only_read() -> Result<()> {
    let mut test = TestCluster::without_operator(ClusterOptions::default()).await?;
    let kubeconfig = reader(&test).await?;
    let none = run(&kubeconfig, &["plan"]).await?;
    none.has(3, &[])?;
    ensure!(
        none.stderr.contains("WindowsNodeConfig default: does not exist"),
        "{none:#?}"
    );

    // Before the object exists: with the file that is to be applied.
    let file = test.state_dir().join("windowsnodeconfig.yaml");
    let object = json!({
        "apiVersion": "windowsnode.dev/v1alpha1", "kind": "WindowsNodeConfig", "metadata": {"name": "default"},
        "spec": minimal("CalicoVXLAN"),
    });
    std::fs::write(&file, object.to_string())?;
    let file = file.to_str().context("a path in UTF-8")?;
    let planned = run(&kubeconfig, &["plan", "-f", file]).await?;
    planned.has(
        1,
        &[
            "IPPool default-ipv4-ippool spec.ipipMode from Always to Never",
            "+++ DaemonSet windows-node-operator/calico-node-windows",
            "\n-  ipipMode: Always\n-  vxlanMode: Never\n+  ipipMode: Never\n+  vxlanMode: Always\n",
        ],
    )?;

    // The same words as mode Observe.
    test.start_operator().await?;
    let mut observe = minimal("CalicoVXLAN");
    observe["mode"] = json!("Observe");
    test.apply(observe).await?;
    test.condition("CalicoConfigured", "False", "ObserveOnly").await?;
    let config = test.config().await?;
    let json = run(&kubeconfig, &["plan", "-o", "json"]).await?;
    json.has(1, &[])?;
    let output: Value = serde_json::from_str(&json.stdout)?;
    ensure!(
        output["pendingChanges"] == *at(&config, "/status/pendingChanges")?,
        "{output:#}\n{config:#}"
    );
    // Everything there is to do in this mode is done.
    run(&kubeconfig, &["status"]).await?.has(
        0,
        &[
            "mode Observe",
            "Mode Observe: Manage would",
            "IPPool default-ipv4-ippool",
        ],
    )?;

    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    run(&kubeconfig, &["plan"])
        .await?
        .has(0, &["Nothing would be written.\n"])?;
    let status = run(&kubeconfig, &["status"]).await?;
    status.has(
        0,
        &[
            "Windows nodes: 1 of 1 ready",
            "windows-node-operator/calico-node-windows",
        ],
    )?;
    ensure!(
        !status.stdout.contains('\u{1b}'),
        "colours without a terminal: {status:#?}"
    );
    run(&kubeconfig, &["diagnose", "windows-0"]).await?.has(
        0,
        &[
            "Node windows-0: Ready",
            "KubeletNotReporting        nothing found",
            "VXLAN tunnel",
            "block ",
        ],
    )?;
    let unknown = run(&kubeconfig, &["diagnose", "linux-0"]).await?;
    unknown.has(3, &[])?;

    let log = test.cluster.audit_log()?;
    let writes = log.writes_by(USER);
    ensure!(writes.is_empty(), "{writes:?}");
    test.delete_and_wait().await
}

/// A pod of a Windows node and a policy whose `except` Windows does not support.
#[tokio::test(flavor = "multi_thread")]
async fn lint_and_acls_of_the_cluster() -> Result<()> {
    let test = TestCluster::without_operator(ClusterOptions::default()).await?;
    let kubeconfig = reader(&test).await?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "windows-0", "os": {"name": "windows"}, "containers": [{"name": "web", "image": "web"}]},
    });
    test.create("pods", pod).await?;
    let status = json!({"status": {"podIP": "10.244.7.7", "podIPs": [{"ip": "10.244.7.7"}]}}).to_string();
    let patch = [
        "patch",
        "pod",
        "web",
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ];
    test.cluster.kubectl(&patch).await?;
    run(&kubeconfig, &["lint", "--cluster"])
        .await?
        .has(0, &["0 errors, 0 warnings"])?;
    let policy = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "web"}},
            "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}}]}],
        },
    });
    test.create("networkpolicies", policy).await?;
    let parts = [
        "error[WN2001]: NetworkPolicy.networking.k8s.io default/web",
        "2 errors",
    ];
    run(&kubeconfig, &["lint", "--cluster"]).await?.has(2, &parts)?;
    run(&kubeconfig, &["acls", "--cluster", "--pod", "default/web"])
        .await?
        .has(
            0,
            &["\ndefault/web ", " on windows-0: ", "denied, and should not be"],
        )?;
    let log = test.cluster.audit_log()?;
    let writes = log.writes_by(USER);
    ensure!(writes.is_empty(), "{writes:?}");
    Ok(())
}
