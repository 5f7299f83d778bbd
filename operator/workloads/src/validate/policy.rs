//! Validates the fields of a policy except its rules.

use super::fields::{Fields, list};
use super::rule;
use crate::convert::Converted;
use crate::input::calico::{PolicySpec, Rule};
use crate::release::Release;
use crate::selector::Selector;

/// Maximum length of a name in bytes.
const LONGEST_NAME: usize = 253;
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const GLOBAL_ONLY_IN_RULES: &str = "global() can only be used in an EntityRule namespaceSelector";

/// Errors of a policy of Calico.
pub fn fields(policy: &Converted, release: Release) -> Fields {
    let mut fields = Fields::default();
    let (spec, id) = (&policy.spec, &policy.id);
    let is_global = id.namespace.is_empty();
    if id.name.len() > LONGEST_NAME {
        let over = id.name.len() - LONGEST_NAME;
        fields.reason(
            "Metadata.Name",
            &id.name,
            &format!("name is too long by {over} bytes"),
        );
    }
    if !is_policy_name(&id.name, is_global) {
        let reason =
            format!("name must consist of lower case alphanumeric characters or '-' (regex: {LABEL})");
        fields.reason("Metadata.Name", &id.name, &reason);
    }
    for rules in [&spec.ingress, &spec.egress] {
        for rule in rules {
            rule::check(rule, &mut fields);
        }
    }
    selectors(spec, is_global, &mut fields);
    types(spec, is_global, &mut fields);
    if is_global {
        global(spec, &mut fields);
    }
    services(spec, is_global, &mut fields);
    crd(spec, release, &mut fields);
    fields
}

/// Whether the text has only lower case letters, digits and `-`, and no `-` at either end.
pub fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_policy_name(name: &str, is_global: bool) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let are_labels = parts.iter().all(|part| is_label(part));
    let is_of_others = ["knp.default.", "ossg.default."]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    are_labels && (parts.len() <= 2 || (is_of_others && !is_global))
}

fn selectors(spec: &PolicySpec, is_global: bool, fields: &mut Fields) {
    let mut all = vec![
        ("Selector", &spec.selector),
        ("ServiceAccountSelector", &spec.service_account_selector),
    ];
    if is_global {
        all.push(("NamespaceSelector", &spec.namespace_selector));
    }
    let owner = if is_global {
        "GlobalNetworkPolicySpec"
    } else {
        "NetworkPolicySpec"
    };
    for (name, text) in &all {
        if Selector::parse(text).is_none() {
            fields.tag(name, text, "selector");
        }
    }
    for (name, text) in &all {
        if text.contains("global()") {
            fields.reason(&format!("{owner}.{name}"), text, GLOBAL_ONLY_IN_RULES);
        }
    }
}

fn types(spec: &PolicySpec, is_global: bool, fields: &mut Fields) {
    for (i, name) in spec.types.iter().enumerate() {
        if !["Ingress", "Egress"].contains(&name.as_str()) {
            fields.tag(&format!("Types[{i}]"), name, "policyType");
        }
    }
    let owner = if is_global {
        "GlobalNetworkPolicySpec"
    } else {
        "NetworkPolicySpec"
    };
    for (i, name) in spec.types.iter().enumerate() {
        if spec.types[..i].contains(name) {
            let reason = format!("'{name}' type specified more than once");
            fields.reason(&format!("{owner}.Types"), list(&spec.types), &reason);
        }
    }
}

fn global(spec: &PolicySpec, fields: &mut Fields) {
    let (untracked, pre_dnat) = (spec.do_not_track, spec.pre_dnat);
    if untracked && pre_dnat {
        let reason = "PreDNAT and DoNotTrack cannot both be true, for a given PolicySpec";
        fields.reason("PolicySpec.PreDNAT", true, reason);
    }
    if pre_dnat && !spec.egress.is_empty() {
        fields.of_crd(
            "PolicySpec.Egress",
            "PreDNAT PolicySpec cannot have any Egress rules",
        );
    }
    if pre_dnat && spec.types.iter().any(|t| t == "Egress") {
        let reason = "PreDNAT PolicySpec cannot have 'egress' Type";
        fields.reason("PolicySpec.Types", list(&spec.types), reason);
    }
    if !spec.apply_on_forward && (untracked || pre_dnat) {
        let reason =
            "ApplyOnForward must be true if either PreDNAT or DoNotTrack is true, for a given PolicySpec";
        fields.reason("PolicySpec.ApplyOnForward", false, reason);
    }
}

fn services(spec: &PolicySpec, is_global: bool, fields: &mut Fields) {
    let of_service = |rule: &Rule, is_source: bool| {
        let entity = if is_source {
            &rule.source
        } else {
            &rule.destination
        };
        entity.services.clone()
    };
    for rule in &spec.egress {
        if let Some(service) = of_service(rule, true) {
            let value = format!("&{{{} {}}}", service.name, service.namespace);
            fields.reason("Services", value, "not allowed in egress rule source");
        }
        if rule.http.is_some() {
            let rules = if is_global { "rules" } else { "rule" };
            let value = rule::go_http(rule.http.as_ref());
            fields.reason("HTTP", value, &format!("not allowed in egress {rules}"));
        }
    }
    for rule in &spec.ingress {
        if let Some(service) = of_service(rule, false) {
            let value = format!("&{{{} {}}}", service.name, service.namespace);
            fields.reason("Services", value, "not allowed in ingress rule destination");
        }
    }
    let matched = spec.egress.iter().filter_map(|rule| of_service(rule, false));
    let matched = matched.chain(spec.ingress.iter().filter_map(|rule| of_service(rule, true)));
    if is_global {
        for _ in matched.filter(|service| service.namespace.is_empty()) {
            fields.reason("Namespace", "", "must specify a namespace");
        }
    }
}

/// Limits that only the CRD has.
fn crd(spec: &PolicySpec, release: Release, fields: &mut Fields) {
    let Some(most) = release.most_ports() else {
        return;
    };
    for (direction, rules) in [("ingress", &spec.ingress), ("egress", &spec.egress)] {
        for (i, rule) in rules.iter().enumerate() {
            for (side, entity) in [("source", &rule.source), ("destination", &rule.destination)] {
                for (list, ports) in [("ports", &entity.ports), ("notPorts", &entity.not_ports)] {
                    if ports.len() > most {
                        let name = format!("spec.{direction}[{i}].{side}.{list}");
                        fields.of_crd(&name, &format!("must have at most {most} items"));
                    }
                }
            }
        }
    }
}
