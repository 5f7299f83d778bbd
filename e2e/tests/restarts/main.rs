//! `kill -9` between any two writes of the operator, then converge and give everything back.
//!
//! The operator talks to the API server through a proxy that lets exactly `n` of its writes pass and holds
//! the answer to the last one back; then it is killed, and another one, on a way of its own, has to finish
//! the work. For every `n`, until there is no n-th write any more.

mod proxy;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions};
use wn_e2e::objects;
use wn_e2e::operator::{NAME, Operator};
use wn_e2e::stage::{LIMIT, Stage, condition, minimal};

use proxy::Proxy;

/// Far more writes than either way has: a guard against an operator that never comes to rest.
const TOO_MANY: usize = 60;

#[rstest]
#[case::v1(CalicoApi::V1, true, false)]
#[case::v3(CalicoApi::V3, true, false)]
#[case::v1_absent(CalicoApi::V1, false, false)]
#[case::v3_absent(CalicoApi::V3, false, false)]
#[case::v1_then_deleted(CalicoApi::V1, true, true)]
#[case::v3_absent_then_deleted(CalicoApi::V3, false, true)]
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_of_the_way_in(
    #[case] form: CalicoApi,
    #[case] present: bool,
    #[case] deleted: bool,
) -> Result<()> {
    let mut stage = Stage::set(ClusterOptions {
        calico_api: form,
        ..ClusterOptions::default()
    })
    .await?;
    if !present {
        for kind in [IPAM, FELIX] {
            stage.calico(kind).delete("default", &Default::default()).await?;
        }
    }
    let before = stage.calico_specs().await?;
    for n in 1..TOO_MANY {
        let proxy = Proxy::start(&stage.cluster.token_kubeconfig(NAME, NAME).await?, n).await?;
        through(&mut stage, &proxy).await?;
        stage.apply(minimal("CalicoVXLAN")).await?;
        let stopped = stopped_or(&proxy, &stage, is_ready).await?;
        stage.kill();
        let step = format!("after write {n}, {}", proxy.last());
        sound(&stage, &before).await.context(step.clone())?;
        if deleted {
            stage.delete().await?;
            stage.start().await?;
            gone(&stage).await.context(step.clone())?;
        } else {
            stage.start().await?;
            stage.ready().await.context(step.clone())?;
            configured(&stage, &before, &VXLAN).await.context(step.clone())?;
            stage.delete_and_wait().await.context(step.clone())?;
        }
        given_back(&stage, &before).await.context(step)?;
        stage.kill();
        if !stopped {
            ensure!(n > 10, "only {n} writes until Ready: {:?}", proxy.writes());
            println!("{form:?}: Ready after {} writes: {:#?}", n - 1, proxy.writes());
            return Ok(());
        }
    }
    anyhow::bail!("still writing after {TOO_MANY} writes")
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_of_the_way_out(#[case] form: CalicoApi) -> Result<()> {
    let mut stage = Stage::set(ClusterOptions {
        calico_api: form,
        ..ClusterOptions::default()
    })
    .await?;
    let before = stage.calico_specs().await?;
    for n in 1..TOO_MANY {
        stage.start().await?;
        stage.apply(minimal("CalicoVXLAN")).await?;
        stage.ready().await?;
        stage.quiet().await?;
        stage.kill();
        let proxy = Proxy::start(&stage.cluster.token_kubeconfig(NAME, NAME).await?, n).await?;
        through(&mut stage, &proxy).await?;
        stage.delete().await?;
        let stopped = stopped_or(&proxy, &stage, |config| config.is_none()).await?;
        stage.kill();
        let step = format!("after write {n}, {}", proxy.last());
        sound(&stage, &before).await.context(step.clone())?;
        stage.start().await?;
        gone(&stage).await.context(step.clone())?;
        given_back(&stage, &before).await.context(step)?;
        stage.kill();
        if !stopped {
            ensure!(n > 7, "only {n} writes on delete: {:?}", proxy.writes());
            println!("{form:?}: gone after {} writes: {:#?}", n - 1, proxy.writes());
            return Ok(());
        }
    }
    anyhow::bail!("still writing after {TOO_MANY} writes")
}

/// From VXLAN to BGP: some fields change, others are given back on the way.
#[rstest]
#[case::v1(CalicoApi::V1, false)]
#[case::v3(CalicoApi::V3, false)]
#[case::v1_then_deleted(CalicoApi::V1, true)]
#[case::v3_then_deleted(CalicoApi::V3, true)]
#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_write_of_a_change_of_network(
    #[case] form: CalicoApi,
    #[case] deleted: bool,
) -> Result<()> {
    let mut stage = Stage::set(ClusterOptions {
        calico_api: form,
        ..ClusterOptions::default()
    })
    .await?;
    // One field that BGP has no wish for had a value, another had none.
    stage
        .edit(FELIX, "default", json!({"vxlanVNI": 100}), "kubectl-edit")
        .await?;
    let before = stage.calico_specs().await?;
    for n in 1..TOO_MANY {
        stage.start().await?;
        stage.apply(minimal("CalicoVXLAN")).await?;
        stage.ready().await?;
        stage.quiet().await?;
        stage.kill();
        let proxy = Proxy::start(&stage.cluster.token_kubeconfig(NAME, NAME).await?, n).await?;
        through(&mut stage, &proxy).await?;
        stage.apply(minimal("CalicoBGP")).await?;
        let stopped = stopped_or(&proxy, &stage, is_ready).await?;
        stage.kill();
        let step = format!("after write {n}, {}", proxy.last());
        sound(&stage, &before).await.context(step.clone())?;
        if deleted {
            // Half way, with some fields as VXLAN and some as BGP wants them.
            stage.delete().await?;
            stage.start().await?;
            gone(&stage).await.context(step.clone())?;
        } else {
            stage.start().await?;
            stage.ready().await.context(step.clone())?;
            configured(&stage, &before, &BGP).await.context(step.clone())?;
            stage.delete_and_wait().await.context(step.clone())?;
        }
        given_back(&stage, &before).await.context(step)?;
        stage.kill();
        if !stopped {
            ensure!(n > 6, "only {n} writes: {:?}", proxy.writes());
            println!("{form:?}: changed after {} writes: {:#?}", n - 1, proxy.writes());
            return Ok(());
        }
    }
    anyhow::bail!("still writing after {TOO_MANY} writes")
}

