//! Each limit, in a cluster that runs into it and in one that does not.

mod components;
mod felix;
mod ipam;
mod nodes;
mod pools;

use std::collections::BTreeSet;

use serde_json::json;
use wn_api::calico::DEFAULT;
use wn_api::component::Component;
use wn_api::names::ADVISORY_LIMIT;
use wn_api::spec::NetworkType;
use wn_api::status::Severity;
use wn_plan::advice::{self, Advisory};
use wn_plan::observed::{BlockFacts, DaemonSetFacts, Misplaced, NatChange};

use crate::common::*;

/// Nothing to say about it.
fn quiet() -> Cluster {
    let mut c = Cluster::vxlan();
    c.update(
        POOL,
        DEFAULT_POOL,
        CALICO,
        pool("10.244.0.0/16", "Never", "Always"),
    );
    c
}

fn advisories(cluster: &Cluster) -> Vec<Advisory> {
    advice::advise(&cluster.config().spec, &cluster.observed)
}

fn felix(fields: serde_json::Value) -> Cluster {
    let mut c = quiet();
    c.update(FELIX, DEFAULT, "kubectl-edit", fields);
    c
}

fn another_pool(fields: serde_json::Value) -> Cluster {
    let mut c = quiet();
    let mut spec = pool("10.9.0.0/16", "Never", "Always");
    for (field, value) in fields.as_object().unwrap() {
        spec[field] = value.clone();
    }
    c.update(POOL, "another", "kubectl-edit", spec);
    c
}

/// A pool of so many blocks.
fn blocks_for(nodes: u32) -> Cluster {
    let mut c = quiet();
    c.delete(POOL, DEFAULT_POOL);
    let length = 26 - nodes.ilog2();
    c.update(
        POOL,
        "small",
        CALICO,
        pool(&format!("10.9.0.0/{length}"), "Never", "Always"),
    );
    c
}

const OF_LINUX: &str = "kubernetes.io/os == 'linux'";

fn with(edit: impl FnOnce(&mut Cluster)) -> Cluster {
    let mut c = quiet();
    edit(&mut c);
    c
}

fn foreign_proxy(tag: &str, args: &[&str]) -> Cluster {
    with(|c| {
        let facts = DaemonSetFacts::read(&json!({"spec": {"template": {"spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [{"image": format!("example/kube-proxy:{tag}"), "args": args}],
        }}}}));
        let place = ("kube-system".into(), "theirs".into());
        c.observed.daemon_sets.insert(place, facts.unwrap());
    })
}

fn rke2(arguments: &str, kernel: &str) -> Cluster {
    windows_node_with(|n| {
        *n = wn_plan::observed::NodeFacts::read(&json!({
            "metadata": {
                "labels": {"kubernetes.io/os": "windows"}, "annotations": {"rke2.io/node-args": arguments},
            },
            "status": {"nodeInfo": {"kernelVersion": kernel, "kubeletVersion": "v1.36.3+rke2r1"}},
        }));
    })
}

fn windows_node_with(edit: impl FnOnce(&mut wn_plan::observed::NodeFacts)) -> Cluster {
    with(|c| edit(c.observed.nodes.get_mut("win-0").unwrap()))
}

fn block(node: &str, edit: impl FnOnce(&mut BlockFacts)) -> Cluster {
    with(|c| {
        let mut facts = BlockFacts {
            cidr: "10.244.7.0/26".parse().ok(),
            host: node.to_owned(),
            reserved: true,
            ..BlockFacts::default()
        };
        edit(&mut facts);
        c.observed
            .calico
            .blocks
            .insert((String::new(), "10-244-7-0-26".into()), facts);
    })
}

fn reserved(node: &str, cidrs: &[&str]) -> Cluster {
    let mut c = block(node, |_| {});
    let nets = cidrs.iter().map(|cidr| cidr.parse().unwrap()).collect();
    c.observed.calico.reservations.insert("held".into(), nets);
    c
}

fn nat_change(oldest: i64) -> Cluster {
    let mut c = block("win-0", |b| b.oldest = Some(at(oldest)));
    let pool = c
        .observed
        .calico
        .objects
        .get_mut(&(POOL, DEFAULT_POOL.to_owned()));
    pool.unwrap().nat_change = Some(Box::new(NatChange {
        at: at(100),
        by: "kubectl-edit".into(),
    }));
    c
}

fn calico(version: &str) -> Cluster {
    with(|c| {
        let information = c.observed.calico.cluster_information.as_mut();
        information.unwrap().calico_version = version.into();
    })
}

