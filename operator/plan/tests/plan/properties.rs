//! What must hold of every cluster, not only of those somebody thought of.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use wn_api::calico::{CalicoApi, ConfigKind, DEFAULT};
use wn_api::spec::NetworkType;
use wn_api::status::Original;
use wn_plan::calico::Action;
use wn_plan::observed::ConfigObject;

use crate::common::*;

/// How a field came to be: by a plain update, a known reconciler's update, or a server-side apply.
#[derive(Clone, Debug)]
struct Writer {
    manager: &'static str,
    applied: bool,
}

fn writer() -> impl Strategy<Value = Writer> {
    let writer = |manager, applied| Just(Writer { manager, applied });
    prop_oneof![
        6 => writer(CALICO, false),
        1 => writer("kubectl-edit", false),
        1 => writer("operator", false),
        1 => writer("argocd-controller", true),
    ]
}

#[derive(Clone, Debug)]
struct Pool {
    spec: Value,
    writer: Writer,
    /// Who wrote the modes last; `None`: who wrote the rest.
    modes: Option<Writer>,
    tigera: bool,
    used: bool,
}

fn optional(field: &'static str, values: Vec<Value>) -> impl Strategy<Value = Map<String, Value>> {
    let values: Vec<_> = values.into_iter().map(Some).chain([None]).collect();
    select(values).prop_map(move |v| v.map(|v| (field.to_owned(), v)).into_iter().collect())
}

fn pools() -> impl Strategy<Value = Vec<Pool>> {
    let modes = || vec![json!("Always"), json!("CrossSubnet"), json!("Never"), json!("")];
    let fields = (
        optional("ipipMode", modes()),
        optional("vxlanMode", modes()),
        optional("disabled", vec![json!(true), json!(false)]),
        optional("blockSize", vec![json!(26), json!(29), json!(30)]),
        optional(
            "nodeSelector",
            vec![
                json!("all()"),
                json!("kubernetes.io/os == 'linux'"),
                json!("!all()"),
                json!("?"),
            ],
        ),
        optional(
            "allowedUses",
            vec![json!(["Workload", "Tunnel"]), json!(["Tunnel"]), json!([])],
        ),
    );
    let pool = (
        fields,
        writer(),
        proptest::option::weighted(0.3, writer()),
        prop::bool::weighted(0.15),
        any::<bool>(),
    );
    let pool = pool.prop_map(|((a, b, c, d, e, f), writer, modes, tigera, used)| {
        let spec = Value::Object([a, b, c, d, e, f].into_iter().flatten().collect());
        Pool {
            spec,
            writer,
            modes,
            tigera,
            used,
        }
    });
    prop::collection::vec(pool, 0..4)
}

type Object = Option<(Map<String, Value>, Writer)>;

fn ipam() -> impl Strategy<Value = Object> {
    let spec = any::<(bool, bool)>().prop_map(|(strict, auto)| {
        Map::from_iter([
            ("strictAffinity".to_owned(), json!(strict)),
            ("autoAllocateBlocks".to_owned(), json!(auto)),
        ])
    });
    proptest::option::weighted(0.8, (spec, writer()))
}

fn felix() -> impl Strategy<Value = Object> {
    let bools = || vec![json!(true), json!(false)];
    let spec = (
        optional("ipipEnabled", bools()),
        optional("vxlanEnabled", bools()),
        optional("vxlanVNI", vec![json!(1), json!(4096), json!(5000)]),
        optional("vxlanPort", vec![json!(4789), json!(8472)]),
        optional("logSeverityScreen", vec![json!("Info")]),
    );
    let spec = spec.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect());
    proptest::option::weighted(0.8, (spec, writer()))
}

