//! Felix' settings that the agent's environment or its probes on Windows nodes overrule or depend on.
//!
//! Felix takes `FELIX_*` of its environment before `FelixConfiguration` `node.<name>`, and that before `default`
//! (Calico `felix/config`). The agent's pods, ours and tigera/operator's alike, set a few.

use wn_api::calico::ConfigKind;
use wn_api::component::Component;
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::observed::ConfigObject;

/// Felix' defaults.
const HEALTH_PORT: i64 = 9099;
pub const METRICS_PORT: i64 = 9091;
/// Ports that others on a Windows node listen on: kube-proxy's metrics and health, and the kubelet.
const TAKEN: [(i64, &str); 3] = [
    (10_249, "kube-proxy's metrics"),
    (10_250, "the kubelet"),
    (10_256, "kube-proxy's health"),
];

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1010",
        severity: Severity::Info,
        title: "The environment overrides a setting of Felix on Windows nodes",
        limit: "The agent's pods on Windows nodes set FELIX_HEALTHENABLED=true and FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT, which take \
                precedence over FelixConfiguration `default`.",
        reads: "FelixConfiguration `default` spec.healthEnabled, spec.defaultEndpointToHostAction",
        fix: "expect the setting on Linux nodes only",
        source: "Calico felix/config (order of sources); tigera/operator pkg/render/windows.go",
        check: shadowed,
    },
    Rule {
        code: "WN1011",
        severity: Severity::Info,
        title: "The environment overrides a Windows node's own FelixConfiguration",
        limit: "The environment of the agent's pods takes precedence over FelixConfiguration `node.<name>`, too.",
        reads: "FelixConfiguration `node.<name>` of Windows nodes: spec.healthEnabled, spec.defaultEndpointToHostAction, \
                spec.ipv6Support",
        fix: "remove the field, because it has no effect",
        source: "Calico felix/config (order of sources); tigera/operator pkg/render/windows.go",
        check: shadowed_on_a_node,
    },
    Rule {
        code: "WN1012",
        severity: Severity::Error,
        title: "The agent's probes use another port than Felix",
        limit: "The probes of the agent's pods use the port in FELIX_HEALTHPORT, or 9099, and do not read FelixConfiguration. With \
                another healthPort the probes fail, and the kubelet restarts Felix again and again.",
        reads: "FelixConfiguration `default` spec.healthPort",
        fix: "set spec.healthPort to 9099 or remove it",
        source: "projectcalico/calico node/pkg/health/health.go",
        check: probes,
    },
    Rule {
        code: "WN1013",
        severity: Severity::Warning,
        title: "Felix uses a port of another program on Windows nodes",
        limit: "The agent's pods share the network of the node with kube-proxy and the kubelet: the second program that uses a port \
                cannot start its server.",
        reads: "FelixConfiguration `default` spec.healthPort, spec.prometheusMetricsPort with spec.prometheusMetricsEnabled",
        fix: "choose a port that no other program on the node uses",
        source: "kubernetes.io: Ports and Protocols; Calico FelixConfiguration healthPort, prometheusMetricsPort",
        check: ports,
    },
];

/// Fields the environment overrules, each with the value that means the same as the environment's.
fn overruled(felix: &ConfigObject) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    if felix.is_false("healthEnabled") {
        found.push((
            "spec.healthEnabled",
            "healthEnabled is false, but it is true".to_owned(),
        ));
    }
    let action = felix.text("defaultEndpointToHostAction");
    if !action.is_empty() && !action.eq_ignore_ascii_case("accept") {
        found.push((
            "spec.defaultEndpointToHostAction",
            format!("defaultEndpointToHostAction is {action}, but it is Accept"),
        ));
    }
    found
}

fn shadowed(cluster: &Cluster) -> Vec<Hit> {
    let felix = cluster.felix().into_iter();
    felix
        .flat_map(overruled)
        .map(|(field, what)| {
            Hit::new(
                "FelixConfiguration default",
                field,
                format!("{what} on Windows nodes"),
            )
        })
        .collect()
}

fn shadowed_on_a_node(cluster: &Cluster) -> Vec<Hit> {
    let all = cluster.observed.calico.objects.iter();
    let of_windows = all.filter(|((kind, name), _)| {
        let node = name.strip_prefix("node.");
        *kind == ConfigKind::FelixConfiguration
            && node.is_some_and(|n| cluster.observed.nodes.contains_key(n))
    });
    of_windows
        .flat_map(|((_, name), felix)| {
            let mut found = overruled(felix);
            if felix.is_true("ipv6Support") {
                found.push((
                    "spec.ipv6Support",
                    "ipv6Support is true, but it is false".to_owned(),
                ));
            }
            found.into_iter().map(move |(field, what)| {
                Hit::new(
                    format!("FelixConfiguration {name}"),
                    field,
                    format!("{what} on the node"),
                )
            })
        })
        .collect()
}

/// tigera/operator sets FELIX_HEALTHPORT where it moves the port.
fn probes(cluster: &Cluster) -> Vec<Hit> {
    let port = cluster
        .felix()
        .and_then(|f| f.number("healthPort"))
        .filter(|p| *p != HEALTH_PORT);
    port.filter(|_| cluster.runs_ours(Component::NodeAgent))
        .map(|port| {
            let message = format!("healthPort is {port}, but the agent's probes use port {HEALTH_PORT}");
            Hit::new("FelixConfiguration default", "spec.healthPort", message)
        })
        .into_iter()
        .collect()
}

fn ports(cluster: &Cluster) -> Vec<Hit> {
    let Some(felix) = cluster.felix() else {
        return Vec::new();
    };
    let health = felix.number("healthPort").unwrap_or(HEALTH_PORT);
    let metrics = felix.number("prometheusMetricsPort").unwrap_or(METRICS_PORT);
    let metrics = felix.is_true("prometheusMetricsEnabled").then_some(metrics);
    let taken = |port: i64| TAKEN.iter().find(|(p, _)| *p == port).map(|(_, by)| *by);
    let mut found = Vec::new();
    let mut clash = |field, port: i64, by: &str| {
        let message = format!("port {port} is used by {by}");
        found.push(Hit::new("FelixConfiguration default", field, message));
    };
    if let Some(by) = taken(health) {
        clash("spec.healthPort", health, by);
    }
    if let Some((port, by)) = metrics.and_then(|p| Some((p, taken(p)?))) {
        clash("spec.prometheusMetricsPort", port, by);
    }
    if metrics == Some(health) {
        clash("spec.prometheusMetricsPort", health, "Felix' own health");
    }
    found
}
