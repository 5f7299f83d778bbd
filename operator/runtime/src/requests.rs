//! In which order a pass writes what must not be lost, and what deletion requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::{FINALIZER, managers};
use wn_plan::node::NodeUpdate;
use wn_plan::observed::Topic;

use crate::context::{Context, Next};
use crate::fake::{self, Call, Calls, config};
use crate::nodes::writer::Writer;
use crate::reconcile::reconcile;
use crate::report::report;
use crate::uninstall::uninstall;

const CONFIG: &str = "/windowsnodeconfigs/default";
const STATUS: &str = "/windowsnodeconfigs/default/status";

fn vxlan() -> Value {
    json!({"network": {"type": "CalicoVXLAN"}})
}

/// Calico as `calico.yaml` leaves it, as far as IPAM goes.
fn calico(context: &Context) {
    context.see(
        Topic::Definition("felixconfigurations.crd.projectcalico.org"),
        &json!({"metadata": {"name": "felixconfigurations.crd.projectcalico.org"}}),
    );
    let ipam = json!({
        "metadata": {"name": "default", "uid": "i1", "resourceVersion": "9"},
        "spec": {"strictAffinity": false, "autoAllocateBlocks": true},
    });
    context.see(Topic::Calico(ConfigKind::IpamConfiguration), &ipam);
}

/// Stores what is applied to the config, and echoes the rest.
fn store(call: &Call) -> (u16, Value) {
    let mut object = call.body.clone();
    if call.line.contains("/windowsnodeconfigs") {
        let mut status = json!({});
        if let Some(originals) = call.body.pointer("/status/calico/originals") {
            status["calico"] = json!({ "originals": originals });
        }
        let metadata = json!({
            "finalizers": [FINALIZER], "resourceVersion": "6",
            "managedFields": [{"manager": managers::ORIGINALS, "operation": "Apply"}],
        });
        object = config(&metadata, &vxlan(), &status);
    }
    (200, object)
}

fn writes(calls: &Calls) -> Vec<String> {
    let writes = calls.all().into_iter().filter(Call::is_write);
    writes.map(|c| format!("{} {}", c.line, c.manager)).collect()
}

fn is_status(call: &Call) -> bool {
    call.is("PATCH", STATUS) && call.manager == managers::STATUS
}

#[tokio::test]
async fn finalizer_and_originals_stand_before_the_first_write() {
    let (context, calls) = fake::context(store);
    context.see(
        Topic::Config,
        &config(&json!({}), &vxlan(), &json!({"observedGeneration": -1})),
    );
    calico(&context);
    reconcile(&context).await.unwrap();
    let found = writes(&calls);
    assert!(
        found[0].contains(CONFIG) && found[0].ends_with(managers::FINALIZER),
        "{found:?}"
    );
    assert!(
        found[1].contains(STATUS) && found[1].ends_with(managers::ORIGINALS),
        "{found:?}"
    );
    assert!(found[2].contains("/ipamconfigs/default"), "{found:?}");
}

/// The answer to a write is a lost race: the pass ends, and the status that follows knows nothing of originals.
#[tokio::test]
async fn no_status_overwrites_originals() {
    let code = Arc::new(AtomicU16::new(409));
    let answer = code.clone();
    let (context, calls) = fake::context(move |call| match call.line.contains("/ipamconfigs") {
        true => (answer.load(Ordering::Relaxed), call.body.clone()),
        false => store(call),
    });
    context.see(Topic::Config, &config(&json!({}), &vxlan(), &json!({})));
    calico(&context);
    assert!(
        reconcile(&context).await.is_err(),
        "decided on a version that is gone"
    );
    report(&context, Timestamp::now()).await.unwrap();
    assert!(
        !calls.all().iter().any(is_status),
        "nothing is known of this generation yet"
    );

    // Refused for another reason, it is reported, and the originals stay as they are.
    code.store(500, Ordering::Relaxed);
    assert_eq!(reconcile(&context).await.unwrap(), Next::Retry);
    report(&context, Timestamp::now()).await.unwrap();
    let all = calls.all();
    let status = all.iter().find(|c| is_status(c)).unwrap();
    assert_eq!(status.body["status"]["observedGeneration"], 1);
    for call in all.iter().filter(|c| c.manager != managers::ORIGINALS) {
        assert_eq!(call.body.pointer("/status/calico/originals"), None, "{call:?}");
    }
}