fn agent(version: &str) -> Cluster {
    let mut c = quiet();
    let facts = DaemonSetFacts {
        component: Component::NodeAgent,
        of_installation: false,
        ours: false,
        desired: 1,
        updated: 1,
        ready: 1,
        max_unavailable: None,
        current: true,
        created: None,
        version: version.parse().ok(),
        dsr: None,
    };
    c.observed
        .daemon_sets
        .insert(("calico-system".into(), "calico-node-windows".into()), facts);
    c
}

fn of_type(network: &str, mut cluster: Cluster) -> Cluster {
    cluster.edit_spec(|s| {
        s.network.type_ = *NetworkType::ALL.iter().find(|t| t.as_str() == network).unwrap();
    });
    cluster
}

fn single_network(single: bool) -> Cluster {
    let mut cluster = quiet();
    cluster.edit_spec(|s| s.node_agent.use_single_network = Some(single));
    cluster
}

fn spread(tolerant: bool, guarded: bool) -> Cluster {
    let mut c = windows_node_with(|n| n.guarded = guarded);
    c.observed
        .anywhere
        .insert(("monitoring".into(), "exporter".into()), tolerant);
    c
}

fn installation(spec: serde_json::Value) -> Cluster {
    with(|c| {
        let object = json!({ "spec": { "calicoNetwork": spec } });
        c.observed.installation = Some(wn_plan::observed::InstallationFacts::read(&object));
    })
}

fn advertised(edit: impl FnOnce(&mut wn_plan::observed::BgpFacts)) -> Cluster {
    with(|c| edit(&mut c.observed.bgp))
}

fn endpoint(node: &str) -> Cluster {
    with(|c| {
        c.observed.linux.insert("linux-0".into(), Default::default());
        c.observed
            .calico
            .host_endpoints
            .insert("eth0".into(), node.into());
    })
}

/// A rule, clusters that run into it with object and field of the hit, and clusters that do not.
type Case = (
    &'static str,
    Vec<(Cluster, &'static str, &'static str)>,
    Vec<Cluster>,
);

const DEFAULT_FELIX: &str = "FelixConfiguration default";
const NODES: &str = "Windows nodes";

fn table() -> Vec<Case> {
    let tables = [
        felix::table(),
        pools::table(),
        ipam::table(),
        nodes::table(),
        components::table(),
    ];
    tables.into_iter().flatten().collect()
}

#[test]
fn a_quiet_cluster_has_none() {
    assert_eq!(advisories(&quiet()), vec![]);
}

#[test]
fn each_rule_hits_where_it_should_and_nowhere_else() {
    for (code, hits, others) in table() {
        for (cluster, object, field) in hits {
            let found = advisories(&cluster);
            let of_rule: Vec<_> = found.iter().filter(|a| a.code == code).collect();
            assert_eq!(of_rule.len(), 1, "{code} {object} {field}: {found:#?}");
            let places: Vec<_> = of_rule
                .iter()
                .map(|a| (a.object.as_str(), a.field.unwrap_or_default()))
                .collect();
            assert_eq!(places, [(object, field)], "{code}");
        }
        for (i, cluster) in others.iter().enumerate() {
            let found = advisories(cluster);
            assert!(found.iter().all(|a| a.code != code), "{code} in {i}: {found:#?}");
        }
    }
}

#[test]
fn every_rule_is_whole_and_in_the_table() {
    let mut codes = BTreeSet::new();
    for rule in advice::rules() {
        assert!(codes.insert(rule.code), "{} twice", rule.code);
        let number = rule.code.strip_prefix("WN1").unwrap();
        assert!(
            number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()),
            "{}",
            rule.code
        );
        for text in [rule.title, rule.limit, rule.reads, rule.fix, rule.source] {
            assert!(
                !text.is_empty() && !text.contains("  "),
                "{}: {text:?}",
                rule.code
            );
        }
        assert!(rule.limit.ends_with('.'), "{}: a sentence", rule.code);
        assert!(
            !rule.title.ends_with('.') && !rule.fix.ends_with('.'),
            "{}",
            rule.code
        );
        assert!(rule.fix.starts_with(char::is_lowercase), "{}", rule.code);
    }
    let tested: BTreeSet<_> = table().into_iter().map(|(code, ..)| code).collect();
    // Those of platforms have a table of their own.
    let of_calico: BTreeSet<_> = codes.into_iter().filter(|c| *c < "WN1100").collect();
    assert_eq!(of_calico, tested);
}

