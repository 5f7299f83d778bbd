//! The command `lint`: findings about policies, Services and pods in files.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use wn_workloads::findings::{self, Finding, Severity};
use wn_workloads::limits::{self, Known};
use wn_workloads::version::Version;
use wn_workloads::windows::WindowsBuild;

use super::files::Input;
use super::{Format, print};

pub const EXAMPLES: &str = "Examples:
  lint -f cluster.yaml policies.yaml
  helm template my-chart | lint -f cluster.yaml -
  lint -f deployment.yaml --node-build 10.0.20348.2227 --kube-proxy v1.33.1
  kubectl get node,ns,sa,pod,svc,endpointslice,netpol,deploy,sts,ds,job,cj,rs,pdb,runtimeclass -A -o yaml | lint -f - -o json";

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Build of Windows nodes that are not in the files; may be repeated.
    #[arg(long, value_name = "BUILD")]
    node_build: Vec<WindowsBuild>,
    /// Version of kube-proxy on Windows nodes, if the files do not have its DaemonSet.
    #[arg(long, value_name = "VERSION")]
    kube_proxy: Option<Version>,
}

/// Everything that `-o json` prints.
#[derive(Serialize)]
struct Output {
    findings: Vec<Finding>,
}

/// Pods that a line names.
const PODS: usize = 5;

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let objects = arguments.input.objects()?;
    let known = Known {
        builds: arguments.node_build.clone(),
        kube_proxy: arguments.kube_proxy.clone(),
    };
    let mut findings = findings::all(&objects, arguments.input.calico);
    findings.extend(limits::findings(&objects, &known));
    findings::sort(&mut findings);
    let code = match findings.iter().map(|finding| finding.severity).max() {
        None | Some(Severity::Info) => 0,
        Some(Severity::Warning) => 1,
        Some(Severity::Error) => 2,
    };
    match arguments.input.output {
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
        let _ = writeln!(text, "  to fix it: {}", finding.fix);
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
