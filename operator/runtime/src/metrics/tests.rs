use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::{Metrics, Pass, WHOLE_OBJECT};
use crate::error::Error;
use wn_api::node_reasons::NodeReason;
use wn_api::status::Severity;
use wn_plan::lint::Series;
use wn_plan::node::State;

fn has(metrics: &Metrics, line: &str) {
    let text = metrics.text();
    let line = format!("windows_node_operator_{line}");
    assert!(text.lines().any(|l| l == line), "no {line:?} in\n{text}");
}

fn names(metrics: &Metrics) -> BTreeSet<String> {
    metrics
        .text()
        .lines()
        .filter_map(|l| Some(l.strip_prefix("# TYPE windows_node_operator_")?.to_owned()))
        .collect()
}

fn refused(code: u16) -> Error {
    Error::Refused {
        what: "IPPool a".to_owned(),
        code,
        message: "no".to_owned(),
    }
}

#[test]
fn what_needs_no_event_is_there_from_the_start() {
    let metrics = Metrics::new();
    let expected = [
        "advisories gauge",
        "api_requests counter",
        "apply_errors counter",
        "build info",
        "drift_repairs counter",
        "last_successful_pass_timestamp_seconds gauge",
        "leader gauge",
        "loop_age_seconds gauge",
        "node_condition_writes counter",
        "nodes gauge",
        "reconcile_duration_seconds histogram",
        "status_writes counter",
        "watch_age_seconds gauge",
        "workload_findings gauge",
    ];
    assert_eq!(names(&metrics), expected.map(str::to_owned).into());
    assert!(metrics.text().ends_with("# EOF\n"));
    has(
        &metrics,
        &format!("build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")),
    );
    has(&metrics, "status_writes_total 0");
    has(&metrics, "node_condition_writes_total 0");
    has(&metrics, "last_successful_pass_timestamp_seconds 0");
    has(&metrics, "api_requests_total{method=\"PATCH\",code=\"none\"} 0");
    for rule in wn_plan::advice::rules() {
        let severity = format!("{:?}", rule.severity);
        has(
            &metrics,
            &format!("advisories{{code=\"{}\",severity=\"{severity}\"}} 0", rule.code),
        );
    }
    has(&metrics, "reconcile_duration_seconds_count{kind=\"nodes\"} 0");
}

#[test]
fn nodes_are_counted_and_a_reason_that_is_gone_is_zero() {
    let metrics = Metrics::new();
    for state in State::ALL {
        has(&metrics, &format!("nodes{{state=\"{}\"}} 0", state.as_str()));
    }
    assert!(!metrics.text().contains("reason="));
    let full = (
        State::Failing,
        vec![NodeReason::BlockExhausted, NodeReason::MultipleBlocks],
    );
    let silent = (State::Failing, vec![NodeReason::KubeletNotReporting]);
    metrics.nodes([full.clone(), full, silent.clone(), (State::Ready, Vec::new())]);
    has(&metrics, "nodes{state=\"Failing\"} 3");
    has(&metrics, "nodes{state=\"Ready\"} 1");
    has(&metrics, "nodes_by_reason{reason=\"BlockExhausted\"} 2");
    has(&metrics, "nodes_by_reason{reason=\"MultipleBlocks\"} 2");
    metrics.nodes([silent]);
    has(&metrics, "nodes{state=\"Failing\"} 1");
    has(&metrics, "nodes{state=\"Ready\"} 0");
    has(&metrics, "nodes_by_reason{reason=\"BlockExhausted\"} 0");
    has(&metrics, "nodes_by_reason{reason=\"KubeletNotReporting\"} 1");
    metrics.no_nodes();
    has(&metrics, "nodes{state=\"Failing\"} 0");
    has(&metrics, "nodes_by_reason{reason=\"KubeletNotReporting\"} 0");
}

#[test]
fn the_series_of_a_finding_ends_with_it() {
    let metrics = Metrics::new();
    let series = Series {
        code: "WN3005",
        severity: Severity::Warning,
        namespace: "shop".to_owned(),
        count: 2,
    };
    metrics.findings(vec![series]);
    let expected = "workload_findings{code=\"WN3005\",severity=\"Warning\",object_namespace=\"shop\"}";
    has(&metrics, &format!("{expected} 2"));
    metrics.findings(Vec::new());
    assert!(!metrics.text().contains(expected));
}

