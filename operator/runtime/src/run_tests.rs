//! The loop against an API server that does not let it read everything.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use axum::http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;

/// What the loop wrote: path and body.
type Writes = Arc<Mutex<Vec<(String, Value)>>>;

fn config(deleted: Option<Timestamp>) -> Value {
    json!({
        "apiVersion": "windowsnode.dev/v1alpha1",
        "kind": "WindowsNodeConfig",
        "metadata": {
            "name": "default", "uid": "u", "generation": 1, "resourceVersion": "1",
            "finalizers": deleted.map(|_| [wn_api::names::FINALIZER]),
            "deletionTimestamp": deleted.map(|at| at.to_string()),
        },
        "spec": {"network": {"type": "CalicoVXLAN"}},
    })
}

/// An API server that has the config and nothing else, and forbids to list some resources.
fn server(config: Value, forbidden: &'static [&'static str]) -> (Client, Writes) {
    let writes = Writes::default();
    let written = writes.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (config, written) = (config.clone(), written.clone());
        async move {
            let path = request.uri().path().to_owned();
            let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
            let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
            let status = |code: u16, reason: &str| {
                let message = format!("{resource} is {reason}");
                json!({"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code})
            };
            let (code, body) = match *request.method() {
                Method::GET if watch => std::future::pending().await,
                Method::GET if path == "/version" => {
                    (200, json!({"major": "1", "minor": "33", "gitVersion": "v1.33.4"}))
                }
                Method::GET if path.ends_with("/windowsnodeconfigs/default") => (200, config),
                Method::GET if forbidden.contains(&resource.as_str()) => (403, status(403, "Forbidden")),
                Method::GET => {
                    let items = if resource == "windowsnodeconfigs" {
                        vec![config]
                    } else {
                        Vec::new()
                    };
                    (
                        200,
                        json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}),
                    )
                }
                _ => {
                    let bytes = request.into_body().collect_bytes().await.unwrap();
                    let body: Value = serde_json::from_slice(&bytes).unwrap();
                    let mut stored = config;
                    stored["status"] = body["status"].clone();
                    stored["metadata"]["resourceVersion"] = "2".into();
                    let answer = if path.contains("windowsnodeconfigs") {
                        stored
                    } else {
                        body.clone()
                    };
                    written
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((path, body));
                    (200, answer)
                }
            };
            let answer = Response::builder().status(code);
            Ok::<_, Infallible>(answer.body(Body::from(body.to_string().into_bytes())).unwrap())
        }
    });
    (Client::new(service, "operator"), writes)
}

async fn run_against(client: Client, enough: impl Fn() -> bool) {
    run_with(Leadership::alone(), client, enough).await;
}

async fn run_with(leadership: Arc<Leadership>, client: Client, enough: impl Fn() -> bool) {
    let world = Arc::new(World::new("operator"));
    let metrics = Metrics::new();
    let context = Context {
        apis: Apis::new(client.clone(), "operator"),
        events: Arc::new(Events::new(client, "test")),
        findings: Findings::new(&metrics),
        metrics,
        nodes: Arc::new(Writer::new()),
        leadership,
        memory: Mutex::default(),
        world,
    };
    let enough = async {
        while !enough() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = reconcile_for_ever(context, Workloads::new(true)) => {}
        done = tokio::time::timeout(Duration::from_secs(30), enough) => done.expect("it came to pass"),
    }
}

fn of(writes: &Writes, path: &str) -> Option<Value> {
    let writes = writes.lock().unwrap_or_else(PoisonError::into_inner);
    let found = writes.iter().rev().find(|(written, _)| written.ends_with(path));
    found.map(|(_, body)| body.clone())
}

#[tokio::test]
async fn what_decisions_need_is_named_and_nothing_else_is_written() {
    let (client, writes) = server(config(None), &["nodes", "deployments"]);
    run_against(client, || {
        of(&writes, "/windowsnodeconfigs/default/status").is_some()
    })
    .await;
    let status = of(&writes, "/windowsnodeconfigs/default/status").unwrap();
    let ready = &status["status"]["conditions"][0];
    assert_eq!(
        (&ready["type"], &ready["reason"]),
        (&json!("Ready"), &json!("ReadForbidden"))
    );
    let message = ready["message"].as_str().unwrap();
    assert!(
        message.contains("nodes cannot be read: grant get, list and watch"),
        "{message}"
    );
    let writes = writes.lock().unwrap();
    let others: Vec<_> = writes
        .iter()
        .map(|(path, _)| path)
        .filter(|path| !path.ends_with("/status") && !path.ends_with("/events"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test]
async fn what_decisions_can_do_without_is_only_named() {
    let (client, writes) = server(config(None), &["deployments"]);
    run_against(client, || {
        of(&writes, "/windowsnodeconfigs/default/status").is_some()
    })
    .await;
    let status = of(&writes, "/windowsnodeconfigs/default/status").unwrap();
    assert!(
        status.to_string().contains("deployments.apps cannot be read"),
        "{status}"
    );
    let ready = &status["status"]["conditions"][0];
    assert_ne!(ready["reason"], "ReadForbidden", "{status}");
}

/// Somebody who deletes the config wants it gone, whatever cannot be read any more.
#[tokio::test]
async fn deletion_ends_although_nothing_can_be_read() {
    let long_ago = Timestamp::now() - jiff::SignedDuration::from_mins(11);
    let (client, writes) = server(config(Some(long_ago)), &["nodes", "daemonsets", "configmaps"]);
    run_against(client, || of(&writes, "/windowsnodeconfigs/default").is_some()).await;
    let removed = of(&writes, "/windowsnodeconfigs/default").unwrap();
    assert!(
        !removed.to_string().contains(wn_api::names::FINALIZER),
        "{removed}"
    );
}

/// A replica that stands by has watched everything when its turn comes.
#[tokio::test]
async fn a_replica_that_stands_by_writes_nothing_until_it_leads() {
    let (client, writes) = server(config(None), &[]);
    let leadership = Arc::<Leadership>::default();
    let begun = Instant::now();
    let pause = Duration::from_millis(500);
    run_with(leadership.clone(), client, || {
        if begun.elapsed() < pause {
            assert!(writes.lock().unwrap().is_empty(), "stands by");
        } else if leadership.term().is_none() {
            leadership.lead_for(Duration::from_hours(1));
        }
        of(&writes, "/windowsnodeconfigs/default/status").is_some()
    })
    .await;
}
