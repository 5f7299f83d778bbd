//! What is reported about network policies, Services and pods.

use crate::common::Cluster;
use rstest::rstest;
use serde_json::json;
use wn_api::reasons::Reason;
use wn_api::spec::{Lint as Asked, NetworkType, WindowsNodeConfigSpec};
use wn_api::status::{Severity, WorkloadsStatus};
use wn_plan::lint::{Lint, Published, Report, condition};
use wn_plan::observed::Observed;
use wn_plan::status::Verdict;
use wn_plan::unread::Unread;
use wn_workloads::findings::{Finding, Severity as Effect};
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::limits::{self, Known};

/// The findings about a Deployment of each name, one each.
fn findings(severity: Effect, names: &[&str]) -> Vec<Finding> {
    let manifests = names.iter().map(|name| {
        let (namespace, name) = name.split_once('/').unwrap();
        let pod = json!({
            "metadata": {"labels": {"app": name}},
            "spec": {
                "os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "hostNetwork": true,
                "containers": [{"name": "c", "image": "registry.example.com/app:1"}],
            },
        });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod},
        });
        deployment.to_string()
    });
    let texts: Vec<_> = manifests.collect();
    let manifests = texts.iter().map(|text| Manifest { name: "test", text });
    let objects = Objects::read(manifests).unwrap();
    let mut found = limits::findings(&objects, &Known::default());
    found.retain(|finding| finding.code.entry().code == "WN4001");
    assert_eq!(found.len(), names.len());
    found.iter_mut().for_each(|finding| finding.severity = severity);
    found
}

fn report(findings: &[Finding], unread: &[Unread]) -> Report {
    Report::new("operator", findings.iter(), 0, unread.to_vec())
}

fn unread(forbidden: bool) -> Unread {
    Unread {
        objects: "pods".into(),
        error: "no".into(),
        forbidden,
        can_be_lacking: true,
    }
}

fn of(findings: &[Finding], unread: &[Unread]) -> Verdict {
    condition(&Lint::Checked(report(findings, unread)))
}

#[rstest]
#[case::none(&[], &[], "True AsExpected")]
#[case::info(&[Effect::Info], &[], "True AsExpected")]
#[case::warning(&[Effect::Warning], &[], "True WorkloadsLimited")]
#[case::error(&[Effect::Error, Effect::Warning], &[], "False WorkloadsUnsupported")]
#[case::unread(&[], &[true], "Unknown ReadForbidden")]
#[case::failing(&[Effect::Warning], &[false], "Unknown ReadFailed")]
#[case::error_and_unread(&[Effect::Error], &[true], "False WorkloadsUnsupported")]
fn condition_of_findings(#[case] effects: &[Effect], #[case] forbidden: &[bool], #[case] expected: &str) {
    let found: Vec<_> = effects
        .iter()
        .flat_map(|effect| findings(*effect, &["shop/web"]))
        .collect();
    let lacking: Vec<_> = forbidden.iter().map(|forbidden| unread(*forbidden)).collect();
    let verdict = of(&found, &lacking);
    let Verdict {
        status,
        reason,
        message,
    } = &verdict;
    assert_eq!(format!("{status:?} {}", reason.as_str()), expected);
    assert_eq!(
        message.contains("WN4001 Deployment shop/web: "),
        !found.is_empty(),
        "{message}"
    );
    assert_eq!(
        message.contains("pods cannot be read"),
        !lacking.is_empty(),
        "{message}"
    );
}

#[rstest]
#[case::default(true, Asked::Enabled, false, Some((Lint::NoWindowsNodes, Reason::NoWindowsNodes)))]
#[case::nodes(true, Asked::Enabled, true, None)]
#[case::disabled(true, Asked::Disabled, true, Some((Lint::Disabled, Reason::LintDisabled)))]
#[case::not_granted(false, Asked::Enabled, true, Some((Lint::NotGranted, Reason::LintDisabled)))]
fn skipped(
    #[case] granted: bool,
    #[case] asked: Asked,
    #[case] has_node: bool,
    #[case] expected: Option<(Lint, Reason)>,
) {
    let mut spec = WindowsNodeConfigSpec::minimal(NetworkType::CalicoVxlan);
    spec.workloads.lint = asked;
    let mut observed = Observed::default();
    if has_node {
        observed
            .nodes
            .insert("win-0".into(), wn_plan::observed::NodeFacts::default());
    }
    let skipped = Lint::skipped(granted, &spec, &observed);
    assert_eq!(skipped, expected.clone().map(|(lint, _)| lint));
    if let Some((lint, reason)) = expected {
        let verdict = condition(&lint);
        assert!(verdict.is_true() && verdict.reason == reason, "{verdict:?}");
        assert!(lint.report().is_none());
    }
}