/// The user's newer spec is not answered by what came of an older one.
#[tokio::test]
async fn a_generation_is_observed_when_its_plan_was_made() {
    let (context, calls) = fake::context(store);
    context.see(Topic::Config, &config(&json!({}), &vxlan(), &json!({})));
    reconcile(&context).await.unwrap();
    let newer = json!({"generation": 2, "resourceVersion": "7", "finalizers": [FINALIZER]});
    context.see(Topic::Config, &config(&newer, &vxlan(), &json!({})));
    report(&context, Timestamp::now()).await.unwrap();
    let statuses: Vec<_> = calls.all().into_iter().filter(is_status).collect();
    assert_eq!(statuses[0].body["status"]["observedGeneration"], 1);
    let another = json!({"uid": "u2", "resourceVersion": "8"});
    context.see(Topic::Config, &config(&another, &vxlan(), &json!({})));
    report(&context, Timestamp::now()).await.unwrap();
    let after = calls.all().into_iter().filter(is_status).count();
    assert_eq!(after, statuses.len(), "another object of that name");
}

/// A version that wrote all of the status by one manager left originals that the first apply without them would drop.
#[tokio::test]
async fn originals_of_an_earlier_version_are_taken_over_first() {
    let (context, calls) = fake::context(store);
    let original = json!({"kind": "IPPool", "name": "p", "field": "vxlanMode", "previous": "Never", "applied": "Always"});
    let status = json!({"calico": {"originals": [original]}});
    let refused = json!({"network": {"type": "CalicoVXLAN", "apiServer": {"host": "10.96.0.1"}, "serviceCIDRs": ["10.96.0.0"]}});
    context.see(Topic::Config, &config(&json!({}), &refused, &status));
    reconcile(&context).await.unwrap();
    let of_status: Vec<_> = calls
        .all()
        .into_iter()
        .filter(|c| c.is("PATCH", STATUS))
        .collect();
    let by: Vec<_> = of_status.iter().map(|c| c.manager.as_str()).collect();
    assert_eq!(by, [managers::ORIGINALS, managers::STATUS]);
    assert_eq!(of_status[0].body["status"]["calico"]["originals"][0]["name"], "p");
}

/// Without the finalizer nothing else is written, and the status says why.
#[tokio::test]
async fn a_refused_finalizer_stops_all_writes() {
    let (context, calls) = fake::context(|call| match call.manager == managers::FINALIZER {
        true => (403, json!({})),
        false => store(call),
    });
    context.see(Topic::Config, &config(&json!({}), &vxlan(), &json!({})));
    calico(&context);
    assert_eq!(reconcile(&context).await.unwrap(), Next::Retry);
    assert!(
        context.remember(|m| m.outcome.as_ref().unwrap().taint.is_none()),
        "no Node is updated"
    );
    report(&context, Timestamp::now()).await.unwrap();
    let others = calls
        .all()
        .into_iter()
        .filter(|c| c.is_write() && c.manager != managers::FINALIZER);
    let others: Vec<_> = others.collect();
    assert!(others.iter().all(is_status), "{others:?}");
    let ready = &others[0].body["status"]["conditions"][0];
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("Forbidden"))
    );
}

/// A config that is being deleted, since as many minutes.
fn deleted(minutes: i64, spec: &Value) -> Value {
    let since = Timestamp::now() - SignedDuration::from_mins(minutes);
    let metadata = json!({
        "deletionTimestamp": since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "finalizers": ["other/one", FINALIZER],
    });
    config(&metadata, spec, &json!({}))
}

