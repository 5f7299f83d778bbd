//! What all tests here share: clusters, Calico objects as JSON, expectations.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::{AuditEvent, CalicoApi, ClusterOptions};
use wn_e2e::objects;
use wn_e2e::test_cluster::TestCluster;

pub const IPAM: ConfigKind = ConfigKind::IpamConfiguration;
pub const POOL: ConfigKind = ConfigKind::IpPool;
pub const FELIX: ConfigKind = ConfigKind::FelixConfiguration;
pub const DEFAULT: &str = "default";
/// The pool `calico.yaml` makes.
pub const POOL_NAME: &str = "default-ipv4-ippool";
/// A plain write by this manager is somebody's `kubectl edit`.
pub const PERSON: &str = "kubectl-edit";
pub const CALICO_GROUPS: [&str; 2] = ["crd.projectcalico.org", "projectcalico.org"];

pub fn options(calico_api: CalicoApi) -> ClusterOptions {
    ClusterOptions {
        calico_api,
        ..ClusterOptions::default()
    }
}

/// `spec` with some fields set (null removes one).
pub fn with(spec: &Value, fields: Value) -> Value {
    let mut spec = spec.clone();
    for (name, value) in fields.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(spec.as_object_mut().map(|s| s.remove(name))),
            _ => spec[name] = value.clone(),
        }
    }
    spec
}

/// `<kind> <name>` → spec, with some fields of some objects set.
pub fn specs_with(specs: &Value, changes: &[(ConfigKind, &str, Value)]) -> Value {
    let mut specs = specs.clone();
    for (kind, name, fields) in changes {
        let key = format!("{} {name}", kind.as_str());
        specs[&key] = with(&specs[&key], fields.clone());
    }
    specs
}

/// What Windows nodes need with `CalicoVXLAN`, on top of what was there.
pub fn vxlan(specs: &Value, vni: i32) -> Value {
    specs_with(
        specs,
        &[
            (IPAM, DEFAULT, json!({"strictAffinity": true})),
            (
                POOL,
                POOL_NAME,
                json!({"ipipMode": "Never", "vxlanMode": "Always"}),
            ),
            (
                FELIX,
                DEFAULT,
                json!({"ipipEnabled": false, "vxlanEnabled": true, "vxlanVNI": vni, "vxlanPort": 4789}),
            ),
        ],
    )
}

/// Fails with both documents where they differ.
pub fn same(what: &str, found: &Value, expected: &Value) -> Result<()> {
    ensure!(
        found == expected,
        "{what}:\nfound    {found:#}\nexpected {expected:#}"
    );
    Ok(())
}

/// The bytes of all specs, as the API server gives them.
pub async fn specs_are(test: &TestCluster, what: &str, expected: &Value) -> Result<()> {
    let found = test.calico_specs().await?;
    same(what, &found, expected)?;
    ensure!(
        serde_json::to_string(&found)? == serde_json::to_string(expected)?,
        "{what}: other bytes"
    );
    Ok(())
}

/// Creates an object of Calico's in the API of this cluster; its API may need a moment to be served.
pub async fn create(test: &TestCluster, kind: &str, plural: &str, name: &str, spec: Value) -> Result<()> {
    create_labelled(test, kind, plural, name, spec, json!({})).await
}

pub async fn create_labelled(
    test: &TestCluster,
    kind: &str,
    plural: &str,
    name: &str,
    spec: Value,
    labels: Value,
) -> Result<()> {
    let api_version = format!("{}/{}", test.calico_api.group(), test.calico_api.version());
    let metadata = json!({"name": name, "labels": labels});
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
    retry(async || test.create(plural, object.clone()).await).await
}

pub async fn retry<T>(attempt: impl AsyncFn() -> Result<T>) -> Result<T> {
    let mut tries = 0;
    loop {
        match attempt().await {
            Err(e) if tries == 100 => return Err(e),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            done => return done,
        }
        tries += 1;
    }
}

