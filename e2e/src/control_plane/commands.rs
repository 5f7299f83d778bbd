//! Talking to a cluster as people do: a client from a kubeconfig, kubectl and helm.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// A client with the identity of a kubeconfig.
pub async fn client(kubeconfig: &Path) -> Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Runs `program` against the cluster of `kubeconfig` and returns what it printed. Settings and
/// caches live in `home`, so that a person's own kubectl and helm neither matter nor suffer.
pub(super) async fn run(program: &Path, kubeconfig: &Path, home: &Path, args: &[&str]) -> Result<String> {
    let output = tokio::process::Command::new(program)
        .args(args)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", home)
        // A cache of what the API serves would be wrong after each change of CRDs.
        .env("KUBECACHEDIR", "/dev/null")
        .env("HELM_CACHE_HOME", home.join("helm-cache"))
        .env("HELM_CONFIG_HOME", home.join("helm-config"))
        .env("HELM_DATA_HOME", home.join("helm-data"))
        .current_dir(super::paths::workspace())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("run {}", program.display()))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{name} {}: {}\n{stdout}{stderr}", args.join(" "), output.status);
    }
    Ok(stdout)
}