/// Many at once: the gravest first, each with what to do, and Ready does not suffer.
fn troubled() -> Cluster {
    let mut c = felix(json!({"wireguardEnabled": true, "ipv6Support": true, "healthPort": 9199}));
    c.observed.calico.auto_host_endpoints = true;
    c
}

#[test]
fn the_gravest_come_first() {
    let found = advisories(&troubled());
    let codes: Vec<_> = found.iter().map(|a| a.code).collect();
    assert_eq!(codes, ["WN1012", "WN1001", "WN1061", "WN1004"]);
    assert_eq!(advice::summary(&found), "1 Error, 2 Warning, 1 Info");
    insta::assert_yaml_snapshot!("troubled", advice::status(&found));
}

#[test]
fn no_advisory_is_a_reason_not_to_be_ready() {
    let ready = |cluster: &mut Cluster| {
        cluster.pass();
        cluster.roll_out();
        cluster.pass();
        let status = cluster.config().status.clone().unwrap();
        let of = |t: &str| {
            let found = status.conditions.iter().find(|c| c.type_ == t).unwrap();
            (found.status.clone(), found.reason.clone(), found.message.clone())
        };
        (of("Ready"), of("Stalled"), of("Advisories"))
    };
    let (good, bad) = (ready(&mut quiet()), ready(&mut troubled()));
    assert_eq!((&good.0, &good.1), (&bad.0, &bad.1));
    assert_eq!(good.0.0, "True");
    assert_eq!(
        good.2,
        ("False".to_owned(), "AsExpected".to_owned(), "none".to_owned())
    );
    assert_eq!(
        bad.2,
        (
            "True".to_owned(),
            "AdvisoriesFound".to_owned(),
            "1 Error, 2 Warning, 1 Info: see status.advisories".to_owned()
        )
    );
}

#[test]
fn the_list_is_bounded_and_counts_the_rest() {
    let mut c = quiet();
    for i in 0..ADVISORY_LIMIT + 7 {
        let spec = json!({"cidr": format!("fd00:{i}::/48"), "nodeSelector": "all()"});
        c.update(POOL, &format!("v6-{i:02}"), CALICO, spec);
    }
    let status = advice::status(&advisories(&c));
    assert_eq!((status.list.len(), status.omitted), (ADVISORY_LIMIT, 7));
    assert_eq!(status.summary, "57 Warning");
    assert!(serde_json::to_string(&status).unwrap().len() < 40_000);
}

#[test]
fn news_is_what_was_not_there_before() {
    let of = |c: &Cluster| advice::status(&advisories(c));
    let (none, all) = (of(&quiet()), of(&troubled()));
    let (note, is_warning) = advice::news(None, &all).unwrap();
    assert!(
        is_warning && note.starts_with("WN1012 FelixConfiguration default: "),
        "{note}"
    );
    assert!(note.ends_with("and WN1004: see status.advisories"), "{note}");
    assert_eq!(advice::news(Some(&none), &all), advice::news(None, &all));
    // A restart finds its own words in the status.
    assert_eq!(advice::news(Some(&all), &all), None);
    assert_eq!(advice::news(Some(&all), &none), None);
    // One more of thousands is not reported again.
    let mut more = endpoint("win-0");
    let one = of(&more);
    more.observed
        .calico
        .host_endpoints
        .insert("eth1".into(), "win-0".into());
    assert_ne!(one, of(&more));
    assert_eq!(advice::news(Some(&one), &of(&more)), None);
    let mut warned = all.clone();
    warned.list.retain(|a| a.severity != Severity::Warning);
    let (note, is_warning) = advice::news(Some(&warned), &all).unwrap();
    assert!(
        !is_warning && note.contains("WN1001") && !note.contains("WN1012"),
        "{note}"
    );
}

/// The fields of a block's or a node's facts that rules read must wake the plan.
#[test]
fn what_rules_read_of_a_block_bears_on_the_plan() {
    let block = BlockFacts {
        cidr: "10.244.7.0/26".parse().ok(),
        oldest: Some(at(50)),
        ..BlockFacts::default()
    };
    let changes = [("10.244.0.0/16".parse().unwrap(), at(100))];
    let younger = BlockFacts {
        oldest: Some(at(101)),
        ..block.clone()
    };
    assert_ne!(block.of_plan(&changes), younger.of_plan(&changes));
    assert_eq!(
        block.of_plan(&[]),
        younger.of_plan(&[]),
        "pods come and go and mean nothing"
    );
    let foreign = BlockFacts {
        foreign: true,
        ..block.clone()
    };
    assert_ne!(block.of_plan(&[]), foreign.of_plan(&[]));
}
