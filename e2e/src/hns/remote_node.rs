//! What Calico's agent makes in HNS before kube-proxy starts, and what the CNI plugin makes for each pod.

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use super::modify::ATTACHED;
use super::objects::Kind;
use super::server::Hns;

/// A node of the overlay that is not this one: its block, and its address.
pub struct RemoteNode<'a> {
    pub block: &'a str,
    pub address: &'a str,
}

impl Hns {
    /// An overlay network with its routes to other nodes and the host's own endpoint `<name>_ep`
    /// (`SetupVxlanNetwork`, `createAndAttachVxlanHostEP` in Calico's `dataplane_windows.go`).
    pub fn add_overlay(
        &self,
        name: &str,
        block: &str,
        tunnel: &str,
        remote: &[RemoteNode<'_>],
    ) -> Result<()> {
        let network = self.add_network(name, "Overlay", block, remote)?;
        let endpoint = json!({
            "Name": format!("{name}_ep"),
            "HostComputeNetwork": network,
            "IpConfigurations": [{"IpAddress": tunnel, "PrefixLength": 26}],
            "MacAddress": "0e-2a-0a-f4-00-02",
        });
        self.create(Kind::Endpoint, endpoint).map(drop)
    }

    /// A bridged network: Calico's `SetupL2bridgeNetwork`, flannel's `cbr0`.
    pub fn add_bridge(&self, name: &str, block: &str) -> Result<()> {
        self.add_network(name, "L2Bridge", block, &[]).map(drop)
    }

    /// The endpoint of a pod on this node.
    pub fn add_pod(&self, network: &str, address: &str) -> Result<()> {
        let network = self.network_id(network)?;
        let endpoint = json!({
            "Name": format!("{network}-{address}"),
            "HostComputeNetwork": network,
            "IpConfigurations": [{"IpAddress": address, "PrefixLength": 26}],
        });
        self.create(Kind::Endpoint, endpoint).map(drop)
    }

    /// The endpoint of that address has its pod.
    pub fn attach(&self, address: &str) -> Result<()> {
        let found = self
            .endpoints()
            .into_iter()
            .find(|endpoint| endpoint.address() == address);
        let id = found.map(|endpoint| endpoint.id).unwrap_or_default();
        let mut state = self.state();
        let endpoint = state.get_mut(Kind::Endpoint, &id);
        endpoint.map_err(|error| anyhow!("HNS: {error:?}"))?["State"] = json!(ATTACHED);
        Ok(())
    }

    /// The namespace of a pod, as containerd makes it before it calls the CNI plugin.
    pub fn add_namespace(&self) -> Result<String> {
        self.create(Kind::Namespace, json!({"Type": "HostDefault"}))
    }

    /// The only one there is.
    pub fn namespace(&self) -> Option<String> {
        let state = self.state();
        let id = state.of(Kind::Namespace).next()?["ID"].as_str();
        id.map(str::to_owned)
    }

    /// A boot: nothing of HNS is kept.
    pub fn remove_network(&self, name: &str) -> Result<()> {
        let id = self.network_id(name)?;
        self.delete(Kind::Network, &id)
    }

    fn add_network(&self, name: &str, type_: &str, block: &str, remote: &[RemoteNode<'_>]) -> Result<String> {
        let policies: Vec<Value> = remote.iter().map(remote_subnet).collect();
        let network = json!({
            "Name": name,
            "Type": type_,
            "Ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": block}]}],
            "Policies": policies,
            "SchemaVersion": {"Major": 2, "Minor": 0},
        });
        self.create(Kind::Network, network)
    }

    fn network_id(&self, name: &str) -> Result<String> {
        let state = self.state();
        let network = state.of(Kind::Network).find(|network| network["Name"] == name);
        let id = network.and_then(|network| network["ID"].as_str());
        id.map(str::to_owned)
            .ok_or_else(|| anyhow!("HNS has no network {name}"))
    }

    fn create(&self, kind: Kind, object: Value) -> Result<String> {
        let created = self.state().create(kind, object);
        created.map_err(|error| anyhow!("HNS: {error:?}"))
    }
}

fn remote_subnet(node: &RemoteNode<'_>) -> Value {
    json!({"Type": "RemoteSubnetRoute", "Settings": {
        "DestinationPrefix": node.block,
        "IsolationId": 4096,
        "ProviderAddress": node.address,
        "DistributedRouterMacAddress": "66-b6-26-00-00-01",
    }})
}
