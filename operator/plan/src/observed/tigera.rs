//! Facts of tigera/operator's own objects.

use serde_json::Value;

use super::{CalicoObject, first_line, items, number, text};
use crate::version::Version;
use ipnet::Ipv4Net;

pub const WINDOWS_DATAPLANE: &str = "calicoNetwork.windowsDataplane";
pub const BGP: &str = "calicoNetwork.bgp";
pub const POOLS: &str = "calicoNetwork.ipPools";
pub const SERVICE_CIDRS: &str = "serviceCIDRs";

/// Folders on Windows nodes; not set by us.
pub const WINDOWS_NODES: &str = "windowsNodes";

/// Fields of an Installation that decide about Windows nodes.
pub const FIELDS: &[&str] = &[WINDOWS_DATAPLANE, BGP, POOLS, SERVICE_CIDRS, WINDOWS_NODES];

/// `Installation` `default` of tigera/operator, besides the fields that are set (see `CalicoObject`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstallationFacts {
    /// `spec.calicoNetwork.windowsDataplane`, `Disabled` when unset.
    pub windows_hns: bool,
    pub service_cidrs: Vec<String>,
    /// `spec.cni.type`; empty before tigera/operator has filled in its defaults, which are Calico's.
    pub cni: String,
    /// `spec.cni.ipam.type`.
    pub ipam: String,
    /// `spec.windowsNodes` is set, by the user or by tigera/operator.
    pub windows_nodes: bool,
    /// `spec.calicoNetwork.linuxDataplane` is `BPF`.
    pub linux_bpf: bool,
    /// `spec.calicoNetwork.mtu`, when it is set and not 0.
    pub mtu: Option<i32>,
    /// `status.calicoVersion`, of Calico and not of Calico Enterprise.
    pub calico_version: Option<Version>,
    /// There is a status: tigera/operator has taken it up.
    pub accepted: bool,
}

impl InstallationFacts {
    pub fn read(installation: &Value) -> Self {
        let filled = |pointer: &str| {
            let object = installation.pointer(pointer).and_then(Value::as_object);
            object.is_some_and(|o| !o.is_empty())
        };
        Self {
            windows_hns: text(installation, "/spec/calicoNetwork/windowsDataplane") == "HNS",
            service_cidrs: items(installation, "/spec/serviceCIDRs")
                .filter_map(|c| c.as_str().map(str::to_owned))
                .collect(),
            cni: text(installation, "/spec/cni/type").to_owned(),
            ipam: text(installation, "/spec/cni/ipam/type").to_owned(),
            windows_nodes: installation.pointer("/spec/windowsNodes").is_some(),
            linux_bpf: text(installation, "/spec/calicoNetwork/linuxDataplane") == "BPF",
            mtu: Some(number(installation, "/spec/calicoNetwork/mtu")).filter(|mtu| *mtu != 0),
            calico_version: Some(text(installation, "/status/calicoVersion"))
                .filter(|_| matches!(text(installation, "/status/variant"), "" | "Calico"))
                .and_then(|version| version.parse().ok()),
            accepted: filled("/status"),
        }
    }
}

/// Longest message kept of a TigeraStatus.
const LONGEST: usize = 300;

/// What a TigeraStatus says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TigeraStatusFacts {
    /// Types of the conditions that are True, each with reason and message.
    pub conditions: Vec<(String, String, String)>,
}

impl TigeraStatusFacts {
    pub fn read(status: &Value) -> Self {
        let conditions = items(status, "/status/conditions").filter(|c| text(c, "/status") == "True");
        Self {
            conditions: conditions
                .map(|c| {
                    let message = first_line(text(c, "/message"), LONGEST);
                    (
                        text(c, "/type").to_owned(),
                        text(c, "/reason").to_owned(),
                        message,
                    )
                })
                .collect(),
        }
    }

    pub fn is(&self, type_: &str) -> bool {
        self.conditions.iter().any(|(t, ..)| t == type_)
    }
}

impl std::fmt::Display for TigeraStatusFacts {
    /// `Degraded (ResourceReadError: …)`, the gravest condition.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gravest = ["Degraded", "Progressing", "Available"]
            .into_iter()
            .find_map(|type_| self.conditions.iter().find(|(t, ..)| t == type_));
        let Some((type_, reason, message)) = gravest else {
            return f.write_str("neither Available nor Degraded");
        };
        let words: Vec<_> = [reason, message]
            .into_iter()
            .filter(|w| !w.is_empty())
            .map(String::as_str)
            .collect();
        if words.is_empty() {
            return f.write_str(type_);
        }
        write!(f, "{type_} ({})", words.join(": "))
    }
}

/// Name under which the encapsulation of one pool of an Installation is known.
pub fn pool_field(cidr: &str) -> String {
    format!("{POOLS}[{cidr}].encapsulation")
}

/// The pools of an Installation are one list to the API server. Here the encapsulation of each IPv4 pool is a
/// field of its own, so that what is restored of one pool never takes along what the user did to another.
pub fn pools_as_fields(object: &mut CalicoObject) {
    let Some(Value::Array(pools)) = object.spec.get(POOLS).cloned() else {
        return;
    };
    for pool in pools {
        let cidr = text(&pool, "/cidr");
        if cidr.parse::<Ipv4Net>().is_err() {
            continue;
        }
        let field = pool_field(cidr);
        if let Some(value) = pool.get("encapsulation") {
            object.spec.insert(field.clone(), value.clone());
        }
        if let Some(owners) = object.owners.get(POOLS).cloned() {
            object.owners.insert(field.clone(), owners);
        }
        if object.held.contains(POOLS) {
            object.held.insert(field);
        }
    }
}