pub async fn create_pool(test: &TestCluster, name: &str, spec: Value) -> Result<()> {
    create(test, "IPPool", "ippools", name, spec).await
}

/// Changes `ClusterInformation` `default`.
pub async fn inform(test: &TestCluster, spec: Value) -> Result<()> {
    let (group, version) = (test.calico_api.group(), test.calico_api.version());
    let resource = objects::resource(group, version, "ClusterInformation", "clusterinformations");
    patch(&test.client, &resource, DEFAULT, json!({ "spec": spec })).await
}

pub async fn patch(
    client: &Client,
    resource: &kube::api::ApiResource,
    name: &str,
    body: Value,
) -> Result<()> {
    let api = kube::Api::<kube::api::DynamicObject>::all_with(client.clone(), resource);
    api.patch(name, &PatchParams::default(), &Patch::Merge(body))
        .await?;
    Ok(())
}

/// A block of a Linux node with one pod in it, as libcalico-go writes it (shared/calico-objects).
pub async fn linux_pod(test: &TestCluster) -> Result<()> {
    let mut allocations = vec![Value::Null; 64];
    allocations[0] = json!(0);
    let spec = json!({
        "affinity": "host:linux-0",
        "allocations": allocations,
        "attributes": [{
            "handle_id": "k8s-pod-network.0a1b2c3d",
            "secondary": {"namespace": "default", "node": "linux-0", "pod": "web-0"},
        }],
        "cidr": "10.244.179.192/26",
        "deleted": false,
        "sequenceNumber": 1,
        "sequenceNumberForAllocation": {"0": 0},
        "strictAffinity": false,
        "unallocated": (1..64).collect::<Vec<_>>(),
    });
    create(test, "IPAMBlock", "ipamblocks", "10-244-179-192-26", spec).await
}

/// The operator's writes to Calico, refused ones included.
pub fn calico_writes(test: &TestCluster, since: Timestamp) -> Result<Vec<AuditEvent>> {
    let writes = test.writes_since(since)?;
    Ok(writes
        .into_iter()
        .filter(|w| CALICO_GROUPS.contains(&w.group.as_str()))
        .collect())
}

pub fn lines(writes: &[AuditEvent]) -> Vec<String> {
    let line = |w: &AuditEvent| {
        format!(
            "{} {}/{} {} {}",
            w.verb, w.resource, w.subresource, w.name, w.response_code
        )
    };
    writes.iter().map(line).collect()
}

/// The operator went on working and wrote nothing to Calico.
pub async fn no_calico_writes(test: &TestCluster, since: Timestamp) -> Result<()> {
    test.fence().await?;
    let writes = calico_writes(test, since)?;
    ensure!(writes.is_empty(), "written: {:?}", lines(&writes));
    Ok(())
}

/// The operator went on working and wrote nothing but the status that was asked of it.
pub async fn no_writes(test: &TestCluster, since: Timestamp) -> Result<()> {
    test.fence().await?;
    let mut writes = test.writes_since(since)?;
    let fence = writes
        .iter()
        .rposition(|w| w.resource == "windowsnodeconfigs" && w.subresource == "status");
    fence.map(|at| writes.remove(at));
    ensure!(writes.is_empty(), "written: {:?}", lines(&writes));
    Ok(())
}

/// Every one of `parts` is in `text`.
pub fn says(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        if !text.contains(part) {
            bail!("{part:?} is not in: {text}");
        }
    }
    Ok(())
}

/// `status.calico.originals` of the config, as `<kind> <name> <field>` → the entry.
pub async fn originals(test: &TestCluster) -> Result<serde_json::Map<String, Value>> {
    let config = test.config().await?;
    let list = config
        .pointer("/status/calico/originals")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut map = serde_json::Map::new();
    for entry in list {
        let word = |field: &str| {
            entry[field]
                .as_str()
                .context("an original has no name")
                .map(str::to_owned)
        };
        map.insert(
            format!("{} {} {}", word("kind")?, word("name")?, word("field")?),
            entry,
        );
    }
    Ok(map)
}