fn specs() -> impl Strategy<Value = String> {
    let one_of = |choices: &[&'static str]| select(choices.to_vec());
    (
        one_of(&["CalicoVXLAN", "CalicoBGP"]),
        one_of(&["Enforce", "Enforce", "Report"]),
        one_of(&["Enforce", "Enforce", "Enforce", "Report"]),
        one_of(&["Hold", "Migrate"]),
        one_of(&["Report", "Force"]),
        one_of(&["Auto", "Managed", "External"]),
        one_of(&["Manage", "Manage", "Manage", "Observe"]),
    )
        .prop_map(|(network, affinity, policy, in_use, conflicts, management, mode)| {
            format!(
                "{{mode: {mode}, network: {{type: {network}}}, networkAgent: {{image: {{repository: x/agent, tag: t}}}}, nodeAgent: {{management: {management}}}, calico: {{strictAffinity: \
                 {affinity}, conflicts: {conflicts}, encapsulation: {{policy: {policy}, whenInUse: {in_use}}}}}}}"
            )
        })
}

fn put(cluster: &mut Cluster, kind: wn_api::calico::ConfigKind, name: &str, writer: &Writer, spec: Value) {
    if writer.applied {
        cluster.apply_as(kind, name, writer.manager, spec);
    } else {
        cluster.update(kind, name, writer.manager, spec);
    }
}

fn clusters() -> impl Strategy<Value = Cluster> {
    (specs(), pools(), ipam(), felix(), any::<bool>(), any::<bool>()).prop_map(
        |(spec, pools, ipam, felix, nodes, hns)| {
            let mut cluster = Cluster::vxlan().with_spec(&spec);
            cluster.delete(POOL, DEFAULT_POOL);
            for (kind, object) in [(IPAM, ipam), (FELIX, felix)] {
                cluster.delete(kind, DEFAULT);
                if let Some((spec, writer)) = object {
                    put(&mut cluster, kind, DEFAULT, &writer, Value::Object(spec));
                }
            }
            for (i, pool) in pools.into_iter().enumerate() {
                let name = format!("pool-{i}");
                put(
                    &mut cluster,
                    POOL,
                    &name,
                    &pool.writer,
                    json!({"cidr": format!("10.{i}.0.0/16")}),
                );
                let mut rest = pool.spec;
                if let Some(modes) = &pool.modes {
                    for mode in ["ipipMode", "vxlanMode"] {
                        if let Some(value) = rest.as_object_mut().unwrap().remove(mode) {
                            put(&mut cluster, POOL, &name, modes, json!({ mode: value }));
                        }
                    }
                }
                cluster.update(POOL, &name, pool.writer.manager, rest);
                if pool.tigera {
                    cluster.manage_by_tigera(&name);
                }
                if pool.used {
                    cluster.serve_linux_pods(&format!("10.{i}.1.0/26"));
                }
            }
            if !nodes {
                cluster.observed.nodes.clear();
            }
            if hns {
                cluster.install_hns();
            }
            cluster
        },
    )
}

/// Pools Felix encapsulates for.
fn live(cluster: &Cluster) -> impl Iterator<Item = &ConfigObject> {
    let objects = cluster.observed.calico.objects.iter();
    objects
        .filter(|((kind, _), pool)| *kind == POOL && !pool.is_true("disabled"))
        .map(|(_, pool)| pool)
}

fn switch(cluster: &mut Cluster) {
    cluster.edit_spec(|s| {
        let types = NetworkType::ALL;
        let at = types.iter().position(|t| *t == s.network.type_).unwrap();
        s.network.type_ = types[(at + 1) % types.len()];
    });
    cluster.pass();
    // That a field was restored is noted when it is seen: our own write wakes us.
    cluster.pass();
}

/// Two minutes is the shortest a node's stage may take.
const BEFORE_ANY_DEADLINE: i64 = 100;

proptest! {
    #![proptest_config(kept())]

    #[test]
    fn the_plan_after_the_plan_is_empty(mut cluster in clusters()) {
        let first = cluster.pass();
        prop_assume!(first.write);
        // The uid of what we made is noted when it is seen.
        cluster.pass();
        for _ in 0..2 {
            let plan = cluster.plan();
            prop_assert_eq!(lines(&plan), Vec::<String>::new());
            prop_assert_eq!(&plan.objects, &vec![]);
            prop_assert!(plan.deletions.is_empty() && plan.services_endpoint.is_none());
            prop_assert_eq!(&plan.calico.originals, &cluster.originals(), "and there is nothing new to remember");
            // The switch there and back must come to rest, too.
            switch(&mut cluster);
        }
    }

    /// The plan does not know what holds Calico: the same objects need the same.
    #[test]
    fn the_plan_is_the_same_with_every_api(mut cluster in clusters()) {
        // tigera/operator knows no etcd.
        cluster.delete(ConfigKind::Installation, DEFAULT);
        cluster.observed.installation = None;
        cluster.store.belong_to_calico(CALICO);
        cluster.look();
        let mut native = cluster.clone();
        native.observed.calico.definitions = ["felixconfigurations.projectcalico.org".to_owned()].into();
        let etcd = cluster.clone().in_etcd();
        let calico = |cluster: &Cluster| cluster.plan().calico;
        let findings = |cluster: &Cluster| {
            let plan = calico(cluster);
            let writes: Vec<_> = plan.writes.into_iter().map(|w| (w.kind, w.name, w.changes)).collect();
            let originals: Vec<_> = plan.originals.into_iter().map(|o| Original { uid: None, api: None, ..o }).collect();
            (writes, originals, plan.findings, plan.fit_for_agents)
        };
        prop_assert_eq!(calico(&cluster).api, Some(CalicoApi::V1));
        prop_assert_eq!(calico(&native).api, Some(CalicoApi::V3));
        // An etcd with nothing of Calico's in it is somebody else's, but this one has ClusterInformation.
        prop_assert_eq!(calico(&etcd).api, Some(CalicoApi::Etcd));
        prop_assert_eq!(findings(&native), findings(&cluster));
        prop_assert_eq!(findings(&etcd), findings(&cluster));
    }

    #[test]
    fn etcd_comes_to_rest_and_gets_its_own_back(cluster in clusters(), other_type in any::<bool>()) {
        let mut cluster = cluster.in_etcd();
        let before = cluster.store.specs();
        let write = cluster.pass().write;
        if other_type {
            cluster.edit_spec(|s| s.network.type_ = match s.network.type_ {
                NetworkType::CalicoBgp => NetworkType::CalicoVxlan,
                _ => NetworkType::CalicoBgp,
            });
            cluster.pass();
            cluster.pass();
        }
        let plan = cluster.plan();
        prop_assert!(!write || plan.calico.writes.is_empty(), "{:?}", lines(&plan));
        prop_assert!(!write || plan.calico.originals == cluster.originals(), "{:?}", plan.calico.originals);
        let restoration = cluster.restore();
        // Of what we made and wrote twice nobody knows whose it is: it is left, and an Event says so.
        let mut after = cluster.store.specs();
        after.retain(|(kind, name), _| {
            before.contains_key(&(*kind, name.clone())) || !restoration.left.iter().any(|l| l.contains("operator created it"))
        });
        prop_assert_eq!(after, before);
    }

    #[test]
    fn restore_undoes_apply(mut cluster in clusters(), switches in 0..3) {
        let before = cluster.store.specs();
        cluster.pass();
        for _ in 0..switches {
            switch(&mut cluster);
        }
        let restoration = cluster.restore();
        // What tigera/operator's agent needs stays while it runs, and an Event says so.
        if restoration.left.iter().any(|l| l.contains("agent of tigera/operator")) {
            return Ok(());
        }
        prop_assert_eq!(cluster.store.specs(), before);
        prop_assert_eq!(restoration.left, Vec::<String>::new());
    }

    /// After each single write, because the operator may be killed after any of them.
    #[test]
    fn felix_never_drops_ipip_before_the_last_pool(mut cluster in clusters(), switches in 0..3) {
        for _ in 0..=switches {
            let plan = cluster.plan();
            for write in &plan.calico.writes {
                let spec = match &write.action {
                    Action::Create { spec } | Action::Apply { spec, .. } => spec,
                    Action::Restore { .. } | Action::Delete { .. } => panic!("a plan neither restores nor deletes"),
                };
                let off = plan.write && write.kind == FELIX && write.changes.iter().any(|c| c.id.field == "ipipEnabled")
                    && spec.get("ipipEnabled") == Some(&json!(false));
                if plan.write {
                    cluster.store.execute(write);
                    cluster.look();
                }
                prop_assert!(!off || live(&cluster).all(|p| matches!(p.text("ipipMode"), "" | "Never")));
            }
            cluster.pass();
            switch(&mut cluster);
        }
    }

    /// Else each status we write would make us write another. Only a deadline changes it by time alone.
    #[test]
    fn the_status_is_a_fixpoint(mut cluster in clusters(), later in 0..BEFORE_ANY_DEADLINE) {
        cluster.pass();
        let plan = cluster.plan();
        let status = cluster.status(&plan);
        cluster.config_mut().status = Some(status.clone());
        prop_assert_eq!(&cluster.status(&plan), &status);
        cluster.now = at(later);
        prop_assert_eq!(&cluster.status(&cluster.plan()), &status);
        let stored: wn_api::WindowsNodeConfigStatus = serde_json::from_value(serde_json::to_value(&status).unwrap()).unwrap();
        prop_assert_eq!(stored, status, "and what the API server restores is what we gave it");
    }
}

proptest! {
    #![proptest_config(kept())]

    /// Whatever is stored: values of other types, of other sizes, of nonsense.
    #[test]
    fn advice_never_panics(mut cluster in clusters(), odd in odd(), reserved in any::<(u32, u8)>(), size in -40_i64..140) {
        cluster.update(POOL, "odd", CALICO, json!({"cidr": "10.200.0.0/16", "blockSize": size}));
        cluster.update(FELIX, DEFAULT, "kubectl-edit", Value::Object(odd));
        let net = ipnet::Ipv4Net::new_assert(reserved.0.into(), reserved.1 % 33);
        cluster.observed.calico.reservations.insert("r".into(), vec![net]);
        for (i, prefix) in [reserved.1 % 33, 26, 32].into_iter().enumerate().filter(|(_, p)| *p > 19) {
            let block = wn_plan::observed::BlockFacts {
                cidr: Some(ipnet::Ipv4Net::new_assert(reserved.0.into(), prefix).trunc()),
                host: "win-0".into(),
                ..Default::default()
            };
            cluster.observed.calico.blocks.insert((String::new(), format!("b{i}")), block);
        }
        let first = wn_plan::advice::advise(&cluster.config().spec, &cluster.observed);
        prop_assert!(first.is_sorted_by_key(|a| (a.severity, a.code, a.object.clone())));
        let status = wn_plan::advice::status(&first);
        prop_assert_eq!(wn_plan::advice::news(Some(&status), &status), None);
    }
}

fn odd() -> impl Strategy<Value = Map<String, Value>> {
    const FIELDS: [&str; 12] = [
        "bpfEnabled",
        "defaultEndpointToHostAction",
        "healthEnabled",
        "healthPort",
        "ipv6Support",
        "policySyncPathPrefix",
        "prometheusMetricsEnabled",
        "prometheusMetricsPort",
        "vxlanMTU",
        "vxlanPort",
        "windowsManageFirewallRules",
        "wireguardEnabled",
    ];
    let value = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!({"a": [1]})),
    ];
    prop::collection::btree_map(select(FIELDS.to_vec()), value, 0..8)
        .prop_map(|m| m.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}
