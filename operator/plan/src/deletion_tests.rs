//! What deletion waits for, when it gives up, and what it names then.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::observed::{ClusterInformation, OwnKind};
use crate::unread::Unread;

fn after(minutes: i64) -> Elapsed {
    Elapsed(SignedDuration::from_mins(minutes))
}

fn config(spec: &Value, originals: &Value) -> Config {
    let mut all = json!({"network": {"type": "CalicoVXLAN"}});
    all.as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    Config::read(&json!({
        "apiVersion": "windowsnode.dev/v1alpha1", "kind": "WindowsNodeConfig", "metadata": {"name": "default"},
        "spec": all, "status": {"calico": {"originals": originals}},
    }))
}

fn original() -> Value {
    json!([{"kind": "IPPool", "name": "p", "field": "vxlanMode", "previous": "Never", "applied": "Always"}])
}

fn notes(news: &[News]) -> Vec<&str> {
    news.iter().map(|n| n.note.as_str()).collect()
}

fn unread() -> Unread {
    Unread {
        objects: "nodes".into(),
        error: "no".into(),
        forbidden: true,
        can_be_lacking: false,
    }
}

#[test]
fn patience_ends_after_ten_minutes() {
    for (minutes, late, race) in [
        (0, false, true),
        (10, false, true),
        (11, true, true),
        (21, true, false),
    ] {
        assert_eq!(
            (after(minutes).is_late(), after(minutes).may_race()),
            (late, race),
            "{minutes}"
        );
    }
}

#[rstest]
#[case::manage("Manage", 0, false, "Undo")]
#[case::observe("Observe", 0, false, "Leave")]
#[case::unreadable_cluster("Manage", 10, true, "Wait")]
#[case::unreadable_for_long("Manage", 11, true, "Undo")]
#[case::observed_for_long("Observe", 11, true, "Leave")]
fn what_comes_first(
    #[case] mode: &str,
    #[case] minutes: i64,
    #[case] is_unread: bool,
    #[case] expected: &str,
) {
    let observed = Observed {
        unread: is_unread.then(unread).into_iter().collect(),
        ..Observed::default()
    };
    let first = first(
        &config(&json!({"mode": mode}), &json!([])),
        &observed,
        after(minutes),
    );
    assert!(format!("{first:?}").starts_with(expected), "{first:?}");
}

#[rstest]
#[case::agents_are_gone("Restore", false, 0, true)]
#[case::an_agent_may_run("Restore", true, 0, false)]
#[case::patience_is_over("Restore", true, 11, true)]
#[case::retained("Retain", false, 11, false)]
fn when_values_are_restored(
    #[case] policy: &str,
    #[case] objects_left: bool,
    #[case] minutes: i64,
    #[case] expected: bool,
) {
    let config = config(&json!({"deletionPolicy": policy}), &original());
    assert_eq!(
        may_restore(config.object(), objects_left, after(minutes)),
        expected
    );
}

#[test]
fn what_an_object_leaves() {
    let object = OwnObject {
        kind: OwnKind::DaemonSet,
        namespace: "ns".into(),
        name: "d".into(),
    };
    assert_eq!(of_object(&object, Ok(&[])), None);
    let held = of_object(&object, Ok(&["a".to_owned(), "b".to_owned()])).unwrap();
    assert!(
        held.waits
            && held
                .message
                .ends_with("DaemonSet ns/d is being deleted, and finalizers of others hold it: a, b")
    );
    let refused = of_object(&object, Err("no".into())).unwrap();
    assert!(!refused.waits);
    assert_eq!(notes(&refused.news), ["no: delete it by hand"]);
}

#[test]
fn nodes_are_named_up_to_a_limit() {
    let failed = |n: usize| (0..n).map(|i| (format!("win-{i:02}"), "no".to_owned())).collect();
    assert_eq!(of_nodes(&failed(0)), None);
    assert_eq!(of_nodes(&failed(50)).unwrap().news.len(), 50);
    let left = of_nodes(&failed(52)).unwrap();
    assert_eq!(left.news.len(), 51);
    assert!(left.news[0].note.contains("kubectl taint node win-00"));
    assert_eq!(
        left.news[50].note,
        "2 more Nodes keep the operator's condition or taint"
    );
}

#[test]
fn nodes_of_ours_and_nodes_without_an_answer_are_cleaned() {
    let mut observed = Observed::default();
    let mut node = |name: &str, tainted: bool, taint_is_ours: bool| {
        let facts = NodeFacts {
            tainted,
            taint_is_ours,
            ..NodeFacts::default()
        };
        observed.nodes.insert(name.to_owned(), facts);
    };
    node("ours", true, true);
    node("theirs", true, false);
    node("plain", false, false);
    let nodes = nodes_to_clean(vec!["lost".to_owned(), "ours".to_owned()], &observed);
    let cleanup = |node: &str| nodes.get(node).map(|m| (m.taint, m.label));
    assert_eq!(cleanup("ours"), Some((true, false)), "what is known counts");
    assert_eq!(cleanup("lost"), Some((true, true)));
    assert_eq!(nodes.len(), 2);
}

#[test]
fn values_wait_while_calico_is_paused() {
    let mut observed = Observed::default();
    observed.calico.definitions = ["felixconfigurations.crd.projectcalico.org".to_owned()].into();
    observed.calico.cluster_information = Some(ClusterInformation::default());
    let restore = |originals: &Value, observed: &Observed| {
        restore(config(&json!({}), originals).object(), observed)
            .waits
            .is_some()
    };
    assert!(restore(&original(), &observed));
    assert!(!restore(&json!([]), &observed), "nothing to restore");
    observed.calico.cluster_information = None;
    assert!(!restore(&original(), &observed), "the pool is gone");
    observed.unread = vec![unread()];
    assert!(restore(&original(), &observed), "the pool may be there");
}

#[rstest]
#[case::all_undone(0, &[], Next::Finish(Vec::new()))]
#[case::waiting(10, &[true], Next::Wait { message: "m".into(), failed: false })]
#[case::one_failed(10, &[true, false], Next::Wait { message: "m".into(), failed: true })]
#[case::late(11, &[false], Next::Finish(vec![News::warning(events::NOT_REMOVED, "n".into())]))]
fn what_follows_a_try(#[case] minutes: i64, #[case] left: &[bool], #[case] expected: Next) {
    let left = left.iter().map(|waits| Remainder {
        waits: *waits,
        ..Remainder::not_removed("m".into(), ["n".to_owned()])
    });
    let config = config(&json!({}), &json!([]));
    assert_eq!(next(&config, left.collect(), after(minutes)), expected);
}

#[test]
fn each_field_and_each_unreadable_entry_is_named() {
    let newer = json!({"kind": "NewerKind", "name": "x", "field": "f", "applied": 1});
    let mut originals = original();
    originals.as_array_mut().unwrap().push(newer);
    let config = config(&json!({}), &originals);
    let left = not_restored(config.object(), &Observed::default(), "why".into(), true);
    let news = finish(&config, vec![left]);
    let notes = notes(&news);
    assert_eq!(
        notes[0],
        "IPPool p spec.vxlanMode could not be restored (why): its original value was Never"
    );
    assert!(notes[1].contains("NewerKind"), "{notes:?}");
    assert!(news.iter().all(|n| n.warning && n.reason == events::NOT_RESTORED));
}
