//! The status of a `WindowsNodeConfig` as text. Pure; styles are escape sequences.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use wn_api::WindowsNodeConfig;
use wn_api::component::Component;
use wn_api::status::{
    AdvisoriesStatus, AdvisoryStatus, FindingStatus, GroupStatus, NodesStatus, Severity,
    WindowsNodeConfigStatus, WorkloadStatus, WorkloadsStatus,
};

use crate::commands::is_wrong;
use crate::commands::print::line as clean;

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const WAITING: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Changes of mode `Observe` that are listed; `plan` shows all.
const PENDING: usize = 10;

pub fn of(config: &WindowsNodeConfig, now: Timestamp) -> String {
    let mut text = head(config);
    let Some(status) = &config.status else {
        text.push_str("No status yet: is the operator running? kubectl logs -n windows-node-operator deploy/windows-node-operator\n");
        return text;
    };
    if status.observed_generation != config.metadata.generation {
        text.push_str(
            "This is the status of an earlier spec: the operator has not handled the newest one yet.\n",
        );
    }
    text.push_str(&conditions(&status.conditions, now));
    text.push_str(
        &status
            .nodes
            .as_ref()
            .map(|status| nodes(status, now))
            .unwrap_or_default(),
    );
    text.push_str(&rollouts(status));
    text.push_str(&status.advisories.as_ref().map(advisories).unwrap_or_default());
    text.push_str(&status.workloads.as_ref().map(findings).unwrap_or_default());
    text.push_str(&pending(&status.pending_changes));
    text
}

fn head(config: &WindowsNodeConfig) -> String {
    let status = config.status.as_ref();
    let calico = status.and_then(|status| status.calico.as_ref());
    let version = calico.and_then(|calico| calico.version.as_deref());
    let platform = status.and_then(|status| status.platform.as_ref());
    let mut parts = vec![
        config.spec.network.type_.as_str().to_owned(),
        format!("mode {:?}", config.spec.mode),
    ];
    parts.extend(version.map(|version| format!("Calico {}", clean(version))));
    parts.extend(platform.map(|platform| format!("platform {}", clean(&platform.name))));
    format!(
        "{HEADING}WindowsNodeConfig default{HEADING:#}: {}\n",
        parts.join(", ")
    )
}

/// Rows with the first columns aligned. The last column may be of any length.
fn table<const N: usize>(rows: &[(Style, [String; N])]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|(_, row)| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..N).map(width).collect();
    let mut text = String::new();
    for (style, row) in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "  {cell:width$}");
        }
        let _ = writeln!(text, "{style}{}{style:#}", line.trim_end());
    }
    text
}

fn conditions(conditions: &[Condition], now: Timestamp) -> String {
    let rows = conditions.iter().map(|condition| {
        let is_wrong = is_wrong(condition);
        let style = match condition.status.as_str() {
            _ if !is_wrong => GOOD,
            "False" => BAD,
            _ => WAITING,
        };
        // What is as it should be needs no words.
        let message = if is_wrong {
            clean(&condition.message)
        } else {
            String::new()
        };
        let row = [
            clean(&condition.type_),
            clean(&condition.status),
            clean(&condition.reason),
            age(Some(condition.last_transition_time.0), now),
            message,
        ];
        (style, row)
    });
    section("Conditions", &table(&rows.collect::<Vec<_>>()))
}

fn nodes(status: &NodesStatus, now: Timestamp) -> String {
    let NodesStatus {
        total,
        ready,
        progressing,
        failing,
        unknown,
        not_selected,
        reasons,
        list,
        omitted,
        summary: _,
    } = status;
    let selected = total - not_selected;
    let mut counts = format!(
        "{ready} of {selected} ready, {progressing} progressing, {failing} failing, {unknown} unknown"
    );
    if *not_selected > 0 {
        counts.push_str(&format!(", {not_selected} not selected"));
    }
    let reasons = reasons.iter().map(|count| {
        let row = [
            clean(&count.reason),
            count.nodes.to_string(),
            clean(&count.names.join(", ")),
        ];
        (Style::new(), row)
    });
    let unwell = list.iter().filter(|node| node.state != "Ready").map(|node| {
        let style = if node.state == "Failing" { BAD } else { WAITING };
        let row = [
            clean(&node.name),
            clean(&node.state),
            clean(node.reason.as_deref().unwrap_or_default()),
            age(node.since.as_ref().map(|since| since.0), now),
            clean(node.message.as_deref().unwrap_or_default()),
        ];
        (style, row)
    });
    let unwell = table(&unwell.collect::<Vec<_>>());
    let more = match omitted {
        0 => String::new(),
        more => format!("  and {more} nodes more: kubectl get node -l kubernetes.io/os=windows\n"),
    };
    let mut text = section(&format!("Windows nodes: {counts}"), &format!("{unwell}{more}"));
    let reasons = table(&reasons.collect::<Vec<_>>());
    if !reasons.is_empty() {
        text.push_str(&section(
            "Reasons, with the number of nodes (`explain REASON` says more)",
            &reasons,
        ));
    }
    text
}

