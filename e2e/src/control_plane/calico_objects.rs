//! Calico's own objects, as a fresh installation with `calico.yaml` leaves them.
//!
//! Calico writes plain creates and updates and calls itself `Go-http-client`, as every Go program
//! does that does not care; who owns a field afterwards follows from that, so it is imitated to the
//! letter. In v1 Calico keeps the metadata it believes in an annotation.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::calico::CalicoApi;
use super::cluster::Cluster;
use super::components::POLL;

/// The release that a cluster reports by default.
const RELEASE: &str = "v3.32.1";
const FIELD_MANAGER: &str = "Go-http-client";
/// A CRD is served a moment after it is established.
const SERVED_LIMIT: Duration = Duration::from_secs(30);

/// One object to create: kind, plural, name and spec.
struct Object {
    kind: &'static str,
    plural: &'static str,
    name: &'static str,
    spec: Value,
}

impl Cluster {
    /// Creates Calico's defaults in the API whose CRDs are installed. What exists is left alone.
    pub async fn seed_calico(&self) -> Result<()> {
        self.seed_calico_release(RELEASE).await
    }

    /// The same, with `release` (as in `v3.29.7`) as the version Calico reports.
    pub async fn seed_calico_release(&self, release: &str) -> Result<()> {
        let client = self.client();
        let calico_api = installed_api(&client).await?;
        for default in defaults(calico_api, release) {
            create(&client, calico_api, &default).await?;
        }
        Ok(())
    }
}

async fn installed_api(client: &Client) -> Result<CalicoApi> {
    let groups = client.list_api_groups().await?.groups;
    let served = |name: &str| groups.iter().any(|group| group.name == name);
    // The order of Calico's own clients: beside v1, v3 is an aggregated server.
    match () {
        () if served("crd.projectcalico.org") => Ok(CalicoApi::V1),
        () if served("projectcalico.org") => Ok(CalicoApi::V3),
        () => bail!("no CRDs of Calico are installed"),
    }
}

fn defaults(calico_api: CalicoApi, release: &str) -> [Object; 4] {
    let felix = json!({
        "bpfConnectTimeLoadBalancing": "TCP",
        "floatingIPs": "Disabled",
        "logSeverityScreen": "Info",
        "reportingInterval": "0s",
    });
    let pool = json!({
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
        "blockSize": 26,
        "cidr": "10.244.0.0/16",
        "ipipMode": "Always",
        "natOutgoing": true,
        "nodeSelector": "all()",
        "vxlanMode": "Never",
    });
    let information = json!({
        "calicoVersion": release,
        "clusterGUID": "d875eb34c3b6483d9b6b2fc990a46c27",
        "clusterType": "kdd,k8s",
        "datastoreReady": true,
    });
    let (ipam_kind, ipam_plural) = match calico_api {
        CalicoApi::V3 => ("IPAMConfiguration", "ipamconfigurations"),
        _ => ("IPAMConfig", "ipamconfigs"),
    };
    let object = |kind, plural, name, spec| Object {
        kind,
        plural,
        name,
        spec,
    };
    [
        object(
            "ClusterInformation",
            "clusterinformations",
            "default",
            information,
        ),
        object("IPPool", "ippools", "default-ipv4-ippool", pool),
        object("FelixConfiguration", "felixconfigurations", "default", felix),
        object(ipam_kind, ipam_plural, "default", ipam(calico_api)),
    ]
}

fn ipam(calico_api: CalicoApi) -> Value {
    let mut spec = json!({
        "autoAllocateBlocks": true,
        "kubeVirtVMAddressPersistence": "Enabled",
        "strictAffinity": false,
    });
    if calico_api == CalicoApi::V3 {
        spec["maxBlocksPerHost"] = json!(0);
    }
    spec
}

async fn create(client: &Client, calico_api: CalicoApi, default: &Object) -> Result<()> {
    let (group, version) = match calico_api {
        CalicoApi::V3 => ("projectcalico.org", "v3"),
        _ => ("crd.projectcalico.org", "v1"),
    };
    let kind = GroupVersionKind::gvk(group, version, default.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, default.plural);
    let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let mut object = DynamicObject::new(default.name, &resource).data(json!({ "spec": default.spec }));
    if calico_api == CalicoApi::V1 {
        object.metadata.annotations = Some([recorded_metadata(default.kind)].into());
    }
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let deadline = Instant::now() + SERVED_LIMIT;
    loop {
        match api.create(&params, &object).await {
            Err(kube::Error::Api(status)) if status.code == 404 && Instant::now() < deadline => {
                tokio::time::sleep(POLL).await;
            }
            Err(kube::Error::Api(status)) if status.code == 409 => return Ok(()),
            other => {
                other.with_context(|| format!("create {} {}", default.kind, default.name))?;
                return Ok(());
            }
        }
    }
}

/// IPAM's objects come from another writer in Calico, one that records no time.
fn recorded_metadata(kind: &str) -> (String, String) {
    let created = match kind {
        "IPAMConfig" => Value::Null,
        _ => json!(jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    };
    (
        "projectcalico.org/metadata".to_owned(),
        json!({ "creationTimestamp": created }).to_string(),
    )
}
