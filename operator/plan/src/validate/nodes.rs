//! `spec.nodeSelector` and `spec.readiness`: which nodes count, and how many of them must be ready.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use wn_api::names::labels;
use wn_api::spec::WindowsNodeConfigSpec;

use super::Violation;
use crate::share;

/// Of a name or a value (`k8s.io/apimachinery/pkg/util/validation`).
const LONGEST: usize = 63;
/// Of the prefix, which is a DNS subdomain.
const LONGEST_PREFIX: usize = 253;

pub fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    let labels = spec.node_selector.iter();
    let wrong = labels.filter_map(|(label, value)| {
        let message = wrong(label, value)?;
        Some(Violation::new(format!("spec.nodeSelector[{label:?}]"), message))
    });
    wrong.chain(min_ready_nodes(spec)).collect()
}

fn wrong(label: &str, value: &str) -> Option<String> {
    let (prefix, name) = label.split_once('/').unwrap_or(("", label));
    let is_prefix =
        !label.contains('/') || (prefix.len() <= LONGEST_PREFIX && crate::inputs::is_domain(prefix));
    if !is_prefix || !is_name(name) {
        return Some("is not the name of a label, such as example.com/pool".to_owned());
    }
    if !value.is_empty() && !is_name(value) {
        return Some(format!(
            "{value:?} is not the value of a label: at most {LONGEST} letters, digits and - _ ."
        ));
    }
    match label {
        labels::OS if value != labels::WINDOWS => Some(format!(
            "{value:?} contradicts the DaemonSets, which are for windows: remove it"
        )),
        labels::KUBE_PROXY_GROUP => Some("is set by the operator: select nodes by another label".to_owned()),
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    text.len() <= LONGEST
        && text.starts_with(ends)
        && text.ends_with(ends)
        && text.chars().all(|c| ends(c) || matches!(c, '-' | '_' | '.'))
}

fn min_ready_nodes(spec: &WindowsNodeConfigSpec) -> Option<Violation> {
    let min = spec.readiness.min_ready_nodes.as_ref()?;
    share::of(min, 1).is_none().then(|| {
        let message = match min {
            IntOrString::Int(number) => {
                format!("{number} is negative: write a number of nodes, or a percentage such as 95%")
            }
            IntOrString::String(text) => {
                format!("{text:?} is neither a number of nodes nor a percentage: write e.g. 3 or 95%")
            }
        };
        Violation::new("spec.readiness.minReadyNodes", message)
    })
}