fn rollouts(status: &WindowsNodeConfigStatus) -> String {
    let of_component = |component: Component| {
        let Some(status) = status.component(component) else {
            return Vec::new();
        };
        let groups = status.groups.iter().map(rollout);
        match (&status.daemon_set, status.groups.is_empty()) {
            (Some(daemon_set), true) => vec![single(daemon_set, status)],
            (None, true) => vec![(
                Style::new(),
                [
                    component.names().field.to_owned(),
                    management(status),
                    String::new(),
                ],
            )],
            (_, false) => groups.collect(),
        }
    };
    let rows: Vec<_> = Component::ALL.into_iter().flat_map(of_component).collect();
    section("Rollouts", &table(&rows))
}

/// `Managed`, or who runs it.
fn management(status: &WorkloadStatus) -> String {
    let by = status.managed_by.as_ref().map(|by| format!(" ({by})"));
    clean(&format!("{}{}", status.management, by.unwrap_or_default()))
}

type Rollout = (Style, [String; 3]);

fn single(daemon_set: &str, status: &WorkloadStatus) -> Rollout {
    let (style, progress) = progress(status.desired, status.updated, status.ready);
    let version = status.version.clone().unwrap_or_default();
    (
        style,
        [
            clean(daemon_set),
            progress,
            clean(&format!("{version} {}", management(status))),
        ],
    )
}

fn rollout(status: &GroupStatus) -> Rollout {
    let (style, progress) = progress(status.desired, status.updated, status.ready);
    (
        style,
        [
            clean(&status.daemon_set),
            progress,
            clean(status.version.as_deref().unwrap_or_default()),
        ],
    )
}

fn progress(desired: i32, updated: i32, ready: i32) -> (Style, String) {
    let style = if updated >= desired && ready >= desired {
        GOOD
    } else {
        WAITING
    };
    (style, format!("{updated} of {desired} updated, {ready} ready"))
}

fn advisories(status: &AdvisoriesStatus) -> String {
    let rows = status.list.iter().map(|advisory| {
        let AdvisoryStatus {
            code,
            severity,
            object,
            field,
            message,
            source: _,
        } = advisory;
        report(code, *severity, object, field.as_deref(), message)
    });
    reports("Advisories", &status.summary, rows.collect(), status.omitted)
}

fn findings(status: &WorkloadsStatus) -> String {
    let rows = status.list.iter().map(|finding| {
        let FindingStatus {
            code,
            severity,
            object,
            field,
            message,
        } = finding;
        report(code, *severity, object, field.as_deref(), message)
    });
    let heading = "Policies, Services and pods";
    reports(heading, &status.summary, rows.collect(), status.omitted)
}

/// A row of an advisory or a finding.
fn report(
    code: &str,
    severity: Severity,
    object: &str,
    field: Option<&str>,
    message: &str,
) -> (Style, [String; 4]) {
    let style = match severity {
        Severity::Error => BAD,
        Severity::Warning => WAITING,
        Severity::Info => Style::new(),
    };
    let field = field.unwrap_or_default();
    let row = [
        clean(code),
        format!("{severity:?}"),
        clean(format!("{object} {field}").trim_end()),
        clean(message),
    ];
    (style, row)
}

fn reports(heading: &str, summary: &str, rows: Vec<(Style, [String; 4])>, omitted: i32) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let more = match omitted {
        0 => String::new(),
        more => format!("  and {more} more\n"),
    };
    let rows = table(&rows);
    section(
        &format!("{heading}: {}", clean(summary)),
        &format!("{rows}{more}"),
    )
}

fn pending(changes: &[String]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut lines: String = changes
        .iter()
        .take(PENDING)
        .map(|line| format!("  {}\n", clean(line)))
        .collect();
    if changes.len() > PENDING {
        let _ = writeln!(lines, "  and {} more: `plan` shows all", changes.len() - PENDING);
    }
    section("Mode Observe: Manage would", &lines)
}

fn section(heading: &str, rows: &str) -> String {
    format!("\n{HEADING}{heading}{HEADING:#}\n{rows}")
}

/// How long ago, in the largest unit, as kubectl does: `5m`, `3h`, `12d`.
fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    let Some(since) = since else { return String::new() };
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
