//! Measures the time for 2,000 policies, 5,000 pods and 5,000 Services without any cache:
//! `cargo run --release -p wn-workloads --example speed`. The goal is 2 seconds.
//!
//! With the argument `live`, memory and time of a live cluster with 20,000 pods on Windows nodes and 100,000 endpoints of
//! EndpointSlices in addition. The goals are 10 MB and 50 ms for a changed policy.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use serde_json::Value;
use wn_workloads::findings;
use wn_workloads::input::{InputError, Manifest, Objects};
use wn_workloads::kinds::KUBERNETES;
use wn_workloads::limits::{self, Known};
use wn_workloads::live::Live;
use wn_workloads::output::Report;
use wn_workloads::release::Release;

const NAMESPACES: usize = 100;
const POLICIES: usize = 2_000;
const PODS: usize = 5_000;
const SERVICES: usize = 5_000;
/// Number of Windows nodes; every second pod is on one of them.
const WINDOWS_NODES: usize = 50;

/// Pods of the live cluster, all on Windows nodes.
const LIVE_PODS: usize = 20_000;
/// Endpoints of each Service of the live cluster.
const ENDPOINTS: usize = 20;

fn main() -> Result<(), InputError> {
    if std::env::args().nth(1).as_deref() == Some("live") {
        live();
        return Ok(());
    }
    let text = cluster();
    let timed = |what: &str, since: Instant| println!("{what}: {} ms", since.elapsed().as_millis());
    let start = Instant::now();
    let objects = Objects::read([Manifest {
        name: "cluster",
        text: &text,
    }])?;
    timed("reading", start);
    let start = Instant::now();
    let found = findings::all(&objects, Release::NEWEST);
    timed("findings", start);
    let start = Instant::now();
    let of_limits = limits::findings(&objects, &Known::default());
    timed("limits of Services and pods", start);
    let start = Instant::now();
    let report = Report::new(&objects, Release::NEWEST);
    timed("report", start);
    println!(
        "{} findings, {} of limits, {} endpoints, {} rules",
        found.len(),
        of_limits.len(),
        report.endpoints.len(),
        report.rules.len()
    );
    Ok(())
}

fn live() {
    let kind = |name: &str| KUBERNETES.iter().find(|kind| kind.kind == name);
    let put = |live: &mut Live, name: &str, text: &str| {
        if let (Some(kind), Ok(object)) = (kind(name), serde_json::from_str::<Value>(text)) {
            live.put(kind, object);
        }
    };
    let begin = resident("RssAnon");
    let mut live = Live::new();
    for text in base() {
        let name = if text.contains("InternalIP") {
            "Node"
        } else {
            "Namespace"
        };
        put(&mut live, name, &text);
    }
    let report = |what: &str| println!("{what}: {} kB", resident("RssAnon").saturating_sub(begin));
    (0..POLICIES).for_each(|i| put(&mut live, "NetworkPolicy", &policy(i)));
    report("with 2,000 policies");
    (0..SERVICES).for_each(|i| put(&mut live, "Service", &service(i)));
    report("with 5,000 Services");
    (0..SERVICES).for_each(|i| put(&mut live, "EndpointSlice", &slice(i)));
    report("with 100,000 endpoints");
    (0..LIVE_PODS).for_each(|i| put(&mut live, "Pod", &pod(i, true)));
    report("with 20,000 pods");
    let mut evaluate = |what: &str, change: &mut dyn FnMut(&mut Live)| {
        change(&mut live);
        let start = Instant::now();
        let is_changed = live.evaluate();
        println!(
            "{what}: {} ms, {} findings, changed: {is_changed}",
            start.elapsed().as_millis(),
            live.findings().len()
        );
    };
    evaluate("everything", &mut |_| {});
    report("then");
    println!("most at any time, with the program: {} kB", resident("VmHWM"));
    for round in 0..3 {
        let changed = policy_with_port(150, 9000 + round);
        evaluate("a policy", &mut |live| put(live, "NetworkPolicy", &changed));
        let changed = pod(12_345, true).replace("\"10.1.", &format!("\"10.{}.", 7 + round));
        evaluate("a pod", &mut |live| put(live, "Pod", &changed));
        let changed = service(77).replace("NodePort", ["ClusterIP", "LoadBalancer", "NodePort"][round % 3]);
        evaluate("a Service", &mut |live| put(live, "Service", &changed));
        evaluate("its endpoints", &mut |live| {
            put(live, "EndpointSlice", &slice(77 + round))
        });
    }
    report("at the end");
}

