//! An API server of few words, for tests of what is requested, and in what order.

use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};
use serde_json::{Value, json};
use wn_api::calico::CalicoApi;
use wn_plan::observed::Topic;

use crate::apis::Apis;
use crate::context::Context;
use crate::events::Events;
use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::nodes::writer::Writer;
use crate::workloads::Findings;
use crate::world::World;

/// A request that was made.
#[derive(Clone, Debug)]
pub struct Call {
    /// Method and path, e.g. `PATCH /api/v1/nodes/n`.
    pub line: String,
    /// Field manager.
    pub manager: String,
    pub body: Value,
}

impl Call {
    pub fn is(&self, method: &str, end: &str) -> bool {
        self.line.starts_with(method) && self.line.ends_with(end)
    }

    pub fn is_write(&self) -> bool {
        !self.line.starts_with("GET")
    }
}

/// What was requested so far.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    /// All but Events and the question for the version.
    pub fn all(&self) -> Vec<Call> {
        let about = |c: &&Call| !c.line.ends_with("/events") && !c.line.contains("/version");
        self.0.lock().unwrap().iter().filter(about).cloned().collect()
    }

    /// Reason and note of each Event.
    pub fn events(&self) -> Vec<String> {
        let calls = self.0.lock().unwrap();
        let events = calls.iter().filter(|c| c.is("POST", "/events"));
        let text = |c: &Call, f: &str| c.body[f].as_str().unwrap_or_default().to_owned();
        events
            .map(|c| format!("{}: {}", text(c, "reason"), text(c, "note")))
            .collect()
    }
}

/// A client whose requests `answer` answers, with a code and an object.
pub fn client(answer: impl Fn(&Call) -> (u16, Value) + Send + Sync + 'static) -> (Client, Calls) {
    let calls = Calls::default();
    let (answer, log) = (Arc::new(answer), calls.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (answer, log) = (answer.clone(), log.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let query = parts.uri.query().unwrap_or_default();
            let manager = query.split('&').find_map(|p| p.strip_prefix("fieldManager="));
            let call = Call {
                line: format!("{} {}", parts.method, parts.uri.path()),
                manager: manager.unwrap_or_default().replace("%2F", "/"),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            };
            let (code, object) = answer(&call);
            log.0.lock().unwrap().push(call);
            let object = if code < 400 { object } else { refusal(code) };
            let answer = Response::builder().status(code);
            Ok::<_, tower::BoxError>(answer.body(Body::from(object.to_string().into_bytes()))?)
        }
    });
    (Client::new(service, "ours"), calls)
}

fn refusal(code: u16) -> Value {
    let reason = if code == 404 { "NotFound" } else { "Refused" };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "refused"})
}

/// A context over such a client. Nothing is watched; what is known is what a test puts into `world`.
pub fn context(answer: impl Fn(&Call) -> (u16, Value) + Send + Sync + 'static) -> (Context, Calls) {
    let (client, calls) = client(answer);
    let mut apis = Apis::new(client.clone(), "ours");
    apis.calico = Some(CalicoApi::V1);
    let metrics = Metrics::new();
    let context = Context {
        apis,
        events: Arc::new(Events::new(client, "test")),
        findings: Findings::new(&metrics),
        metrics,
        nodes: Arc::new(Writer::new()),
        leadership: Leadership::alone(),
        memory: Mutex::default(),
        world: Arc::new(World::new("ours")),
    };
    (context, calls)
}

/// A `WindowsNodeConfig` as stored, with these fields of `metadata` besides.
pub fn config(metadata: &Value, spec: &Value, status: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "windowsnode.dev/v1alpha1", "kind": "WindowsNodeConfig",
        "metadata": {"name": "default", "uid": "u1", "generation": 1, "resourceVersion": "5"},
        "spec": spec, "status": status,
    });
    for (field, value) in metadata.as_object().into_iter().flatten() {
        object["metadata"][field] = value.clone();
    }
    object
}

impl Context {
    /// As if a watch had brought it.
    pub fn see(&self, topic: Topic, object: &Value) {
        self.world.put(topic, object);
    }
}

/// Cases that failed are kept beside their test, and tried first.
pub fn kept() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}