/// Serves the config for the removal of the finalizer; `refuse` picks what is refused.
fn serve(object: Value, refuse: fn(&Call) -> bool) -> impl Fn(&Call) -> (u16, Value) {
    move |call| {
        if refuse(call) {
            (403, json!({}))
        } else if call.line.contains(CONFIG) {
            (200, object.clone())
        } else {
            (200, call.body.clone())
        }
    }
}

fn removal(calls: &Calls) -> Option<Value> {
    let mut all = calls.all().into_iter();
    all.find(|c| c.is("PATCH", CONFIG))
        .map(|c| c.body["metadata"].clone())
}

fn node_of_ours() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "win-0", "resourceVersion": "3", "labels": {"kubernetes.io/os": "windows"}},
        "status": {"conditions": [{"type": "windowsnode.dev/WindowsNetworkReady", "status": "True", "reason": "R", "message": ""}]},
    })
}

#[tokio::test]
async fn the_finalizer_falls_whoever_put_it_there() {
    let object = deleted(0, &vxlan());
    let (context, calls) = fake::context(serve(object.clone(), |_| false));
    context.see(Topic::Config, &object);
    reconcile(&context).await.unwrap();
    let expected = json!({"uid": "u1", "resourceVersion": "5", "finalizers": ["other/one"]});
    assert_eq!(removal(&calls), Some(expected));
}

/// Our own removal of the finalizer ends the object; what the watch still says of it is no news.
#[tokio::test]
async fn an_object_that_is_gone_is_left_alone() {
    for found in [None, Some("u2")] {
        let object = deleted(0, &vxlan());
        let (context, calls) = fake::context(move |call| match (found, call.line.contains(CONFIG)) {
            (None, true) => (404, json!({})),
            (Some(uid), true) => (
                200,
                config(
                    &json!({"uid": uid, "finalizers": [FINALIZER]}),
                    &vxlan(),
                    &json!({}),
                ),
            ),
            (_, false) => (200, call.body.clone()),
        });
        context.see(Topic::Config, &object);
        assert_eq!(reconcile(&context).await.unwrap(), Next::Wait);
        assert_eq!(writes(&calls), Vec::<String>::new());
    }
}

/// Ten minutes of patience for whatever is refused, and then its name.
#[tokio::test]
async fn what_is_refused_is_waited_for_and_then_named() {
    let daemon_set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "calico-node-windows", "namespace": "ours", "labels": {"app.kubernetes.io/managed-by": "windows-node-operator"}},
    });
    for minutes in [1, 11] {
        let object = deleted(minutes, &vxlan());
        let refuse = |call: &Call| call.line.contains("/nodes/") || call.is("DELETE", "/calico-node-windows");
        let (context, calls) = fake::context(serve(object.clone(), refuse));
        context.see(Topic::Config, &object);
        context.see(Topic::DaemonSets, &daemon_set);
        context.see(Topic::Nodes, &node_of_ours());
        let next = reconcile(&context).await.unwrap();
        let tried = |end: &str| calls.all().iter().any(|c| c.is_write() && c.line.ends_with(end));
        assert!(
            tried("/calico-node-windows") && tried("/nodes/win-0/status"),
            "one does not stop the other"
        );
        let events = calls.events();
        if minutes == 1 {
            assert_eq!((next, removal(&calls)), (Next::Retry, None));
            assert_eq!(events, Vec::<String>::new());
            assert!(
                calls
                    .all()
                    .iter()
                    .any(|c| is_status(c) && c.body.to_string().contains("Restoring"))
            );
        } else {
            assert!(removal(&calls).is_some());
            assert_eq!(events.len(), 2, "{events:?}");
            assert!(
                events[0].starts_with("NotRemoved: DaemonSet ours/calico-node-windows: refused"),
                "{events:?}"
            );
            assert!(
                events[1].starts_with("NotRemoved: Node win-0 keeps condition"),
                "{events:?}"
            );
        }
    }
}

