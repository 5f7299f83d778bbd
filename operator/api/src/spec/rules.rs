//! Schemas of fields with rules in CEL: what the API server can refuse when an object is applied.
//!
//! Each rule is looser than `wn_plan::validate` or equal to it, never stricter; the operator validates what was stored under an
//! older CustomResourceDefinition. Only functions of Kubernetes 1.29 are used, so not `isIP` and `isCIDR` (1.30). Lengths are
//! bounded, and with them the estimated cost of the rules. Of the rules on one value at most one fails.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

macro_rules! octet {
    () => {
        "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    };
}

macro_rules! ipv4 {
    () => {
        concat!("(", octet!(), "[.]){3}", octet!())
    };
}

macro_rules! label {
    () => {
        "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
    };
}

macro_rules! host_name {
    () => {
        concat!(label!(), "([.]", label!(), ")*")
    };
}

/// Good enough to tell an IPv6 address from `host:port`.
const IPV6: &str = "[0-9a-fA-F.]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*";

fn matches(pattern: &str) -> String {
    format!("self.matches('^({pattern})$')")
}

fn rule(rule: &str, message: &str) -> Value {
    json!({ "rule": rule, "message": message })
}

fn list(at_least: u32, at_most: u32, items: Value) -> Schema {
    let mut schema = json_schema!({ "type": "array", "maxItems": at_most, "items": items });
    if at_least > 0 {
        schema.insert("minItems".to_owned(), json!(at_least));
    }
    schema
}

/// A host name or an IP address.
pub fn host(_: &mut SchemaGenerator) -> Schema {
    let scheme = "self.contains('://')";
    let port = matches("[^:]*:[0-9]*");
    let number = "self.matches('(^|[.])[0-9]+$')";
    let (name, ipv4, ipv6) = (matches(host_name!()), matches(ipv4!()), matches(IPV6));
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "x-kubernetes-validations": [
            rule(&format!("!{scheme}"), "must be a host name or an IP address without a scheme, e.g. api.example.com"),
            rule(&format!("{scheme} || !{port}"), "has a port: write the port in spec.network.apiServer.port"),
            rule(
                &format!("{scheme} || {port} || {name} || {ipv6}"),
                "is not a host name or an IP address, e.g. api.example.com or 192.0.2.10",
            ),
            rule(
                &format!("!{number} || {ipv4} || {port} || {ipv6} || !{name}"),
                "is not an IPv4 address, and a host name does not end in a number",
            ),
        ],
    })
}

/// IPv4 networks. Host bits and overlaps are left to the operator.
pub fn ipv4_cidrs(_: &mut SchemaGenerator) -> Schema {
    let cidr = matches(concat!(ipv4!(), "/(3[0-2]|[12]?[0-9])"));
    list(
        0,
        8,
        json!({
            "type": "string",
            "minLength": 9,
            "maxLength": 18,
            "x-kubernetes-validations": [
                rule(&cidr, "is not an IPv4 CIDR such as 10.96.0.0/12"),
                rule(&format!("!{cidr} || !self.endsWith('/0')"), "is every address: write the range of Services"),
            ],
        }),
    )
}

/// Addresses of either family.
pub fn ip_addresses(_: &mut SchemaGenerator) -> Schema {
    let ip = format!("{} || {}", matches(ipv4!()), matches(IPV6));
    list(
        0,
        3,
        json!({
            "type": "string",
            "minLength": 2,
            "maxLength": 45,
            "x-kubernetes-validations": [rule(&ip, "is not an IP address")],
        }),
    )
}

/// DNS domains in lower case.
pub fn domains(_: &mut SchemaGenerator) -> Schema {
    let domain = format!("!self.matches('[A-Z]') && {}", matches(host_name!()));
    list(
        0,
        6,
        json!({
            "type": "string",
            "minLength": 1,
            "maxLength": 253,
            "x-kubernetes-validations": [rule(&domain, "is not a DNS domain such as svc.cluster.local")],
        }),
    )
}

/// URLs of etcd's members.
pub fn endpoints(_: &mut SchemaGenerator) -> Schema {
    let url = matches("https?://[^/]+");
    list(
        1,
        9,
        json!({
            "type": "string",
            "minLength": 8,
            "maxLength": 253,
            "x-kubernetes-validations": [
                rule(&url, "is not a URL such as https://10.0.0.10:2379"),
                rule(
                    &format!("!{url} || self.matches(':[0-9]+$')"),
                    "has no port: write it, e.g. https://10.0.0.10:2379",
                ),
            ],
        }),
    )
}

/// Labels of nodes. Names of labels are left to the operator, because rules on them have no bounded cost.
pub fn node_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "type": "string",
            "maxLength": 63,
            "pattern": "^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$",
        },
        "x-kubernetes-validations": [
            rule(
                "!('kubernetes.io/os' in self) || self['kubernetes.io/os'] == 'windows'",
                "kubernetes.io/os contradicts the DaemonSets, which are for windows: remove it",
            ),
            rule(
                "!('windowsnode.dev/kube-proxy' in self)",
                "label windowsnode.dev/kube-proxy is set by the operator: select nodes by another label",
            ),
        ],
    })
}
