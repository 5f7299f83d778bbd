//! `kill -9` between any two writes of the operator, then converge and restore everything.
//!
//! The operator talks to the API server through a proxy that lets exactly `n` of its writes pass and holds
//! the answer to the last one back; then it is killed, and another one, on a way of its own, has to finish
//! the work. For every `n`, until there is no n-th write any more.

mod replicas;
mod sound;

use anyhow::{Context as _, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};
use wn_e2e::calico_fields::{BGP, FELIX, Fields, IPAM, VXLAN, configured};
use wn_e2e::campaign::Proxy;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions};
use wn_e2e::objects;
use wn_e2e::operator::{NAME, Operator};
use wn_e2e::test_cluster::{LIMIT, TestCluster, condition, minimal};

use sound::{restored, sound};

/// Far more writes than either way has: a guard against an operator that never comes to rest.
const TOO_MANY: usize = 60;

/// A way of the operator that is interrupted after each of its writes.
struct Way {
    /// The network type that was ready before.
    from: Option<&'static str>,
    /// The network type that is asked for; `None` is deletion.
    to: Option<(&'static str, &'static Fields)>,
    /// Whether the object is deleted half way.
    deleted: bool,
    /// Fewer writes than this would mean that the proxy sees nothing.
    least: usize,
}

#[rstest]
#[case::v1(CalicoApi::V1, true, false)]
#[case::v3(CalicoApi::V3, true, false)]
#[case::v1_absent(CalicoApi::V1, false, false)]
#[case::v3_absent(CalicoApi::V3, false, false)]
#[case::v1_then_deleted(CalicoApi::V1, true, true)]
#[case::v3_absent_then_deleted(CalicoApi::V3, false, true)]
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_of_the_way_in(
    #[case] calico_api: CalicoApi,
    #[case] present: bool,
    #[case] deleted: bool,
) -> Result<()> {
    let test = set(calico_api).await?;
    if !present {
        for kind in [IPAM, FELIX] {
            test.calico(kind).delete("default", &Default::default()).await?;
        }
    }
    let way = Way {
        from: None,
        to: Some(("CalicoVXLAN", &VXLAN)),
        deleted,
        least: 10,
    };
    killed_after_any_write(test, &way).await
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_of_the_way_out(#[case] calico_api: CalicoApi) -> Result<()> {
    let way = Way {
        from: Some("CalicoVXLAN"),
        to: None,
        deleted: true,
        least: 7,
    };
    killed_after_any_write(set(calico_api).await?, &way).await
}

/// From VXLAN to BGP: some fields change, others are restored on the way.
#[rstest]
#[case::v1(CalicoApi::V1, false)]
#[case::v3(CalicoApi::V3, false)]
#[case::v1_then_deleted(CalicoApi::V1, true)]
#[case::v3_then_deleted(CalicoApi::V3, true)]
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_of_a_change_of_network(
    #[case] calico_api: CalicoApi,
    #[case] deleted: bool,
) -> Result<()> {
    let test = set(calico_api).await?;
    // One field that BGP does not set had a value, another had none.
    test.edit(FELIX, "default", json!({"vxlanVNI": 100}), "kubectl-edit")
        .await?;
    let way = Way {
        from: Some("CalicoVXLAN"),
        to: Some(("CalicoBGP", &BGP)),
        deleted,
        least: 6,
    };
    killed_after_any_write(test, &way).await
}

async fn set(calico_api: CalicoApi) -> Result<TestCluster> {
    TestCluster::without_operator(ClusterOptions {
        calico_api,
        ..ClusterOptions::default()
    })
    .await
}

async fn killed_after_any_write(mut test: TestCluster, way: &Way) -> Result<()> {
    let before = test.calico_specs().await?;
    for n in 1..TOO_MANY {
        let proxy = Proxy::start_for(&test.cluster.token_kubeconfig(NAME, NAME).await?, n).await?;
        let stopped = go(&mut test, way, &proxy).await?;
        finish(&mut test, way, &before)
            .await
            .with_context(|| format!("after write {n}: {:?}", proxy.take_writes()))?;
        if !stopped {
            ensure!(n > way.least, "only {n} writes: {:?}", proxy.take_writes());
            return Ok(());
        }
    }
    anyhow::bail!("still writing after {TOO_MANY} writes")
}

/// Goes the way until the proxy stops the operator; false when the way was over before.
async fn go(test: &mut TestCluster, way: &Way, proxy: &Proxy) -> Result<bool> {
    if let Some(from) = way.from {
        test.start_operator().await?;
        test.apply(minimal(from)).await?;
        test.ready().await?;
        test.quiet().await?;
        test.kill_operator();
    }
    through(test, proxy).await?;
    let stopped = match way.to {
        Some((to, _)) => {
            test.apply(minimal(to)).await?;
            stopped_or(proxy, test, is_ready).await?
        }
        None => {
            test.delete().await?;
            stopped_or(proxy, test, |config| config.is_none()).await?
        }
    };
    test.kill_operator();
    Ok(stopped)
}

/// Another operator, on a way of its own, finishes the work, and everything is restored.
async fn finish(test: &mut TestCluster, way: &Way, before: &Value) -> Result<()> {
    sound(test, before).await?;
    match way.to.filter(|_| !way.deleted) {
        Some((_, fields)) => {
            test.start_operator().await?;
            test.ready().await?;
            configured(test, before, fields).await?;
            test.delete_and_wait().await?;
        }
        None => {
            // Half way, with some fields as one type and some as the other wants them.
            if way.to.is_some() {
                test.delete().await?;
            }
            test.start_operator().await?;
            gone(test).await?;
        }
    }
    restored(test, before).await?;
    test.kill_operator();
    Ok(())
}

async fn gone(test: &TestCluster) -> Result<()> {
    let gone = async || {
        Ok(objects::configs(&test.client)
            .get_opt("default")
            .await?
            .is_none()
            .then_some(()))
    };
    test.until("the config is gone", gone).await
}

async fn through(test: &mut TestCluster, proxy: &Proxy) -> Result<()> {
    let kubeconfig = test.state_dir().join("through-the-proxy.kubeconfig");
    proxy.kubeconfig(&kubeconfig)?;
    let mut operator = Operator::run_with(&test.cluster, &kubeconfig).await?;
    operator.wait_ready(LIMIT).await?;
    test.operator = Some(operator);
    Ok(())
}

/// True when the proxy stopped the operator, false when `done` came first and stayed.
async fn stopped_or(
    proxy: &Proxy,
    test: &TestCluster,
    done: impl Fn(Option<&Value>) -> bool,
) -> Result<bool> {
    let end = async || {
        let config = objects::configs(&test.client).get_opt("default").await?;
        let config = config.as_ref().map(objects::json).transpose()?;
        Ok((proxy.has_stopped() || done(config.as_ref())).then_some(()))
    };
    test.until("the n-th write or the end", end).await?;
    if !proxy.has_stopped() {
        // The last writes, of Events and of a status that is paced, may follow the state that was waited for.
        test.quiet().await?;
    }
    Ok(proxy.has_stopped())
}

fn is_ready(config: Option<&Value>) -> bool {
    let current = |c: &&Value| c.pointer("/status/observedGeneration") == c.pointer("/metadata/generation");
    config
        .filter(current)
        .and_then(|c| condition(c, "Ready"))
        .is_some_and(|c| c["status"] == "True")
}
