//! The table of all codes, from which docs/findings.md is generated.

mod pods;
mod policies;
mod services;

use std::fmt;

use serde::{Serialize, Serializer};

/// Kinds of findings. Codes are stable: a removed code is never used again.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Code {
    /// A rule with a negative match.
    NegativeMatch,
    /// A rule with a named port.
    NamedPort,
    /// A rule with an ICMP type.
    IcmpType,
    /// A rule that matches HTTP requests.
    HttpIgnored,
    /// A rule with a service and other matches, which Felix ignores.
    ServiceAlone,
    /// A Pass rule in the last tier.
    PassInLastTier,
    /// A Pass rule in a release without tiers.
    PassUnsupported,
    /// A Pass rule with ports, and other ports in the next tier.
    PassOpensPorts,
    /// A Pass rule with ports, and the same last port in the next tier.
    FelixPanics,
    /// A staged policy.
    Staged,
    /// Edits of rules, which do not reach running pods.
    RuleEdits,
    /// New members of a selector in a later tier, which do not reach running pods.
    LaterTierMembers,
    /// A rule with many addresses and ports.
    ManyAddresses,
    /// A HostEndpoint of a Windows node.
    HostEndpoint,
    /// A policy with doNotTrack or preDNAT that selects pods.
    NotForPods,
    /// An object that Calico's validation refuses.
    Refused,
    /// An object that the release does not know.
    UnknownToRelease,
    /// A difference without a code of its own.
    Unexplained,
    /// A Service with `sessionAffinity: ClientIP`, and a build without it.
    SessionAffinityIgnored,
    /// A Service with a timeout of the affinity that is not the default.
    SessionAffinityTimeout,
    /// A Service with `externalTrafficPolicy: Local`, and a build without direct server return.
    ExternalTrafficLocal,
    /// A Service with the annotation `preserve-destination`, and a build that cannot do it.
    PreserveDestination,
    /// A Service with more endpoints than HNS supports.
    TooManyBackends,
    /// A Service with an IPv6 address.
    ServiceIpv6,
    /// A Service with a named target port that differs between pods.
    NamedTargetPort,
    /// A Service with `internalTrafficPolicy: Local`, and a kube-proxy with the defect.
    InternalTrafficLocal,
    /// A Service that asks for endpoints of the client's zone.
    TopologyIgnored,
    /// A Service of which every endpoint terminates.
    TerminatingEndpoints,
    /// A Service with node ports and pods on Windows nodes.
    NodePortFromNode,
    /// A Service whose address BGP advertises, with pods on Windows nodes only.
    NotAdvertised,
    /// A Service with a port of protocol SCTP.
    SctpService,
    /// A Service with `loadBalancerSourceRanges` and pods on Windows nodes.
    SourceRangesIgnored,
    /// `hostNetwork` without HostProcess containers.
    HostNetworkIgnored,
    /// `dnsPolicy: ClusterFirstWithHostNet`.
    HostDnsPolicy,
    /// More search domains than one.
    SearchDomains,
    /// A name such as `db.data` in the environment or the arguments.
    PartialName,
    /// An image that the nodes of the pod cannot run.
    ImageBuild,
    /// A build that no node has.
    NoNodeOfBuild,
    /// A pod without a selector of the operating system, and Windows nodes without a taint.
    NoOsSelector,
    /// A Windows pod without `os.name`.
    OsNameMissing,
    /// `hostPort`.
    HostPortIgnored,
    /// A command with a path or a shell of Linux.
    LinuxCommand,
    /// A probe or a hook that pings.
    IcmpProbe,
    /// A budget that allows no eviction of pods on Windows nodes.
    NeverDrains,
    /// More pods on a Windows node than its block holds.
    TooManyPods,
    /// Fields of `securityContext` that Windows does not have.
    LinuxSecurityContext,
    /// HostProcess containers in other namespaces.
    HostProcess,
    /// HostProcess containers beside others, or without `hostNetwork`.
    HostProcessRefused,
    /// Volumes and resources that Windows does not have.
    LinuxStorage,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// `WN` and four digits, of which the first is 2 for policies, 3 for Services, 4 for pods.
    pub code: &'static str,
    /// The finding in a few words.
    pub title: &'static str,
    /// The effect on Windows.
    pub what: &'static str,
    /// Severities, with the effect that each depends on.
    pub severity: &'static str,
    /// Releases that do it: of Calico for policies, of Windows or of kube-proxy for Services and pods.
    pub releases: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// How we know.
    pub source: &'static str,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 49] = [
        Self::NegativeMatch,
        Self::NamedPort,
        Self::IcmpType,
        Self::HttpIgnored,
        Self::ServiceAlone,
        Self::PassInLastTier,
        Self::PassUnsupported,
        Self::PassOpensPorts,
        Self::FelixPanics,
        Self::Staged,
        Self::RuleEdits,
        Self::LaterTierMembers,
        Self::ManyAddresses,
        Self::HostEndpoint,
        Self::NotForPods,
        Self::Refused,
        Self::UnknownToRelease,
        Self::Unexplained,
        Self::SessionAffinityIgnored,
        Self::SessionAffinityTimeout,
        Self::ExternalTrafficLocal,
        Self::PreserveDestination,
        Self::TooManyBackends,
        Self::ServiceIpv6,
        Self::NamedTargetPort,
        Self::InternalTrafficLocal,
        Self::TopologyIgnored,
        Self::TerminatingEndpoints,
        Self::NodePortFromNode,
        Self::NotAdvertised,
        Self::SctpService,
        Self::SourceRangesIgnored,
        Self::HostNetworkIgnored,
        Self::HostDnsPolicy,
        Self::SearchDomains,
        Self::PartialName,
        Self::ImageBuild,
        Self::NoNodeOfBuild,
        Self::NoOsSelector,
        Self::OsNameMissing,
        Self::HostPortIgnored,
        Self::LinuxCommand,
        Self::IcmpProbe,
        Self::NeverDrains,
        Self::TooManyPods,
        Self::LinuxSecurityContext,
        Self::HostProcess,
        Self::HostProcessRefused,
        Self::LinuxStorage,
    ];

    /// Whether the code is about policies, not about Services and pods.
    pub fn is_about_policies(self) -> bool {
        self.entry().code.starts_with("WN2")
    }

    /// The row of the table.
    pub const fn entry(self) -> Entry {
        match self {
            Self::NegativeMatch => policies::NEGATIVE_MATCH,
            Self::NamedPort => policies::NAMED_PORT,
            Self::IcmpType => policies::ICMP_TYPE,
            Self::HttpIgnored => policies::HTTP_IGNORED,
            Self::ServiceAlone => policies::SERVICE_ALONE,
            Self::PassInLastTier => policies::PASS_IN_LAST_TIER,
            Self::PassUnsupported => policies::PASS_UNSUPPORTED,
            Self::PassOpensPorts => policies::PASS_OPENS_PORTS,
            Self::FelixPanics => policies::FELIX_PANICS,
            Self::Staged => policies::STAGED,
            Self::RuleEdits => policies::RULE_EDITS,
            Self::LaterTierMembers => policies::LATER_TIER_MEMBERS,
            Self::ManyAddresses => policies::MANY_ADDRESSES,
            Self::HostEndpoint => policies::HOST_ENDPOINT,
            Self::NotForPods => policies::NOT_FOR_PODS,
            Self::Refused => policies::REFUSED,
            Self::UnknownToRelease => policies::UNKNOWN_TO_RELEASE,
            Self::Unexplained => policies::UNEXPLAINED,
            Self::SessionAffinityIgnored => services::SESSION_AFFINITY_IGNORED,
            Self::SessionAffinityTimeout => services::SESSION_AFFINITY_TIMEOUT,
            Self::ExternalTrafficLocal => services::EXTERNAL_TRAFFIC_LOCAL,
            Self::PreserveDestination => services::PRESERVE_DESTINATION,
            Self::TooManyBackends => services::TOO_MANY_BACKENDS,
            Self::ServiceIpv6 => services::SERVICE_IPV6,
            Self::NamedTargetPort => services::NAMED_TARGET_PORT,
            Self::InternalTrafficLocal => services::INTERNAL_TRAFFIC_LOCAL,
            Self::TopologyIgnored => services::TOPOLOGY_IGNORED,
            Self::TerminatingEndpoints => services::TERMINATING_ENDPOINTS,
            Self::NodePortFromNode => services::NODE_PORT_FROM_NODE,
            Self::NotAdvertised => services::NOT_ADVERTISED,
            Self::SctpService => services::SCTP_SERVICE,
            Self::SourceRangesIgnored => services::SOURCE_RANGES_IGNORED,
            Self::HostNetworkIgnored => pods::HOST_NETWORK_IGNORED,
            Self::HostDnsPolicy => pods::HOST_DNS_POLICY,
            Self::SearchDomains => pods::SEARCH_DOMAINS,
            Self::PartialName => pods::PARTIAL_NAME,
            Self::ImageBuild => pods::IMAGE_BUILD,
            Self::NoNodeOfBuild => pods::NO_NODE_OF_BUILD,
            Self::NoOsSelector => pods::NO_OS_SELECTOR,
            Self::OsNameMissing => pods::OS_NAME_MISSING,
            Self::HostPortIgnored => pods::HOST_PORT_IGNORED,
            Self::LinuxCommand => pods::LINUX_COMMAND,
            Self::IcmpProbe => pods::ICMP_PROBE,
            Self::NeverDrains => pods::NEVER_DRAINS,
            Self::TooManyPods => pods::TOO_MANY_PODS,
            Self::LinuxSecurityContext => pods::LINUX_SECURITY_CONTEXT,
            Self::HostProcess => pods::HOST_PROCESS,
            Self::HostProcessRefused => pods::HOST_PROCESS_REFUSED,
            Self::LinuxStorage => pods::LINUX_STORAGE,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().code)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
