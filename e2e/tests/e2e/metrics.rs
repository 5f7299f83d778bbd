//! What `/metrics` says after a day's work on a real control plane, and that every alert and panel of the chart
//! asks for something it says.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::node_agent;
use wn_api::node_reasons::NodeReason;
use wn_api::reasons::{Reason, conditions};
use wn_e2e::control_plane::{AuditEvent, ClusterOptions, paths};
use wn_e2e::fail_open;
use wn_e2e::objects::{self, text};
use wn_e2e::operator::{NAME, USER};
use wn_e2e::simulator::Fault;
use wn_e2e::test_cluster::{SINGLETON, TestCluster, minimal};

const PREFIX: &str = "windows_node_operator_";
/// Where the chart asks for metrics.
const QUERIES: [&str; 2] = [
    "templates/prometheusrule.yaml",
    "dashboards/windows-node-operator.json",
];

/// One line of a scrape.
#[derive(Clone, Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

struct Scrape(Vec<Sample>);

impl Scrape {
    /// What matches a name without its prefix and some labels, summed; `None` when nothing does.
    fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let matching = self.0.iter().filter(|s| s.name == format!("{PREFIX}{name}"));
        let matching = matching.filter(|s| {
            labels
                .iter()
                .all(|(k, v)| s.labels.get(*k).is_some_and(|l| l == v))
        });
        matching
            .map(|s| s.value)
            .fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    }

    /// Values of a label of a metric.
    fn values(&self, name: &str, label: &str) -> BTreeSet<&str> {
        let of = self.0.iter().filter(|s| s.name == format!("{PREFIX}{name}"));
        of.filter_map(|s| s.labels.get(label).map(String::as_str))
            .collect()
    }
}

async fn scrape(test: &TestCluster) -> Result<Scrape> {
    let operator = test.operator.as_ref().context("no operator")?;
    let text = operator.get("/metrics").await?;
    ensure!(text.ends_with("# EOF\n"), "the end is missing: {text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(Scrape(lines.map(sample).collect::<Result<_>>()?))
}

fn sample(line: &str) -> Result<Sample> {
    let (series, value) = line.rsplit_once(' ').with_context(|| line.to_owned())?;
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}').with_context(|| line.to_owned())?),
        None => (series, ""),
    };
    // No value of ours has a quote or a comma in it; one that had would not parse.
    let labels = labels.split(',').filter(|label| !label.is_empty()).map(|label| {
        let (key, value) = label.split_once('=').with_context(|| line.to_owned())?;
        let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        Ok((key.to_owned(), value.with_context(|| line.to_owned())?.to_owned()))
    });
    Ok(Sample {
        name: name.to_owned(),
        labels: labels.collect::<Result<_>>()?,
        value: value.parse().with_context(|| line.to_owned())?,
    })
}

async fn until(test: &TestCluster, name: &str, labels: &[(&str, &str)], wanted: f64) -> Result<()> {
    test.until(&format!("{name} {labels:?} is {wanted}"), async || {
        Ok((scrape(test).await?.get(name, labels) == Some(wanted)).then_some(()))
    })
    .await
}

/// Repairs of a field of Calico and of a DaemonSet, each counted once.
async fn repair(test: &TestCluster) -> Result<()> {
    let field = [("kind", "IPAMConfiguration"), ("field", "strictAffinity")];
    let set = [("kind", "DaemonSet"), ("field", "object")];
    let before = scrape(test).await?;
    for labels in [field, set] {
        // From zero, or the first repair would be no increase; and the first write is no repair.
        assert_eq!(
            before.get("drift_repairs_total", &labels),
            Some(0.0),
            "{labels:?}"
        );
    }
    let spec = json!({ "strictAffinity": false });
    test.edit(ConfigKind::IpamConfiguration, SINGLETON, spec, "kubectl-edit")
        .await?;
    until(test, "drift_repairs_total", &field, 1.0).await?;
    let name = node_agent::DAEMON_SET;
    let object = test.daemon_set(name).await?;
    let container = text(&object, "/spec/template/spec/containers/0/name").to_owned();
    test.set_image(name, &container, "example.com/evil:1").await?;
    until(test, "drift_repairs_total", &set, 1.0).await
}

