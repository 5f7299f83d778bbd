//! Services of every kind, with pods on this node and on another.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::test_cluster::TestCluster;

pub(super) const LOCAL_PODS: [&str; 2] = ["10.244.1.10", "10.244.1.11"];
pub(super) const REMOTE_BLOCK: &str = "10.244.2.0/24";
const REMOTE_POD: &str = "10.244.2.10";
pub(super) const CROWD: usize = 200;

/// One Service: its name and what differs from the smallest.
struct Service {
    name: &'static str,
    address: &'static str,
    spec: fn() -> Value,
    /// `status.loadBalancer.ingress`.
    ingress: Option<&'static str>,
}

const SERVICES: &[Service] = &[
    Service {
        name: "cluster-ip",
        address: "10.96.1.1",
        spec: || json!({}),
        ingress: None,
    },
    Service {
        name: "node-port",
        address: "10.96.1.2",
        spec: || json!({"type": "NodePort"}),
        ingress: None,
    },
    Service {
        name: "load-balancer",
        address: "10.96.1.3",
        spec: || json!({"type": "LoadBalancer"}),
        ingress: Some("203.0.113.3"),
    },
    Service {
        name: "external-local",
        address: "10.96.1.4",
        spec: || json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}),
        ingress: Some("203.0.113.4"),
    },
    Service {
        name: "internal-local",
        address: "10.96.1.5",
        spec: || json!({"internalTrafficPolicy": "Local"}),
        ingress: None,
    },
    Service {
        name: "session-affinity",
        address: "10.96.1.6",
        spec: || json!({"sessionAffinity": "ClientIP"}),
        ingress: None,
    },
    Service {
        name: "named-port",
        address: "10.96.1.7",
        spec: || json!({"ports": [{"name": "web", "port": 80, "targetPort": "web"}]}),
        ingress: None,
    },
    Service {
        name: "crowd",
        address: "10.96.1.8",
        spec: || json!({}),
        ingress: None,
    },
    Service {
        name: "abroad",
        address: "10.96.1.9",
        spec: || json!({}),
        ingress: None,
    },
];

/// The Services there are, by address and by node port.
#[derive(Clone, Debug, Default)]
pub struct Services {
    found: Vec<Found>,
}

/// Endpoints that are not there for a while.
#[must_use]
pub(super) struct Gone {
    slice: String,
    endpoints: Value,
}

impl Gone {
    pub(super) async fn back(&self, test: &TestCluster) -> Result<()> {
        self.patch(test, &self.endpoints).await
    }

    async fn patch(&self, test: &TestCluster, endpoints: &Value) -> Result<()> {
        let patch = json!({"endpoints": endpoints}).to_string();
        let words = [
            "patch",
            "endpointslice",
            &self.slice,
            "--type=merge",
            "-p",
            &patch,
        ];
        test.cluster.kubectl(&words).await.map(drop)
    }
}

#[derive(Clone, Debug)]
struct Found {
    name: String,
    addresses: Vec<String>,
    node_port: Option<u64>,
}

impl Services {
    pub async fn create(test: &TestCluster) -> Result<Self> {
        for service in SERVICES {
            test.create("services", object(service)).await?;
            for (number, slice) in slices(service.name).into_iter().enumerate() {
                test.create("endpointslices", slice_object(service, number, &slice))
                    .await?;
            }
            if let Some(address) = service.ingress {
                let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}).to_string();
                let words = [
                    "patch",
                    "service",
                    service.name,
                    "--subresource=status",
                    "--type=merge",
                    "-p",
                    &status,
                ];
                test.cluster.kubectl(&words).await?;
            }
        }
        Self::read(test).await
    }

    /// Takes the pod on the other node away from a Service.
    pub(super) async fn without_remote_pod(&self, test: &TestCluster, service: &str) -> Result<Gone> {
        let slice = format!("{service}-0");
        let words = ["get", "endpointslice", &slice, "-o", "json"];
        let endpoints =
            serde_json::from_str::<Value>(&test.cluster.kubectl(&words).await?)?["endpoints"].take();
        let here = endpoints
            .as_array()
            .context("no endpoints")?
            .iter()
            .filter(|one| one["nodeName"] == super::fixture::NODE);
        let gone = Gone {
            slice,
            endpoints: endpoints.clone(),
        };
        gone.patch(test, &here.cloned().collect()).await?;
        Ok(gone)
    }

    async fn read(test: &TestCluster) -> Result<Self> {
        let listed: Value = serde_json::from_str(
            &test
                .cluster
                .kubectl(&["get", "services", "-A", "-o", "json"])
                .await?,
        )?;
        let items = listed["items"].as_array().context("no list of Services")?;
        let found = items.iter().map(|item| {
            let ingress = item.pointer("/status/loadBalancer/ingress/0/ip");
            let all = [item.pointer("/spec/clusterIP"), ingress];
            Found {
                name: item["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
                addresses: all
                    .into_iter()
                    .flatten()
                    .filter_map(|ip| ip.as_str().map(str::to_owned))
                    .collect(),
                node_port: item.pointer("/spec/ports/0/nodePort").and_then(Value::as_u64),
            }
        });
        Ok(Self {
            found: found.collect(),
        })
    }

    /// `name clusterIP`, `name ingress` or `name nodePort`.
    pub(super) fn name_of(&self, vip: Option<&str>, port: u16) -> Option<String> {
        self.found.iter().find_map(|one| {
            let Some(vip) = vip else {
                return (one.node_port == Some(u64::from(port))).then(|| format!("{} nodePort", one.name));
            };
            let at = one.addresses.iter().position(|address| address == vip)?;
            Some(format!("{} {}", one.name, ["clusterIP", "ingress"][at]))
        })
    }
}

fn object(service: &Service) -> Value {
    let mut spec = json!({
        "clusterIP": service.address,
        "ports": [{"name": "web", "port": 80, "targetPort": 8080}],
    });
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), (service.spec)().as_object()) {
        spec.extend(more.clone());
    }
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service.name, "namespace": "default"}, "spec": spec})
}

/// Addresses by EndpointSlice, each with the port of its pods.
fn slices(service: &str) -> Vec<(u16, Vec<String>)> {
    let here = || LOCAL_PODS[0].to_owned();
    match service {
        // Pods whose port of that name differs, as in the middle of a roll-out.
        "named-port" => vec![(8080, vec![here()]), (9090, vec![REMOTE_POD.to_owned()])],
        "crowd" => {
            let all: Vec<_> = (0..CROWD).map(|n| format!("10.244.2.{}", n + 20)).collect();
            all.chunks(100).map(|part| (8080, part.to_vec())).collect()
        }
        // Nowhere in the cluster.
        "abroad" => vec![(8080, vec!["198.51.100.7".to_owned()])],
        _ => vec![(8080, vec![here(), REMOTE_POD.to_owned()])],
    }
}

fn slice_object(service: &Service, number: usize, (port, addresses): &(u16, Vec<String>)) -> Value {
    let endpoints = addresses.iter().map(|address| {
        let here = LOCAL_PODS.contains(&address.as_str());
        let node = if here { super::fixture::NODE } else { "linux-0" };
        json!({"addresses": [address], "nodeName": node, "conditions": {"ready": true, "serving": true, "terminating": false}})
    });
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{}-{number}", service.name),
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": service.name},
        },
        "addressType": "IPv4",
        "endpoints": endpoints.collect::<Vec<_>>(),
        "ports": [{"name": "web", "port": port, "protocol": "TCP"}],
    })
}
