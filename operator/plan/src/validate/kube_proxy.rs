//! `spec.kubeProxy`: versions, gates and arguments that contradict what the operator sets.

use wn_api::spec::{Dsr, KubeProxy};

use super::Violation;
use crate::observed::Observed;
use crate::version::Version;
use crate::workload::kube_proxy::MANAGED_FLAGS;

/// kube-proxy may be three minors older than the API server, never newer (Kubernetes version skew policy).
const OLDEST: u32 = 3;

pub fn violations(spec: &KubeProxy, observed: &Observed) -> Vec<Violation> {
    let mut found = version(spec, observed);
    found.extend(gates(spec));
    found.extend(extra_args(&spec.extra_args));
    found
}

fn version(spec: &KubeProxy, observed: &Observed) -> Vec<Violation> {
    const PATH: &str = "spec.kubeProxy.version";
    let Some(text) = &spec.version else {
        return Vec::new();
    };
    let version: Version = match text.parse() {
        Ok(version) => version,
        Err(error) => return vec![Violation::new(PATH, format!("{error}"))],
    };
    let Some(server) = &observed.kubernetes else {
        return Vec::new();
    };
    let (proxy, api) = ((version.major, version.minor), (server.major, server.minor));
    let rule = "kube-proxy must not be newer than the API server, nor more than three minors older";
    if proxy > api {
        vec![Violation::new(
            PATH,
            format!("{version} is newer than the API server ({server}): {rule}"),
        )]
    } else if version.major != server.major || version.minor.saturating_add(OLDEST) < server.minor {
        vec![Violation::new(
            PATH,
            format!("{version} is too old for the API server ({server}): {rule}"),
        )]
    } else {
        Vec::new()
    }
}

fn gates(spec: &KubeProxy) -> Vec<Violation> {
    let path = |gate: &str| format!("spec.kubeProxy.featureGates.{gate}");
    let mut found = Vec::new();
    match (spec.feature_gates.get("WinDSR"), spec.dsr) {
        (Some(false), Dsr::Auto | Dsr::Enabled) => found.push(Violation::new(
            path("WinDSR"),
            "false contradicts DSR, which is on: set spec.kubeProxy.dsr to Disabled and remove the gate",
        )),
        (Some(true), Dsr::Disabled) => found.push(Violation::new(
            path("WinDSR"),
            "true contradicts spec.kubeProxy.dsr Disabled: remove the gate; dsr alone decides",
        )),
        (Some(_), _) => found.push(Violation::new(
            path("WinDSR"),
            "is set by the operator as the version needs it: remove the gate; spec.kubeProxy.dsr decides",
        )),
        (None, _) => {}
    }
    // WinDSR is a beta gate in 1.33; where it is alpha (1.32 and before) it is named, and a named gate wins.
    if spec.feature_gates.get("AllBeta") == Some(&false) && spec.dsr != Dsr::Disabled {
        found.push(Violation::new(
            path("AllBeta"),
            "false switches WinDSR off on kube-proxy 1.33, and DSR is on: name the gates you mean",
        ));
    }
    if spec.feature_gates.contains_key("WinOverlay") {
        found.push(Violation::new(
            path("WinOverlay"),
            "is on since Kubernetes 1.20 and removed in later versions: remove the gate",
        ));
    }
    let bad = spec
        .feature_gates
        .keys()
        .filter(|g| g.is_empty() || !g.chars().all(|c| c.is_ascii_alphanumeric()));
    found.extend(bad.map(|g| Violation::new(path(g), format!("{g:?} is not the name of a feature gate"))));
    found
}

fn extra_args(arguments: &[String]) -> Vec<Violation> {
    let path = |i: usize| format!("spec.kubeProxy.extraArgs[{i}]");
    let mut found = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (i, argument) in arguments.iter().enumerate() {
        let Some((name, _)) = argument.strip_prefix("--").and_then(|a| a.split_once('=')) else {
            found.push(Violation::new(
                path(i),
                format!("{argument:?} is not of the form --name=value"),
            ));
            continue;
        };
        if MANAGED_FLAGS.contains(&name) {
            found.push(Violation::new(
                path(i),
                format!("--{name} is set by the operator: remove it{}", instead(name)),
            ));
        } else if !is_flag(name) {
            found.push(Violation::new(
                path(i),
                format!("{name:?} is not the name of a flag"),
            ));
        } else if argument.contains(['\n', '\r', '"', '\'', '`', '$']) {
            found.push(Violation::new(
                path(i),
                "must not contain quotes, backticks, dollar signs or line breaks",
            ));
        } else if seen.contains(&name) {
            found.push(Violation::new(path(i), format!("--{name} is given twice")));
        }
        seen.push(name);
    }
    found
}

fn is_flag(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// The field of the spec for the same setting.
fn instead(flag: &str) -> &'static str {
    match flag {
        "enable-dsr" => " and use spec.kubeProxy.dsr",
        "feature-gates" => " and use spec.kubeProxy.featureGates",
        _ => "",
    }
}
