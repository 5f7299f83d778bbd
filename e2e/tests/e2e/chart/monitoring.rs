//! Monitoring is off unless asked for, needs nothing of a cluster to be rendered, and links to what is written.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{NAME, chart, find, objects, render, template_of, text, workspace};

const SWITCHES: [(&str, &[&str]); 4] = [
    ("service.enabled", &["Service"]),
    // A ServiceMonitor finds the operator by its Service.
    ("serviceMonitor.enabled", &["Service", "ServiceMonitor"]),
    ("prometheusRule.enabled", &["PrometheusRule"]),
    ("grafanaDashboard.enabled", &["ConfigMap"]),
];

fn rendered(set: &[&str]) -> Result<Vec<Value>> {
    let args: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    render(&args)
}

pub(super) fn rules() -> Result<Vec<Value>> {
    let rendered = rendered(&["prometheusRule.enabled=true"])?;
    let rule = find(&rendered, "PrometheusRule", NAME)?;
    let rules = rule.pointer("/spec/groups/0/rules").and_then(Value::as_array);
    rules.cloned().context("no rules")
}

#[test]
fn each_switch_adds_its_objects_and_nothing_else() -> Result<()> {
    let kinds = |objects: &[Value]| -> Vec<String> {
        let mut kinds: Vec<_> = objects.iter().map(|o| text(&o["kind"]).to_owned()).collect();
        kinds.sort();
        kinds
    };
    let plain = kinds(&render(&[])?);
    for (switch, added) in SWITCHES {
        for (value, added) in [("true", added), ("false", &[][..])] {
            let mut expected = plain.clone();
            expected.extend(added.iter().map(|kind| (*kind).to_owned()));
            expected.sort();
            assert_eq!(
                kinds(&rendered(&[&format!("{switch}={value}")])?),
                expected,
                "{switch}={value}"
            );
        }
    }
    Ok(())
}

/// The way from the monitor to the port: a wrong label or port name on it shows only as missing data.
#[test]
fn the_monitor_finds_the_port() -> Result<()> {
    let set = [
        "serviceMonitor.enabled=true",
        "serviceMonitor.namespace=monitoring",
        "port=9000",
        "podLabels.pod=label",
    ];
    let rendered = rendered(&set)?;
    let monitor = find(&rendered, "ServiceMonitor", NAME)?;
    let service = find(&rendered, "Service", NAME)?;
    let pod = &find(&rendered, "Deployment", NAME)?["spec"]["template"];
    let selects = |selector: &Value, labels: &Value| -> Result<()> {
        let selector = selector.as_object().context("no selector")?;
        ensure!(!selector.is_empty(), "everything is selected");
        for (label, value) in selector {
            ensure!(
                labels[label] == *value,
                "{label}: {} is not {value}",
                labels[label]
            );
        }
        Ok(())
    };
    selects(
        &monitor["spec"]["selector"]["matchLabels"],
        &service["metadata"]["labels"],
    )?;
    selects(&service["spec"]["selector"], &pod["metadata"]["labels"])?;
    assert_eq!(
        monitor["spec"]["namespaceSelector"]["matchNames"],
        json!([service["metadata"]["namespace"]])
    );
    let endpoint = &monitor["spec"]["endpoints"][0];
    let port = &service["spec"]["ports"][0];
    assert_eq!(
        (&endpoint["port"], text(&endpoint["path"])),
        (&port["name"], "/metrics")
    );
    assert_eq!(
        endpoint.get("interval"),
        None,
        "the Prometheus has one of its own"
    );
    let container = &pod["spec"]["containers"][0]["ports"][0];
    assert_eq!(port["targetPort"], container["name"]);
    assert_eq!([&port["port"], &container["containerPort"]], [9000, 9000]);
    Ok(())
}

