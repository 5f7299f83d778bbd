//! The command `lint`: findings about policies, Services and pods of manifests or a cluster, for people and for machines.

mod github;
mod sarif;
mod snippet;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;
use wn_workloads::findings::{self, Finding, Severity};
use wn_workloads::input::position::{self, Place, Position};
use wn_workloads::limits::{self, Known};
use wn_workloads::version::Version;
use wn_workloads::windows::WindowsBuild;

use super::files::Source;
use super::input::{Input, InputArguments};
use super::print;

pub const EXAMPLES: &str = "Examples:
  lint -f cluster.yaml policies.yaml
  lint -k overlays/production
  helm template my-chart | lint -f cluster.yaml -
  lint -f deployment.yaml --node-build 10.0.20348.2227 --kube-proxy v1.33.1
  kubectl get node,ns,sa,pod,svc,endpointslice,netpol,deploy,sts,ds,job,cj,rs,pdb,runtimeclass -A -o yaml | lint -f - -o json
  lint --cluster                        # what is wrong now
  lint --cluster -f new-policy.yaml     # what would be wrong with this policy
  lint -f cluster.yaml policies.yaml -o sarif > lint.sarif

Exit codes: 0 without findings or with notes only, 1 with warnings or if kinds of the cluster could not be read, 2 with errors, \
3 if the input cannot be read or the arguments are wrong. `explain CODE` says more about a finding.";

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// Build of Windows nodes that are not in the input; may be repeated.
    #[arg(long, value_name = "BUILD")]
    node_build: Vec<WindowsBuild>,
    /// Version of kube-proxy on Windows nodes, if its DaemonSet is not in the input.
    #[arg(long, value_name = "VERSION")]
    kube_proxy: Option<Version>,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// With the lines of the files, as compilers do.
    Text,
    Json,
    /// Workflow commands, which GitHub Actions shows at the lines of a pull request.
    Github,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// A finding and where it is.
struct Located<'a> {
    finding: &'a Finding,
    at: Option<(&'a Source, Position)>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let input = arguments.input.read()?;
    let known = Known {
        builds: arguments.node_build.clone(),
        kube_proxy: arguments.kube_proxy.clone(),
    };
    let mut findings = findings::all(&input.objects, input.release);
    findings.extend(limits::findings(&input.objects, &known));
    findings::sort(&mut findings);
    let located = located(&findings, &input.sources);
    match arguments.output {
        Format::Text => print::text(&snippet::text(&located))?,
        Format::Json => print::json(&json(&located))?,
        Format::Github => print::text(&github::text(&located))?,
        Format::Sarif => print::json(&sarif::log(&located))?,
    }
    Ok(ExitCode::from(exit_code(&findings, &input)))
}

fn exit_code(findings: &[Finding], input: &Input) -> u8 {
    let severity = findings.iter().map(|finding| finding.severity).max();
    match severity.unwrap_or(Severity::Info) {
        Severity::Error => 2,
        Severity::Warning => 1,
        Severity::Info => u8::from(!input.forbidden.is_empty()),
    }
}

/// Where each finding is. A later text replaces objects of an earlier one.
fn located<'a>(findings: &'a [Finding], sources: &'a [Source]) -> Vec<Located<'a>> {
    let places = findings.iter().map(|finding| Place {
        object: &finding.object,
        field: finding.field.as_deref(),
    });
    let places: Vec<_> = places.collect();
    let mut located: Vec<_> = findings
        .iter()
        .map(|finding| Located { finding, at: None })
        .collect();
    if findings.is_empty() {
        return located;
    }
    for source in sources {
        for (one, position) in located.iter_mut().zip(position::find(&source.text, &places)) {
            if let Some(position) = position {
                one.at = Some((source, position));
            }
        }
    }
    located
}

impl<'a> Located<'a> {
    /// The file and the position in it; `None` for a text that is no file.
    fn in_file(&self) -> Option<(&'a Path, &Position)> {
        let (source, position) = self.at.as_ref()?;
        Some((source.file.as_deref()?, position))
    }

    /// Object, field and effect in one sentence.
    fn sentence(&self) -> String {
        let field = self.finding.field.as_ref().map(|field| format!(" {field}"));
        format!(
            "{}{}: {}",
            self.finding.object,
            field.unwrap_or_default(),
            self.finding.message
        )
    }

    /// The example packet and the affected pods, one line each.
    fn details(&self) -> impl Iterator<Item = String> {
        /// Pods that a line names.
        const PODS: usize = 5;
        let pods = &self.finding.pods;
        let named = pods
            .iter()
            .take(PODS)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let more = match pods.len().saturating_sub(PODS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let flow = self
            .finding
            .flow
            .as_ref()
            .map(|flow| format!("for example {flow}"));
        let pods = (!pods.is_empty()).then(|| format!("pods: {named}{more}"));
        flow.into_iter().chain(pods)
    }

    /// What to do.
    fn fix(&self) -> String {
        format!("{}; `explain {}` says more", self.finding.fix, self.finding.code)
    }
}

/// Everything that `-o json` prints.
#[derive(Serialize)]
struct Output<'a> {
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<At<'a>>,
}

/// Line and column count from 1.
#[derive(Serialize)]
struct At<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

fn json<'a>(located: &[Located<'a>]) -> Output<'a> {
    let findings = located.iter().map(|one| Entry {
        finding: one.finding,
        position: one.at.as_ref().map(|(source, position)| At {
            file: &source.name,
            line: position.line,
            column: position.column,
        }),
    });
    Output {
        findings: findings.collect(),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
