//! The networks an agent is run in.

use serde_json::{Value, json};

use crate::control_plane::CalicoApi;

/// A network, with one of Calico's APIs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AgentNetwork {
    /// Heads its column, and is its word in the record.
    pub name: &'static str,
    pub calico_api: CalicoApi,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    Vxlan,
    Bgp,
    /// The pods' network is another's; Calico's agent programs policy.
    PolicyOnly,
}

pub const ALL: &[AgentNetwork] = &[
    AgentNetwork {
        name: "VXLAN, v1",
        calico_api: CalicoApi::V1,
        kind: Kind::Vxlan,
    },
    AgentNetwork {
        name: "VXLAN, v3",
        calico_api: CalicoApi::V3,
        kind: Kind::Vxlan,
    },
    AgentNetwork {
        name: "BGP, v3",
        calico_api: CalicoApi::V3,
        kind: Kind::Bgp,
    },
    AgentNetwork {
        name: "policy only, v1",
        calico_api: CalicoApi::V1,
        kind: Kind::PolicyOnly,
    },
];

impl AgentNetwork {
    /// `spec` of the WindowsNodeConfig, with the API server at this port of loopback: the name that kubeadm's
    /// configuration gives it leads nowhere here.
    pub fn spec(self, port: u16) -> Value {
        let type_ = match self.kind {
            Kind::Vxlan => "CalicoVXLAN",
            Kind::Bgp => "CalicoBGP",
            Kind::PolicyOnly => "StaticRoutes",
        };
        let mut spec = json!({
            "network": {"type": type_, "apiServer": {"host": "127.0.0.1", "port": port}},
        });
        if self.kind == Kind::PolicyOnly {
            spec["networkAgent"] = json!({"image": {"repository": "example/agent", "tag": "v1"}});
        }
        spec
    }

    /// The HNS network that pods are in: Calico's own name, or that of the scripts of static routes.
    pub fn hns_network(self) -> &'static str {
        match self.kind {
            Kind::Vxlan | Kind::Bgp => "Calico",
            Kind::PolicyOnly => "cbr0",
        }
    }

    /// With BGP, HNS gives the host an interface with an address of the node's block, and the agent waits for it.
    /// Here the one interface that can have it without any change to this machine is loopback.
    pub fn pool(self) -> Option<&'static str> {
        (self.kind == Kind::Bgp).then_some("127.244.0.0/16")
    }
}
