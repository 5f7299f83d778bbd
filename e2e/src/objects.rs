//! Objects as plain JSON, read the way `kubectl get -o json` would.

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use wn_api::calico::{CalicoApi, ConfigKind};
use wn_api::names;

pub fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

pub fn configs(client: &Client) -> Api<DynamicObject> {
    let resource = resource(names::GROUP, names::VERSION, names::KIND, "windowsnodeconfigs");
    Api::all_with(client.clone(), &resource)
}

/// `WindowsNodeConfig` `default`.
pub async fn config(client: &Client) -> Result<Value> {
    json(&configs(client).get(names::SINGLETON).await?)
}

pub fn json(object: &DynamicObject) -> Result<Value> {
    serde_json::to_value(object).context("an object is not JSON")
}

/// Kind and plural of one of Calico's own kinds.
pub fn served(calico_api: CalicoApi, kind: ConfigKind) -> (&'static str, &'static str) {
    calico_api.served(kind).unwrap_or((kind.as_str(), ""))
}

/// Calico's objects of a kind in one of its APIs.
pub fn calico(client: &Client, calico_api: CalicoApi, kind: ConfigKind) -> Api<DynamicObject> {
    let (served, plural) = served(calico_api, kind);
    Api::all_with(
        client.clone(),
        &resource(calico_api.group(), calico_api.version(), served, plural),
    )
}

/// The API of Calico that is served; v1 if both are, as Calico's own clients choose.
pub async fn calico_api(client: &Client) -> Result<Option<CalicoApi>> {
    let groups = client.list_api_groups().await?.groups;
    let served = |calico_api: &CalicoApi| groups.iter().any(|g| g.name == calico_api.group());
    Ok([CalicoApi::V1, CalicoApi::V3].into_iter().find(served))
}

pub async fn list(api: &Api<DynamicObject>) -> Result<Vec<Value>> {
    api.list(&ListParams::default()).await?.iter().map(json).collect()
}

pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