/// Of each metric its labels: a new one is a promise to those who write queries.
fn names_and_labels(scrape: &Scrape) {
    let expected: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("advisories", &["code", "severity"][..]),
        ("api_requests_total", &["code", "method"]),
        ("apply_errors_total", &["class"]),
        ("build_info", &["version"]),
        ("condition", &["reason", "status", "type"]),
        ("drift_repairs_total", &["field", "kind"]),
        ("last_successful_pass_timestamp_seconds", &[]),
        ("leader", &[]),
        ("loop_age_seconds", &[]),
        ("node_condition_writes_total", &[]),
        ("nodes", &["state"]),
        ("nodes_by_reason", &["reason"]),
        ("reconcile_duration_seconds_bucket", &["kind", "le"]),
        ("reconcile_duration_seconds_count", &["kind"]),
        ("reconcile_duration_seconds_sum", &["kind"]),
        ("status_writes_total", &[]),
        ("watch_age_seconds", &["topic"]),
        ("watch_restarts_total", &["topic"]),
        ("workload_findings", &["code", "object_namespace", "severity"]),
    ]);
    let found: BTreeMap<&str, Vec<&str>> = scrape
        .0
        .iter()
        .map(|s| {
            let name = s.name.strip_prefix(PREFIX).unwrap_or(&s.name);
            (name, s.labels.keys().map(String::as_str).collect())
        })
        .collect();
    let expected: BTreeMap<&str, Vec<&str>> = expected
        .into_iter()
        .map(|(name, labels)| (name, labels.to_vec()))
        .collect();
    assert_eq!(found, expected);
    let values = |name, label| scrape.values(name, label).into_iter().collect::<Vec<_>>();
    assert_eq!(
        values("nodes", "state"),
        ["Failing", "NotSelected", "Progressing", "Ready", "Unknown"]
    );
    assert_eq!(
        values("reconcile_duration_seconds_count", "kind"),
        ["full", "nodes"]
    );
    assert_eq!(values("build_info", "version"), [env!("CARGO_PKG_VERSION")]);
    assert_eq!(
        values("apply_errors_total", "class"),
        [
            "conflict",
            "forbidden",
            "invalid",
            "not_found",
            "server",
            "throttled",
            "unreachable"
        ]
    );
}

/// Labels that grow with the cluster would cost whoever stores them.
async fn no_names_of_the_cluster(test: &TestCluster, scrape: &Scrape) -> Result<()> {
    let nodes: Api<DynamicObject> =
        Api::all_with(test.client.clone(), &objects::resource("", "v1", "Node", "nodes"));
    let mut names = Vec::new();
    for api in [nodes, test.calico(ConfigKind::IpPool)] {
        let listed = objects::list(&api).await?;
        ensure!(!listed.is_empty(), "nothing to look for");
        names.extend(listed.iter().map(|o| text(o, "/metadata/name").to_owned()));
    }
    for sample in &scrape.0 {
        for (label, value) in &sample.labels {
            let named = names.iter().find(|name| value.contains(name.as_str()));
            ensure!(named.is_none(), "{}: {label} is {value}", sample.name);
        }
    }
    Ok(())
}

/// The API server counted, too.
async fn agrees_with_the_audit_log(test: &TestCluster) -> Result<()> {
    test.quiet().await?;
    let scrape = scrape(test).await?;
    let log = test.cluster.audit_log()?;
    let writes = log.writes_by(USER);
    let count = |which: &dyn Fn(&AuditEvent) -> bool| writes.iter().filter(|w| which(w)).count() as f64;
    for (metric, resource) in [
        ("status_writes_total", "windowsnodeconfigs"),
        ("node_condition_writes_total", "nodes"),
    ] {
        let taken =
            |w: &AuditEvent| w.resource == resource && w.subresource == "status" && w.response_code == 200;
        let expected = count(&taken);
        ensure!(expected > 0.0, "{resource}: nothing was written");
        assert_eq!(scrape.get(metric, &[]), Some(expected), "{metric}");
    }
    for (method, verb) in [("PATCH", "patch"), ("POST", "create"), ("DELETE", "delete")] {
        for code in ["200", "201", "409"] {
            let found = scrape.get("api_requests_total", &[("method", method), ("code", code)]);
            let expected = count(&|w| w.verb == verb && w.response_code.to_string() == code);
            assert_eq!(found.unwrap_or(0.0), expected, "{method} {code}");
        }
    }
    let reads = scrape.get("api_requests_total", &[("method", "GET"), ("code", "200")]);
    ensure!(reads.is_some_and(|reads| reads >= 20.0), "{reads:?}");
    Ok(())
}

/// One series a condition is 1, those of the status.
async fn conditions_are_those_of_the_status(test: &TestCluster, scrape: &Scrape) -> Result<()> {
    let shown = |value: f64| -> BTreeSet<[&str; 3]> {
        let of = scrape
            .0
            .iter()
            .filter(|s| s.name == format!("{PREFIX}condition") && s.value == value);
        of.map(|s| ["type", "status", "reason"].map(|label| s.labels.get(label).map_or("", String::as_str)))
            .collect()
    };
    let config = test.config().await?;
    let stored = config.pointer("/status/conditions").and_then(Value::as_array);
    let stored: BTreeSet<[&str; 3]> = stored
        .into_iter()
        .flatten()
        .map(|c| ["/type", "/status", "/reason"].map(|field| text(c, field)))
        .collect();
    assert_eq!(stored.len(), conditions::ALL.len());
    assert_eq!(shown(1.0), stored);
    // What it was on the way there.
    let over = shown(0.0);
    ensure!(
        over.iter().any(|[type_, ..]| *type_ == conditions::READY),
        "{over:?}"
    );
    let age = |scrape: &Scrape| {
        let at = scrape.get("last_successful_pass_timestamp_seconds", &[]);
        at.map(|at| jiff::Timestamp::now().as_second() as f64 - at)
    };
    // Once a minute when nothing happens.
    ensure!(age(scrape).is_some_and(|age| age < 75.0), "{:?}", age(scrape));
    Ok(())
}

