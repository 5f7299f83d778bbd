//! Every code, as documentation has it.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a finding is about. A code is stable: one that falls away is never given again.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Code {
    /// A rule with a negative match.
    NegativeMatch,
    /// A rule with a named port.
    NamedPort,
    /// A rule with an ICMP type.
    IcmpType,
    /// A rule with a match of HTTP requests.
    HttpIgnored,
    /// A rule with a service and other matches.
    ServiceAlone,
    /// A Pass in the last tier.
    PassInLastTier,
    /// A Pass in a release without tiers.
    PassUnsupported,
    /// A Pass with ports, and other ports in the next tier.
    PassOpensPorts,
    /// A Pass with ports, and the same last port in the next tier.
    FelixPanics,
    /// A staged policy.
    Staged,
    /// Edits of rules while pods run.
    RuleEdits,
    /// Members that join a selector of a later tier.
    LaterTierMembers,
    /// A rule with many addresses and ports.
    ManyAddresses,
    /// A HostEndpoint of a Windows node.
    HostEndpoint,
    /// A policy for host endpoints that selects pods.
    NotForPods,
    /// An object that Calico's validation refuses.
    Refused,
    /// An object that the release does not know.
    UnknownToRelease,
    /// A difference without a code of its own.
    Unexplained,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// `WN2` and three digits.
    pub code: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What happens on Windows.
    pub what: &'static str,
    /// Which effect makes it how grave.
    pub severity: &'static str,
    /// Releases of Calico that do it.
    pub releases: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// How we know.
    pub source: &'static str,
}

const BY_EFFECT: &str = "Error where something is open that should be closed or a pod is cut off, Warning where something is closed that should be open, silent without an effect";
const POLICY_SETS: &str = "projectcalico/calico felix/dataplane/windows/policysets/policysets.go";
const FLATTENER: &str = "projectcalico/calico felix/dataplane/windows/flattener.go";
const ENDPOINTS: &str = "projectcalico/calico felix/dataplane/windows/endpoint_mgr.go";

impl Code {
    /// Every code.
    pub const ALL: [Self; 18] = [
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
    ];

