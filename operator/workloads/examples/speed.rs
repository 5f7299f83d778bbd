//! Measures the time for 2,000 policies, 5,000 pods and 5,000 Services without any cache:
//! `cargo run --release -p wn-workloads --example speed`. The goal is 2 seconds.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::fmt::Write as _;
use std::time::Instant;

use wn_workloads::findings;
use wn_workloads::input::{InputError, Manifest, Objects};
use wn_workloads::limits::{self, Known};
use wn_workloads::output::Report;
use wn_workloads::release::Release;

const NAMESPACES: usize = 100;
const POLICIES: usize = 2_000;
const PODS: usize = 5_000;
const SERVICES: usize = 5_000;
/// Number of Windows nodes; every second pod is on one of them.
const WINDOWS_NODES: usize = 50;

fn main() -> Result<(), InputError> {
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

fn cluster() -> String {
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
    items.extend((0..PODS).map(pod));
    items.extend((0..SERVICES).map(service));
    items.extend((0..POLICIES).map(policy));
    format!(r#"{{"kind":"List","items":[{}]}}"#, items.join(","))
}

fn pod(i: usize) -> String {
    let node = if i.is_multiple_of(2) {
        format!("win-{}", i / 2 % WINDOWS_NODES)
    } else {
        "linux".to_owned()
    };
    let (namespace, app) = (i % NAMESPACES, i / NAMESPACES % 10);
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{i}","namespace":"n{namespace}","labels":{{"app":"a{app}"}}}},"spec":{{"nodeName":"{node}","containers":[{{"ports":[{{"name":"http","containerPort":8080}}]}}]}},"status":{{"podIP":"10.1.{}.{}"}}}}"#,
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
        r#"{{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{{"name":"k{place}","namespace":"n{namespace}"}},"spec":{{"podSelector":{selector},"policyTypes":["Ingress"],"ingress":[{{"from":[{from}],"ports":[{{"port":{}}}]}}]}}}}"#,
        8000 + place
    )
}
