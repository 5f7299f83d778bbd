//! Policies in Calico's internal form (libcalico-go `backend/model`): one form for every kind. Selectors of
//! namespaces and service accounts are combined into one selector.

use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;

use crate::kinds::CALICO_V3_GROUP;
use crate::selector::Selector;

/// Direction of a packet, seen from the pod.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    Ingress,
    Egress,
}

impl Direction {
    /// Both directions, in the order of the output.
    pub const BOTH: [Self; 2] = [Self::Ingress, Self::Egress];

    /// `ingress` or `egress`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }
}

/// Kind, namespace and name of a policy.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PolicyId {
    /// Name of the user's object.
    pub name: String,
    /// Empty for cluster-scoped policies.
    pub namespace: String,
    /// Kind of the user's object.
    pub kind: PolicyKind,
}

/// Every kind of policy, in the order of Felix's names of them.
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
    /// The name of the kind in Felix since v3.32.
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

    /// Kind of the user's object, with the API group if two groups have that kind.
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

    /// API group and kind of the user's object; the group of Calico's kinds is `projectcalico.org`.
    pub const fn group_and_kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Global => (CALICO_V3_GROUP, "GlobalNetworkPolicy"),
            Self::ClusterNetworkPolicy => ("policy.networking.k8s.io", "ClusterNetworkPolicy"),
            Self::Kubernetes => ("networking.k8s.io", "NetworkPolicy"),
            Self::Calico => (CALICO_V3_GROUP, "NetworkPolicy"),
            Self::StagedGlobal => (CALICO_V3_GROUP, "StagedGlobalNetworkPolicy"),
            Self::StagedKubernetes => (CALICO_V3_GROUP, "StagedKubernetesNetworkPolicy"),
            Self::StagedCalico => (CALICO_V3_GROUP, "StagedNetworkPolicy"),
        }
    }

    /// Whether the policy is staged: Calico shows its rules and does not enforce them.
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

    /// A text such as `NetworkPolicy/shop/web`, as in Felix's logs.
    pub fn felix(&self) -> String {
        format!("{}/{}", self.kind.felix(), self.place())
    }
}

/// Prints a text such as `NetworkPolicy.projectcalico.org shop/web`.
impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.user(), self.place())
    }
}

/// A policy of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Kind, namespace and name.
    pub id: PolicyId,
    /// Name of the tier.
    pub tier: String,
    /// Lower values are evaluated first. Infinite if the object has no order.
    pub order: f64,
    /// Selector of the endpoints that the policy applies to.
    pub selector: Selector,
    /// Whether the policy applies to ingress.
    pub ingress: bool,
    /// Whether the policy applies to egress.
    pub egress: bool,
    /// Whether `doNotTrack` is set: only for host endpoints.
    pub do_not_track: bool,
    /// Whether `preDNAT` is set: only for host endpoints.
    pub pre_dnat: bool,
    /// Whether the policy is active on every node, even without a selected pod.
    pub everywhere: bool,
    /// Rules for ingress.
    pub inbound: Vec<Rule>,
    /// Rules for egress.
    pub outbound: Vec<Rule>,
}

impl Policy {
    /// The rules of a direction, even if `types` excludes that direction.
    pub fn rules(&self, direction: Direction) -> &[Rule] {
        match direction {
            Direction::Ingress => &self.inbound,
            Direction::Egress => &self.outbound,
        }
    }

    /// Whether the policy applies to packets of this direction at pods.
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
    /// The word in a rule, such as `Allow`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::Deny => "Deny",
            Self::Log => "Log",
            Self::Pass => "Pass",
        }
    }
}

/// Identifies the rule of the user's object that a rule comes from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Origin {
    /// Position of the rule in the user's object, from 0.
    pub index: usize,
    /// Position among the parts of the rule, from 0: Calico splits a rule of a Kubernetes policy by protocol
    /// and peer.
    pub part: usize,
    /// Number of parts of the rule.
    pub parts: usize,
}

/// A protocol of a rule. Calico treats an unknown name as no protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    Number(u8),
    /// By name. Only the names `icmp` and `icmpv6` set the IP version; their numbers do not.
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
    /// Reads a name in any case, as libcalico-go does.
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

    /// The IANA number.
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
    /// The IANA number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Number(number) => number,
            Self::Named(name) => name.number(),
        }
    }
}

/// Type of an ICMP message, optionally with its code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Icmp {
    /// ICMP type.
    pub kind: i64,
    /// ICMP code; `None` matches every code.
    pub code: Option<i64>,
}

/// A rule of either direction. Every field that is set must match.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The rule of the user's object that this rule comes from.
    pub origin: Origin,
    /// Action for packets that match.
    pub action: Action,
    /// 4 or 6; `None` matches both.
    pub ip_version: Option<u8>,
    /// Protocol that must match.
    pub protocol: Option<Protocol>,
    /// Protocol that must not match.
    pub not_protocol: Option<Protocol>,
    /// ICMP type that must match.
    pub icmp: Option<Icmp>,
    /// ICMP type that must not match.
    pub not_icmp: Option<Icmp>,
    /// Whether the rule matches HTTP requests.
    pub http: bool,
    /// Match of the source.
    pub source: Side,
    /// Match of the destination.
    pub destination: Side,
}

impl Rule {
    /// The IP version that the rule applies to; `None` for both.
    pub fn version(&self) -> Option<u8> {
        self.ip_version.or(match self.protocol {
            Some(Protocol::Named(Name::Icmp)) => Some(4),
            Some(Protocol::Named(Name::Icmpv6)) => Some(6),
            _ => None,
        })
    }

    /// Source and destination.
    pub const fn sides(&self) -> [&Side; 2] {
        [&self.source, &self.destination]
    }
}

/// Source or destination of a rule. Empty fields match everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Networks that contain the address.
    pub nets: Vec<IpNet>,
    /// Networks that do not contain the address.
    pub not_nets: Vec<IpNet>,
    /// First and last port of each range that contains the port.
    pub ports: Vec<(u16, u16)>,
    /// Names of container ports that have the port.
    pub named_ports: Vec<Arc<str>>,
    /// First and last port of each range that does not contain the port.
    pub not_ports: Vec<(u16, u16)>,
    /// Names of container ports that do not have the port.
    pub not_named_ports: Vec<Arc<str>>,
    /// Selects the endpoint or network set with the address.
    pub selector: Option<Selector>,
    /// Does not select the endpoint or network set with the address.
    pub not_selector: Option<Selector>,
    /// Namespace and name of a Service whose endpoints match.
    pub service: Option<(String, String)>,
}

/// A tier of policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// Name of the tier.
    pub name: String,
    /// Lower values are evaluated first; `None` is last.
    pub order: Option<f64>,
    /// Action for packets that no rule matches: `Deny` or `Pass`. Empty for a tier that does not exist.
    pub default_action: String,
}

impl Tier {
    /// Name of the default tier. Packets at its end never continue to a profile.
    pub const DEFAULT: &'static str = "default";

    /// Whether packets that no rule matches continue to the next tier.
    pub fn passes(&self) -> bool {
        self.default_action == "Pass"
    }
}