/// A DaemonSet that somebody else's finalizer holds is still there: Calico is restored when it is gone, or after ten minutes.
#[tokio::test]
async fn a_daemon_set_that_is_held_is_waited_for() {
    let daemon_set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "calico-node-windows", "namespace": "ours", "labels": {"app.kubernetes.io/managed-by": "windows-node-operator"}},
    });
    for minutes in [1, 11] {
        let object = deleted(minutes, &vxlan());
        let served = serve(object.clone(), |_| false);
        let mut held = daemon_set.clone();
        held["metadata"]["finalizers"] = json!(["backup.example.com/keep"]);
        let (context, calls) = fake::context(move |call| match call.is("DELETE", "/calico-node-windows") {
            true => (200, held.clone()),
            false => served(call),
        });
        context.see(Topic::Config, &object);
        context.see(Topic::DaemonSets, &daemon_set);
        reconcile(&context).await.unwrap();
        let message = if minutes == 1 {
            assert_eq!(removal(&calls), None);
            calls
                .all()
                .iter()
                .filter(|c| is_status(c))
                .map(|c| c.body.to_string())
                .collect::<String>()
        } else {
            assert!(removal(&calls).is_some());
            calls.events().join("\n")
        };
        assert!(
            message.contains("finalizers of others hold it: backup.example.com/keep"),
            "{minutes}: {message}"
        );
    }
}

/// The answer to a write of a taint was lost, and no watch has shown it: the taint is removed nevertheless.
#[tokio::test]
async fn a_taint_whose_answer_was_lost_is_removed() {
    let object = deleted(0, &vxlan());
    let served = serve(object.clone(), |_| false);
    let (context, calls) = fake::context(move |call| match call.line.ends_with("/nodes/win-0") {
        true => (200, node_of_ours()),
        false => served(call),
    });
    context.see(Topic::Config, &object);
    let update = NodeUpdate {
        taint: Some(true),
        ..NodeUpdate::default()
    };
    context.nodes.unanswered_write("win-0", update);
    reconcile(&context).await.unwrap();
    let writes = writes(&calls);
    assert!(
        writes.iter().any(|w| w.contains("/nodes/win-0/status")),
        "{writes:?}"
    );
}

/// Felix cannot be read: after ten minutes each field that it had before is named.
#[tokio::test]
async fn originals_of_what_cannot_be_read_are_named() {
    let original = |kind: &str, field: &str, previous: Value| json!({"kind": kind, "name": "default", "field": field, "previous": previous, "applied": 4096});
    let mut object = deleted(11, &vxlan());
    object["status"] =
        json!({"calico": {"originals": [original("FelixConfiguration", "vxlanVNI", json!(100))]}});
    let (context, calls) = fake::context(serve(object.clone(), |_| false));
    calico(&context);
    context.see(Topic::Config, &object);
    context
        .world
        .unreadable(Topic::Calico(ConfigKind::FelixConfiguration));
    reconcile(&context).await.unwrap();
    assert!(removal(&calls).is_some());
    let events = calls.events();
    assert!(
        events
            .iter()
            .any(|e| e.starts_with("NotRestored") && e.contains("vxlanVNI") && e.contains("100")),
        "{events:?}"
    );
}

/// Rolled back to a version that cannot read the spec: deletion ends all the same, and restores what it can.
#[tokio::test]
async fn an_unreadable_config_is_deleted_all_the_same() {
    let mut object = deleted(0, &json!({"network": {"type": "Newer"}, "mode": "Manage"}));
    let original = |kind: &str, name: &str| json!({"kind": kind, "name": name, "field": "strictAffinity", "previous": false, "applied": true});
    let originals = [
        original("IPAMConfiguration", "default"),
        original("NewerKind", "x"),
    ];
    object["status"] = json!({"calico": {"originals": originals}});
    let (context, calls) = fake::context(serve(object.clone(), |_| false));
    calico(&context);
    let ipam = json!({
        "metadata": {"name": "default", "uid": "i1", "resourceVersion": "10", "managedFields": [
            {"manager": managers::IPAM, "operation": "Apply", "fieldsV1": {"f:spec": {"f:strictAffinity": {}}}},
        ]},
        "spec": {"strictAffinity": true, "autoAllocateBlocks": true},
    });
    context.see(Topic::Calico(ConfigKind::IpamConfiguration), &ipam);
    context.see(Topic::Config, &object);
    reconcile(&context).await.unwrap();
    let all = calls.all();
    let restored = all
        .iter()
        .find(|c| c.line.contains("/ipamconfigs/default"))
        .unwrap();
    assert_eq!(restored.body["spec"]["strictAffinity"], false);
    assert!(removal(&calls).is_some());
    assert!(
        calls
            .events()
            .iter()
            .any(|e| e.starts_with("NotRestored") && e.contains("NewerKind")),
        "{:?}",
        calls.events()
    );
}

