//! What an agent's successful start writes: IPAM objects and its Node's annotations. Every write carries
//! the field manager of all Go programs that do not choose one, libcalico among them.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::{Value, json};
use wn_api::calico::CalicoApi;

use super::cache::CalicoKind;
use super::feeds::resource;
use super::ipam::{self, Cidr};

const FIELD_MANAGER: &str = "Go-http-client";

/// What came of asking for a block.
#[derive(Debug, Eq, PartialEq)]
pub enum Claim {
    Mine,
    /// Somebody else has it.
    Taken,
}

/// Makes the IPAM configuration, as the first IPAM call of any node does. Losing the race is fine.
pub async fn ensure_config(client: &Client, api: CalicoApi) -> Result<(), Error> {
    let config = resource(api, CalicoKind::IpamConfig);
    create(client, &config, ipam::default_config(api)).await.map(drop)
}

/// Makes the default pool where there is none, as the startup of any node does unless disabled
/// (`configureIPPools`, `node/pkg/lifecycle/startup/startup.go`).
pub async fn ensure_pool(client: &Client, api: CalicoApi) -> Result<(), Error> {
    let kind = resource(api, CalicoKind::Pool);
    let pools: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    if pools
        .list(&ListParams::default().limit(1))
        .await?
        .items
        .is_empty()
    {
        create(client, &kind, ipam::default_pool(api)).await?;
    }
    Ok(())
}

/// Writes the agent's version into ClusterInformation, as every start-up does (`ensureDefaultConfig`,
/// `node/pkg/lifecycle/startup/startup.go`).
pub async fn announce(client: &Client, api: CalicoApi, version: &str) -> Result<(), Error> {
    let kind = kube::api::ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(api.group(), api.version(), "ClusterInformation"),
        "clusterinformations",
    );
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let Some(mut information) = all.get_opt("default").await? else {
        return Ok(());
    };
    if information.data["spec"]["calicoVersion"] != version {
        information.data["spec"]["calicoVersion"] = json!(version);
        all.replace("default", &post_params(), &information).await?;
    }
    Ok(())
}

/// Affinity pending, block, affinity confirmed (`claimBlock`,
/// `libcalico-go/lib/ipam/ipam_block_reader_writer.go`).
pub async fn claim(
    client: &Client,
    api: CalicoApi,
    cidr: Cidr,
    node: &str,
    now: &str,
) -> Result<Claim, Error> {
    let affinities = kube::api::ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(api.group(), api.version(), "BlockAffinity"),
        "blockaffinities",
    );
    create(client, &affinities, ipam::affinity(api, cidr, node, "pending")).await?;
    // libcalico seeds the number from the clock as well.
    let sequence = jiff::Timestamp::now()
        .as_nanosecond()
        .try_into()
        .unwrap_or_default();
    let block = ipam::block(api, cidr, node, now, sequence);
    let blocks = resource(api, CalicoKind::Block);
    if !create(client, &blocks, block).await? {
        let held: DynamicObject = Api::all_with(client.clone(), &blocks).get(&cidr.dashed()).await?;
        if held.data["spec"]["affinity"] != format!("host:{node}") {
            let pending = format!("{node}-{}", cidr.dashed());
            let all: Api<DynamicObject> = Api::all_with(client.clone(), &affinities);
            ignore_missing(all.delete(&pending, &Default::default()).await)?;
            return Ok(Claim::Taken);
        }
    }
    confirm(&Api::all_with(client.clone(), &affinities), api, cidr, node).await?;
    Ok(Claim::Mine)
}

async fn confirm(
    affinities: &Api<DynamicObject>,
    api: CalicoApi,
    cidr: Cidr,
    node: &str,
) -> Result<(), Error> {
    let name = format!("{node}-{}", cidr.dashed());
    let mut affinity = affinities.get(&name).await?;
    let confirmed = ipam::affinity(api, cidr, node, "confirmed");
    if affinity.data["spec"] != confirmed["spec"] {
        affinity.data["spec"] = confirmed["spec"].clone();
        affinities.replace(&name, &post_params(), &affinity).await?;
    }
    Ok(())
}

/// The annotations (`libcalico-go/lib/backend/k8s/resources/node.go`) and the condition
/// (`node/pkg/lifecycle/utils/utils.go`) of a started agent.
pub fn node_patch(node_ip: &str, tunnel: Option<Cidr>, now: &str) -> Value {
    let mut annotations = json!({"projectcalico.org/IPv4Address": format!("{node_ip}/24")});
    if let Some(block) = tunnel {
        annotations["projectcalico.org/IPv4VXLANTunnelAddr"] = json!(block.address(1).to_string());
        // The distributed router's MAC address: the prefix of `vxlan_mac_prefix`, and here the node's own
        // tunnel address, so that no two are equal.
        let [a, b, c, d] = block.address(1).octets();
        let mac = format!("0e:2a:{a:02x}:{b:02x}:{c:02x}:{d:02x}");
        annotations["projectcalico.org/VXLANTunnelMACAddr"] = json!(mac);
    }
    json!({
        "metadata": {"annotations": annotations},
        "status": {"conditions": [{
            "type": "NetworkUnavailable",
            "status": "False",
            "reason": "CalicoIsUp",
            "message": "Calico is running on this node",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }]},
    })
}

/// Writes `patch` at each start: the condition with its new times, too.
pub async fn annotate(client: &Client, node: &Node, patch: &Value) -> Result<(), Error> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    Api::<Node>::all(client.clone())
        .patch_status(name, &params, &Patch::Strategic(patch))
        .await?;
    Ok(())
}

/// False where the object exists.
async fn create(client: &Client, kind: &kube::api::ApiResource, object: Value) -> Result<bool, Error> {
    let object: DynamicObject = serde_json::from_value(object).map_err(Error::SerdeError)?;
    match Api::<DynamicObject>::all_with(client.clone(), kind)
        .create(&post_params(), &object)
        .await
    {
        Ok(_) => Ok(true),
        Err(Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}

fn ignore_missing<T>(result: Result<T, Error>) -> Result<(), Error> {
    match result {
        Err(Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

fn post_params() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnel_is_the_second_address_of_the_block() {
        let patch = node_patch(
            "172.20.0.5",
            Cidr::parse("10.244.3.64/26"),
            "2026-01-01T00:00:00Z",
        );
        let annotations = &patch["metadata"]["annotations"];
        assert_eq!(annotations["projectcalico.org/IPv4Address"], "172.20.0.5/24");
        assert_eq!(
            annotations["projectcalico.org/IPv4VXLANTunnelAddr"],
            "10.244.3.65"
        );
        assert_eq!(
            annotations["projectcalico.org/VXLANTunnelMACAddr"],
            "0e:2a:0a:f4:03:41"
        );
        let bgp = node_patch("172.20.0.5", None, "2026-01-01T00:00:00Z");
        assert_eq!(bgp["metadata"]["annotations"].as_object().unwrap().len(), 1);
    }
}
