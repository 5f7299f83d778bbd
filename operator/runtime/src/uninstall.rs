//! `windows-node-operator uninstall`, the chart's pre-delete hook: deletes the `WindowsNodeConfig` while the operator and
//! all RBAC are still there, and waits until its finalizer is gone.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kube::api::DeleteParams;
use kube::{Api, Client, ResourceExt};
use wn_api::WindowsNodeConfig;
use wn_api::names::{FINALIZER, SINGLETON};
use wn_api::reasons::conditions::READY;

/// Fast enough for a person who waits, slow enough for an API server.
const POLL: Duration = Duration::from_secs(2);

/// Deletes the `WindowsNodeConfig` and waits until it is gone.
///
/// # Errors
/// After `timeout`, so that `helm uninstall` stops.
pub async fn uninstall(client: Client, timeout: Duration) -> anyhow::Result<()> {
    let api: Api<WindowsNodeConfig> = Api::all(client);
    let begun = Instant::now();
    match api.delete(SINGLETON, &DeleteParams::default()).await {
        // Neither the object nor, perhaps, its CRD.
        Err(kube::Error::Api(status)) if status.code == 404 => {
            tracing::info!("there is no WindowsNodeConfig: nothing to restore");
            return Ok(());
        }
        deleted => drop(deleted.context("delete WindowsNodeConfig default")?),
    }
    let mut reported = String::new();
    loop {
        let found = api
            .get_opt(SINGLETON)
            .await
            .context("read WindowsNodeConfig default")?;
        let Some(found) = found else {
            tracing::info!("WindowsNodeConfig default is gone, and the cluster is restored");
            return Ok(());
        };
        let state = state(&found);
        if found.metadata.deletion_timestamp.is_none() {
            bail!(
                "WindowsNodeConfig default was created again during the deletion: remove it from where it comes from (Argo CD, \
                 Flux, a pipeline), then uninstall again"
            );
        }
        if begun.elapsed() >= timeout {
            bail!("{}", overdue(timeout, &state));
        }
        if state != reported {
            tracing::info!("waiting for WindowsNodeConfig default to be gone: {state}");
            reported = state;
        }
        tokio::time::sleep(POLL).await;
    }
}

fn state(config: &WindowsNodeConfig) -> String {
    let conditions = config.status.iter().flat_map(|s| &s.conditions);
    let ready = conditions.into_iter().find(|c| c.type_ == READY);
    let others = config.finalizers().iter().filter(|f| *f != FINALIZER);
    let others: Vec<_> = others.map(String::as_str).collect();
    let ready = ready.map_or_else(String::new, |c| format!("{}: {}", c.reason, c.message));
    if others.is_empty() {
        return ready;
    }
    format!("{ready}; finalizers of others: {}", others.join(", "))
}

fn overdue(timeout: Duration, state: &str) -> String {
    format!(
        "WindowsNodeConfig default still exists after {} s, so nothing was uninstalled ({state}). Check that the operator runs and see \
         `kubectl describe windowsnodeconfig default`, then uninstall again. The operator gives up after 10 minutes and names in Events \
         what it could not restore. `helm uninstall --no-hooks` uninstalls without restoring anything",
        timeout.as_secs()
    )
}