/// An unreadable config that is not deleted keeps its originals, and says which field it is.
#[tokio::test]
async fn an_unreadable_config_keeps_its_originals() {
    let (context, calls) = fake::context(store);
    let original = json!({"kind": "IPPool", "name": "p", "field": "vxlanMode", "previous": "Never", "applied": "Always"});
    let status = json!({"calico": {"originals": [original]}});
    context.see(
        Topic::Config,
        &config(&json!({}), &json!({"network": {"type": "Newer"}}), &status),
    );
    reconcile(&context).await.unwrap();
    let all = calls.all();
    assert_eq!(all[0].manager, managers::ORIGINALS);
    assert_eq!(
        all[0].body["status"]["calico"]["originals"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let message = all[1].body["status"]["conditions"][0]["message"]
        .as_str()
        .unwrap();
    assert!(
        message.starts_with("spec.network.type: unknown variant"),
        "{message}"
    );
    assert!(
        all.iter().all(|c| !c.is_write() || c.is("PATCH", STATUS)),
        "{all:?}"
    );
}

/// An update that the API server refuses while all updates are cancelled must not be retried.
#[tokio::test]
async fn an_update_that_was_cancelled_is_not_tried_again() {
    let (context, calls) = fake::context(|_| (500, json!({})));
    let Context {
        world,
        events,
        metrics,
        ..
    } = context;
    let (client, tried) = fake::client(|_| (409, json!({})));
    let writer = Arc::new(Writer::new());
    let running = tokio::spawn(writer.clone().run(client, world, events, metrics));
    let taint = NodeUpdate {
        taint: Some(true),
        ..NodeUpdate::default()
    };
    writer.update("win-0", taint);
    while tried.all().is_empty() {
        tokio::task::yield_now().await;
    }
    writer.clear();
    writer.rest().await;
    let before = tried.all().len();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(tried.all().len(), before);
    running.abort();
    drop(calls);
}

/// The chart's pre-delete hook: nothing of the release goes before the config is gone.
#[tokio::test]
async fn uninstalling_waits_for_the_config() {
    let gone = Arc::new(AtomicU16::new(404));
    for (code, minutes, expected) in [
        (404, 0, None),
        (200, 0, Some("still exists after 0 s, so nothing was uninstalled")),
    ] {
        gone.store(code, Ordering::Relaxed);
        let (answer, object) = (gone.clone(), deleted(minutes, &vxlan()));
        let (client, calls) = fake::client(move |call| match call.is("DELETE", CONFIG) {
            true => (200, object.clone()),
            false => (answer.load(Ordering::Relaxed), object.clone()),
        });
        let done = uninstall(client, Duration::ZERO)
            .await
            .err()
            .map(|e| e.to_string());
        assert_eq!(done.is_some(), expected.is_some(), "{done:?}");
        assert!(done.unwrap_or_default().contains(expected.unwrap_or_default()));
        assert!(calls.all()[0].is("DELETE", CONFIG));
    }
    let (client, calls) = fake::client(|_| (404, json!({})));
    uninstall(client, Duration::ZERO).await.unwrap();
    assert_eq!(calls.all().len(), 1, "there is none");
}
