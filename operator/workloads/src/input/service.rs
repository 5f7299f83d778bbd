//! Services, reduced to the fields that are used. Fields have the meaning of the API.

use serde::{Deserialize, Deserializer};

use super::kubernetes::Texts;
use super::number_or_text::NumberOrText;

/// A `Service`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Service {
    pub metadata: ServiceMetadata,
    pub spec: ServiceSpec,
    pub status: ServiceStatus,
}

/// Metadata of a Service.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ServiceMetadata {
    /// Those in [`ANNOTATIONS`].
    #[serde(deserialize_with = "annotations")]
    pub annotations: Texts,
}

/// Annotation of a Service whose packets keep their destination.
pub const PRESERVE_DESTINATION: &str = "preserve-destination";
/// Annotations of a Service that asks for hints, the newer one first.
pub const TOPOLOGY: [&str; 2] = [
    "service.kubernetes.io/topology-mode",
    "service.kubernetes.io/topology-aware-hints",
];
/// Annotations that checks read.
const ANNOTATIONS: [&str; 3] = [PRESERVE_DESTINATION, TOPOLOGY[0], TOPOLOGY[1]];

fn annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
    Texts::deserialize(deserializer).map(|all| all.only(&ANNOTATIONS))
}

/// Spec of a Service. Fields with the values that the API server sets by default are empty.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    #[serde(deserialize_with = "word")]
    pub r#type: Box<str>,
    pub selector: Texts,
    pub ports: Box<[ServicePort]>,
    #[serde(rename = "clusterIP")]
    pub cluster_ip: Box<str>,
    #[serde(rename = "clusterIPs")]
    pub cluster_ips: Box<[Box<str>]>,
    #[serde(rename = "externalIPs")]
    pub external_ips: Box<[Box<str>]>,
    #[serde(rename = "loadBalancerIP")]
    pub load_balancer_ip: Box<str>,
    pub load_balancer_source_ranges: Box<[Box<str>]>,
    #[serde(deserialize_with = "families")]
    pub ip_families: Box<[Box<str>]>,
    #[serde(deserialize_with = "word")]
    pub ip_family_policy: Box<str>,
    #[serde(deserialize_with = "word")]
    pub session_affinity: Box<str>,
    pub session_affinity_config: SessionAffinityConfig,
    #[serde(deserialize_with = "word")]
    pub external_traffic_policy: Box<str>,
    #[serde(deserialize_with = "word")]
    pub internal_traffic_policy: Box<str>,
    pub traffic_distribution: Box<str>,
}

/// Values of [`ServiceSpec`]'s fields that say the same as an empty one.
const DEFAULTS: [&str; 4] = ["ClusterIP", "None", "Cluster", "SingleStack"];

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<str>, D::Error> {
    let text: Box<str> = Deserialize::deserialize(deserializer)?;
    Ok(if DEFAULTS.contains(&&*text) {
        Box::default()
    } else {
        text
    })
}

/// IPv4 alone says the same as no family.
fn families<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[Box<str>]>, D::Error> {
    let families: Box<[Box<str>]> = Deserialize::deserialize(deserializer)?;
    Ok(if matches!(&*families, [family] if &**family == "IPv4") {
        Box::default()
    } else {
        families
    })
}

/// A port of a Service.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    pub name: Box<str>,
    pub port: u16,
    #[serde(deserialize_with = "protocol")]
    pub protocol: Box<str>,
    pub target_port: Option<NumberOrText>,
}

/// Empty for TCP.
fn protocol<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<str>, D::Error> {
    let text: Box<str> = Deserialize::deserialize(deserializer)?;
    Ok(if &*text == "TCP" { Box::default() } else { text })
}

/// Configuration of the session affinity.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SessionAffinityConfig {
    #[serde(rename = "clientIP")]
    pub client_ip: ClientIp,
}

/// Configuration of the affinity by the address of the client.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientIp {
    pub timeout_seconds: Option<i64>,
}

/// Status of a Service.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    pub load_balancer: LoadBalancer,
}

/// Status of a load balancer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LoadBalancer {
    pub ingress: Box<[Ingress]>,
}

/// An address of a load balancer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Ingress {
    pub ip: Box<str>,
}
