//! What is written to a Node.

use super::*;

/// The label of a node's group is set and removed, and left alone when it is right.
#[rstest]
#[case(None, None, None)]
#[case(None, Some("no-dsr"), Some(Some("no-dsr")))]
#[case(Some("no-dsr"), Some("no-dsr"), None)]
#[case(Some("no-dsr"), None, Some(None))]
#[case(Some("theirs"), Some("no-dsr"), Some(Some("no-dsr")))]
fn label_of_a_group(
    #[case] stored: Option<&str>,
    #[case] group: Option<&'static str>,
    #[case] expected: Option<Option<&'static str>>,
) {
    let world = works().node(|n| {
        let label = stored.map(|value| ("windowsnode.dev/kube-proxy", value));
        n.labels = n.labels.iter().chain(label).collect();
    });
    let node = &world.observed.nodes[NODE];
    let found = node_update(
        TaintMode::None,
        group,
        node,
        &world.verdict(),
        world.now,
        world.now,
    );
    assert_eq!(found.group, expected);
}

/// What is on a node that is no longer selected is removed, and nothing is written to one that never was.
#[test]
fn a_node_that_is_not_selected_is_left_alone() {
    let unselected =
        |world: World| world.cluster(|c| c.node_selector = [("pool".to_owned(), "canary".to_owned())].into());
    let new = unselected(works().node(|n| n.ready = false));
    assert_eq!(new.found(), (State::NotSelected, vec![]));
    assert_eq!(update_of(&new, TaintMode::Continuous), NodeUpdate::default());
    let known = unselected(saying(works()));
    let leave = NodeUpdate {
        remove_all: true,
        ..NodeUpdate::default()
    };
    assert_eq!(update_of(&known, TaintMode::Continuous), leave);
    let labels = [("kubernetes.io/os", "windows"), ("pool", "canary")];
    assert_eq!(
        unselected(works().node(|n| n.labels = labels.into())).found().0,
        State::Ready
    );
}

#[test]
fn a_condition_is_written_when_it_differs() {
    let fresh = update_of(&works(), TaintMode::None);
    assert!(fresh.news && fresh.condition.as_ref().unwrap().status == "True");
    let known = saying(works());
    assert!(update_of(&known, TaintMode::None).is_empty());
    let broken = update_of(
        &World {
            now: at(4000),
            ..known
        }
        .block(|b| b.exhausted = true),
        TaintMode::None,
    );
    let condition = broken.condition.unwrap();
    assert_eq!(
        (
            condition.status.as_str(),
            condition.reason.as_str(),
            condition.since
        ),
        ("False", "BlockExhausted", Some(at(4000)))
    );
    assert!(broken.news);
}

/// One that an older version wrote has no heartbeat time, and `kubectl describe node` would show the year 1.
#[test]
fn a_heartbeat_is_written_with_a_condition_and_never_alone() {
    let known = saying(works());
    let condition = known.observed.nodes[NODE].condition.clone().unwrap();
    assert_eq!(condition.heartbeat, Some(at(3600)));
    let later = World {
        now: at(9000),
        ..known
    };
    assert!(update_of(&later, TaintMode::None).is_empty());
    let old = later.node(|n| n.condition.as_mut().unwrap().heartbeat = None);
    let update = update_of(&old, TaintMode::None);
    assert_eq!(update.condition.unwrap().heartbeat, Some(at(9000)));
    assert!(!update.news && !update.event);
}

/// The record of the network is written with the condition, without an Event.
#[test]
fn a_network_is_written_down_once() {
    let known = saying(works());
    assert!(update_of(&known, TaintMode::None).is_empty());
    let fresh = known.node(|n| n.network_made = None);
    let update = update_of(&fresh, TaintMode::None);
    assert_eq!(update.network_made.unwrap().vni, 4096);
    assert!(update.condition.is_some() && !update.news && !update.event);
}

#[test]
fn other_words_or_reasons_keep_the_time() {
    let broken = saying(works().block(|b| b.exhausted = true));
    let later = World {
        now: at(4000),
        ..broken
    }
    .node(|n| n.network_unavailable = true)
    .block(|b| b.exhausted = false);
    let update = update_of(&later, TaintMode::None);
    assert_eq!(
        update.condition.unwrap().since,
        Some(at(3600)),
        "the status is still False"
    );
    assert!(update.news);
}

#[rstest]
#[case(TaintMode::None, true, false, None)]
#[case(TaintMode::None, false, false, None)]
#[case(TaintMode::Startup, true, false, Some(true))]
#[case(TaintMode::Startup, false, false, None)]
#[case(TaintMode::Startup, false, true, None)]
#[case(TaintMode::Continuous, true, false, Some(true))]
#[case(TaintMode::Continuous, false, false, Some(true))]
#[case(TaintMode::Continuous, false, true, None)]
fn taints_of_a_node_that_fails(
    #[case] mode: TaintMode,
    #[case] fresh: bool,
    #[case] tainted: bool,
    #[case] expected: Option<bool>,
) {
    let mut node = works().block(|b| b.exhausted = true);
    if !fresh {
        node = saying(node);
    }
    assert_eq!(
        update_of(&node.node(|n| n.tainted = tainted), mode).taint,
        expected
    );
}

#[rstest]
#[case(TaintMode::None, true, Some(false))]
#[case(TaintMode::None, false, None)]
#[case(TaintMode::Startup, false, Some(false))]
#[case(TaintMode::Continuous, true, Some(false))]
fn taints_of_a_node_that_works(#[case] mode: TaintMode, #[case] ours: bool, #[case] expected: Option<bool>) {
    let node = works().node(|n| (n.tainted, n.taint_is_ours) = (true, ours));
    assert_eq!(update_of(&node, mode).taint, expected);
    assert_eq!(update_of(&works(), mode).taint, None);
}
