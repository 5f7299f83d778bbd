//! Looks at the pods that Events say have no sandbox: such an Event may come from anybody, so it counts only while its
//! pod confirms it (`wn_plan::observed::failures`).
//!
//! Namespaces take turns, so that Events of one tenant do not keep those of the others waiting.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::{Api, DynamicObject};
use tracing::debug;
use wn_plan::observed::{Key, SandboxFailure, Topic};

use crate::apis::Apis;
use crate::lease::Leadership;
use crate::world::World;

/// Between two requests: ten pods a second, whatever Events there are.
const GAP: Duration = Duration::from_millis(100);
/// How long a pod that confirmed a claim, or could not be read, is not read again: its failure ends that soon after it runs.
const AGAIN: Duration = Duration::from_secs(10);

/// When what was looked at last; times are those of the monotonic clock.
#[derive(Default)]
struct Turns {
    namespaces: BTreeMap<String, Instant>,
    failures: BTreeMap<Key, Instant>,
}

impl Turns {
    /// The failure whose turn it is, or how long to wait for the next one; `None` when there is none at all.
    fn next(&mut self, world: &World, now: Instant) -> Option<Result<(Key, SandboxFailure), Duration>> {
        let known = |failures: &BTreeMap<Key, Instant>, key: &Key| failures.get(key).copied();
        let (found, waits) = world.read(|o| {
            let claimed = o.claims.iter().filter(|(_, f)| o.nodes.contains_key(&f.node));
            let all: Vec<_> = claimed.chain(o.failures.iter()).collect();
            self.failures
                .retain(|key, _| o.claims.contains_key(key) || o.failures.get(key).is_some());
            let due = |key: &Key| known(&self.failures, key).map_or(now, |at| at + AGAIN);
            let waits = all.iter().map(|(key, _)| due(key)).min();
            let found = all
                .into_iter()
                .filter(|(key, _)| due(key) <= now)
                .min_by_key(|(key, f)| {
                    let namespace = self.namespaces.get(f.pod_key().0);
                    (namespace.copied(), known(&self.failures, key), (*key).clone())
                })
                .map(|(key, f)| (key.clone(), f.clone()));
            (found, waits)
        });
        let Some((key, failure)) = found else {
            self.namespaces.clear();
            return Some(Err(waits?.duration_since(now)));
        };
        self.failures.insert(key.clone(), now);
        self.namespaces.insert(failure.pod_key().0.to_owned(), now);
        Some(Ok((key, failure)))
    }
}

/// Decides on every claim, and again and again on what was borne out, for ever; a replica that stands by asks nothing.
pub async fn verify(apis: Apis, world: Arc<World>, leadership: Arc<Leadership>) {
    let mut turns = Turns::default();
    let mut term = leadership.subscribe();
    loop {
        if term.wait_for(Option::is_some).await.is_err() {
            return;
        }
        match turns.next(&world, Instant::now()) {
            Some(Ok((key, failure))) => {
                if let Some(borne_out) = look(&apis, &failure).await {
                    world.take_evidence(&key, &failure, borne_out);
                }
                tokio::time::sleep(GAP).await;
            }
            Some(Err(pause)) => {
                let _ = tokio::time::timeout(pause, world.claimed()).await;
            }
            None => world.claimed().await,
        }
    }
}

/// Does the pod confirm it? `None` if that is unknown now.
async fn look(apis: &Apis, failure: &SandboxFailure) -> Option<bool> {
    let (namespace, name) = failure.pod_key();
    let resource = apis.resource(Topic::Pods)?;
    let api: Api<DynamicObject> = Api::namespaced_with(apis.client(), namespace, &resource);
    match api.get_opt(name).await {
        Ok(None) => Some(false),
        Ok(Some(pod)) => Some(failure.is_borne_out_by(&serde_json::to_value(pod).ok()?)),
        Err(error) => {
            debug!(pod = failure.pod, %error, "a pod that an Event names cannot be read");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};
    use std::convert::Infallible;

    fn event(namespace: &str, pod: &str, last: &str) -> Value {
        json!({
            "metadata": {"namespace": namespace, "name": pod, "resourceVersion": "1"},
            "reason": "FailedCreatePodSandBox",
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": pod, "uid": "u"},
            "source": {"component": "kubelet", "host": "win-0"},
            "lastTimestamp": last,
        })
    }

    fn world() -> Arc<World> {
        let world = World::new("operator");
        world.put(
            Topic::Nodes,
            &json!({"metadata": {"name": "win-0", "resourceVersion": "1"}}),
        );
        Arc::new(world)
    }

    fn now() -> String {
        jiff::Timestamp::now().to_string()
    }

    /// An API server that has one pod, `a/real`, bound to win-0.
    fn apis(runs: bool) -> Apis {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let running = json!([{"state": {"running": {}}}]);
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"namespace": "a", "name": "real", "uid": "u"},
                "spec": {"nodeName": "win-0"},
                "status": {"containerStatuses": if runs { running } else { json!([]) }},
            });
            let missing = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
            let (code, body) = match request.uri().path() {
                "/api/v1/namespaces/a/pods/real" => (200, pod),
                _ => (404, missing),
            };
            let answer = Response::builder()
                .status(code)
                .body(Body::from(body.to_string().into_bytes()));
            Ok::<_, Infallible>(answer.unwrap())
        });
        Apis::new(Client::new(service, "default"), "operator")
    }

    async fn believed(events: &[Value], runs: bool) -> Vec<String> {
        let world = world();
        events.iter().for_each(|e| world.put(Topic::Failures, e));
        assert_eq!(
            world.read(|o| o.failures.values().count()),
            0,
            "a claim counts for nothing"
        );
        let verifying = verify(apis(runs), world.clone(), Leadership::alone());
        let _ = tokio::time::timeout(GAP * 4, verifying).await;
        assert!(world.read(|o| o.claims.is_empty()), "each was decided on");
        world.read(|o| o.failures.values().map(|f| f.pod.clone()).collect())
    }

    #[tokio::test]
    async fn an_event_counts_that_its_pod_bears_out() {
        let events = [event("a", "real", &now()), event("b", "forged", &now())];
        assert_eq!(believed(&events, false).await, ["a/real"]);
        assert_eq!(believed(&events, true).await, Vec::<String>::new());
    }

    /// However many Events one namespace has, the next one's turn comes.
    #[test]
    fn namespaces_take_turns() {
        let world = world();
        for i in 0..50 {
            world.put(Topic::Failures, &event("a", &format!("forged-{i}"), &now()));
        }
        world.put(Topic::Failures, &event("b", "real", &now()));
        let mut turns = Turns::default();
        let start = Instant::now();
        let mut next = |i: u64| turns.next(&world, start + GAP * u32::try_from(i).unwrap());
        let first: Vec<_> = (0..2).map(|i| next(i).unwrap().unwrap().1.pod).collect();
        assert!(first.contains(&"b/real".to_owned()), "{first:?}");
    }

    /// What was proven is looked at again, and is over when the pod runs.
    #[tokio::test]
    async fn a_failure_ends_when_the_pod_runs() {
        let world = world();
        world.put(Topic::Failures, &event("a", "real", &now()));
        let proven = verify(apis(false), world.clone(), Leadership::alone());
        let _ = tokio::time::timeout(GAP, proven).await;
        assert_eq!(world.read(|o| o.failures.values().count()), 1);
        let later = verify(apis(true), world.clone(), Leadership::alone());
        let _ = tokio::time::timeout(GAP, later).await;
        assert_eq!(world.read(|o| o.failures.values().count()), 0);
    }
}
