//! Findings about policies.

use super::Entry;

const BY_EFFECT: &str = "Error if traffic that should be denied is allowed, or if a pod has no traffic in a direction; Warning if traffic that should be allowed is denied; not reported without an effect";
const POLICY_SETS: &str = "projectcalico/calico felix/dataplane/windows/policysets/policysets.go";
const FLATTENER: &str = "projectcalico/calico felix/dataplane/windows/flattener.go";
const ENDPOINTS: &str = "projectcalico/calico felix/dataplane/windows/endpoint_mgr.go";

pub const NEGATIVE_MATCH: Entry = Entry {
    code: "WN2001",
    title: "A rule with a negative match is skipped",
    what: "Felix skips the whole rule: `ipBlock.except`, `notNets`, `notPorts`, `notProtocol`, `notICMP`, and `notSelector` alone in a GlobalNetworkPolicy. Traffic that it allows is then denied, unless another rule allows it; traffic that it denies is decided by the rules after it.",
    severity: BY_EFFECT,
    releases: "all",
    fix: "write what is meant without negation: list the networks and ports around the exception, put a Deny of the exception in front of an Allow, or use a selector such as `!has(label)`",
    source: POLICY_SETS,
};

pub const NAMED_PORT: Entry = Entry {
    code: "WN2002",
    title: "A rule with a named port is skipped",
    what: "Felix skips the whole rule, including the port numbers in the same list. In a Kubernetes policy, Felix skips the part of the rule for the protocol of the named port.",
    severity: BY_EFFECT,
    releases: "all",
    fix: "write the number of the port",
    source: POLICY_SETS,
};

pub const ICMP_TYPE: Entry = Entry {
    code: "WN2003",
    title: "A rule with an ICMP type is skipped",
    what: "Felix skips the whole rule: HNS has no match for types and codes of ICMP.",
    severity: BY_EFFECT,
    releases: "all",
    fix: "write the protocol without `icmp`, which matches all of ICMP",
    source: POLICY_SETS,
};

pub const HTTP_IGNORED: Entry = Entry {
    code: "WN2004",
    title: "A match of HTTP requests is ignored",
    what: "Felix ignores `http` in the rule: it allows every packet that the other matches of the rule match.",
    severity: BY_EFFECT,
    releases: "all",
    fix: "keep such policies off Windows pods with their selector, and check requests in a proxy",
    source: POLICY_SETS,
};

pub const SERVICE_ALONE: Entry = Entry {
    code: "WN2005",
    title: "A rule with a service ignores its other matches",
    what: "Felix makes ACLs only of the endpoints and ports of `destination.services`, and ignores protocol, source and other matches of the rule.",
    severity: BY_EFFECT,
    releases: "all",
    fix: "take the other matches out of the rule, and select the pods with the policy's own selector",
    source: POLICY_SETS,
};

pub const PASS_IN_LAST_TIER: Entry = Entry {
    code: "WN2006",
    title: "Pass in the last tier blocks",
    what: "No tier follows, and Felix turns the Pass into a Block. On Linux the packet continues to the profiles of its pod, which allow it.",
    severity: BY_EFFECT,
    releases: "v3.29 and later",
    fix: "write Allow for what may pass",
    source: FLATTENER,
};

pub const PASS_UNSUPPORTED: Entry = Entry {
    code: "WN2007",
    title: "Pass is skipped",
    what: "Felix skips the rule, and the next rule decides.",
    severity: BY_EFFECT,
    releases: "v3.28 and earlier",
    fix: "write Allow for what may pass",
    source: POLICY_SETS,
};

pub const PASS_OPENS_PORTS: Entry = Entry {
    code: "WN2008",
    title: "Pass with ports makes a rule of the next tier match all ports",
    what: "Felix combines a Pass with each rule of the next tier. If both have ports but none in common, the combined rule has no ports and matches all of them: an Allow opens every port, a Deny closes every port.",
    severity: BY_EFFECT,
    releases: "v3.29 and later",
    fix: "take the ports out of the Pass, or give the rule of the next tier at least one of the Pass's ports that is not the highest of either",
    source: FLATTENER,
};

pub const FELIX_PANICS: Entry = Entry {
    code: "WN2009",
    title: "Felix panics on a Pass with ports",
    what: "Felix panics if a Pass and a rule of the next tier have lists of ports that end with the same port, 18 or higher. No pod of the node then has its policies, and Felix panics again after each restart.",
    severity: "Error",
    releases: "v3.29 and later",
    fix: "take the ports out of the Pass, or make one of the lists end with another port",
    source: FLATTENER,
};

