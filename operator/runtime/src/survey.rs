//! One look at the cluster: every topic that decisions need is listed once, with the rights of whoever asks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use wn_api::names::SINGLETON;
use wn_plan::observed::{Config, Topic};

use crate::apis::Apis;
use crate::metrics::Metrics;
use crate::watch::Watches;
use crate::world::World;

/// For all lists together; a cluster of 5,000 nodes is listed in a few seconds.
const LIMIT: Duration = Duration::from_mins(2);

/// Lists what decisions need. `spec` takes the place of the stored spec of the `WindowsNodeConfig`; without a stored object it
/// is decided as if it were created now.
///
/// # Errors
/// The API server does not answer in time.
pub async fn survey(client: Client, namespace: &str, spec: Option<&Value>) -> anyhow::Result<Arc<World>> {
    let world = Arc::new(World::new(namespace));
    let version = client.apiserver_version().await?;
    let mut apis = Apis::new(client, namespace);
    let mut watches = Watches::once(world.clone(), Metrics::new());
    let mut spec = spec;
    let begun = Instant::now();
    loop {
        let again = watches.align(&mut apis).await;
        if !world.is_waiting() {
            match spec.take() {
                // Which topics are needed depends on the spec.
                Some(spec) => replace_spec(&world, spec),
                None => break,
            }
            continue;
        }
        if begun.elapsed() > LIMIT {
            bail!(
                "not listed within {} s: {}",
                LIMIT.as_secs(),
                world.missing().join(", ")
            );
        }
        let pause = again.map_or(LIMIT, |at| at.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = world.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    world.set_kubernetes(version.git_version.parse().ok());
    world.expire(Timestamp::now());
    Ok(world)
}

fn replace_spec(world: &World, spec: &Value) {
    let stored = world.read(|observed| observed.config.as_ref().map(Config::object).cloned());
    let mut object = stored
        .and_then(|stored| serde_json::to_value(stored).ok())
        .unwrap_or_else(|| serde_json::json!({"metadata": {"name": SINGLETON}}));
    object["apiVersion"] = format!("{}/{}", wn_api::names::GROUP, wn_api::names::VERSION).into();
    object["kind"] = wn_api::names::KIND.into();
    object["spec"] = spec.clone();
    world.put(Topic::Config, &object);
}
