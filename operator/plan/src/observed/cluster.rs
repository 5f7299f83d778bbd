//! Facts of objects that tell what Windows nodes need, and of tigera/operator's Installation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{items, number, text};

/// The strings of a source object: ConfigMap data, or the few fields of a Service, EndpointSlice or
/// ServiceCIDR that are read, under their field names.
pub type SourceFacts = BTreeMap<String, String>;

/// `data` of a ConfigMap.
pub fn config_map(object: &Value) -> SourceFacts {
    let data = object.pointer("/data").and_then(Value::as_object);
    data.into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
        .collect()
}

/// What Linux nodes were told by `calico.yaml`: `calico_backend` and `typha_service_name`.
pub fn calico_config(object: &Value) -> SourceFacts {
    let mut facts = config_map(object);
    facts.retain(|key, _| matches!(key.as_str(), "calico_backend" | "typha_service_name"));
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

/// `Installation` `default` of tigera/operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstallationFacts {
    /// `spec.calicoNetwork.windowsDataplane`, `Disabled` when unset.
    pub windows_hns: bool,
    pub service_cidrs: Vec<String>,
    /// `spec.calicoNetwork.linuxDataplane` is `BPF`.
    pub linux_bpf: bool,
    /// `spec.calicoNetwork.mtu`, when it is set and not 0.
    pub mtu: Option<i32>,
}

impl InstallationFacts {
    pub fn read(installation: &Value) -> Self {
        Self {
            windows_hns: text(installation, "/spec/calicoNetwork/windowsDataplane") == "HNS",
            service_cidrs: items(installation, "/spec/serviceCIDRs")
                .filter_map(|c| c.as_str().map(str::to_owned))
                .collect(),
            linux_bpf: text(installation, "/spec/calicoNetwork/linuxDataplane") == "BPF",
            mtu: Some(number(installation, "/spec/calicoNetwork/mtu")).filter(|mtu| *mtu != 0),
        }
    }
}