fn watches_are_heard_of(scrape: &Scrape) -> Result<()> {
    let topics = scrape.values("watch_age_seconds", "topic");
    for topic in [
        "Config",
        "Nodes",
        "IPPool",
        "KubeadmConfig",
        "felixconfigurations.crd.projectcalico.org",
    ] {
        ensure!(topics.contains(topic), "{topic} is not in {topics:?}");
    }
    for sample in scrape.0.iter().filter(|s| s.name.ends_with("watch_age_seconds")) {
        ensure!((0.0..300.0).contains(&sample.value), "{sample:?}");
    }
    Ok(())
}

/// A metric that a query names, with the labels it matches by: operator and value as written.
fn queried(query: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let mut found = Vec::new();
    for (at, _) in query.match_indices(PREFIX) {
        let rest = &query[at..];
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let matchers = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .map_or("", |(matchers, _)| matchers);
        let matchers = matchers
            .split(',')
            .filter_map(|m| Some(m.split_at(m.find(['=', '!'])?)));
        found.push((name, matchers.collect()));
    }
    found
}

/// A query for a series that does not exist never alerts, and its panel stays empty.
fn every_query_asks_for_something(scrape: &Scrape) -> Result<()> {
    for file in QUERIES {
        let path = paths::workspace().join("charts").join(NAME).join(file);
        let file_text = std::fs::read_to_string(&path)?.replace("\\\"", "\"");
        let queries = queried(&file_text);
        ensure!(queries.len() >= 6, "{file}: only {queries:?}");
        for (name, matchers) in queries {
            let samples: Vec<_> = scrape.0.iter().filter(|s| s.name == name).collect();
            ensure!(!samples.is_empty(), "{file}: nothing is called {name}");
            for (label, wanted) in matchers {
                // Who scrapes many clusters adds it.
                if label == "cluster" {
                    continue;
                }
                let values: BTreeSet<_> = samples.iter().filter_map(|s| s.labels.get(label)).collect();
                ensure!(!values.is_empty(), "{file}: {name} has no label {label}");
                // Each value that is named exists: `="a"`, `!="a"`, `=~"a|b"`. A reason may not have occurred.
                let wanted = wanted.trim_start_matches(['=', '!', '~']).trim_matches('"');
                for value in wanted.split('|') {
                    let known =
                        label == "reason" && Reason::ALL.iter().any(|reason| reason.as_str() == value);
                    ensure!(
                        known || values.iter().any(|v| *v == value),
                        "{file}: {name} has no {label} {value}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_say_what_was_done() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 2,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.simulator.inject("windows-1", Fault::AgentImagePull);
    test.apply(minimal("CalicoVXLAN")).await?;
    let pull = [("reason", NodeReason::AgentImagePullFailed.as_str())];
    until(&test, "nodes", &[("state", "Ready")], 1.0).await?;
    until(&test, "nodes", &[("state", "Failing")], 1.0).await?;
    until(&test, "nodes_by_reason", &pull, 1.0).await?;
    test.quiet().await?;
    repair(&test).await?;

    test.simulator.clear("windows-1");
    until(&test, "nodes", &[("state", "Ready")], 2.0).await?;
    // Zero, not gone: who looks at the series sees that it is over.
    until(&test, "nodes_by_reason", &pull, 0.0).await?;
    test.ready().await?;
    test.cluster
        .kubectl(&["create", "namespace", fail_open::NAMESPACE])
        .await?;
    test.create("deployments", fail_open::deployment("worker", true))
        .await?;
    let found = [("severity", "Error"), ("object_namespace", fail_open::NAMESPACE)];
    until(&test, "workload_findings", &found, 1.0).await?;
    agrees_with_the_audit_log(&test).await?;

    let scrape = scrape(&test).await?;
    names_and_labels(&scrape);
    conditions_are_those_of_the_status(&test, &scrape).await?;
    no_names_of_the_cluster(&test, &scrape).await?;
    watches_are_heard_of(&scrape)?;
    every_query_asks_for_something(&scrape)
}

#[test]
fn queries_are_understood() {
    let query = r#"sum(rate(windows_node_operator_a_total{b="c",d!~"e|f"}[5m])) / windows_node_operator_g"#;
    let expected = vec![
        (
            "windows_node_operator_a_total",
            vec![("b", "=\"c\""), ("d", "!~\"e|f\"")],
        ),
        ("windows_node_operator_g", vec![]),
    ];
    assert_eq!(queried(query), expected);
}