/// A value of `/proc/self/status` in kB.
fn resident(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}

/// The slice of the Service of a number.
fn slice(i: usize) -> String {
    let (namespace, place) = (i % NAMESPACES, i / NAMESPACES);
    let endpoint = |n: usize| {
        let pod = (i * ENDPOINTS + n) % LIVE_PODS;
        format!(
            r#"{{"addresses":["10.1.{}.{}"],"nodeName":"win-{}","conditions":{{"ready":true,"serving":true,"terminating":false}}}}"#,
            pod / 250,
            pod % 250 + 1,
            pod / 2 % WINDOWS_NODES
        )
    };
    let endpoints: Vec<String> = (0..ENDPOINTS).map(endpoint).collect();
    format!(
        r#"{{"metadata":{{"name":"s{place}-x7k2p","namespace":"n{namespace}","labels":{{"kubernetes.io/service-name":"s{place}"}}}},"ports":[{{"name":"http","port":8080,"protocol":"TCP"}}],"endpoints":[{}]}}"#,
        endpoints.join(",")
    )
}

fn cluster() -> String {
    let mut items = base();
    items.extend((0..PODS).map(|i| pod(i, i.is_multiple_of(2))));
    items.extend((0..SERVICES).map(service));
    items.extend((0..POLICIES).map(policy));
    format!(r#"{{"kind":"List","items":[{}]}}"#, items.join(","))
}

/// Nodes and namespaces.
fn base() -> Vec<String> {
    let mut items = Vec::new();
    for node in 0..WINDOWS_NODES {
        items.push(format!(
            r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"win-{node}","labels":{{"kubernetes.io/os":"windows"}}}},"status":{{"addresses":[{{"type":"InternalIP","address":"10.0.0.{node}"}}]}}}}"#
        ));
    }
    for namespace in 0..NAMESPACES {
        items.push(format!(
            r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"n{namespace}","labels":{{"team":"t{}"}}}}}}"#,
            namespace % 10
        ));
    }
    items
}

fn pod(i: usize, is_on_windows: bool) -> String {
    let node = if is_on_windows {
        format!("win-{}", i / 2 % WINDOWS_NODES)
    } else {
        "linux".to_owned()
    };
    let (namespace, app) = (i % NAMESPACES, i / NAMESPACES % 10);
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a{app}-5d8c7f6b9d-p{i}","namespace":"n{namespace}","labels":{{"app":"a{app}"}},"ownerReferences":[{{"kind":"ReplicaSet","name":"a{app}-5d8c7f6b9d","controller":true}}]}},"spec":{{"nodeName":"{node}","containers":[{{"ports":[{{"name":"http","containerPort":8080}}]}}]}},"status":{{"podIP":"10.1.{}.{}"}}}}"#,
        i / 250,
        i % 250 + 1
    )
}

/// Of 50 Services in a namespace, five select the same pods.
fn service(i: usize) -> String {
    let (namespace, place) = (i % NAMESPACES, i / NAMESPACES);
    format!(
        r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"s{place}","namespace":"n{namespace}"}},"spec":{{"type":"NodePort","selector":{{"app":"a{}"}},"ports":[{{"port":80,"targetPort":"http"}}]}}}}"#,
        place % 10
    )
}

/// Of 20 policies in a namespace, one selects all pods and one has a rule that Windows skips.
fn policy(i: usize) -> String {
    policy_with_port(i, 8000 + i / NAMESPACES)
}

fn policy_with_port(i: usize, port: usize) -> String {
    let (namespace, place) = (i % NAMESPACES, i / NAMESPACES);
    let selector = match place {
        0 => "{}".to_owned(),
        _ => format!(r#"{{"matchLabels":{{"app":"a{}"}}}}"#, place % 10),
    };
    let mut from = format!(
        r#"{{"podSelector":{{"matchLabels":{{"app":"a{}"}}}}}}"#,
        (place + 1) % 10
    );
    match place {
        1 => from = r#"{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.9.0.0/16"]}}"#.to_owned(),
        2 => {
            let _ = write!(
                from,
                r#",{{"namespaceSelector":{{"matchLabels":{{"team":"t{}"}}}}}}"#,
                namespace % 10
            );
        }
        _ => {}
    }
    format!(
        r#"{{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{{"name":"k{place}","namespace":"n{namespace}"}},"spec":{{"podSelector":{selector},"policyTypes":["Ingress"],"ingress":[{{"from":[{from}],"ports":[{{"port":{port}}}]}}]}}}}"#
    )
}
