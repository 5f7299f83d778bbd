//! What holds at any moment, and at the end.

use anyhow::{Result, ensure};
use serde_json::Value;
use wn_e2e::objects;
use wn_e2e::test_cluster::TestCluster;

/// What must hold at any moment: Felix does IPIP as long as a pool needs it, and the original value of every changed field is
/// stored.
pub async fn sound(test: &TestCluster, before: &Value) -> Result<()> {
    let now = test.calico_specs().await?;
    let (pool, felix) = (
        &now["IPPool default-ipv4-ippool"],
        &now["FelixConfiguration default"],
    );
    let lost = pool["ipipMode"] != "Never" && felix["ipipEnabled"] == false;
    ensure!(!lost, "a pool says IPIP and Felix has it off: {now:#}");
    let config = objects::configs(&test.client).get_opt("default").await?;
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
        "Calico is changed, and there is no finalizer to restore it"
    );
    Ok(())
}

pub async fn restored(test: &TestCluster, before: &Value) -> Result<()> {
    let now = test.calico_specs().await?;
    ensure!(
        serde_json::to_string(&now)? == serde_json::to_string(before)?,
        "not restored\nfound {now:#}\nexpected {before:#}"
    );
    for name in ["calico-node-windows", "kube-proxy-windows"] {
        let left = async || Ok(test.daemon_set(name).await?.is_null().then_some(()));
        test.until("our DaemonSets are gone", left).await?;
    }
    Ok(())
}
