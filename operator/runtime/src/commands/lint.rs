//! The command `lint`: findings about policies in files.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use wn_policy::findings::{self, Finding, Severity};
use wn_policy::release::Release;

use super::{Format, files, print};

pub const EXAMPLES: &str = "Examples:
  lint -f cluster.yaml policies.yaml
  helm template my-chart | lint -f cluster.yaml -
  kubectl get node,ns,sa,pod,svc,endpointslice,netpol -A -o yaml | lint -f - -o json";

#[derive(Args)]
pub struct Arguments {
    /// Manifests with nodes, namespaces, pods, services and policies; `-` is standard input.
    #[arg(short, long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// Release of Calico.
    #[arg(long, value_name = "VERSION", default_value_t = Release::NEWEST)]
    pub calico: Release,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Everything that `-o json` prints.
#[derive(Serialize)]
struct Output {
    findings: Vec<Finding>,
}

/// Pods that a line names.
const PODS: usize = 5;

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let objects = files::objects(&arguments.files)?;
    let findings = findings::all(&objects, arguments.calico);
    let code = match findings.iter().map(|finding| finding.severity).max() {
        None | Some(Severity::Info) => 0,
        Some(Severity::Warning) => 1,
        Some(Severity::Error) => 2,
    };
    match arguments.output {
        Format::Json => print::json(&Output { findings })?,
        Format::Text => print::text(&text(&findings))?,
    }
    Ok(ExitCode::from(code))
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let severity = format!("{:?}", finding.severity).to_lowercase();
        let at = finding
            .field
            .as_ref()
            .map(|field| format!(" {field}"))
            .unwrap_or_default();
        let (code, object, message) = (finding.code, &finding.object, &finding.message);
        let _ = writeln!(text, "{severity} {code}: {object}{at}: {message}");
        if let Some(flow) = &finding.flow {
            let _ = writeln!(text, "  for example {flow}");
        }
        if !finding.pods.is_empty() {
            let named = finding
                .pods
                .iter()
                .take(PODS)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let more = match finding.pods.len().saturating_sub(PODS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let _ = writeln!(text, "  pods: {named}{more}");
        }
        let _ = writeln!(text, "  to mend it: {}", finding.mend);
    }
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let _ = writeln!(
        text,
        "{errors} errors, {warnings} warnings, {} notes",
        count(Severity::Info)
    );
    text
}