#[test]
fn every_option_of_monitoring_shows() -> Result<()> {
    let rendered = rendered(&[
        "service.annotations.scrape=yes",
        "serviceMonitor.enabled=true",
        "serviceMonitor.interval=1m30s",
        "serviceMonitor.scrapeTimeout=20s",
        "serviceMonitor.relabelings[0].targetLabel=cluster",
        "serviceMonitor.metricRelabelings[0].action=drop",
        "serviceMonitor.labels.release=prometheus",
        "serviceMonitor.namespace=monitoring",
        "prometheusRule.enabled=true",
        "prometheusRule.labels.release=prometheus",
        "prometheusRule.namespace=alerting",
        "prometheusRule.runbookUrl=https://wiki.example.com/windows",
        "grafanaDashboard.enabled=true",
        "grafanaDashboard.labels.instance=main",
        "grafanaDashboard.annotations.folder=Windows",
        "grafanaDashboard.namespace=grafana",
        "commonLabels.team=network",
    ])?;
    let service = &find(&rendered, "Service", NAME)?["metadata"];
    let monitor = find(&rendered, "ServiceMonitor", NAME)?;
    let rule = find(&rendered, "PrometheusRule", NAME)?;
    let dashboard = &find(&rendered, "ConfigMap", &format!("{NAME}-dashboard"))?["metadata"];
    assert_eq!(service["annotations"]["scrape"], "yes");
    let endpoint = json!({
        "port": "http",
        "path": "/metrics",
        "interval": "1m30s",
        "scrapeTimeout": "20s",
        "relabelings": [{ "targetLabel": "cluster" }],
        "metricRelabelings": [{ "action": "drop" }],
    });
    assert_eq!(monitor["spec"]["endpoints"], json!([endpoint]));
    for (metadata, namespace) in [
        (&monitor["metadata"], "monitoring"),
        (&rule["metadata"], "alerting"),
    ] {
        assert_eq!(metadata["namespace"], namespace);
        assert_eq!(metadata["labels"]["release"], "prometheus");
    }
    assert_eq!(dashboard["namespace"], "grafana");
    assert_eq!(dashboard["annotations"]["folder"], "Windows");
    assert_eq!(dashboard["labels"]["instance"], "main");
    assert_eq!(
        dashboard["labels"]["grafana_dashboard"], "1",
        "the sidecar's label stays"
    );
    for metadata in [service, &monitor["metadata"], &rule["metadata"], dashboard] {
        assert_eq!(metadata["labels"]["team"], "network", "{metadata}");
    }
    let url = &rule["spec"]["groups"][0]["rules"][0]["annotations"]["runbook_url"];
    assert_eq!(url, "https://wiki.example.com/windows#windowsnodesfailing");
    Ok(())
}

#[test]
fn refuses_options_of_monitoring_that_cannot_work() -> Result<()> {
    for (set, expected) in [
        ("serviceMonitor.interval=often", "/serviceMonitor/interval"),
        ("serviceMonitor.namespace=A", "/serviceMonitor/namespace"),
        ("prometheusRule.runbookUrl=a#b", "/prometheusRule/runbookUrl"),
        ("prometheusRule.labels.a=b c", "/prometheusRule/labels/a"),
        ("prometheusRule.severity=", "/prometheusRule/severity"),
        (
            "prometheusRule.severities.NoSuchAlert=critical",
            "'NoSuchAlert' not allowed",
        ),
        (
            "prometheusRule.alertLabels.severity=critical",
            "invalid propertyName 'severity'",
        ),
        (
            "serviceMonitor.scrapeTimeout=soon",
            "/serviceMonitor/scrapeTimeout",
        ),
        ("grafanaDashboard.folder=a", "'folder' not allowed"),
        ("service.type=NodePort", "'type' not allowed"),
    ] {
        let output = template_of(&chart(), NAME, &["--set", set])?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{set} was accepted");
        assert!(message.contains(expected), "{set}: {message}");
    }
    Ok(())
}

/// An alert without a way on, and a section for an alert that is gone, are both lies.
#[test]
fn every_alert_has_a_runbook() -> Result<()> {
    let runbooks = std::fs::read_to_string(workspace().join("docs/runbooks.md"))?;
    let sections: BTreeSet<&str> = runbooks.lines().filter_map(|l| l.strip_prefix("## ")).collect();
    let mut alerts = BTreeSet::new();
    let rules = rules()?;
    for rule in &rules {
        let alert = text(&rule["alert"]);
        ensure!(!alert.is_empty(), "no alert: {rule}");
        assert_eq!(rule["labels"], json!({ "severity": "warning" }), "{alert}");
        let annotations = &rule["annotations"];
        let url = format!("docs/runbooks.md#{}", alert.to_lowercase());
        assert_eq!(annotations["runbook_url"], url, "{alert}");
        for annotation in ["summary", "description"] {
            let words = text(&annotations[annotation]);
            ensure!(words.ends_with('.'), "{alert}: {annotation}: {words:?}");
            ensure!(
                !words.contains('`'),
                "{alert}: what helm should have read: {words:?}"
            );
        }
        alerts.insert(alert);
    }
    assert_eq!(alerts, sections);
    Ok(())
}

