use super::*;
use axum::http::{Request, Response};
use kube::Client;
use kube::api::ApiResource;
use kube::client::Body;
use kube::core::DynamicResourceScope;
use tower::BoxError;

use crate::apis::Apis;
use crate::topics::label;
use crate::watch::parsed::Nodes;

#[tokio::test]
async fn trying_is_no_sign_of_life() {
    let deaf = tower::service_fn(async |_: Request<Body>| {
        Err::<Response<Body>, BoxError>(BoxError::from("no answer"))
    });
    let apis = Apis::new(Client::new(deaf, "default"), "operator");
    let metrics = Metrics::new();
    let pulse = metrics.watch(label(Topic::Nodes));
    let api = apis
        .api_through::<Parsed<Nodes>>(pulse.client(apis.client()), Topic::Nodes)
        .unwrap();
    let world = Arc::new(World::new("operator"));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let feed = Feed::new(api, ToWorld::new(Topic::Nodes, &world), &metrics, pulse.clone());
    let tries = feed.for_ever();
    assert!(
        tokio::time::timeout(Duration::from_millis(20), tries)
            .await
            .is_err()
    );
    let text = metrics.text();
    let age = text
        .lines()
        .filter(|l| l.contains("watch_age"))
        .find_map(|l| l.rsplit_once("{topic=\"Nodes\"} "))
        .unwrap()
        .1;
    assert!(age.parse::<f64>().unwrap() > 0.05, "heard of {age} s ago");
}

fn answer(code: u16, body: &serde_json::Value) -> Response<Body> {
    let body = Body::from(body.to_string().into_bytes());
    Response::builder().status(code).body(body).unwrap()
}

/// A panic, of a reader say, ends neither the watch nor its series.
#[tokio::test]
async fn a_watch_that_panics_is_started_again() {
    let tries = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = tries.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let list = serde_json::json!({
            "kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
            "items": [{"metadata": {"name": "a", "resourceVersion": "1"}}],
        });
        async move { Ok::<_, std::convert::Infallible>(answer(200, &list)) }
    });

    /// An object that nobody can take in.
    #[derive(Clone, Debug, serde::Deserialize)]
    struct Poison(DynamicObject);
    impl Resource for Poison {
        type DynamicType = ApiResource;
        type Scope = DynamicResourceScope;
        fn kind(r: &ApiResource) -> std::borrow::Cow<'_, str> {
            DynamicObject::kind(r)
        }
        fn group(r: &ApiResource) -> std::borrow::Cow<'_, str> {
            DynamicObject::group(r)
        }
        fn version(r: &ApiResource) -> std::borrow::Cow<'_, str> {
            DynamicObject::version(r)
        }
        fn plural(r: &ApiResource) -> std::borrow::Cow<'_, str> {
            DynamicObject::plural(r)
        }
        fn meta(&self) -> &kube::core::ObjectMeta {
            self.0.meta()
        }
        fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
            self.0.meta_mut()
        }
    }
    impl Incoming for Poison {
        fn put(self, _: Origin, _: Topic, _: &World) {
            panic!("poisoned");
        }
    }

    let apis = Apis::new(Client::new(service, "default"), "operator");
    let metrics = Metrics::new();
    let pulse = metrics.watch(label(Topic::Nodes));
    let api = apis.api_through::<Poison>(apis.client(), Topic::Nodes).unwrap();
    let world = Arc::new(World::new("operator"));
    let feed = Feed::new(api, ToWorld::new(Topic::Nodes, &world), &metrics, pulse.clone());
    let _ = tokio::time::timeout(Duration::from_millis(1500), feed.for_ever()).await;
    assert!(
        tries.load(std::sync::atomic::Ordering::Relaxed) >= 2,
        "it lists again"
    );
    let text = metrics.text();
    let restarts = "windows_node_operator_watch_restarts_total{topic=\"Nodes\"} ";
    let counted = text.lines().find_map(|l| l.strip_prefix(restarts)).unwrap();
    assert!(counted.parse::<u32>().unwrap() >= 1, "{counted}");
}

