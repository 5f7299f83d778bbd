//! The command `acls`: the ACLs that Windows enforces for policies, and where they differ from what the
//! policies mean.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use clap::Args;
use serde::Serialize;
use wn_workloads::output::{AclLine, DifferenceEntry, EndpointEntry, List, PortList, Report};
use wn_workloads::update::{self, PodUpdate, UpdateReport};

use super::files::{self, Source};
use super::input::{Input, InputArguments};
use super::{Format, print};

pub const EXAMPLES: &str = "Examples:
  acls -f cluster.yaml
  acls --cluster --pod shop/web
  kubectl get node,ns,sa,pod,svc,endpointslice,netpol -A -o yaml | acls -f - policies.yaml --pod shop/web
  acls -f cluster.yaml --update edited-policy.yaml

Exit codes: 0, or 3 if the input cannot be read or has no such pod.";

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// Only this pod.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pod: Option<String>,
    /// Only pods of this node.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Manifests that are applied while the pods run: which of them keep their old ACLs?
    #[arg(long, value_name = "FILE")]
    update: Vec<PathBuf>,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Everything that `-o json` prints.
#[derive(Serialize)]
struct Output {
    #[serde(flatten)]
    report: Report,
    /// Objects of kinds that say nothing about policies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Input { objects, release, .. } = arguments.input.read()?;
    if !arguments.update.is_empty() {
        let edits = arguments.update.iter().map(|file| files::source(file));
        let edits: Vec<Source> = edits.collect::<anyhow::Result<_>>()?;
        let edit = files::objects(&edits)?;
        let mut pods = update::of(&objects, &edit, release);
        pods.retain(|pod| arguments.is_chosen(&pod.pod, &pod.node));
        arguments.ensure_found(pods.is_empty())?;
        match arguments.output {
            Format::Json => print::json(&UpdateReport::new(pods))?,
            Format::Text => print::text(&pods.iter().map(update_text).collect::<String>())?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::new(&objects, release);
    report.endpoints.retain(|e| arguments.is_chosen(&e.pod, &e.node));
    arguments.ensure_found(report.endpoints.is_empty())?;
    let ignored = objects.ignored;
    match arguments.output {
        Format::Json => print::json(&Output { report, ignored })?,
        Format::Text => print::text(&report_text(&report, &ignored))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn is_chosen(&self, pod: &str, node: &str) -> bool {
        self.pod.as_ref().is_none_or(|p| p == pod) && self.node.as_ref().is_none_or(|n| n == node)
    }

    /// Returns an error if a filter matches no pod.
    fn ensure_found(&self, is_empty: bool) -> anyhow::Result<()> {
        let filters = [("--pod", &self.pod), ("--node", &self.node)];
        for (flag, value) in filters
            .into_iter()
            .filter_map(|(flag, value)| Some((flag, value.as_ref()?)))
        {
            ensure!(
                !is_empty,
                "{flag} {value}: no such pod with an address on a node with the label kubernetes.io/os=windows"
            );
        }
        Ok(())
    }
}

fn report_text(report: &Report, ignored: &[String]) -> String {
    let mut text = String::new();
    let lists = [
        ("Calico refuses", &report.rejected),
        ("Not known to this release", &report.unknown),
        ("Selects no pod of a Windows node", &report.inactive_policies),
    ];
    for (what, items) in lists {
        for item in items {
            let _ = writeln!(text, "{what}: {item}");
        }
    }
    if !ignored.is_empty() {
        let _ = writeln!(
            text,
            "Ignored, for they say nothing about policies: {}",
            ignored.join(", ")
        );
    }
    let shown = report.rules.iter().filter(|rule| rule.effect != "programmed");
    for rule in shown {
        let why = rule.reason_code.or(rule.reason).unwrap_or_default();
        let (policy, direction, index) = (&rule.policy, rule.direction, rule.index);
        let _ = writeln!(
            text,
            "{policy} {direction}[{index}] {}: {} {why}",
            rule.action, rule.effect
        );
    }
    for endpoint in &report.endpoints {
        text.push_str(&endpoint_text(endpoint));
    }
    if report.endpoints.is_empty() {
        text.push_str("No pod with an address on a node with the label kubernetes.io/os=windows.\n");
    }
    text
}

fn endpoint_text(endpoint: &EndpointEntry) -> String {
    let mut text = format!(
        "\n{} {} on {}: {}\n",
        endpoint.pod, endpoint.ip, endpoint.node, endpoint.verdict
    );
    for tier in &endpoint.tiers {
        let _ = writeln!(text, "  tier {tier}");
    }
    for error in endpoint.felix_errors.iter().chain(&endpoint.felix_panic) {
        let _ = writeln!(text, "  Felix: {error}");
    }
    text.push_str(&acls_text(&endpoint.acls));
    for difference in &endpoint.difference {
        text.push_str(&difference_text(difference));
    }
    text
}

fn difference_text(difference: &DifferenceEntry) -> String {
    let open = (
        "allowed, and should not be",
        &difference.more_open,
        difference.more_open_count,
    );
    let closed = (
        "denied, and should not be",
        &difference.more_closed,
        difference.more_closed_count,
    );
    let mut text = String::new();
    for (what, examples, count) in [open, closed] {
        for example in examples {
            let _ = writeln!(text, "  {what}: {example}");
        }
        if count > examples.len() {
            let _ = writeln!(text, "  {what}: {} more like these", count - examples.len());
        }
    }
    text
}

fn acls_text(acls: &[AclLine]) -> String {
    let lines = acls.iter().map(|acl| {
        let (way, allows) = (acl.direction, acl.action);
        let protocol = match acl.protocol {
            256 => "any".to_owned(),
            number => number.to_string(),
        };
        let local = end(acl.local_addresses.as_ref(), acl.local_ports.as_ref());
        let remote = end(acl.remote_addresses.as_ref(), acl.remote_ports.as_ref());
        let from = match (&acl.from, acl.rule_type) {
            (Some(from), _) => from,
            (None, "Host") => "firewall of the host",
            (None, _) => "end of tier",
        };
        let priority = acl.priority;
        format!("  {way:3} {priority:5} {allows:5} {protocol:>3} local {local} remote {remote}  ({from})\n")
    });
    lines.collect()
}

fn end(addresses: Option<&List>, ports: Option<&PortList>) -> String {
    let addresses = match addresses {
        None => "any".to_owned(),
        Some(List::Items(items)) => items.join(","),
        Some(List::Long(long)) => format!("{} addresses", long.count),
    };
    match ports {
        None => addresses,
        Some(PortList::Text(ports)) => format!("{addresses} ports {ports}"),
        Some(PortList::Long(long)) => format!("{addresses} {} ports", long.count),
    }
}

fn update_text(pod: &PodUpdate) -> String {
    if pod.before == pod.after_restart {
        return format!("\n{}: nothing changes\n", pod.pod);
    }
    if !pod.stale {
        return format!("\n{}: the edit is applied\n{}", pod.pod, acls_text(&pod.after));
    }
    format!(
        "\n{}: STALE, the pod keeps its old ACLs until Felix on its node restarts\n{}should be\n{}",
        pod.pod,
        acls_text(&pod.after),
        acls_text(&pod.after_restart)
    )
}
