//! What the user of a campaign does to the `WindowsNodeConfig` and to Calico's objects.

use anyhow::Result;
use fastrand::Rng;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names;

use super::environment::Environment;
use crate::etcd_fixture;
use crate::objects::{self, text};
use crate::test_cluster::TestCluster;

/// Where several networks follow each other; the others write to nothing that these do not.
const NETWORKS: [&str; 5] = [
    "CalicoVXLAN",
    "CalicoBGP",
    "CalicoVXLAN",
    "FlannelVXLAN",
    "StaticRoutes",
];
/// The first so many of them take their configuration from an etcd.
const WITH_ETCD: usize = 3;

/// Pools of the campaign's user are called this and a number.
const POOL: &str = "campaign-";
const POOLS: u8 = 4;
/// As `kubectl edit` calls itself.
const MANAGER: &str = "kubectl-edit";

/// The spec that a round ends with. Pods of the simulated nodes use the pools, so encapsulation has to be migrated.
pub fn target(environment: &Environment, rng: &mut Rng) -> Value {
    let networks = match environment.etcd {
        Some(_) => &NETWORKS[..WITH_ETCD],
        None => &NETWORKS[..],
    };
    let network = rng.choice(networks).copied().unwrap_or(NETWORKS[0]);
    let mut spec =
        json!({ "network": {"type": network}, "calico": {"encapsulation": {"whenInUse": "Migrate"}} });
    if let Some(etcd) = &environment.etcd {
        spec["calico"]["datastore"] = etcd.datastore();
    }
    if !network.starts_with("Calico") {
        spec["networkAgent"] = json!({"image": {"repository": "example/agent", "tag": "v1"}});
    }
    spec
}

/// Applies another spec: another network type, mode or taint.
pub async fn configure(environment: &mut Environment, rng: &mut Rng) -> Result<()> {
    let mut spec = target(environment, rng);
    // Of a config that is being deleted nothing is restored after that.
    if rng.u8(0..5) == 0 && !is_deleted(environment).await? {
        spec["mode"] = json!("Observe");
    }
    if let Some(taint) = rng.choice(["None", "Startup", "Continuous"]) {
        spec["readiness"] = json!({ "taint": taint });
    }
    environment.note(format!("the user applies {spec}"));
    environment.test.apply(spec).await
}

async fn is_deleted(environment: &Environment) -> Result<bool> {
    let config = objects::configs(&environment.test.client)
        .get_opt(names::SINGLETON)
        .await?;
    Ok(config.is_some_and(|c| c.metadata.deletion_timestamp.is_some()))
}

/// Deletes the config without waiting.
pub async fn delete_config(environment: &mut Environment) -> Result<()> {
    let configs = objects::configs(&environment.test.client);
    if configs.get_opt(names::SINGLETON).await?.is_none() {
        return Ok(());
    }
    // In mode Observe nothing is restored.
    let mut spec = json!({ "network": {"type": "CalicoVXLAN"}, "mode": "Manage" });
    if let Some(etcd) = &environment.etcd {
        // A pod on a Linux node has an address of the pool.
        spec["calico"] = json!({"datastore": etcd.datastore(), "encapsulation": {"whenInUse": "Migrate"}});
    }
    environment.test.apply(spec).await?;
    gone_is_fine(configs.delete(names::SINGLETON, &Default::default()).await)
}

/// Creates one of the pools that does not exist yet.
pub async fn create_pool(environment: &mut Environment, rng: &mut Rng) -> Result<()> {
    let number = rng.u8(0..POOLS);
    let test = &environment.test;
    let name = format!("{POOL}{number}");
    let (kind, plural) = objects::served(test.calico_api, ConfigKind::IpPool);
    let resource: ApiResource =
        objects::resource(test.calico_api.group(), test.calico_api.version(), kind, plural);
    let pool = DynamicObject::new(&name, &resource).data(json!({ "spec": pool_spec(number) }));
    let api = test.calico(ConfigKind::IpPool);
    match api.create(&PostParams::default(), &pool).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        done => Ok(done.map(drop)?),
    }
}

/// Deletes one of the pools if it exists.
pub async fn delete_pool(environment: &mut Environment, rng: &mut Rng) -> Result<()> {
    let name = format!("{POOL}{}", rng.u8(0..POOLS));
    let api = environment.test.calico(ConfigKind::IpPool);
    gone_is_fine(api.delete(&name, &Default::default()).await)
}

/// Puts one field that the operator set back to what it was before.
pub async fn drift(environment: &mut Environment, rng: &mut Rng) -> Result<()> {
    let before = &environment.before;
    if let Some(etcd) = &environment.etcd {
        let key = if rng.bool() {
            etcd_fixture::IPAM
        } else {
            etcd_fixture::POOL
        };
        return etcd.server.put(key, text(before, &pointer(key))).await;
    }
    let (kind, name, fields): (_, _, &[&str]) = if rng.bool() {
        (ConfigKind::IpamConfiguration, "default", &["strictAffinity"])
    } else {
        (
            ConfigKind::IpPool,
            "default-ipv4-ippool",
            &["ipipMode", "vxlanMode"],
        )
    };
    let was = &before[format!("{} {name}", kind.as_str())];
    let spec: serde_json::Map<_, _> = fields
        .iter()
        .map(|field| ((*field).to_owned(), was[*field].clone()))
        .collect();
    environment
        .test
        .edit(kind, name, Value::Object(spec), MANAGER)
        .await
}

/// The place of a key in an object.
fn pointer(key: &str) -> String {
    format!("/{}", key.replace('/', "~1"))
}

/// As the user created it.
pub fn pool_spec(number: u8) -> Value {
    json!({
        "cidr": format!("10.{}.0.0/16", 100 + number),
        "ipipMode": "Always",
        "vxlanMode": "Never",
        "natOutgoing": true,
        "blockSize": 26,
        "nodeSelector": "all()",
    })
}

/// The pools of the user that exist, by number.
pub async fn pools(test: &TestCluster) -> Result<Vec<(u8, Value)>> {
    let all = objects::list(&test.calico(ConfigKind::IpPool)).await?;
    let number = |pool: &Value| text(pool, "/metadata/name").strip_prefix(POOL)?.parse().ok();
    Ok(all
        .into_iter()
        .filter_map(|pool| Some((number(&pool)?, pool)))
        .collect())
}

/// Deletes every pool of the user.
pub async fn delete_pools(test: &TestCluster) -> Result<()> {
    let api = test.calico(ConfigKind::IpPool);
    for (number, _) in pools(test).await? {
        gone_is_fine(api.delete(&format!("{POOL}{number}"), &Default::default()).await)?;
    }
    Ok(())
}

fn gone_is_fine<T>(result: kube::Result<T>) -> Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        done => Ok(done.map(drop)?),
    }
}
