//! Reading and writing, the way tigera/operator does it: plain creates and updates by field manager `operator`, which is
//! the name of its binary.

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, ConfigKind, DEFAULT};

use crate::objects;

const MANAGER: &str = "operator";
const GROUP: &str = "operator.tigera.io";

/// What is read at the beginning of a pass.
pub struct World {
    client: Client,
    pub calico_api: CalicoApi,
    /// Null where it does not exist, as all objects here.
    pub installation: Value,
    pub felix: Value,
    pub ipam: Value,
    pub endpoint: Value,
    pub dns: Value,
    pub nodes: Vec<Value>,
}

impl World {
    pub async fn of(client: &Client) -> Result<Self> {
        let calico_api = objects::calico_api(client).await?.context("no Calico yet")?;
        let calico = |kind| objects::calico(client, calico_api, kind);
        let config_maps = namespaced(client, "tigera-operator", "ConfigMap", "configmaps");
        let services = namespaced(client, "kube-system", "Service", "services");
        Ok(Self {
            calico_api,
            installation: get(&installations(client), DEFAULT).await?,
            felix: get(&calico(ConfigKind::FelixConfiguration), DEFAULT).await?,
            ipam: get(&calico(ConfigKind::IpamConfiguration), DEFAULT).await?,
            endpoint: get(&config_maps, "kubernetes-services-endpoint").await?,
            dns: get(&services, "kube-dns").await?,
            nodes: nodes(client).await?,
            client: client.clone(),
        })
    }

    pub fn installations(&self) -> Api<DynamicObject> {
        installations(&self.client)
    }

    pub fn calico(&self, kind: ConfigKind) -> Api<DynamicObject> {
        objects::calico(&self.client, self.calico_api, kind)
    }

    pub fn statuses(&self) -> Api<DynamicObject> {
        let resource = objects::resource(GROUP, "v1", "TigeraStatus", "tigerastatuses");
        Api::all_with(self.client.clone(), &resource)
    }

    /// In namespace `calico-system`.
    pub fn daemon_sets(&self) -> Api<DynamicObject> {
        let resource = objects::resource("apps", "v1", "DaemonSet", "daemonsets");
        Api::namespaced_with(self.client.clone(), "calico-system", &resource)
    }

    pub fn config_maps(&self) -> Api<DynamicObject> {
        namespaced(&self.client, "calico-system", "ConfigMap", "configmaps")
    }
}

fn installations(client: &Client) -> Api<DynamicObject> {
    let resource = objects::resource(GROUP, "v1", "Installation", "installations");
    Api::all_with(client.clone(), &resource)
}

async fn nodes(client: &Client) -> Result<Vec<Value>> {
    let api: Api<DynamicObject> =
        Api::all_with(client.clone(), &objects::resource("", "v1", "Node", "nodes"));
    let list = api.list(&ListParams::default()).await?;
    list.iter().map(objects::json).collect()
}

fn namespaced(client: &Client, namespace: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let resource: ApiResource = objects::resource("", "v1", kind, plural);
    Api::namespaced_with(client.clone(), namespace, &resource)
}

pub async fn get(api: &Api<DynamicObject>, name: &str) -> Result<Value> {
    api.get_opt(name)
        .await?
        .map_or(Ok(Value::Null), |o| objects::json(&o))
}

/// Creates an object; one that is there is as good.
pub async fn create(api: &Api<DynamicObject>, object: Value) -> Result<()> {
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    match api.create(&params, &serde_json::from_value(object)?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        done => Ok(done.map(drop)?),
    }
}

fn params() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Changes some fields of `spec`.
pub async fn merge(api: &Api<DynamicObject>, name: &str, spec: Value) -> Result<()> {
    api.patch(name, &params(), &Patch::Merge(json!({ "spec": spec })))
        .await?;
    Ok(())
}

pub async fn merge_status(api: &Api<DynamicObject>, name: &str, status: Value) -> Result<()> {
    let body = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &params(), &body).await?;
    Ok(())
}
