//! The objects HNS holds, and the handles it gave out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::errors::HnsError;
use super::modify;
use super::objects::{Endpoint, Kind, LoadBalancer};
use super::version::WindowsBuild;

/// `DrMacAddress` of an overlay network on this node.
const ROUTER_MAC: &str = "00-15-5D-7A-9C-01";

pub struct State {
    pub build: WindowsBuild,
    /// Address of the adapter that networks are bound to: their ManagementIP. Without one they get none.
    pub adapter: Option<IpAddr>,
    objects: BTreeMap<(Kind, String), Value>,
    handles: BTreeMap<u64, (Kind, String)>,
    /// Calls that fail: the beginning of their name.
    pub faults: Vec<(String, HnsError)>,
    /// Names of the calls until now, each with how it went.
    pub calls: Vec<(String, Option<HnsError>)>,
    last: u64,
}

impl State {
    pub fn new(build: WindowsBuild) -> Self {
        Self {
            build,
            adapter: None,
            objects: BTreeMap::new(),
            handles: BTreeMap::new(),
            faults: Vec::new(),
            calls: Vec::new(),
            last: 0,
        }
    }

    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.objects
            .iter()
            .filter(move |((of, _), _)| *of == kind)
            .map(|(_, object)| object)
    }

    pub fn get(&self, kind: Kind, id: &str) -> Option<&Value> {
        self.objects.get(&(kind, id.to_ascii_lowercase()))
    }

    /// Objects of a kind as a type; what does not read as one is no such object.
    pub fn read<T: DeserializeOwned>(&self, kind: Kind) -> Vec<T> {
        self.of(kind)
            .filter_map(|object| serde_json::from_value(object.clone()).ok())
            .collect()
    }

    pub(super) fn get_mut(&mut self, kind: Kind, id: &str) -> Result<&mut Value, HnsError> {
        let object = self.objects.get_mut(&(kind, id.to_ascii_lowercase()));
        object.ok_or(HnsError::ElementNotFound)
    }

    /// Never the id of an object that is gone: a network that is made again is another one.
    pub fn create(&mut self, kind: Kind, mut object: Value) -> Result<String, HnsError> {
        match kind {
            Kind::Endpoint => self.admit_endpoint(&object)?,
            Kind::LoadBalancer => self.admit_load_balancer(&object, "")?,
            Kind::Network => self.bind_network(&mut object),
            Kind::Namespace | Kind::SdnRoute => {}
        }
        self.last += 1;
        if kind == Kind::Endpoint && object["MacAddress"].as_str().unwrap_or_default().is_empty() {
            // Out of the network's pool.
            object["MacAddress"] = json!(format!("00-15-5D-7A-9D-{:02X}", self.last % 256));
        }
        let id = format!("{:08x}-0000-4000-8000-{:012x}", kind as u32 + 1, self.last);
        object["ID"] = json!(id);
        self.objects.insert((kind, id.clone()), object);
        Ok(id)
    }

    /// Load balancers are replaced, the rest is modified by requests ([`modify`]).
    pub fn modify(&mut self, kind: Kind, id: &str, mut object: Value) -> Result<(), HnsError> {
        match kind {
            Kind::Network | Kind::Endpoint => return modify::policies(self.get_mut(kind, id)?, &object),
            Kind::Namespace => return modify::namespace(self, id, &object),
            Kind::SdnRoute => return Err(HnsError::RequestUnsupported),
            Kind::LoadBalancer => {}
        }
        if !self.build.can_modify_load_balancers() {
            return Err(HnsError::NotImplemented);
        }
        self.admit_load_balancer(&object, id)?;
        object["ID"] = json!(id);
        self.objects.insert((kind, id.to_owned()), object);
        Ok(())
    }

    /// With a network go its endpoints, and with its last endpoint a load balancer.
    pub fn delete(&mut self, kind: Kind, id: &str) -> Result<(), HnsError> {
        let id = id.to_ascii_lowercase();
        self.objects
            .remove(&(kind, id.clone()))
            .ok_or(HnsError::ElementNotFound)?;
        match kind {
            Kind::Network => {
                let all: Vec<Endpoint> = self.read(Kind::Endpoint);
                for endpoint in all
                    .iter()
                    .filter(|one| one.host_compute_network.eq_ignore_ascii_case(&id))
                {
                    self.delete(Kind::Endpoint, &endpoint.id)?;
                }
            }
            Kind::Endpoint => self.forget_endpoint(&id),
            Kind::LoadBalancer | Kind::Namespace | Kind::SdnRoute => {}
        }
        Ok(())
    }

    pub fn open(&mut self, kind: Kind, id: &str) -> Result<u64, HnsError> {
        let id = id.to_ascii_lowercase();
        self.get(kind, &id).ok_or(HnsError::ElementNotFound)?;
        self.last += 1;
        self.handles.insert(self.last, (kind, id));
        Ok(self.last)
    }

    pub fn close(&mut self, handle: u64) -> Result<(), HnsError> {
        self.handles
            .remove(&handle)
            .map(drop)
            .ok_or(HnsError::ElementNotFound)
    }

    /// The id behind a handle.
    pub fn behind(&self, kind: Kind, handle: u64) -> Result<String, HnsError> {
        let (of, id) = self.handles.get(&handle).ok_or(HnsError::ElementNotFound)?;
        (*of == kind).then(|| id.clone()).ok_or(HnsError::ElementNotFound)
    }

    /// An overlay network has a router of its own, whose MAC address the other nodes learn.
    fn bind_network(&self, network: &mut Value) {
        let Some(address) = self.adapter else { return };
        network["ManagementIP"] = json!(address);
        if network["Type"] == "Overlay" {
            let own = [
                json!({"Type": "ProviderAddress", "Settings": {"ProviderAddress": address}}),
                json!({"Type": "DrMacAddress", "Settings": {"Address": ROUTER_MAC}}),
            ];
            modify::edit_policies(network, |all| all.extend(own));
        }
    }

    fn forget_endpoint(&mut self, id: &str) {
        for ((kind, _), object) in &mut self.objects {
            if *kind == Kind::LoadBalancer
                && let Some(ids) = object["HostComputeEndpoints"].as_array_mut()
            {
                ids.retain(|one| !one.as_str().is_some_and(|one| one.eq_ignore_ascii_case(id)));
            }
        }
        self.objects.retain(|(kind, _), object| {
            *kind != Kind::LoadBalancer
                || object["HostComputeEndpoints"]
                    .as_array()
                    .is_some_and(|ids| !ids.is_empty())
        });
    }

    /// A local endpoint takes an address of the network's subnet that is free; a remote one is anywhere.
    fn admit_endpoint(&self, object: &Value) -> Result<(), HnsError> {
        let endpoint: Endpoint = serde_json::from_value(object.clone()).map_err(|_| HnsError::InvalidJson)?;
        let network = self
            .get(Kind::Network, &endpoint.host_compute_network)
            .ok_or(HnsError::ElementNotFound)?;
        if endpoint.is_remote() {
            return Ok(());
        }
        let address: IpAddr = endpoint
            .address()
            .parse()
            .map_err(|_| HnsError::AddressInvalidOrReserved)?;
        let taken = self
            .read::<Endpoint>(Kind::Endpoint)
            .iter()
            .any(|one| !one.is_remote() && one.address() == endpoint.address());
        let inside = subnets(network).iter().any(|subnet| subnet.contains(&address));
        (inside && !taken)
            .then_some(())
            .ok_or(HnsError::AddressInvalidOrReserved)
    }

    fn admit_load_balancer(&self, object: &Value, except: &str) -> Result<(), HnsError> {
        let new: LoadBalancer = serde_json::from_value(object.clone()).map_err(|_| HnsError::InvalidJson)?;
        if new
            .endpoints
            .iter()
            .any(|id| self.get(Kind::Endpoint, id).is_none())
        {
            return Err(HnsError::EndpointNotFound);
        }
        let all: Vec<LoadBalancer> = self.read(Kind::LoadBalancer);
        let twice = all
            .iter()
            .any(|one| one.id != except && one.frontend() == new.frontend());
        match (twice, new.frontend_vips.is_empty()) {
            (false, _) => Ok(()),
            (true, true) => Err(HnsError::PortAlreadyExists),
            (true, false) => Err(HnsError::AlreadyExists),
        }
    }
}

fn subnets(network: &Value) -> Vec<IpNet> {
    let ipams = network["Ipams"].as_array().into_iter().flatten();
    let subnets = ipams.flat_map(|ipam| ipam["Subnets"].as_array().into_iter().flatten());
    subnets
        .filter_map(|subnet| subnet["IpAddressPrefix"].as_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
