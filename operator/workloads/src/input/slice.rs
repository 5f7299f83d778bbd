//! EndpointSlices, reduced to what is used: a cluster has many endpoints, so that each takes 12 bytes.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::kubernetes::Texts;
use crate::net;

/// Label of an EndpointSlice: the name of its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// An `EndpointSlice`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(from = "Object")]
pub struct EndpointSlice {
    /// Name of its Service.
    pub service: Option<Box<str>>,
    pub ports: Box<[SlicePort]>,
    /// Names of the nodes of its endpoints, each once.
    nodes: Box<[Arc<str>]>,
    /// Endpoints with one IPv4 address.
    plain: Box<[Plain]>,
    /// Endpoints with other addresses.
    others: Box<[Other]>,
}

/// A port of a slice.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SlicePort {
    pub name: Box<str>,
    pub port: Option<u16>,
    /// Absent for TCP.
    #[serde(deserialize_with = "protocol")]
    pub protocol: Option<Box<str>>,
}

fn protocol<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<str>>, D::Error> {
    let text: Option<Box<str>> = Deserialize::deserialize(deserializer)?;
    Ok(text.filter(|text| &**text != "TCP"))
}

/// Conditions of an endpoint; an absent `ready` or `serving` counts as true.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Conditions {
    pub ready: Option<bool>,
    pub serving: Option<bool>,
    pub terminating: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Plain {
    address: Ipv4Addr,
    /// Position in `nodes`.
    node: u32,
    conditions: Conditions,
}

#[derive(Clone, Debug, PartialEq)]
struct Other {
    addresses: Box<[Box<str>]>,
    /// Position in `nodes`.
    node: u32,
    conditions: Conditions,
}

/// An endpoint of a slice.
#[derive(Clone, Copy, Debug)]
pub struct SliceEndpoint<'a> {
    /// Name of its node; empty if it has none.
    pub node: &'a str,
    pub conditions: Conditions,
    addresses: Addresses<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Addresses<'a> {
    One(Ipv4Addr),
    Texts(&'a [Box<str>]),
}

/// An address of an endpoint.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Address<'a> {
    /// An IPv4 address in its usual form.
    V4(Ipv4Addr),
    /// Any other text.
    Text(&'a str),
}

impl<'a> SliceEndpoint<'a> {
    /// Its addresses as they are written.
    pub fn addresses(self) -> impl Iterator<Item = Address<'a>> {
        let (one, texts) = match self.addresses {
            Addresses::One(address) => (Some(Address::V4(address)), &[][..]),
            Addresses::Texts(texts) => (None, texts),
        };
        one.into_iter()
            .chain(texts.iter().map(|text| Address::Text(text)))
    }
}

impl Address<'_> {
    /// The IPv4 address. Endpoints may also be names or IPv6 addresses.
    pub fn version_4(self) -> Option<Ipv4Addr> {
        match self {
            Self::V4(address) => Some(address),
            Self::Text(text) => match net::parse(text)?.0 {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            },
        }
    }
}

impl EndpointSlice {
    /// Whether the slice has no endpoint.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.others.is_empty()
    }

    /// The endpoints, in no particular order.
    pub fn endpoints(&self) -> impl Iterator<Item = SliceEndpoint<'_>> {
        let node = |position: u32| {
            let position = usize::try_from(position).unwrap_or(usize::MAX);
            self.nodes.get(position).map_or("", |name| &**name)
        };
        let plain = self.plain.iter().map(move |endpoint| SliceEndpoint {
            node: node(endpoint.node),
            conditions: endpoint.conditions,
            addresses: Addresses::One(endpoint.address),
        });
        let others = self.others.iter().map(move |endpoint| SliceEndpoint {
            node: node(endpoint.node),
            conditions: endpoint.conditions,
            addresses: Addresses::Texts(&endpoint.addresses),
        });
        plain.chain(others)
    }

    /// The IPv4 addresses of all endpoints.
    pub fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        let all = self.endpoints().flat_map(SliceEndpoint::addresses);
        all.filter_map(Address::version_4)
    }

    /// Uses the names in `shared`, to which new ones are added.
    pub fn share(&mut self, shared: &mut HashSet<Arc<str>>) {
        for node in &mut self.nodes {
            share(node, shared);
        }
    }
}

/// Replaces a text by the equal one in `shared`, or adds it.
pub fn share(text: &mut Arc<str>, shared: &mut HashSet<Arc<str>>) {
    match shared.get(text) {
        Some(known) => *text = known.clone(),
        None => {
            shared.insert(text.clone());
        }
    }
}

/// The object as the API has it.
#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    ports: Box<[SlicePort]>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    labels: Texts,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Endpoint {
    addresses: Box<[Box<str>]>,
    node_name: String,
    conditions: Conditions,
}

impl From<Object> for EndpointSlice {
    fn from(object: Object) -> Self {
        let mut nodes: Vec<Arc<str>> = Vec::new();
        let mut positions: HashMap<String, u32> = HashMap::new();
        let (mut plain, mut others) = (Vec::new(), Vec::new());
        for Endpoint {
            addresses,
            node_name,
            conditions,
        } in object.endpoints
        {
            let node = *positions.entry(node_name).or_insert_with_key(|name| {
                nodes.push(name.as_str().into());
                u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
            });
            let one = match &*addresses {
                [one] => one.parse().ok(),
                _ => None,
            };
            match one {
                Some(address) => plain.push(Plain {
                    address,
                    node,
                    conditions,
                }),
                None => others.push(Other {
                    addresses,
                    node,
                    conditions,
                }),
            }
        }
        Self {
            service: object.metadata.labels.get(SERVICE_NAME).map(Into::into),
            ports: object.ports,
            nodes: nodes.into(),
            plain: plain.into(),
            others: others.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_endpoint_takes_twelve_bytes() {
        assert_eq!(size_of::<Plain>(), 12);
    }

    #[test]
    fn endpoints_keep_nodes_conditions_and_every_form_of_address() {
        let slice: EndpointSlice = serde_json::from_value(json!({
            "metadata": {"labels": {"kubernetes.io/service-name": "web"}},
            "endpoints": [
                {"addresses": ["10.0.0.1"], "nodeName": "a", "conditions": {"ready": false}},
                {"addresses": ["10.0.0.2", "10.0.0.3"], "nodeName": "b"},
                {"addresses": ["fd00::1"]},
                {"addresses": ["10.0.0.4/32"], "nodeName": "a"},
                {"addresses": []},
            ],
        }))
        .unwrap();
        assert_eq!(slice.service.as_deref(), Some("web"));
        let nodes: Vec<&str> = slice.endpoints().map(|endpoint| endpoint.node).collect();
        assert_eq!(nodes, ["a", "b", "", "a", ""]);
        let ready: Vec<_> = slice.endpoints().map(|e| e.conditions.ready).collect();
        assert_eq!(ready, [Some(false), None, None, None, None]);
        let addresses: Vec<String> = slice.addresses().map(|a| a.to_string()).collect();
        assert_eq!(addresses, ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
    }
}
