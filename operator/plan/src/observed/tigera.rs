//! Facts of tigera/operator's own objects.

use serde_json::Value;

use super::{first_line, items, number, text};
use crate::version::Version;

/// Dataplane of Windows nodes, `HNS` or `Disabled`. Paths are below `spec`.
pub const WINDOWS_DATAPLANE: &str = "calicoNetwork.windowsDataplane";
/// `Enabled` or `Disabled`.
pub const BGP: &str = "calicoNetwork.bgp";
/// IP pools that tigera/operator makes.
pub const POOLS: &str = "calicoNetwork.ipPools";
/// Service CIDRs, which Windows nodes need.
pub const SERVICE_CIDRS: &str = "serviceCIDRs";

/// Folders on Windows nodes; the operator never sets them.
pub const WINDOWS_NODES: &str = "windowsNodes";

/// Fields of an Installation that matter to Windows nodes.
pub const FIELDS: &[&str] = &[WINDOWS_DATAPLANE, BGP, POOLS, SERVICE_CIDRS, WINDOWS_NODES];

/// `Installation` `default` of tigera/operator, besides the fields that are set (see `ConfigObject`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstallationFacts {
    /// `spec.calicoNetwork.windowsDataplane`, `Disabled` when unset.
    pub windows_hns: bool,
    /// `spec.serviceCIDRs`.
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
    /// tigera/operator has written a status.
    pub accepted: bool,
}

impl InstallationFacts {
    /// The facts of an `Installation`.
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

/// What decisions read of a TigeraStatus.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TigeraStatusFacts {
    /// Types of the conditions that are True, each with reason and message.
    pub conditions: Vec<(String, String, String)>,
}

impl TigeraStatusFacts {
    /// The conditions of a `TigeraStatus` that are True.
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

    /// Is the condition of this type True?
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