/// The requests of a watch that cannot be resumed: `list` and `watch`, in order.
async fn requests_after(cannot_resume: Option<u16>) -> Vec<&'static str> {
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
        notes.lock().unwrap().push(if watch { "watch" } else { "list" });
        let list = serde_json::json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": []});
        let failure = serde_json::json!({"kind": "Status", "status": "Failure", "message": "no", "code": cannot_resume});
        let answer = match (watch, cannot_resume) {
            (false, _) => Ok(answer(200, &list)),
            (true, Some(code)) => Ok(answer(code, &failure)),
            (true, None) => Err(BoxError::from("connection refused")),
        };
        async move { answer }
    });
    let apis = Apis::new(Client::new(service, "default"), "operator");
    let metrics = Metrics::new();
    let pulse = metrics.watch(label(Topic::Nodes));
    let api = apis
        .api_through::<Parsed<Nodes>>(apis.client(), Topic::Nodes)
        .unwrap();
    let world = Arc::new(World::new("operator"));
    let feed = Feed::new(api, ToWorld::new(Topic::Nodes, &world), &metrics, pulse);
    let three = async {
        while asked.lock().unwrap().len() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = feed.for_ever() => {}
        () = three => {}
        () = tokio::time::sleep(Duration::from_secs(10)) => {}
    }
    let asked = asked.lock().unwrap();
    asked.iter().take(3).copied().collect()
}

#[tokio::test]
async fn everything_is_listed_anew_when_no_api_server_answered() {
    for (cannot_resume, expected) in [
        (None, ["list", "watch", "list"]),
        (Some(503), ["list", "watch", "list"]),
        (Some(500), ["list", "watch", "watch"]),
        (Some(429), ["list", "watch", "watch"]),
    ] {
        assert_eq!(requests_after(cannot_resume).await, expected, "{cannot_resume:?}");
    }
}

/// The right to a watch that went well is taken away, and comes back.
#[tokio::test]
async fn a_watch_that_is_refused_later_is_reported() {
    let allowed = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let allows = allowed.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let list = serde_json::json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []});
        let refused =
            serde_json::json!({"kind": "Status", "status": "Failure", "message": "no", "code": 403});
        let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
        let answer = match allows.load(std::sync::atomic::Ordering::Relaxed) && !watch {
            true => answer(200, &list),
            false => answer(403, &refused),
        };
        async move { Ok::<_, std::convert::Infallible>(answer) }
    });
    let apis = Apis::new(Client::new(service, "default"), "operator");
    let metrics = Metrics::new();
    let pulse = metrics.watch(label(Topic::Nodes));
    let api = apis
        .api_through::<Parsed<Nodes>>(pulse.client(apis.client()), Topic::Nodes)
        .unwrap();
    let world = Arc::new(World::new("operator"));
    world.want([Topic::Nodes].into());
    let mut feed = Feed::new(api, ToWorld::new(Topic::Nodes, &world), &metrics, pulse.clone());
    feed.patience = Duration::from_millis(100);
    let is_reported = async |expected: bool| {
        while world.read(|o| o.unread.iter().any(|u| u.forbidden)) != expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let checks = async {
        while !world.is_listed(Topic::Nodes) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        allowed.store(false, std::sync::atomic::Ordering::Relaxed);
        is_reported(true).await;
        allowed.store(true, std::sync::atomic::Ordering::Relaxed);
        is_reported(false).await;
    };
    tokio::select! {
        () = feed.for_ever() => {}
        done = tokio::time::timeout(Duration::from_mins(1), checks) => done.expect("it is reported in time"),
    }
}

#[test]
fn objects_are_named_as_in_a_role() {
    for (url, name) in [
        ("/api/v1/nodes", "nodes"),
        ("/api/v1/namespaces/kube-system/configmaps", "configmaps"),
        ("/apis/apps/v1/deployments", "deployments.apps"),
    ] {
        assert_eq!(objects(url), name);
    }
}