/// One severity for all, others for some, and labels of the user's; each alert can be named.
#[test]
fn labels_of_alerts_follow_the_values() -> Result<()> {
    let rendered = rendered(&[
        "prometheusRule.enabled=true",
        "prometheusRule.severity=info",
        "prometheusRule.severities.WindowsNodeOperatorDown=critical",
        "prometheusRule.alertLabels.team=network",
    ])?;
    let rule = find(&rendered, "PrometheusRule", NAME)?;
    let alerts = rule
        .pointer("/spec/groups/0/rules")
        .and_then(Value::as_array)
        .context("no rules")?;
    let mut names = BTreeSet::new();
    for alert in alerts {
        let name = text(&alert["alert"]);
        let severity = if name == "WindowsNodeOperatorDown" {
            "critical"
        } else {
            "info"
        };
        assert_eq!(
            alert["labels"],
            json!({ "severity": severity, "team": "network" }),
            "{name}"
        );
        names.insert(name.to_owned());
    }
    let schema = std::fs::read_to_string(chart().join("values.schema.json"))?;
    let schema: Value = serde_json::from_str(&schema)?;
    let listed = "/properties/prometheusRule/properties/severities/properties";
    let listed = schema
        .pointer(listed)
        .and_then(Value::as_object)
        .context("no list")?;
    assert_eq!(listed.keys().cloned().collect::<BTreeSet<_>>(), names);
    Ok(())
}

/// Grafana's sidecar drops what it cannot read, and panels with one id hide each other.
#[test]
fn the_dashboard_is_whole() -> Result<()> {
    let rendered = rendered(&["grafanaDashboard.enabled=true"])?;
    let data = &find(&rendered, "ConfigMap", &format!("{NAME}-dashboard"))?["data"];
    let dashboard: Value = serde_json::from_str(text(&data[format!("{NAME}.json")]))?;
    let variables = dashboard["templating"]["list"]
        .as_array()
        .context("no variables")?;
    let names: Vec<_> = variables.iter().map(|v| text(&v["name"])).collect();
    assert_eq!(names, ["datasource", "cluster"]);
    assert_eq!(variables[1]["allValue"], ".*");
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let ids: BTreeSet<_> = panels.iter().filter_map(|p| p["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        let queries = panel["targets"].as_array().context("no queries")?;
        let place = |of: &Value| -> Vec<u64> {
            ["x", "y", "w", "h"]
                .iter()
                .filter_map(|side| of["gridPos"][side].as_u64())
                .collect()
        };
        let [x, y, w, h] = place(panel)[..] else {
            anyhow::bail!("no place: {panel}");
        };
        ensure!(x + w <= 24, "{panel}");
        for other in panels.iter().filter(|other| other["id"] != panel["id"]) {
            let [ox, oy, ow, oh] = place(other)[..] else {
                anyhow::bail!("no place: {other}");
            };
            ensure!(
                x + w <= ox || ox + ow <= x || y + h <= oy || oy + oh <= y,
                "{} lies over {}",
                panel["title"],
                other["title"]
            );
        }
        ensure!(queries.iter().all(|q| !text(&q["expr"]).is_empty()), "{panel}");
        // One dashboard for many clusters; `.*` also finds metrics without that label.
        ensure!(
            queries.iter().all(|q| {
                let query = text(&q["expr"]);
                query.matches("windows_node_operator_").count()
                    == query.matches("{cluster=~\"$cluster\"").count()
            }),
            "{panel}"
        );
        // No data source of ours: the viewer chooses one.
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
    }
    Ok(())
}

/// A release of another name has other names throughout, and its monitor finds its own pods.
#[test]
fn names_follow_the_release() -> Result<()> {
    let args = [
        "--set",
        "serviceMonitor.enabled=true,grafanaDashboard.enabled=true",
    ];
    let rendered = objects(&template_of(&chart(), "release", &args)?)?;
    let name = "release-windows-node-operator";
    let service = find(&rendered, "Service", name)?;
    assert_eq!(
        service["spec"]["selector"]["app.kubernetes.io/instance"],
        "release"
    );
    assert!(find(&rendered, "ServiceMonitor", name).is_ok());
    assert!(find(&rendered, "ConfigMap", &format!("{name}-dashboard")).is_ok());
    Ok(())
}
