//! Pools that serve no Windows node are never touched, whatever their selectors and the nodes' labels are.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use wn_plan::observed::NodeFacts;

use crate::common::*;

type Labels = BTreeMap<&'static str, &'static str>;

/// Names of labels, among them names that fields of API objects have.
const KEYS: [&str; 10] = [
    "env",
    "args",
    "images",
    "command",
    "volumes",
    "managedFields",
    "zone",
    "in",
    "not",
    "example.com/a-b_c.d",
];
const VALUES: [&str; 6] = ["", "prod", "pro", "windows", "it is \"so\"", "a && b"];

/// A selector as Calico documents it.
#[derive(Clone, Debug)]
enum Selector {
    All,
    Global,
    Has(&'static str),
    Is(&'static str, &'static str),
    IsNot(&'static str, &'static str),
    In(&'static str, Vec<&'static str>),
    NotIn(&'static str, Vec<&'static str>),
    Contains(&'static str, &'static str),
    StartsWith(&'static str, &'static str),
    EndsWith(&'static str, &'static str),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

impl Selector {
    fn matches(&self, labels: &Labels) -> bool {
        let value = |key: &str| labels.get(key).copied();
        match self {
            Self::All | Self::Global => true,
            Self::Has(key) => labels.contains_key(key),
            Self::Is(key, text) => value(key) == Some(text),
            Self::IsNot(key, text) => value(key) != Some(text),
            Self::In(key, set) => value(key).is_some_and(|v| set.contains(&v)),
            Self::NotIn(key, set) => !value(key).is_some_and(|v| set.contains(&v)),
            Self::Contains(key, text) => value(key).is_some_and(|v| v.contains(text)),
            Self::StartsWith(key, text) => value(key).is_some_and(|v| v.starts_with(text)),
            Self::EndsWith(key, text) => value(key).is_some_and(|v| v.ends_with(text)),
            Self::Not(inner) => !inner.matches(labels),
            Self::And(all) => all.iter().all(|s| s.matches(labels)),
            Self::Or(any) => any.iter().any(|s| s.matches(labels)),
        }
    }

    fn text(&self) -> String {
        let quoted = |v: &str| {
            if v.contains('"') {
                format!("'{v}'")
            } else {
                format!("\"{v}\"")
            }
        };
        let set = |set: &[&str]| set.iter().map(|v| quoted(v)).collect::<Vec<_>>().join(", ");
        let joined = |list: &[Self], by: &str| {
            list.iter()
                .map(|s| format!("({})", s.text()))
                .collect::<Vec<_>>()
                .join(by)
        };
        match self {
            Self::All => "all()".into(),
            Self::Global => "global()".into(),
            Self::Has(key) => format!("has({key})"),
            Self::Is(key, text) => format!("{key} == {}", quoted(text)),
            Self::IsNot(key, text) => format!("{key}!={}", quoted(text)),
            Self::In(key, values) => format!("{key} in {{{}}}", set(values)),
            Self::NotIn(key, values) => format!("{key} not in {{ {} }}", set(values)),
            Self::Contains(key, text) => format!("{key} contains {}", quoted(text)),
            Self::StartsWith(key, text) => format!("{key} starts with {}", quoted(text)),
            Self::EndsWith(key, text) => format!("{key} ends\twith {}", quoted(text)),
            // Binds closer than && and ||, so that only those need parentheses.
            Self::Not(inner) => match inner.as_ref() {
                Self::And(_) | Self::Or(_) => format!("!({})", inner.text()),
                _ => format!("! {}", inner.text()),
            },
            Self::And(all) => joined(all, " && "),
            Self::Or(any) => joined(any, "||"),
        }
    }
}

fn selectors() -> impl Strategy<Value = Selector> {
    let pair = || (select(KEYS.to_vec()), select(VALUES.to_vec()));
    let set = || {
        (
            select(KEYS.to_vec()),
            prop::collection::vec(select(VALUES.to_vec()), 0..3),
        )
    };
    let leaf = prop_oneof![
        1 => Just(Selector::All),
        1 => Just(Selector::Global),
        3 => select(KEYS.to_vec()).prop_map(Selector::Has),
        3 => pair().prop_map(|(k, v)| Selector::Is(k, v)),
        2 => pair().prop_map(|(k, v)| Selector::IsNot(k, v)),
        2 => set().prop_map(|(k, v)| Selector::In(k, v)),
        2 => set().prop_map(|(k, v)| Selector::NotIn(k, v)),
        1 => pair().prop_map(|(k, v)| Selector::Contains(k, v)),
        1 => pair().prop_map(|(k, v)| Selector::StartsWith(k, v)),
        1 => pair().prop_map(|(k, v)| Selector::EndsWith(k, v)),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|s| Selector::Not(Box::new(s))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(Selector::And),
            prop::collection::vec(inner, 1..3).prop_map(Selector::Or),
        ]
    })
}

fn labels() -> impl Strategy<Value = Labels> {
    prop::collection::btree_map(select(KEYS.to_vec()), select(VALUES.to_vec()), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..kept() })]

    #[test]
    fn a_pool_that_serves_no_windows_node_is_not_touched(
        nodes in prop::collection::vec(labels(), 1..3),
        linux in labels(),
        pools in prop::collection::vec(selectors(), 1..4),
    ) {
        let mut cluster = Cluster::vxlan();
        cluster.delete(POOL, DEFAULT_POOL);
        cluster.observed.nodes = nodes
            .iter()
            .enumerate()
            .map(|(i, labels)| (format!("win-{i}"), NodeFacts::read(&json!({"metadata": {"labels": labels}}))))
            .collect();
        cluster.observed.linux.get_mut("linux-0").unwrap().labels = linux.into_iter().collect();
        for (i, selector) in pools.iter().enumerate() {
            let mut spec = pool(&format!("10.{i}.0.0/16"), "Always", "Never");
            spec["nodeSelector"] = json!(selector.text());
            cluster.update(POOL, &format!("pool-{i}"), CALICO, spec);
        }
        cluster.pass();
        for (i, selector) in pools.iter().enumerate() {
            let name = format!("pool-{i}");
            let serves = nodes.iter().any(|labels| selector.matches(labels));
            let modes = ["ipipMode", "vxlanMode"].map(|field| cluster.field(POOL, &name, field));
            let expected = if serves { ["Never", "Always"] } else { ["Always", "Never"] };
            prop_assert_eq!(modes, expected.map(|mode| json!(mode)), "{}", selector.text());
            let kept = cluster.originals().iter().any(|o| o.name == name);
            prop_assert_eq!(kept, serves, "{}", selector.text());
        }
    }
}