pub const STAGED: Entry = Entry {
    code: "WN2010",
    title: "A staged policy disables the policies after it",
    what: "Felix looks for the rules of the staged policy, finds none, and ignores every later policy of its tier. If the staged policy is alone in its tier, the pod has no traffic. On Linux staged policies have no effect.",
    severity: BY_EFFECT,
    releases: "v3.30 and later",
    fix: "keep staged policies off Windows pods with their selector, or delete them",
    source: ENDPOINTS,
};

pub const RULE_EDITS: Entry = Entry {
    code: "WN2011",
    title: "Edits of rules do not reach running pods",
    what: "Felix searches the pods of an edited policy by a name without the kind and finds none: running pods keep the old ports, networks and actions until something else updates them or Felix restarts.",
    severity: "Error",
    releases: "v3.32.0 and later",
    fix: "after an edit change the policy's `order` too, which does reach pods, or restart the calico-node-windows pods",
    source: ENDPOINTS,
};

pub const LATER_TIER_MEMBERS: Entry = Entry {
    code: "WN2012",
    title: "New members of selectors of a later tier do not reach running pods",
    what: "Felix checks only the first tier of a pod: if a pod starts or stops matching a selector in a policy of a later tier, the ACLs of running pods do not change until something else updates them or Felix restarts.",
    severity: "Error",
    releases: "v3.29 and later",
    fix: "put rules with selectors into the pods' first tier, or restart the calico-node-windows pods when members change",
    source: ENDPOINTS,
};

pub const MANY_ADDRESSES: Entry = Entry {
    code: "WN2013",
    title: "A rule has very long ACLs",
    what: "Felix sends every address and port of the rule to HNS, at most 4,000 in one ACL, for each pod that the policy selects, and again after each change of a member.",
    severity: "Warning from 10,000 combinations of addresses and ports on; Info if an ACL is split into chunks",
    releases: "all",
    fix: "select the pods with the policy's own selector instead of the rule's, and write networks instead of selectors of many pods",
    source: POLICY_SETS,
};

pub const HOST_ENDPOINT: Entry = Entry {
    code: "WN2014",
    title: "There are no host endpoints on Windows nodes",
    what: "Felix on Windows enforces policies at pods only; the HostEndpoint has no effect.",
    severity: "Warning",
    releases: "all",
    fix: "use the node's Windows firewall",
    source: "tigera/docs windows-calico/limitations.mdx",
};

pub const NOT_FOR_PODS: Entry = Entry {
    code: "WN2015",
    title: "doNotTrack and preDNAT are for host endpoints",
    what: "The policy selects pods of Windows nodes, but Felix applies it neither to them nor to anything else on a Windows node.",
    severity: "Info",
    releases: "all",
    fix: "write a policy without doNotTrack and preDNAT for the pods",
    source: "tigera/docs windows-calico/limitations.mdx",
};

pub const REFUSED: Entry = Entry {
    code: "WN2016",
    title: "Calico's validation refuses the object",
    what: "Calico's API server and calicoctl refuse it. Its CRD may store it nevertheless; Felix then uses a part of it, or treats it as missing and does not apply it to its pods.",
    severity: "Error if Felix treats the policy as missing, or if the stored object allows traffic that should be denied; Warning otherwise",
    releases: "all",
    fix: "correct the field that is named",
    source: "projectcalico/calico libcalico-go/lib/validator",
};

pub const UNKNOWN_TO_RELEASE: Entry = Entry {
    code: "WN2017",
    title: "This release of Calico does not know the object",
    what: "The object is not evaluated: tiers exist since v3.29, staged policies since v3.30, ClusterNetworkPolicy since v3.32.",
    severity: "Warning",
    releases: "v3.31 and earlier",
    fix: "use a release that knows it, or write it as another kind of policy",
    source: "projectcalico/calico release notes",
};

pub const UNEXPLAINED: Entry = Entry {
    code: "WN2018",
    title: "Windows differs from what the policies mean",
    what: "The ACLs and the meaning of the policies differ for a reason that has no code of its own.",
    severity: BY_EFFECT,
    releases: "all",
    fix: "compare with the ACLs that the command `acls` shows, and report it",
    source: ENDPOINTS,
};
