use super::*;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wn_workloads::kinds::KUBERNETES;

use crate::events::Events;
use crate::fake::{self, Calls};
use crate::metrics::Metrics;
use wn_plan::lint::Published;

fn kind(name: &str) -> usize {
    KUBERNETES.iter().position(|kind| kind.kind == name).unwrap()
}

fn deployment(name: &str, host_network: bool) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {
                "os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "hostNetwork": host_network,
                "containers": [{"name": "c", "image": "registry.example.com/app:1"}],
            },
        }},
    })
}

struct Running {
    changes: mpsc::Sender<Change>,
    findings: Arc<Findings>,
    calls: Calls,
    _judge: tokio::task::JoinSet<()>,
}

/// A judge of Kubernetes' kinds. Each object of the API server has uid `u1`; `event` answers the creation of Events.
fn judge(event: u16) -> Running {
    let (client, calls) = fake::client(move |call| {
        let items = json!([{"metadata": {"name": "web", "namespace": "shop", "uid": "u1"}}]);
        match call.is_write() {
            true => (event, call.body.clone()),
            false => (
                200,
                json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}),
            ),
        }
    });
    let findings = Findings::new(&Metrics::new());
    let events = Arc::new(Events::new(client.clone(), "test"));
    let announcer = Announcer::new(client, events, None, Published::default());
    let (changes, received) = mpsc::channel(8);
    let judge = Judge::new(
        KUBERNETES.iter().collect(),
        Release::NEWEST,
        "operator",
        findings.clone(),
    );
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(judge.run(received, announcer));
    Running {
        changes,
        findings,
        calls,
        _judge: tasks,
    }
}

impl Running {
    async fn send(&self, change: Change) {
        self.changes.send(change).await.unwrap();
    }

    /// Every kind but this one is listed, with no objects but the Deployments that are known.
    async fn list_all_but(&self, left_out: &str) {
        for (position, kind) in KUBERNETES.iter().enumerate() {
            let keep = (kind.kind == "Deployment").then(|| ("shop".to_owned(), "web".to_owned()));
            if kind.kind != left_out {
                self.send(Change::Listed(position, keep.into_iter().collect()))
                    .await;
            }
        }
    }

    async fn summary(&self) -> Option<String> {
        self.findings.changed().await;
        let latest = self.findings.latest();
        latest.report().map(|report| report.status.summary.clone())
    }
}

#[tokio::test]
async fn reports_when_every_kind_is_listed_and_follows_changes() {
    let running = judge(201);
    running
        .send(Change::Put(kind("Deployment"), deployment("web", true)))
        .await;
    running
        .send(Change::Put(kind("Deployment"), deployment("gone", true)))
        .await;
    running.list_all_but("Pod").await;
    let early = tokio::time::timeout(LONGEST + PAUSE, running.summary()).await;
    assert!(early.is_err(), "reported without pods: {early:?}");
    running.send(Change::Listed(kind("Pod"), BTreeSet::new())).await;
    // `gone` is not in the list.
    assert_eq!(running.summary().await.as_deref(), Some("1 Error"));
    running
        .send(Change::Put(kind("Deployment"), deployment("web", false)))
        .await;
    assert_eq!(running.summary().await.as_deref(), Some("none"));
    let events = running.calls.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(
        events[0].starts_with("UnsupportedOnWindows: WN4001: "),
        "{events:?}"
    );
}

/// The Event exists already, as after a restart: it is not tried again.
#[tokio::test]
async fn an_event_that_exists_is_not_created_again() {
    let running = judge(409);
    running
        .send(Change::Put(kind("Deployment"), deployment("web", true)))
        .await;
    running.list_all_but("").await;
    assert_eq!(running.summary().await.as_deref(), Some("1 Error"));
    running
        .send(Change::Put(kind("Deployment"), deployment("web", true)))
        .await;
    tokio::time::sleep(PAUSE * 3).await;
    assert_eq!(running.calls.events().len(), 1);
}

#[tokio::test]
async fn a_forbidden_kind_is_named_and_stops_nothing() {
    let running = judge(201);
    running
        .send(Change::Put(kind("Deployment"), deployment("web", true)))
        .await;
    running.list_all_but("Pod").await;
    for _ in 0..TRIES {
        let unread = Unread {
            objects: "pods".into(),
            error: "no".into(),
            forbidden: true,
            can_be_lacking: true,
        };
        running.send(Change::Failed(kind("Pod"), unread)).await;
    }
    assert_eq!(running.summary().await.as_deref(), Some("1 Error"));
    let latest = running.findings.latest();
    assert_eq!(latest.report().unwrap().status.unread_kinds, ["pods"]);
    running.send(Change::Listed(kind("Pod"), BTreeSet::new())).await;
    running.findings.changed().await;
    assert!(
        running
            .findings
            .latest()
            .report()
            .unwrap()
            .status
            .unread_kinds
            .is_empty()
    );
}

#[test]
fn changes_are_collected_for_a_while() {
    let mut debounce = Debounce::default();
    let began = Instant::now();
    assert_eq!(debounce.due(), None);
    debounce.change(began);
    assert_eq!(debounce.due(), Some(began + PAUSE));
    for tenth in 1..20 {
        debounce.change(began + Duration::from_millis(100 * tenth));
    }
    assert_eq!(debounce.due(), Some(began + LONGEST));
}
