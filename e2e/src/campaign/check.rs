//! What must hold when the faults of a round have ended.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use wn_api::names;

use super::environment::{Environment, FLANNEL};
use super::proxy::Write;
use super::user;
use crate::calico_fields::{BGP, VXLAN, configured};
use crate::etcd_fixture;
use crate::flannel;
use crate::objects::{self, text};
use crate::test_cluster::TestCluster;

/// What the operator writes to a Node has this in its name: conditions, annotations, labels.
const OURS: &str = "windowsnode.dev/";
const TAINT: &str = "readiness.k8s.io/windows-network";

/// Ends the faults and checks everything; says how long the operator took to converge. Afterwards the cluster is as
/// it was before the first round.
pub async fn converges(environment: &mut Environment, target: Value) -> Result<Duration> {
    // Writes under faults: some belong to two replicas, one after the other.
    environment.heal().await?;
    let began = Instant::now();
    let deleting = is_deleting(&environment.test).await?;
    if deleting {
        gone(&environment.test).await?;
    }
    environment.test.apply(target.clone()).await?;
    environment.done().await.context("done after faults ended")?;
    let took = began.elapsed();
    let mut writes = environment.quiet().await?;
    planned(environment, &target).await.context("the plan's values")?;
    environment.require_running()?;
    environment.measure()?;
    let second = second_look(environment).await?;
    ensure!(
        second.iter().all(Vec::is_empty),
        "a second look writes: {second:?}"
    );
    environment.test.delete_and_wait().await?;
    for (all, more) in writes.iter_mut().zip(environment.quiet().await?) {
        all.extend(more);
    }
    restored(environment).await?;
    apart(&writes)?;
    environment.require_running()?;
    Ok(took)
}

async fn is_deleting(test: &TestCluster) -> Result<bool> {
    let config = objects::configs(&test.client).get_opt(names::SINGLETON).await?;
    Ok(config.is_some_and(|c| c.metadata.deletion_timestamp.is_some()))
}

async fn gone(test: &TestCluster) -> Result<()> {
    let gone = async || {
        let config = objects::configs(&test.client).get_opt(names::SINGLETON).await?;
        Ok(config.is_none().then_some(()))
    };
    test.until("the deletion that began before ends", gone).await
}

/// Calico's objects have the values that the network type needs, the user's pools included.
async fn planned(environment: &Environment, target: &Value) -> Result<()> {
    if environment.etcd.is_some() {
        return planned_in_etcd(environment, target).await;
    }
    let test = &environment.test;
    let (fields, mode) = match text(target, "/network/type") {
        "CalicoVXLAN" => (&VXLAN, "Always"),
        "CalicoBGP" => (&BGP, "Never"),
        other => return not_calico(environment, other).await,
    };
    configured(test, &environment.before, fields).await?;
    for (_, pool) in user::pools(test).await? {
        let modes = (text(&pool, "/spec/ipipMode"), text(&pool, "/spec/vxlanMode"));
        ensure!(modes == ("Never", mode), "a pool of the user is {pool:#}");
    }
    Ok(())
}

async fn planned_in_etcd(environment: &Environment, target: &Value) -> Result<()> {
    let vxlan = target["network"]["type"] == "CalicoVXLAN";
    let now = environment.calico().await?;
    let pool = etcd_fixture::pool(if vxlan { "Always" } else { "Never" }, "Never");
    ensure!(now[etcd_fixture::POOL] == *pool, "{}", now[etcd_fixture::POOL]);
    ensure!(
        !vxlan || now[etcd_fixture::FELIX] == *etcd_fixture::felix(true),
        "{}",
        now[etcd_fixture::FELIX]
    );
    let ipam = text(&now, "/~1calico~1ipam~1v2~1config");
    ensure!(ipam.contains(r#""strict_affinity":true"#), "{ipam}");
    Ok(())
}

/// flannel has what Windows can use. What an earlier type set of Calico is restored at the deletion.
async fn not_calico(environment: &Environment, network: &str) -> Result<()> {
    let conf = flannel::net_conf(&environment.test).await?;
    let fits = conf.contains("4096") && conf.contains("4789");
    ensure!(fits || network != "FlannelVXLAN", "flannel has {conf}");
    Ok(())
}

/// What the operator writes when it restarts on a cluster in which nothing changed.
async fn second_look(environment: &mut Environment) -> Result<Vec<Vec<Write>>> {
    environment.roll().await?;
    environment.serving().await?;
    environment.done().await?;
    let mut writes = environment.quiet().await?;
    if environment.etcd.is_some() {
        // Its agents never become ready, and their findings change with time.
        let of_nodes = |w: &Write| w.path.ends_with("/status");
        writes
            .iter_mut()
            .for_each(|of_one| of_one.retain(|w| !of_nodes(w)));
    }
    Ok(writes)
}

/// Everything is as before the first round, once the user has deleted their pools.
async fn restored(environment: &Environment) -> Result<()> {
    let test = &environment.test;
    let pools = match environment.etcd {
        Some(_) => Vec::new(),
        None => user::pools(test).await?,
    };
    for (number, pool) in pools {
        for (field, value) in user::pool_spec(number).as_object().into_iter().flatten() {
            ensure!(
                pool["spec"][field] == *value,
                "{field} of a pool of the user is not restored: {pool:#}"
            );
        }
    }
    if environment.etcd.is_none() {
        user::delete_pools(test).await?;
    }
    let now = environment.calico().await?;
    ensure!(
        serde_json::to_string(&now)? == serde_json::to_string(&environment.before)?,
        "not restored\nfound {now:#}\nexpected {:#}",
        environment.before
    );
    ensure!(
        flannel::net_conf(test).await? == FLANNEL,
        "flannel is not restored"
    );
    for name in [
        names::node_agent::DAEMON_SET,
        names::kube_proxy::DAEMON_SET,
        names::kube_proxy::NO_DSR_DAEMON_SET,
        names::network_agent::FLANNEL_DAEMON_SET,
        names::network_agent::STATIC_ROUTES_DAEMON_SET,
    ] {
        let left = async || Ok(test.daemon_set(name).await?.is_null().then_some(()));
        test.until("our DaemonSets are gone", left).await?;
    }
    for node in objects::list(&test.nodes()).await? {
        let marked = node.to_string();
        let managed = node
            .pointer("/metadata/managedFields")
            .map(Value::to_string)
            .unwrap_or_default();
        let marked = marked.replace(&managed, "");
        ensure!(
            !marked.contains(OURS) && !marked.contains(TAINT),
            "left on a Node: {node:#}"
        );
    }
    Ok(())
}

/// No two replicas write at one time.
fn apart(writes: &[Vec<Write>]) -> Result<()> {
    for (number, one) in writes.iter().enumerate() {
        for other in &writes[number + 1..] {
            let overlap = one.iter().find_map(|a| {
                let b = other.iter().find(|b| a.began < b.ended && b.began < a.ended)?;
                Some((a, b))
            });
            ensure!(overlap.is_none(), "two replicas write at one time: {overlap:?}");
        }
    }
    Ok(())
}
