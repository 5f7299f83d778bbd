//! Policies as Calico works with them (libcalico-go `backend/model`): one form for every kind, with the selectors of
//! namespaces and service accounts folded into one.

use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;

use crate::selector::Selector;

/// The way of a packet, seen from the pod.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    Ingress,
    Egress,
}

impl Direction {
    /// Both, in the order of output.
    pub const BOTH: [Self; 2] = [Self::Ingress, Self::Egress];

    /// `ingress` or `egress`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }
}

/// What a policy is called, by Felix and by people.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PolicyId {
    pub name: String,
    /// Empty for policies of the cluster.
    pub namespace: String,
    pub kind: PolicyKind,
}

/// Every kind of policy, in the order of Felix' names for them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PolicyKind {
    Global,
    ClusterNetworkPolicy,
    Kubernetes,
    Calico,
    StagedGlobal,
    StagedKubernetes,
    StagedCalico,
}

impl PolicyKind {
    /// In Felix since v3.32.
    pub const fn felix(self) -> &'static str {
        match self {
            Self::Global => "GlobalNetworkPolicy",
            Self::ClusterNetworkPolicy => "KubernetesClusterNetworkPolicy",
            Self::Kubernetes => "KubernetesNetworkPolicy",
            Self::Calico => "NetworkPolicy",
            Self::StagedGlobal => "StagedGlobalNetworkPolicy",
            Self::StagedKubernetes => "StagedKubernetesNetworkPolicy",
            Self::StagedCalico => "StagedNetworkPolicy",
        }
    }

    /// Kind of the user's object, with the group where two have it.
    pub const fn user(self) -> &'static str {
        match self {
            Self::Global => "GlobalNetworkPolicy",
            Self::ClusterNetworkPolicy => "ClusterNetworkPolicy",
            Self::Kubernetes => "NetworkPolicy.networking.k8s.io",
            Self::Calico => "NetworkPolicy.projectcalico.org",
            Self::StagedGlobal => "StagedGlobalNetworkPolicy",
            Self::StagedKubernetes => "StagedKubernetesNetworkPolicy",
            Self::StagedCalico => "StagedNetworkPolicy",
        }
    }

    /// Whether its rules are only shown, not enforced.
    pub const fn is_staged(self) -> bool {
        matches!(
            self,
            Self::StagedGlobal | Self::StagedKubernetes | Self::StagedCalico
        )
    }
}

impl PolicyId {
    fn place(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }

    /// `NetworkPolicy/shop/web`, as in Felix' logs.
    pub fn felix(&self) -> String {
        format!("{}/{}", self.kind.felix(), self.place())
    }
}

/// `NetworkPolicy.projectcalico.org shop/web`.
impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.user(), self.place())
    }
}

/// A policy of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub id: PolicyId,
    pub tier: String,
    /// Infinite when the object has none.
    pub order: f64,
    pub selector: Selector,
    pub ingress: bool,
    pub egress: bool,
    pub do_not_track: bool,
    pub pre_dnat: bool,
    /// Active on every node, also without a pod.
    pub everywhere: bool,
    pub inbound: Vec<Rule>,
    pub outbound: Vec<Rule>,
}

impl Policy {
    /// The rules of a direction, also where `types` leave it out.
    pub fn rules(&self, direction: Direction) -> &[Rule] {
        match direction {
            Direction::Ingress => &self.inbound,
            Direction::Egress => &self.outbound,
        }
    }

    /// Whether it decides about packets of this direction at pods.
    pub const fn governs(&self, direction: Direction) -> bool {
        let of_type = match direction {
            Direction::Ingress => self.ingress,
            Direction::Egress => self.egress,
        };
        of_type && !self.do_not_track && !self.pre_dnat
    }
}

/// What a rule does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    Allow,
    Deny,
    Log,
    Pass,
}

impl Action {
    /// As in a rule.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::Deny => "Deny",
            Self::Log => "Log",
            Self::Pass => "Pass",
        }
    }
}

/// Which rule of the user's object this is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Origin {
    pub index: usize,
    /// A rule of Kubernetes becomes one of Calico a protocol and peer.
    pub part: usize,
    pub parts: usize,
}

/// A protocol of a rule. A name that nobody knows is no protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    Number(u8),
    /// With its number; names that differ match the same, but only `icmp` and `icmpv6` as names bind the IP version.
    Named(Name),
}

/// The protocols that Calico has names for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Name {
    Tcp,
    Udp,
    Icmp,
    Icmpv6,
    Sctp,
    UdpLite,
}

impl Name {
    /// Any case, as in libcalico-go.
    pub fn parse(text: &str) -> Option<Self> {
        const NAMES: [(&str, Name); 6] = [
            ("tcp", Name::Tcp),
            ("udp", Name::Udp),
            ("icmp", Name::Icmp),
            ("icmpv6", Name::Icmpv6),
            ("sctp", Name::Sctp),
            ("udplite", Name::UdpLite),
        ];
        let found = NAMES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        found.map(|(_, name)| *name)
    }

    /// IANA's number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Icmp => 1,
            Self::Icmpv6 => 58,
            Self::Sctp => 132,
            Self::UdpLite => 136,
        }
    }
}

impl Protocol {
    /// IANA's number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Number(number) => number,
            Self::Named(name) => name.number(),
        }
    }
}

/// Type of an ICMP message, perhaps with its code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Icmp {
    pub kind: i64,
    pub code: Option<i64>,
}

/// A rule of either direction. All that is set must match.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub origin: Origin,
    pub action: Action,
    pub ip_version: Option<u8>,
    pub protocol: Option<Protocol>,
    pub not_protocol: Option<Protocol>,
    pub icmp: Option<Icmp>,
    pub not_icmp: Option<Icmp>,
    pub http: bool,
    pub source: Side,
    pub destination: Side,
}

impl Rule {
    /// The IP version that the rule is bound to.
    pub fn version(&self) -> Option<u8> {
        self.ip_version.or(match self.protocol {
            Some(Protocol::Named(Name::Icmp)) => Some(4),
            Some(Protocol::Named(Name::Icmpv6)) => Some(6),
            _ => None,
        })
    }

    /// Both ends.
    pub const fn sides(&self) -> [&Side; 2] {
        [&self.source, &self.destination]
    }
}

/// Source or destination of a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub nets: Vec<IpNet>,
    pub not_nets: Vec<IpNet>,
    pub ports: Vec<(u16, u16)>,
    pub named_ports: Vec<Arc<str>>,
    pub not_ports: Vec<(u16, u16)>,
    pub not_named_ports: Vec<Arc<str>>,
    pub selector: Option<Selector>,
    pub not_selector: Option<Selector>,
    /// Namespace and name.
    pub service: Option<(String, String)>,
}

/// A tier that policies may be in.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    pub name: String,
    /// `None` sorts last.
    pub order: Option<f64>,
    /// What happens at its end: `Deny`, `Pass`; empty for a tier that does not exist.
    pub default_action: String,
}

impl Tier {
    /// The tier whose end leads to no profile.
    pub const DEFAULT: &'static str = "default";

    /// Whether packets go on at its end.
    pub fn passes(&self) -> bool {
        self.default_action == "Pass"
    }
}