    /// What the documentation says.
    pub const fn entry(self) -> Entry {
        match self {
            Self::NegativeMatch => Entry {
                code: "WN2001",
                title: "A rule with a negative match is skipped",
                what: "Felix skips the whole rule: `ipBlock.except`, `notNets`, `notPorts`, `notProtocol`, `notICMP`, and `notSelector` alone in a GlobalNetworkPolicy. What it allows is lost too; a Deny is lost to the rules behind it.",
                severity: BY_EFFECT,
                releases: "all",
                fix: "write what is meant without negation: list the networks and ports around the exception, put a Deny of the exception in front of an Allow, or use a selector such as `!has(label)`",
                source: POLICY_SETS,
            },
            Self::NamedPort => Entry {
                code: "WN2002",
                title: "A rule with a named port is skipped",
                what: "Felix skips the whole rule, with the numbers in the same list of ports. Of a Kubernetes rule, the protocol that has the name is lost.",
                severity: BY_EFFECT,
                releases: "all",
                fix: "write the number of the port",
                source: POLICY_SETS,
            },
            Self::IcmpType => Entry {
                code: "WN2003",
                title: "A rule with an ICMP type is skipped",
                what: "Felix skips the whole rule: HNS has no match for types and codes of ICMP.",
                severity: BY_EFFECT,
                releases: "all",
                fix: "write the protocol without `icmp`, which matches all of ICMP",
                source: POLICY_SETS,
            },
            Self::HttpIgnored => Entry {
                code: "WN2004",
                title: "A match of HTTP requests is ignored",
                what: "Felix takes the rule without its `http`: every packet of the rest of the match is allowed.",
                severity: BY_EFFECT,
                releases: "all",
                fix: "keep such policies off Windows pods with their selector, and check requests in a proxy",
                source: POLICY_SETS,
            },
            Self::ServiceAlone => Entry {
                code: "WN2005",
                title: "Beside a service, nothing else of a rule matches",
                what: "Felix makes ACLs of the endpoints and ports of `destination.services` alone; protocol, source and other matches of the rule are ignored.",
                severity: BY_EFFECT,
                releases: "all",
                fix: "take the other matches out of the rule, and select the pods with the policy's own selector",
                source: POLICY_SETS,
            },
            Self::PassInLastTier => Entry {
                code: "WN2006",
                title: "Pass in the last tier blocks",
                what: "There is no tier behind it, and Felix makes it a Block, where elsewhere the packet goes on to the profiles of its pod, which allow it.",
                severity: BY_EFFECT,
                releases: "v3.29 and later",
                fix: "write Allow for what may pass",
                source: FLATTENER,
            },
            Self::PassUnsupported => Entry {
                code: "WN2007",
                title: "Pass is skipped",
                what: "Felix skips the rule, and the next rule decides.",
                severity: BY_EFFECT,
                releases: "v3.28 and earlier",
                fix: "write Allow for what may pass",
                source: POLICY_SETS,
            },
            Self::PassOpensPorts => Entry {
                code: "WN2008",
                title: "Pass with ports makes a rule of the next tier be for all ports",
                what: "Felix combines a Pass with each rule of the next tier. Where both have ports and none in common, the combined rule has no ports at all: an Allow opens every port, a Deny closes every port.",
                severity: BY_EFFECT,
                releases: "v3.29 and later",
                fix: "take the ports out of the Pass, or give the rule of the next tier at least one of the Pass's ports that is not the highest of either",
                source: FLATTENER,
            },
            Self::FelixPanics => Entry {
                code: "WN2009",
                title: "Felix panics on a Pass with ports",
                what: "Where a Pass and a rule of the next tier have lists of ports that end with the same port, from 18 on, Felix panics. Every pod of the node is left without its policies, and after each restart it panics again.",
                severity: "Error",
                releases: "v3.29 and later",
                fix: "take the ports out of the Pass, or make one of the lists end with another port",
                source: FLATTENER,
            },
            Self::Staged => Entry {
                code: "WN2010",
                title: "A staged policy drops what is behind it",
                what: "Felix looks for the staged policy's rules, has none, and leaves out every policy behind it in its tier; alone in its tier it closes the pod. Elsewhere staged policies do nothing.",
                severity: BY_EFFECT,
                releases: "v3.30 and later",
                fix: "keep staged policies off Windows pods with their selector, or delete them",
                source: ENDPOINTS,
            },
            Self::RuleEdits => Entry {
                code: "WN2011",
                title: "Edits of rules do not reach running pods",
                what: "Felix looks for the pods of an edited policy under a name without its kind and finds none: running pods keep the old ports, networks and actions until something else touches them or Felix restarts.",
                severity: "Error",
                releases: "v3.32.0 and later",
                fix: "after an edit change the policy's `order` too, which does reach pods, or restart the calico-node-windows pods",
                source: ENDPOINTS,
            },
            Self::LaterTierMembers => Entry {
                code: "WN2012",
                title: "New members of selectors of a later tier do not reach running pods",
                what: "Felix looks at the first tier of a pod only: a pod that joins or leaves a selector that a policy of a later tier names is not in the ACLs of running pods until something else touches them or Felix restarts.",
                severity: "Error",
                releases: "v3.29 and later",
                fix: "put rules with selectors into the pods' first tier, or restart the calico-node-windows pods when members change",
                source: ENDPOINTS,
            },
            Self::ManyAddresses => Entry {
                code: "WN2013",
                title: "A rule makes long ACLs",
                what: "HNS gets every address and port of the rule, at most 4,000 in one ACL, for each pod that the policy selects, and anew with each change of a member.",
                severity: "Warning from 10,000 combinations of addresses and ports on, Info where an ACL is cut into chunks",
                releases: "all",
                fix: "select the pods with the policy's own selector instead of the rule's, and write networks instead of selectors of many pods",
                source: POLICY_SETS,
            },
            Self::HostEndpoint => Entry {
                code: "WN2014",
                title: "There are no host endpoints on Windows nodes",
                what: "Felix on Windows enforces policies at pods only; this HostEndpoint protects nothing.",
                severity: "Warning",
                releases: "all",
                fix: "use the node's Windows firewall",
                source: "tigera/docs windows-calico/limitations.mdx",
            },
            Self::NotForPods => Entry {
                code: "WN2015",
                title: "doNotTrack and preDNAT are for host endpoints",
                what: "The policy selects pods of Windows nodes and is not applied to them, nor to anything else on a Windows node.",
                severity: "Info",
                releases: "all",
                fix: "write a policy without doNotTrack and preDNAT for the pods",
                source: "tigera/docs windows-calico/limitations.mdx",
            },
            Self::Refused => Entry {
                code: "WN2016",
                title: "Calico's validation refuses the object",
                what: "Calico's API server and calicoctl refuse it. Its CRD may store it all the same; Felix then takes a part of it, or treats it as missing, which leaves its pods without it.",
                severity: "Error where Felix treats the policy as missing or it is more open when stored, Warning otherwise",
                releases: "all",
                fix: "correct the field that is named",
                source: "projectcalico/calico libcalico-go/lib/validator",
            },
            Self::UnknownToRelease => Entry {
                code: "WN2017",
                title: "This release of Calico does not know the object",
                what: "It is not evaluated: tiers came with v3.29, staged policies with v3.30, ClusterNetworkPolicy with v3.32.",
                severity: "Warning",
                releases: "v3.31 and earlier",
                fix: "use a release that knows it, or write it as another kind of policy",
                source: "projectcalico/calico release notes",
            },
            Self::Unexplained => Entry {
                code: "WN2018",
                title: "Windows does other than the policies mean",
                what: "The ACLs and the meaning of the policies differ for a reason that has no code of its own.",
                severity: BY_EFFECT,
                releases: "all",
                fix: "compare with the ACLs that the command `acls` shows, and report it",
                source: ENDPOINTS,
            },
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