#[test]
fn advisories_are_counted_and_one_that_is_gone_is_zero() {
    let metrics = Metrics::new();
    let (ipv6, port) = (("WN1020", Severity::Warning), ("WN1012", Severity::Error));
    metrics.advisories([ipv6, ipv6, port].into_iter());
    has(&metrics, "advisories{code=\"WN1020\",severity=\"Warning\"} 2");
    has(&metrics, "advisories{code=\"WN1012\",severity=\"Error\"} 1");
    metrics.advisories([ipv6].into_iter());
    has(&metrics, "advisories{code=\"WN1020\",severity=\"Warning\"} 1");
    has(&metrics, "advisories{code=\"WN1012\",severity=\"Error\"} 0");
}

fn condition(type_: &str, status: &str, reason: &str) -> Condition {
    Condition {
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        message: "anything".to_owned(),
        observed_generation: None,
        reason: reason.to_owned(),
        status: status.to_owned(),
        type_: type_.to_owned(),
    }
}

#[test]
fn each_condition_is_one_series_and_what_it_was_is_zero() {
    let metrics = Metrics::new();
    let ones = || {
        let text = metrics.text();
        let lines = text
            .lines()
            .filter_map(|l| l.strip_prefix("windows_node_operator_condition"));
        lines
            .filter(|l| l.ends_with(" 1"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(ones(), Vec::<String>::new());
    let stalled = condition("Stalled", "False", "AsExpected");
    // Not one of ours.
    let foreign = condition("Synced", "True", "ByMe");
    metrics.conditions(&[
        condition("Ready", "False", "Progressing"),
        stalled.clone(),
        foreign,
    ]);
    has(
        &metrics,
        "condition{type=\"Ready\",status=\"False\",reason=\"Progressing\"} 1",
    );
    has(
        &metrics,
        "condition{type=\"Stalled\",status=\"False\",reason=\"AsExpected\"} 1",
    );
    assert_eq!(ones().len(), 2);

    metrics.conditions(&[condition("Ready", "True", "AsExpected"), stalled]);
    has(
        &metrics,
        "condition{type=\"Ready\",status=\"False\",reason=\"Progressing\"} 0",
    );
    has(
        &metrics,
        "condition{type=\"Ready\",status=\"True\",reason=\"AsExpected\"} 1",
    );
    assert_eq!(ones().len(), 2);

    metrics.conditions(&[]);
    has(
        &metrics,
        "condition{type=\"Ready\",status=\"True\",reason=\"AsExpected\"} 0",
    );
    assert_eq!(ones(), Vec::<String>::new());
}

#[test]
fn success_has_a_time() {
    let metrics = Metrics::new();
    let before = Timestamp::now().as_second();
    metrics.succeeded();
    let text = metrics.text();
    let value = text
        .lines()
        .find_map(|l| l.strip_prefix("windows_node_operator_last_successful_pass_timestamp_seconds "));
    let value: i64 = value.unwrap().parse().unwrap();
    assert!(
        (before..=Timestamp::now().as_second()).contains(&value),
        "{value}"
    );
}

#[test]
fn a_repaired_pool_of_an_installation_is_not_named() {
    let metrics = Metrics::new();
    let pools = "drift_repairs_total{kind=\"Installation\",field=\"calicoNetwork.ipPools\"}";
    has(&metrics, &format!("{pools} 0"));
    metrics.drift_repaired("Installation", "calicoNetwork.ipPools[10.1.0.0/16].encapsulation");
    has(&metrics, &format!("{pools} 1"));
}

#[test]
fn repairs_and_writes_are_counted_from_zero() {
    let metrics = Metrics::new();
    has(
        &metrics,
        "drift_repairs_total{kind=\"FelixConfiguration\",field=\"vxlanVNI\"} 0",
    );
    metrics.drift_repaired("IPPool", "vxlanMode");
    metrics.drift_repaired("DaemonSet", WHOLE_OBJECT);
    metrics.status_written();
    metrics.node_condition_written();
    has(
        &metrics,
        "drift_repairs_total{kind=\"IPPool\",field=\"vxlanMode\"} 1",
    );
    has(
        &metrics,
        "drift_repairs_total{kind=\"DaemonSet\",field=\"object\"} 1",
    );
    has(&metrics, "status_writes_total 1");
    has(&metrics, "node_condition_writes_total 1");
}

#[test]
fn errors_are_counted_by_class() {
    let metrics = Metrics::new();
    let classes = [
        (400, "invalid"),
        (401, "forbidden"),
        (403, "forbidden"),
        (404, "not_found"),
        (409, "conflict"),
        (410, "invalid"),
        (422, "invalid"),
        (429, "throttled"),
        (500, "server"),
        (503, "server"),
    ];
    for (code, _) in classes {
        metrics.apply_error(&refused(code));
    }
    let not_served = Error::NotServed {
        what: "IPPool a".to_owned(),
    };
    metrics.apply_error(&not_served);
    let broken = kube::Error::ReadEvents(std::io::Error::other("reset"));
    metrics.apply_error(&Error::new("IPPool a", broken));
    for (class, count) in [
        ("conflict", 1),
        ("forbidden", 2),
        ("invalid", 3),
        ("not_found", 2),
        ("throttled", 1),
        ("server", 2),
        ("unreachable", 1),
    ] {
        has(
            &metrics,
            &format!("apply_errors_total{{class=\"{class}\"}} {count}"),
        );
    }
}

#[test]
fn passes_fall_into_buckets() {
    let metrics = Metrics::new();
    metrics.reconciled(Pass::Full, Duration::from_millis(3));
    metrics.reconciled(Pass::Full, Duration::from_secs(90));
    has(
        &metrics,
        "reconcile_duration_seconds_bucket{le=\"0.001\",kind=\"full\"} 0",
    );
    has(
        &metrics,
        "reconcile_duration_seconds_bucket{le=\"0.005\",kind=\"full\"} 1",
    );
    has(
        &metrics,
        "reconcile_duration_seconds_bucket{le=\"+Inf\",kind=\"full\"} 2",
    );
    has(&metrics, "reconcile_duration_seconds_sum{kind=\"full\"} 90.003");
}

#[test]
fn a_watch_is_listed_while_it_runs() {
    let metrics = Metrics::new();
    let age = |topic: &str| {
        let text = metrics.text();
        let line = format!("windows_node_operator_watch_age_seconds{{topic=\"{topic}\"}} ");
        let found: Vec<f64> = text
            .lines()
            .filter_map(|l| l.strip_prefix(&line)?.parse().ok())
            .collect();
        assert!(found.len() < 2, "{found:?}");
        found.first().copied()
    };
    let nodes = metrics.watch("Nodes".to_owned());
    let pods = metrics.watch("Pods".to_owned());
    let blocks = metrics.watch("Blocks".to_owned());
    std::thread::sleep(Duration::from_millis(20));
    nodes.beat();
    assert!(age("Nodes") < age("Blocks"));
    // Stopped and started again: the old one may end later.
    let again = metrics.watch("Pods".to_owned());
    assert!(age("Pods") < age("Blocks"));
    drop((pods, nodes, blocks));
    assert_eq!((age("Nodes"), age("Blocks")), (None, None));
    assert!(age("Pods").is_some());
    drop(again);
    assert_eq!(age("Pods"), None);
}

#[tokio::test]
async fn answers_are_counted_and_are_beats() {
    use axum::http::{Method, Request, Response};
    use kube::Client;
    use kube::client::{Body, ClientBuilder};

    let metrics = Metrics::new();
    let server = tower::service_fn(async |request: Request<Body>| {
        let code: u16 = match request.uri().path() {
            "/lost" => return Err(tower::BoxError::from("lost")),
            path => path.trim_start_matches('/').parse().unwrap(),
        };
        Ok(Response::builder().status(code).body(Body::empty()).unwrap())
    });
    let layer = super::client::Counting {
        metrics: metrics.clone(),
    };
    let client: Client = ClientBuilder::new(server, "default").with_layer(&layer).build();
    let pulse = metrics.watch("Nodes".to_owned());
    let heard = pulse.client(client.clone());
    let begin = *pulse.last();
    for (method, path, beats) in [
        (Method::GET, "/500", false),
        (Method::GET, "/403", false),
        (Method::GET, "/lost", false),
        (Method::GET, "/404", true),
        (Method::PATCH, "/200", true),
    ] {
        let before = *pulse.last();
        let request = Request::builder().method(method).uri(path).body(Body::empty());
        let answer = heard.send(request.unwrap()).await;
        assert_eq!(answer.is_err(), path == "/lost");
        assert_eq!(*pulse.last() > before, beats, "{path}");
    }
    assert!(*pulse.last() > begin);
    let other = Request::builder().method("BREW").uri("/200").body(Body::empty());
    client.send(other.unwrap()).await.unwrap();
    for (method, code) in [
        ("GET", "500"),
        ("GET", "403"),
        ("GET", "404"),
        ("GET", "none"),
        ("PATCH", "200"),
        ("other", "200"),
    ] {
        has(
            &metrics,
            &format!("api_requests_total{{method=\"{method}\",code=\"{code}\"}} 1"),
        );
    }
}
