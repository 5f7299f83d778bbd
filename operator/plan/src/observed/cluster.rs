//! Facts of objects that inputs are read from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Source, items, text};

/// The strings of a source object: ConfigMap data, or the few fields of a Service, EndpointSlice or
/// ServiceCIDR that are read, under their field names.
pub type SourceFacts = BTreeMap<String, String>;

/// What is read of the object of a source.
pub fn read(source: Source, object: &Value) -> SourceFacts {
    match source {
        Source::ServicesEndpoint
        | Source::KubeProxyConfig
        | Source::KubeadmConfig
        | Source::ClusterInfo
        | Source::AmazonVpcCni => config_map(object),
        Source::CalicoConfig => calico_config(object),
        Source::KubeletConfig => config_map_key(object, "kubelet"),
        Source::CoreDns => config_map_key(object, "Corefile"),
        Source::KubernetesEndpoints => endpoint_slice(object),
        Source::KubernetesService | Source::KubeDns | Source::OpenShiftDns | Source::Rke2Dns => {
            service(object)
        }
        Source::ServiceCidr => service_cidr(object),
    }
}

/// `data` of a ConfigMap.
pub fn config_map(object: &Value) -> SourceFacts {
    let data = object.pointer("/data").and_then(Value::as_object);
    data.into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
        .collect()
}

/// Settings of Linux nodes in `calico.yaml`: `calico_backend` and `typha_service_name`.
pub fn calico_config(object: &Value) -> SourceFacts {
    let mut facts = config_map(object);
    facts.retain(|key, _| matches!(key.as_str(), "calico_backend" | "typha_service_name"));
    facts
}

/// One entry of `data`, where nothing else of it is read.
pub fn config_map_key(object: &Value, key: &str) -> SourceFacts {
    let mut facts = config_map(object);
    facts.retain(|name, _| name == key);
    facts
}

/// `clusterIP` of a Service.
pub fn service(object: &Value) -> SourceFacts {
    one("clusterIP", text(object, "/spec/clusterIP"))
}

/// First `host` and `port` of an EndpointSlice.
pub fn endpoint_slice(object: &Value) -> SourceFacts {
    let host = items(object, "/endpoints")
        .flat_map(|e| items(e, "/addresses"))
        .find_map(Value::as_str);
    let port = object.pointer("/ports/0/port").and_then(Value::as_i64);
    match (host, port) {
        (Some(host), Some(port)) => SourceFacts::from([
            ("host".to_owned(), host.to_owned()),
            ("port".to_owned(), port.to_string()),
        ]),
        _ => SourceFacts::new(),
    }
}

/// `cidrs` of a ServiceCIDR, comma separated.
pub fn service_cidr(object: &Value) -> SourceFacts {
    let cidrs: Vec<_> = items(object, "/spec/cidrs").filter_map(Value::as_str).collect();
    one("cidrs", &cidrs.join(","))
}

fn one(key: &str, value: &str) -> SourceFacts {
    if value.is_empty() {
        SourceFacts::new()
    } else {
        SourceFacts::from([(key.to_owned(), value.to_owned())])
    }
}
