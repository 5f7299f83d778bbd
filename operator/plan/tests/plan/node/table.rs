//! The verdicts of all nodes, over time.

use super::*;

/// No message ends in a full stop, every one says what to do, and the table has no empty cell.
#[test]
fn the_table_is_complete() {
    for reason in R::ALL {
        let entry = reason.entry();
        for text in [entry.meaning, entry.evidence, entry.fix, entry.source] {
            assert!(!text.is_empty() && !text.contains("  "), "{reason}: {text:?}");
        }
        assert!(
            entry.meaning.ends_with('.') && !entry.fix.ends_with('.'),
            "{reason}"
        );
    }
}

#[test]
fn the_table_tells_changes_and_times() {
    let mut table = Table::default();
    let world = works();
    let first = table.judge(NODE, &world.observed, &world.cluster, world.now);
    assert_eq!((first.was, first.changed), (None, true));
    assert!(
        !table
            .judge(NODE, &world.observed, &world.cluster, world.now)
            .changed,
        "nothing new"
    );
    let starting = works().pod(Component::NodeAgent, |p| {
        (p.ready, p.started) = (false, Some(at(3590)))
    });
    assert_eq!(
        judged(&starting, &mut table),
        Some((State::Progressing, Some(R::AgentNotReady)))
    );
    assert_eq!(
        (table.next(), table.due(at(3659)), table.due(at(3660))),
        (Some(at(3660)), vec![], vec![NODE.to_owned()])
    );
    let late = World {
        now: at(3660),
        ..starting
    };
    assert_eq!(
        judged(&late, &mut table),
        Some((State::Failing, Some(R::AgentNotReady)))
    );
    assert_eq!(
        table.get(NODE).unwrap().since,
        at(3600),
        "since when, not since when it counts"
    );
    assert_eq!(table.next(), None);
    let gone = table.judge(NODE, &Observed::default(), &late.cluster, at(3700));
    assert_eq!((gone.verdict, table.iter().count()), (None, 0));
}

/// A restart is no news: the start time is read from the Node's condition.
#[test]
fn a_new_table_remembers_by_the_nodes_condition() {
    let node = json!({"status": {"conditions": [{"type": "windowsnode.dev/WindowsNetworkReady", "status": "False",
        "reason": "BlockExhausted", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let condition = NodeFacts::read(&node).condition;
    let world = works()
        .block(|b| b.exhausted = true)
        .node(|n| n.condition = condition);
    let mut table = Table::default();
    judged(&world, &mut table);
    assert_eq!(
        table.get(NODE).unwrap().since,
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap()
    );
}

/// One change to the facts of a node.
fn step() -> impl Strategy<Value = usize> {
    0..STEPS.len()
}

const STEPS: &[fn(World) -> World] = &[
    |w| w.node(|n| n.network_unavailable = true),
    |w| w.node(|n| n.kernel_version = "10.0.26100.1".into()),
    |w| w.node(|n| n.tunnel_address = "1.2.3.4".into()),
    |w| w.node(|n| (n.ready, n.silent) = (false, true)),
    |w| w.pod(Component::NodeAgent, |p| p.ready = false),
    |w| {
        w.pod(Component::KubeProxy, |p| {
            (p.ready, p.trouble) = (false, trouble("CrashLoopBackOff", "source-vip flag not set"))
        })
    },
    |w| w.block(|b| b.reserved = false),
    |w| w.block(|b| b.exhausted = true),
    |w| w.fails("timeout acquiring mutex", 3599),
    |w| w.fails("connection is unauthorized: Unauthorized", 3500),
    |w| w.node(|n| n.rebooted = Some(at(3500))),
];

proptest! {
    #![proptest_config(kept())]

    /// However the facts arrive, and however often the node is judged in between, the end is the same.
    #[test]
    fn the_order_of_events_does_not_matter(steps in prop::collection::hash_set(step(), 0..STEPS.len()), seed in any::<u64>()) {
        let mut shuffled: Vec<_> = steps.iter().copied().collect();
        shuffled.sort_by_key(|i| (*i as u64 + 1).wrapping_mul(seed | 1));
        let run = |order: Vec<usize>| {
            let mut table = Table::default();
            let mut world = works();
            for i in order {
                world = STEPS[i](world);
                judged(&world, &mut table);
            }
            (judged(&world, &mut table), world.found())
        };
        let sorted: Vec<_> = { let mut s: Vec<_> = steps.into_iter().collect(); s.sort_unstable(); s };
        let (one, other) = (run(sorted), run(shuffled));
        prop_assert_eq!(one, other);
    }

    /// Total: a verdict on whatever a node may say, with a state that fits its findings.
    #[test]
    fn there_is_always_a_verdict(kernel in ".{0,20}", runtime in ".{0,20}", kubelet in ".{0,12}", tunnel in ".{0,12}",
            asn in ".{0,8}", message in ".{0,60}", ready: bool, now in -10_000_i64..10_000) {
        let node = works().fails(&message, 0).at(now).node(|n| {
            (n.kernel_version, n.container_runtime, n.kubelet_version) = (kernel, runtime, kubelet);
            (n.tunnel_address, n.as_number, n.ready) = (tunnel, asn, ready);
        });
        let verdict = node.verdict();
        prop_assert_eq!(verdict.state == State::Ready, verdict.findings.iter().all(|f| f.weight == Weight::Advice));
        prop_assert!(verdict.recheck.is_none_or(|at| at > node.now));
        prop_assert!(verdict.findings.iter().all(|f| f.message.len() < 1000));
    }
}

/// 5000 nodes with the longest names, all failing, all listed that may be.
#[rstest]
#[case("")]
#[case("nodeListLimit: 500")]
fn the_status_stays_small(#[case] yaml: &str) {
    let mut cluster = Cluster::vxlan();
    if !yaml.is_empty() {
        cluster = cluster.with_spec(yaml);
    }
    cluster.observed.nodes = (0..5000)
        .map(|i| {
            (
                format!("{i:0>63}"),
                NodeFacts {
                    kernel_version: "10.0.17763.100".into(),
                    ..windows_node()
                },
            )
        })
        .collect();
    let names: Vec<_> = cluster.observed.nodes.keys().cloned().collect();
    for name in names {
        cluster.observed.failures.insert(
            key(&name),
            SandboxFailure {
                node: name.clone(),
                pod: format!("default/{name}"),
                uid: "u".into(),
                message: "\"x\"".repeat(60),
                last: cluster.now + SignedDuration::from_secs(1),
            },
        );
    }
    cluster.pass();
    let status = cluster.config().status.clone().unwrap();
    let size = serde_json::to_string(&status).unwrap().len();
    assert!(size < 200_000, "{size} bytes");
    let nodes = status.nodes.unwrap();
    assert_eq!((nodes.total, nodes.failing), (5000, 5000));
    assert_eq!(usize::try_from(nodes.omitted).unwrap() + nodes.list.len(), 5000);
    assert!(nodes.list.len() >= 50, "{}", nodes.list.len());
}