async fn gone(stage: &Stage) -> Result<()> {
    let gone = async || {
        Ok(objects::configs(&stage.client)
            .get_opt("default")
            .await?
            .is_none()
            .then_some(()))
    };
    stage.until("the config is gone", gone).await
}

async fn through(stage: &mut Stage, proxy: &Proxy) -> Result<()> {
    let kubeconfig = proxy.kubeconfig(stage.state_dir())?;
    let mut operator = Operator::run_with(&stage.cluster, &kubeconfig).await?;
    operator.wait_ready(LIMIT).await?;
    stage.operator = Some(operator);
    Ok(())
}

/// True when the proxy stopped the operator, false when `done` came first and stayed.
async fn stopped_or(proxy: &Proxy, stage: &Stage, done: impl Fn(Option<&Value>) -> bool) -> Result<bool> {
    let end = async || {
        let config = objects::configs(&stage.client).get_opt("default").await?;
        let config = config.as_ref().map(objects::json).transpose()?;
        Ok((proxy.has_stopped() || done(config.as_ref())).then_some(()))
    };
    stage.until("the n-th write or the end", end).await?;
    if !proxy.has_stopped() {
        // The last writes, of Events, may follow the state that was waited for.
        tokio::time::sleep(Duration::from_millis(1000)).await;
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

/// What must hold at any moment: Felix does IPIP as long as a pool asks for it, and what differs from the
/// beginning is written down.
async fn sound(stage: &Stage, before: &Value) -> Result<()> {
    let now = stage.calico_specs().await?;
    let (pool, felix) = (
        &now["IPPool default-ipv4-ippool"],
        &now["FelixConfiguration default"],
    );
    let lost = pool["ipipMode"] != "Never" && felix["ipipEnabled"] == false;
    ensure!(!lost, "a pool says IPIP and Felix has it off: {now:#}");
    let config = objects::configs(&stage.client).get_opt("default").await?;
    let Some(config) = config else {
        ensure!(
            &now == before,
            "the config is gone, and Calico is not as it was: {now:#}"
        );
        return Ok(());
    };
    let config = objects::json(&config)?;
    let originals = config
        .pointer("/status/calico/originals")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for (object, spec) in now.as_object().into_iter().flatten() {
        for (field, value) in spec.as_object().into_iter().flatten() {
            let was = before[object].get(field);
            let of = |o: &&Value| {
                let word = |field: &str| o[field].as_str().unwrap_or_default();
                format!("{} {}", word("kind"), word("name")) == *object
            };
            let made = originals.iter().filter(of).any(|o| o["created"] == true);
            let entry = originals.iter().filter(of).find(|o| o["field"] == *field);
            let known = made || entry.is_some_and(|o| o.get("previous") == was);
            ensure!(
                was == Some(value) || known,
                "{object} {field} is {value}, and {was:?} is nowhere: {originals:?}"
            );
        }
    }
    let finalizers = config
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    ensure!(
        &now == before || finalizers == 1,
        "Calico is changed and no finalizer is there to give it back"
    );
    Ok(())
}

type Fields = [(ConfigKind, &'static str, &'static [(&'static str, Wish)]); 3];

#[derive(Clone, Copy)]
enum Wish {
    Flag(bool),
    Number(i32),
    Text(&'static str),
}

use Wish::{Flag, Number, Text};

const IPAM: ConfigKind = ConfigKind::IpamConfiguration;
const POOL: ConfigKind = ConfigKind::IpPool;
const FELIX: ConfigKind = ConfigKind::FelixConfiguration;

const VXLAN: Fields = [
    (IPAM, "default", &[("strictAffinity", Flag(true))]),
    (
        POOL,
        "default-ipv4-ippool",
        &[("ipipMode", Text("Never")), ("vxlanMode", Text("Always"))],
    ),
    (
        FELIX,
        "default",
        &[
            ("ipipEnabled", Flag(false)),
            ("vxlanEnabled", Flag(true)),
            ("vxlanVNI", Number(4096)),
            ("vxlanPort", Number(4789)),
        ],
    ),
];
const BGP: Fields = [
    (IPAM, "default", &[("strictAffinity", Flag(true))]),
    (
        POOL,
        "default-ipv4-ippool",
        &[("ipipMode", Text("Never")), ("vxlanMode", Text("Never"))],
    ),
    (
        FELIX,
        "default",
        &[("ipipEnabled", Flag(false)), ("vxlanEnabled", Flag(false))],
    ),
];

/// Every object has the fields that are wished for, and its others as they were.
async fn configured(stage: &Stage, before: &Value, wishes: &Fields) -> Result<()> {
    let found = stage.calico_specs().await?;
    for (kind, name, fields) in wishes {
        let key = format!("{} {name}", kind.as_str());
        // What the operator creates has the defaults of the schema, too.
        let mut expected = if before[&key].is_null() {
            found[&key].clone()
        } else {
            before[&key].clone()
        };
        for (field, wish) in *fields {
            expected[*field] = match wish {
                Flag(value) => json!(value),
                Number(value) => json!(value),
                Text(value) => json!(value),
            };
        }
        ensure!(
            found[&key] == expected,
            "{key}\nfound {:#}\nexpected {expected:#}",
            found[&key]
        );
    }
    Ok(())
}

async fn given_back(stage: &Stage, before: &Value) -> Result<()> {
    let now = stage.calico_specs().await?;
    ensure!(
        serde_json::to_string(&now)? == serde_json::to_string(before)?,
        "not given back\nfound {now:#}\nexpected {before:#}"
    );
    for name in ["calico-node-windows", "kube-proxy-windows"] {
        let left = async || Ok(stage.daemon_set(name).await?.is_null().then_some(()));
        stage.until("our DaemonSets are gone", left).await?;
    }
    Ok(())
}
