//! Each alert, asked by Prometheus' own engine: with these series it is silent until a moment, and fires at another one.
//!
//! Series are in promtool's notation, one sample a minute from second 1700000000 on: `0x4 1x40` is five times 0, then 41 times 1.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::monitoring::rules;
use super::{binaries, text};

struct Case {
    alert: &'static str,
    series: &'static [&'static str],
    /// Minute at which it is still silent, and at which it fires.
    silent: u32,
    fires: u32,
    /// What the alert says by its labels.
    labels: &'static str,
}

const CASES: [Case; 12] = [
    Case {
        alert: "WindowsNodesFailing",
        series: &[
            r#"nodes{state="Failing",pod="a"} 0x4 2x40"#,
            r#"nodes{state="Ready",pod="a"} 9x60"#,
        ],
        silent: 19,
        fires: 20,
        labels: r#"state="Failing""#,
    },
    // The reason changes meanwhile.
    Case {
        alert: "WindowsNodeConfigNotReady",
        series: &[
            r#"condition{type="Ready",status="False",reason="Progressing",pod="a"} 1x9 0x40"#,
            r#"condition{type="Ready",status="False",reason="NodesNotReady",pod="a"} _x9 1x40"#,
        ],
        silent: 14,
        fires: 15,
        labels: r#"type="Ready""#,
    },
    Case {
        alert: "WindowsNodeConfigStalled",
        series: &[r#"condition{type="Stalled",status="True",reason="InvalidSpec",pod="a"} 1x40"#],
        silent: 4,
        fires: 5,
        labels: r#"type="Stalled""#,
    },
    Case {
        alert: "WindowsNodesAdvisory",
        series: &[r#"advisories{code="WN1012",severity="Error",pod="a"} 1x40"#],
        silent: 14,
        fires: 15,
        labels: r#"code="WN1012""#,
    },
    // The first finding is fixed, another one comes; two replicas say the same while one takes over.
    Case {
        alert: "WindowsWorkloadsUnsupported",
        series: &[
            r#"workload_findings{code="WN2001",severity="Error",object_namespace="shop",pod="a"} 1x9 _x30"#,
            r#"workload_findings{code="WN4001",severity="Error",object_namespace="shop",pod="b"} _x9 1x30"#,
            r#"workload_findings{code="WN4008",severity="Warning",object_namespace="other",pod="b"} 1x40"#,
        ],
        silent: 14,
        fires: 15,
        labels: r#"object_namespace="shop""#,
    },
    // A sample counts for five minutes.
    Case {
        alert: "WindowsNodeOperatorDown",
        series: &[r#"build_info{version="1",pod="a"} 1x9"#],
        silent: 23,
        fires: 25,
        labels: r#"severity="warning""#,
    },
    Case {
        alert: "WindowsNodeOperatorNoLeader",
        series: &[r#"leader{pod="a"} 0x40"#, r#"leader{pod="b"} 1x9 0x40"#],
        silent: 14,
        fires: 15,
        labels: r#"severity="warning""#,
    },
    // One replica leads and comes to no end, the other one stands by.
    Case {
        alert: "WindowsNodeOperatorPassOverdue",
        series: &[
            r#"last_successful_pass_timestamp_seconds{pod="a"} 1700000000x60"#,
            r#"last_successful_pass_timestamp_seconds{pod="b"} 0x60"#,
        ],
        silent: 20,
        fires: 21,
        labels: r#"severity="warning""#,
    },
    Case {
        alert: "WindowsNodeOperatorApplyErrors",
        series: &[r#"apply_errors_total{class="server",pod="a"} 0x4 0+1x40"#],
        silent: 15,
        fires: 25,
        labels: r#"class="server""#,
    },
    Case {
        alert: "WindowsNodeOperatorWatchStale",
        series: &[r#"watch_age_seconds{topic="Nodes",pod="a"} 0+60x60"#],
        silent: 20,
        fires: 21,
        labels: r#"topic="Nodes""#,
    },
    // The third repair, after the hour of rest.
    Case {
        alert: "CalicoDriftRepeated",
        series: &[r#"drift_repairs_total{kind="IPPool",field="vxlanMode",pod="a"} 0x9 1x4 2x64 3x60"#],
        silent: 75,
        fires: 90,
        labels: r#"field="vxlanMode""#,
    },
    Case {
        alert: "WindowsWorkloadDriftRepeated",
        series: &[
            r#"drift_repairs_total{kind="DaemonSet",field="object",pod="a"} 0x9 1x1 2x1 3x1 4x1 5x1 6x40"#,
        ],
        silent: 18,
        fires: 24,
        labels: r#"kind="DaemonSet""#,
    },
];

/// Series of a cluster in order, of one that only observes, and of races that are lost now and then.
const IN_ORDER: [&str; 18] = [
    r#"nodes{state="Failing",pod="a"} 0x90"#,
    // Rebooted one by one.
    r#"nodes{state="Failing",pod="b"} 0x9 1x10 0x70"#,
    r#"condition{type="Ready",status="True",reason="AsExpected",pod="a"} 1x90"#,
    r#"condition{type="Ready",status="False",reason="Progressing",pod="a"} 0x90"#,
    r#"condition{type="Ready",status="True",reason="ObserveOnly",pod="b"} 1x90"#,
    // WindowsNodesFailing is the alert of these.
    r#"condition{type="Stalled",status="True",reason="NodesNotReady",pod="c"} 1x90"#,
    r#"condition{type="Stalled",status="False",reason="AsExpected",pod="a"} 1x90"#,
    r#"advisories{code="WN1020",severity="Warning",pod="a"} 1x90"#,
    r#"advisories{code="WN1012",severity="Error",pod="a"} 0x90"#,
    r#"workload_findings{code="WN4008",severity="Warning",object_namespace="shop",pod="a"} 3x90"#,
    r#"build_info{version="1",pod="a"} 1x90"#,
    r#"leader{pod="a"} 1x90"#,
    r#"leader{pod="b"} 0x90"#,
    r#"last_successful_pass_timestamp_seconds{pod="a"} 1700000000+60x90"#,
    r#"last_successful_pass_timestamp_seconds{pod="b"} 0x90"#,
    r#"apply_errors_total{class="conflict",pod="a"} 0+2x90"#,
    r#"watch_age_seconds{topic="Nodes",pod="a"} 290x90"#,
    r#"drift_repairs_total{kind="IPPool",field="vxlanMode",pod="a"} 0x9 1x80"#,
];

/// Alerts that fire after so many minutes, one a line, each with its labels.
fn firing(series: &[&str], minutes: u32) -> Result<Vec<String>> {
    let series: Vec<String> = series
        .iter()
        .map(|one| format!("windows_node_operator_{one}"))
        .collect();
    let rules = json!({ "groups": [{ "name": "chart", "rules": rules()? }] });
    let case = json!({ "rules": rules, "series": series, "minutes": minutes });
    let mut engine = Command::new(binaries()?.prometheus)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = engine.stdin.take().context("no stdin")?;
    stdin.write_all(case.to_string().as_bytes())?;
    drop(stdin);
    let output = engine.wait_with_output()?;
    ensure!(output.status.success(), "{case}");
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .map(str::to_owned)
        .collect())
}

#[test]
fn each_alert_fires_when_it_should_and_not_before() -> Result<()> {
    for case in &CASES {
        let of = |minutes: u32| -> Result<Option<String>> {
            let name = format!("alertname=\"{}\"", case.alert);
            Ok(firing(case.series, minutes)?
                .into_iter()
                .find(|alert| alert.contains(&name)))
        };
        assert_eq!(
            of(case.silent)?,
            None,
            "{} after {} minutes",
            case.alert,
            case.silent
        );
        let alert = of(case.fires)?.with_context(|| format!("{} is silent", case.alert))?;
        assert!(alert.contains(case.labels), "{alert}");
        // An alert that names the replica would be another one when the operator moves.
        assert!(!alert.contains("pod="), "{alert}");
    }
    let tested: BTreeSet<&str> = CASES.iter().map(|case| case.alert).collect();
    let rules = rules()?;
    assert_eq!(tested, rules.iter().map(|rule| text(&rule["alert"])).collect());
    Ok(())
}

#[test]
fn nothing_fires_while_all_is_in_order() -> Result<()> {
    for minutes in [0, 15, 30, 60, 90] {
        assert_eq!(
            firing(&IN_ORDER, minutes)?,
            Vec::<String>::new(),
            "after {minutes} minutes"
        );
    }
    Ok(())
}
