//! Validates the fields of a rule.

use super::fields::{Fields, list};
use crate::input::calico::{Entity, Http, Icmp, Rule};
use crate::input::{Port, Protocol};
use crate::model::Name;
use crate::net;
use crate::selector::Selector;
use ipnet::IpNet;

const NEEDS_PROTOCOL_FOR_NUMBERS: &str =
    "rules with numeric port or port range must set protocol to TCP or UDP or SCTP";
const NEEDS_PROTOCOL_FOR_PORTS: &str = "rules that specify ports must set protocol to TCP or UDP or SCTP";

/// Adds the errors of a rule.
pub fn check(rule: &Rule, fields: &mut Fields) {
    if !["Allow", "Deny", "Log", "Pass"].contains(&rule.action.as_str()) {
        fields.tag("Action", &rule.action, "action");
    }
    if let Some(version) = rule.ip_version.filter(|version| ![4, 6].contains(version)) {
        fields.tag("IPVersion", version, "ipVersion");
    }
    for protocol in rule.protocol.iter().chain(&rule.not_protocol) {
        protocol_itself(protocol, fields);
    }
    for icmp in rule.icmp.iter().chain(&rule.not_icmp) {
        icmp_itself(icmp, fields);
    }
    for side in [&rule.source, &rule.destination] {
        entity(side, fields);
    }
    if let Some(request) = &rule.http {
        http(request, fields);
    }
    ports_and_protocol(rule, fields);
    protocols_together(rule, fields);
    nets(rule, fields);
    if rule.action != "Allow" && rule.http.is_some() {
        fields.reason("HTTP", go_http(rule.http.as_ref()), "only valid for Allow rules");
    }
    if rule.destination.services.is_some() {
        let ports = [
            ("Ports", "ports", &rule.destination.ports),
            ("NotPorts", "notports", &rule.destination.not_ports),
        ];
        for (name, word, ports) in ports.iter().filter(|(_, _, ports)| !ports.is_empty()) {
            let reason = format!("cannot specify {word} with a service selector");
            fields.reason(&format!("Destination.{name}"), list(ports), &reason);
        }
    }
}

/// Prints a match of HTTP requests as Go does.
pub fn go_http(http: Option<&Http>) -> String {
    let Some(http) = http else {
        return "<nil>".to_owned();
    };
    let paths: Vec<String> = http
        .paths
        .iter()
        .map(|p| format!("{{{} {}}}", p.exact, p.prefix))
        .collect();
    format!("&{{{} {}}}", list(&http.methods), list(&paths))
}

fn protocol_itself(protocol: &Protocol, fields: &mut Fields) {
    match protocol {
        Protocol::Number(0) => fields.reason("Protocol", 0, "protocol number invalid"),
        Protocol::Number(_) => {}
        Protocol::Name(name) => {
            if !["TCP", "UDP", "ICMP", "ICMPv6", "SCTP", "UDPLite"].contains(&name.as_str()) {
                fields.reason("Protocol", name, "protocol name invalid");
            }
        }
    }
}