/// The status and the metric have a size that does not depend on the number of findings.
#[test]
fn bounded() {
    let names: Vec<_> = (0..300).map(|n| format!("ns-{n:03}/web")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut found = findings(Effect::Warning, &names);
    found[7].message = "x".repeat(5000);
    let report = report(&found, &[]);
    let WorkloadsStatus {
        summary,
        counts,
        list,
        omitted,
        ..
    } = report.status;
    assert_eq!((summary.as_str(), list.len(), omitted), ("300 Warning", 20, 280));
    assert_eq!(
        (counts.len(), counts[0].count, counts[0].severity),
        (1, 300, Severity::Warning)
    );
    assert!(list.iter().all(|finding| finding.message.chars().count() <= 400));
    let fix = found[7].fix;
    assert!(
        list[7].message.starts_with("xxx") && list[7].message.ends_with(fix),
        "{}",
        list[7].message
    );
    assert_eq!(report.series.len(), 201);
    assert_eq!(report.series[0].namespace, "ns-000");
    let others = report.series.last().unwrap();
    assert_eq!((others.namespace.as_str(), others.count), ("(other)", 100));
}

/// The operator's own DaemonSets are HostProcess pods on purpose.
#[test]
fn notes_about_the_operator_itself_are_left_out() {
    let summary = |effect| {
        report(&findings(effect, &["operator/calico-node-windows"]), &[])
            .status
            .summary
    };
    assert_eq!(summary(Effect::Info), "none");
    assert_eq!(summary(Effect::Error), "1 Error");
}

/// Publishes everything there is to publish; the objects and the reasons.
fn publish(published: &mut Published, findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(next) = published.next(findings.iter()) {
        published.mark(&next);
        lines.push(format!(
            "{} {}/{} {}",
            next.kind.kind, next.namespace, next.name, next.news.reason
        ));
    }
    lines
}

#[test]
fn published_once_and_again_after_it_was_gone() {
    let found = findings(Effect::Warning, &["shop/web", "shop/worker"]);
    let mut published = Published::default();
    let expected = [
        "Deployment shop/web UnsupportedOnWindows",
        "Deployment shop/worker UnsupportedOnWindows",
    ];
    assert_eq!(publish(&mut published, &found), expected);
    assert_eq!(publish(&mut published, &found), [""; 0]);
    published.retain(found[1..].iter());
    assert_eq!(publish(&mut published, &found), expected[..1]);
    assert_eq!(
        publish(&mut published, &findings(Effect::Info, &["shop/other"])),
        [""; 0]
    );
}

/// After a restart only what the stored status does not have is published.
#[test]
fn the_stored_status_was_published() {
    let found = findings(Effect::Error, &["shop/web", "shop/worker"]);
    let stored = report(&found[..1], &[]).status;
    let mut published = Published::of_status(Some(&stored));
    assert_eq!(
        publish(&mut published, &found),
        ["Deployment shop/worker UnsupportedOnWindows"]
    );
}

#[test]
fn names_of_events() {
    let found = findings(Effect::Error, &["shop/web"]);
    let next = Published::default().next(found.iter()).unwrap();
    let name = next.event_name("uid-1");
    assert!(
        name.starts_with("web.") && name == next.event_name("uid-1"),
        "{name}"
    );
    assert_ne!(name, next.event_name("uid-2"));
    assert!(next.news.note.starts_with("WN4001: ") && next.news.note.contains(found[0].fix));
    let long = "a".repeat(253);
    let found = findings(Effect::Error, &[&format!("shop/{long}")]);
    let next = Published::default().next(found.iter()).unwrap();
    assert_eq!(next.event_name("u").len(), 253);
}

/// What was found before a restart holds until the workloads are read again; what is not checked any more is gone.
#[test]
fn the_status_while_workloads_are_read() {
    let mut cluster = Cluster::vxlan();
    cluster.lint = Lint::Checked(report(&findings(Effect::Error, &["shop/web"]), &[]));
    let plan = cluster.pass();
    let stored = cluster.config().status.clone().unwrap();
    assert_eq!(stored.workloads.as_ref().unwrap().summary, "1 Error");
    cluster.lint = Lint::Reading;
    let (workloads, conditions) = (stored.workloads, stored.conditions.last().cloned());
    let reading = cluster.status(&plan);
    assert_eq!(
        (&reading.workloads, reading.conditions.last()),
        (&workloads, conditions.as_ref())
    );
    cluster.lint = Lint::Disabled;
    let disabled = cluster.status(&plan);
    assert_eq!(disabled.workloads, None);
    let condition = disabled.conditions.last().unwrap();
    assert_eq!(
        (condition.status.as_str(), condition.reason.as_str()),
        ("True", "LintDisabled")
    );
    assert!(
        disabled.conditions[0] == reading.conditions[0],
        "Ready does not depend on findings"
    );
}
