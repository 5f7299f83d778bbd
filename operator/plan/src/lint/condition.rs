//! The condition `WorkloadsSupported`.

use wn_api::reasons::Reason;
use wn_api::status::{FindingStatus, Severity};

use super::{Lint, Report};
use crate::status::Verdict;
use crate::unread;

/// Findings that the message names; `status.workloads.list` has more.
const NAMED: usize = 3;

/// The condition `WorkloadsSupported`.
pub fn condition(lint: &Lint) -> Verdict {
    match lint {
        Lint::NotGranted => Verdict::yes(
            Reason::LintDisabled,
            "network policies, Services and pods are not checked: set the value workloads.lint.enabled of the chart",
        ),
        Lint::Disabled => Verdict::yes(
            Reason::LintDisabled,
            "network policies, Services and pods are not checked: spec.workloads.lint is Disabled",
        ),
        Lint::NoWindowsNodes => Verdict::yes(
            Reason::NoWindowsNodes,
            "the cluster has no node with kubernetes.io/os=windows",
        ),
        Lint::Reading => Verdict::unknown(
            Reason::Progressing,
            "network policies, Services and pods are being read",
        ),
        Lint::Checked(report) => checked(report),
    }
}

fn checked(report: &Report) -> Verdict {
    let unread = unread::cause(&report.unread);
    let notes = unread.iter().map(|finding| finding.message.clone());
    let message = |said: String| std::iter::once(said).chain(notes).collect::<Vec<_>>().join("; ");
    let worst = report.status.list.first().map(|finding| finding.severity);
    match (worst, &unread) {
        (Some(Severity::Error), _) => Verdict::no(Reason::WorkloadsUnsupported, message(named(report))),
        (_, Some(cause)) => Verdict::unknown(cause.reason, message(named(report))),
        (Some(Severity::Warning), None) => Verdict::yes(Reason::WorkloadsLimited, named(report)),
        (Some(Severity::Info) | None, None) => Verdict::yes(Reason::AsExpected, named(report)),
    }
}

/// How many findings there are, and the most severe ones.
fn named(report: &Report) -> String {
    let status = &report.status;
    if status.list.is_empty() {
        return "no finding about network policies, Services and pods on Windows nodes".to_owned();
    }
    let first = status.list.iter().take(NAMED).map(line).collect::<Vec<_>>();
    format!("{}: {}; see status.workloads", status.summary, first.join("; "))
}

fn line(finding: &FindingStatus) -> String {
    let FindingStatus {
        code,
        object,
        message,
        ..
    } = finding;
    format!("{code} {object}: {message}")
}