fn icmp_itself(icmp: &Icmp, fields: &mut Fields) {
    let limits = [("Type", icmp.r#type, 254), ("Code", icmp.code, 255)];
    for (name, value, most) in limits {
        match value {
            Some(value) if value < 0 => fields.tag(name, value, "gte"),
            Some(value) if value > most => fields.tag(name, value, "lte"),
            _ => {}
        }
    }
    if let (Some(code), None) = (icmp.code, icmp.r#type) {
        fields.reason("Code", code, "ICMP code specified without an ICMP type");
    }
}

fn entity(entity: &Entity, fields: &mut Fields) {
    for (name, nets) in [("Nets", &entity.nets), ("NotNets", &entity.not_nets)] {
        for (i, text) in nets.iter().enumerate() {
            // Host bits are refused as well.
            if net::parse(text).is_none_or(|(address, net)| address != net.network()) {
                fields.tag(&format!("{name}[{i}]"), text, "net");
            }
        }
    }
    let accounts = entity.service_accounts.as_ref().map(|a| &a.selector);
    let selectors = [
        ("Selector", Some(&entity.selector)),
        ("NamespaceSelector", Some(&entity.namespace_selector)),
        ("NotSelector", Some(&entity.not_selector)),
        ("Selector", accounts),
    ];
    for (name, text) in selectors.iter().filter_map(|(name, text)| Some((name, (*text)?))) {
        if Selector::parse(text).is_none() {
            fields.tag(name, text, "selector");
        }
    }
    for port in entity.ports.iter().chain(&entity.not_ports) {
        if matches!(port, Port::Range(0, _)) {
            let reason = "port range invalid, port number must be between 1 and 65535";
            fields.reason("Port", 0, reason);
        }
    }
    global_selectors(entity, fields);
    service(entity, fields);
}

fn global_selectors(entity: &Entity, fields: &mut Fields) {
    if entity.selector.contains("global()") {
        let reason = "global() can only be used in an EntityRule namespaceSelector";
        fields.reason("Selector field", &entity.selector, reason);
    }
    let text = &entity.namespace_selector;
    if text.contains("global(") && !Selector::parse(text).is_some_and(|s| s.is_global()) {
        let reason = "global() cannot be combined with other selectors";
        fields.reason("NamespaceSelector field", text, reason);
    }
}

fn service(entity: &Entity, fields: &mut Fields) {
    let Some(service) = &entity.services else {
        return;
    };
    let value = format!("&{{{} {}}}", service.name, service.namespace);
    let mut refuse = |is_wrong: bool, reason: &str| {
        if is_wrong {
            fields.reason("Services field", &value, reason);
        }
    };
    refuse(service.name.is_empty(), "must specify a service name");
    refuse(
        !entity.namespace_selector.is_empty(),
        "cannot specify NamespaceSelector and Services on the same rule",
    );
    refuse(
        !entity.selector.is_empty() || !entity.not_selector.is_empty(),
        "cannot specify Selector/NotSelector and Services on the same rule",
    );
    refuse(
        entity.service_accounts.is_some(),
        "cannot specify ServiceAccounts and Services on the same rule",
    );
    refuse(
        !entity.nets.is_empty() || !entity.not_nets.is_empty(),
        "cannot specify Nets/NotNets and Services on the same rule",
    );
}

fn http(http: &Http, fields: &mut Fields) {
    let methods = &http.methods;
    if methods
        .iter()
        .enumerate()
        .any(|(i, method)| methods[..i].contains(method))
    {
        let reason = format!("Invalid methods (duplicates): {}", list(methods));
        fields.reason("Methods", list(methods), &reason);
    }
    for path in &http.paths {
        let text = if path.exact.is_empty() {
            &path.prefix
        } else {
            &path.exact
        };
        if !path.exact.is_empty() && !path.prefix.is_empty() {
            fields.of_crd("Paths", "Invalid path match. Both 'exact' and 'prefix' are set");
        } else if text.is_empty() {
            fields.of_crd(
                "Paths",
                "Invalid path match. Either 'exact' or 'prefix' must be set",
            );
        } else if !text.starts_with('/') || text.contains(['?', ' ', '#']) {
            let reason = format!("Invalid path {text}. (must start with `/` and not contain `?` or `#`");
            fields.of_crd("Paths", &reason);
        }
    }
}

fn ports_and_protocol(rule: &Rule, fields: &mut Fields) {
    let lists = [
        ("Source.Ports", &rule.source.ports),
        ("Source.NotPorts", &rule.source.not_ports),
        ("Destination.Ports", &rule.destination.ports),
        ("Destination.NotPorts", &rule.destination.not_ports),
    ];
    let has_number = |ports: &[Port]| ports.iter().any(|p| matches!(p, Port::Range(..)));
    for (name, ports) in lists {
        match &rule.protocol {
            None if has_number(ports) => fields.reason(name, list(ports), NEEDS_PROTOCOL_FOR_NUMBERS),
            Some(protocol) if !ports.is_empty() && !has_ports(protocol) => {
                fields.reason(name, list(ports), NEEDS_PROTOCOL_FOR_PORTS);
            }
            _ => {}
        }
    }
}

fn has_ports(protocol: &Protocol) -> bool {
    match protocol {
        Protocol::Number(number) => [6, 17, 132].contains(number),
        Protocol::Name(name) => matches!(Name::parse(name), Some(Name::Tcp | Name::Udp | Name::Sctp)),
    }
}

fn protocols_together(rule: &Rule, fields: &mut Fields) {
    let is = |protocol: &Option<Protocol>, name: &str| matches!(protocol, Some(Protocol::Name(found)) if found == name);
    if let Some(protocol) = rule.protocol.as_ref().filter(|_| rule.http.is_some())
        && !is(&rule.protocol, "TCP")
    {
        let reason = "rules that specify HTTP fields must set protocol to TCP or empty";
        fields.reason("Protocol", protocol, reason);
    }
    if rule.icmp.is_some() && !is(&rule.protocol, "ICMP") && !is(&rule.protocol, "ICMPv6") {
        fields.of_crd("ICMP", "rules that specify ICMP fields must set protocol to ICMP");
    }
    for (name, version) in [("ICMP", 4), ("ICMPv6", 6)] {
        let is_named = is(&rule.protocol, name) || is(&rule.not_protocol, name);
        if is_named && rule.ip_version.is_some_and(|v| v != version) {
            let protocol = name.to_ascii_lowercase();
            let reason = format!("must set ipversion to '{version}' with protocol {protocol}");
            // Calico prints another field here, which is absent.
            fields.reason("IPVersion", "<nil>", &reason);
        }
    }
}

fn nets(rule: &Rule, fields: &mut Fields) {
    let lists = [
        ("Source.Nets", &rule.source.nets),
        ("Source.NotNets", &rule.source.not_nets),
        ("Destination.Nets", &rule.destination.nets),
        ("Destination.NotNets", &rule.destination.not_nets),
    ];
    let mut seen = [false; 2];
    for (name, texts) in lists {
        let mut here = [false; 2];
        for text in texts {
            // An address without a prefix length is not a CIDR here.
            let Ok(net) = text.parse::<IpNet>() else {
                fields.reason(name, text, "invalid CIDR");
                continue;
            };
            here[usize::from(matches!(net, IpNet::V6(_)))] = true;
            if name.contains("NotNets") && net.prefix_len() == 0 {
                let reason = "catch-all CIDR in negation creates logical contradiction (matches no traffic)";
                fields.reason(name, text, reason);
            }
        }
        let is_other = |version: u8| (here[0] && version != 4) || (here[1] && version != 6);
        if rule.ip_version.is_some_and(is_other) {
            fields.reason(
                name,
                list(&rule.source.nets),
                "rule IP version doesn't match CIDR version",
            );
        }
        if (here[0] && (seen[1] || here[1])) || (here[1] && seen[0]) {
            fields.reason(name, list(texts), "rule contains both IPv4 and IPv6 CIDRs");
        }
        seen = [seen[0] || here[0], seen[1] || here[1]];
    }
}
