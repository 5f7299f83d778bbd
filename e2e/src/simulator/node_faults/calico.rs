//! What befalls a node in Calico's own objects.

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, ConfigKind};

use super::undo::{self, Part, Undo};
use crate::objects::{self, text};
use crate::simulator::ipam::{self, Cidr};

/// The last block of the pool that Calico's defaults bring: nodes are given the first ones.
const FAR_BLOCK: &str = "10.244.255.192/26";

/// Calico as served, for one node.
pub struct Place<'a> {
    client: &'a Client,
    calico_api: CalicoApi,
    node: &'a str,
}

impl<'a> Place<'a> {
    pub async fn of(client: &'a Client, node: &'a str) -> Result<Self> {
        let calico_api = objects::calico_api(client)
            .await?
            .context("Calico is not served")?;
        Ok(Self {
            client,
            calico_api,
            node,
        })
    }

    fn api(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        let resource = objects::resource(self.calico_api.group(), self.calico_api.version(), kind, plural);
        Api::all_with(self.client.clone(), &resource)
    }

    fn blocks(&self) -> Api<DynamicObject> {
        self.api("IPAMBlock", "ipamblocks")
    }

    fn affinities(&self) -> Api<DynamicObject> {
        self.api("BlockAffinity", "blockaffinities")
    }

    /// The node's block.
    async fn block(&self) -> Result<Value> {
        let host = format!("host:{}", self.node);
        let all = objects::list(&self.blocks()).await?;
        let own = all.into_iter().find(|b| text(b, "/spec/affinity") == host);
        own.with_context(|| format!("{} has no block", self.node))
    }

    fn affinity_of(&self, block: &Value) -> String {
        format!("{}-{}", self.node, text(block, "/metadata/name"))
    }

    pub async fn no_block(&self) -> Result<Vec<Undo>> {
        let block = self.block().await?;
        Ok(vec![
            undo::delete(&self.blocks(), text(&block, "/metadata/name")).await?,
            undo::delete(&self.affinities(), &self.affinity_of(&block)).await?,
        ])
    }

    /// The agent died between the two writes of a claim.
    pub async fn claim_pending(&self) -> Result<Undo> {
        let name = self.affinity_of(&self.block().await?);
        let patch = json!({"spec": {"state": "pending"}});
        undo::merge(&self.affinities(), &name, Part::Main, patch).await
    }

    /// As a Linux node of the same name left it: nothing is held for Windows.
    pub async fn not_reserved(&self) -> Result<Undo> {
        let block = self.block().await?;
        let size = size(&block);
        let free: Vec<usize> = (0..size).collect();
        let spec = json!({"allocations": vec![Value::Null; size], "attributes": [], "unallocated": free});
        self.change(&block, spec).await
    }

    /// Every address that is not held for Windows is a pod's.
    pub async fn exhausted(&self) -> Result<Undo> {
        let block = self.block().await?;
        let allocations = block.pointer("/spec/allocations").and_then(Value::as_array);
        let taken = |a: &Value| if a.is_null() { json!(1) } else { a.clone() };
        let allocations: Vec<Value> = allocations.into_iter().flatten().map(taken).collect();
        let attributes = with_pod(&block, self.node);
        let spec = json!({"allocations": allocations, "attributes": attributes, "unallocated": []});
        self.change(&block, spec).await
    }

    /// A pod on `borrower` has an address of this node's block, as with `strictAffinity: false`.
    pub async fn borrowed(&self, borrower: &str) -> Result<Undo> {
        let block = self.block().await?;
        let unallocated = block.pointer("/spec/unallocated").and_then(Value::as_array);
        let mut free: Vec<Value> = unallocated.cloned().unwrap_or_default();
        let ordinal = usize::try_from(free.remove(0).as_u64().context("a number")?)?;
        let mut allocations = block["spec"]["allocations"].clone();
        allocations[ordinal] = json!(1);
        let attributes = with_pod(&block, borrower);
        let spec = json!({"allocations": allocations, "attributes": attributes, "unallocated": free});
        self.change(&block, spec).await
    }

    pub async fn second_block(&self) -> Result<Vec<Undo>> {
        let cidr = Cidr::parse(FAR_BLOCK).context("a block")?;
        let block = ipam::block(self.calico_api, cidr, self.node, &now(), 1);
        let affinity = ipam::affinity(self.calico_api, cidr, self.node, "confirmed");
        Ok(vec![
            undo::create(&self.blocks(), block).await?,
            undo::create(&self.affinities(), affinity).await?,
        ])
    }

    /// A `FelixConfiguration` of this node alone.
    pub async fn own_vni(&self, vni: i32) -> Result<Undo> {
        let (kind, plural) = objects::served(self.calico_api, ConfigKind::FelixConfiguration);
        let felix = json!({
            "apiVersion": format!("{}/{}", self.calico_api.group(), self.calico_api.version()),
            "kind": kind,
            "metadata": {"name": format!("node.{}", self.node)},
            "spec": {"vxlanVNI": vni},
        });
        undo::create(&self.api(kind, plural), felix).await
    }

    async fn change(&self, block: &Value, spec: Value) -> Result<Undo> {
        let name = text(block, "/metadata/name");
        undo::merge(&self.blocks(), name, Part::Main, json!({ "spec": spec })).await
    }
}

fn size(block: &Value) -> usize {
    let allocations = block.pointer("/spec/allocations").and_then(Value::as_array);
    allocations.map_or(0, Vec::len)
}

/// The block's attributes, and those of a pod on `node` as the second (`libcalico-go/lib/ipam`, `AllocationAttribute`).
fn with_pod(block: &Value, node: &str) -> Vec<Value> {
    let attributes = block.pointer("/spec/attributes").and_then(Value::as_array);
    let mut all = attributes.cloned().unwrap_or_default();
    all.truncate(1);
    all.push(json!({
        "handle_id": "k8s-pod-network.0123456789abcdef",
        "secondary": {"namespace": "default", "node": node, "pod": "web-0"},
    }));
    all
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
