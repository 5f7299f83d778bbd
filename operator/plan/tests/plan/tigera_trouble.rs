//! Beside tigera/operator when something stops it, and what of it stays behind.

use insta::assert_yaml_snapshot;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::DEFAULT;
use wn_api::component::Component;
use wn_api::names::tigera;
use wn_api::spec::{Management, NetworkType, Policy};
use wn_plan::applied::{Applied, Failure, Part};
use wn_plan::observed::TigeraStatusFacts;

use crate::common::*;

fn hns(cluster: &mut Cluster, by: &str, value: &str) {
    let spec = json!({"calicoNetwork": {"windowsDataplane": value}});
    cluster.update(INSTALLATION, DEFAULT, by, spec);
}

/// tigera/operator fills in the folders of Windows nodes.
fn fill_in(cluster: &mut Cluster, by: &str) {
    let folders = json!({"windowsNodes": {"cniBinDir": "/opt/cni/bin"}});
    cluster.update(INSTALLATION, DEFAULT, by, folders);
}

fn refuses(cluster: &mut Cluster, message: &str) {
    let condition = json!({"type": "Degraded", "status": "True", "reason": "InvalidConfigurationError", "message": message});
    let facts = TigeraStatusFacts::read(&json!({"status": {"conditions": [condition]}}));
    let statuses = &mut cluster.observed.tigera_statuses;
    statuses.insert(tigera::STATUS.to_owned(), facts);
}

/// Conditions that are not as they should be, one line each.
fn trouble(cluster: &mut Cluster, failure: Option<Failure>) -> Vec<String> {
    let plan = cluster.plan();
    let applied = Applied {
        failure,
        ..Applied::default()
    };
    let status = cluster.status_after(&plan, &applied);
    let conditions = status.conditions.iter();
    let telling = ["Ready", "Stalled", "CalicoConfigured", "NodeAgentAvailable"];
    conditions
        .filter(|c| telling.contains(&c.type_.as_str()))
        .map(|c| format!("{} {} {}: {}", c.type_, c.status, c.reason, c.message))
        .collect()
}

/// Windows was switched off by hand, and what tigera/operator had filled in for it makes the Installation invalid.
#[rstest]
#[case::auto(Management::Auto)]
#[case::managed(Management::Managed)]
fn folders_without_windows_are_said(#[case] management: Management) {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    cluster.edit_spec(|s| s.node_agent.management = management);
    hns(&mut cluster, PERSON, "HNS");
    fill_in(&mut cluster, OPERATOR);
    hns(&mut cluster, PERSON, "Disabled");
    refuses(
        &mut cluster,
        "Invalid Installation provided: installation spec.WindowsNodes is not valid and should not be provided when Calico for \
         Windows is disabled",
    );
    cluster.pass();
    cluster.roll_out();
    let messages = trouble(&mut cluster, None);
    assert_yaml_snapshot!(format!("folders_{management:?}"), messages);

    // The command does what it says.
    let command = &messages[1];
    let body = command.split_once("-p '").unwrap().1.split_once("'`").unwrap().0;
    assert_eq!(body, r#"{"spec":{"windowsNodes":null}}"#);
    cluster.update(INSTALLATION, DEFAULT, PERSON, json!({"windowsNodes": null}));
    cluster.observed.tigera_statuses.clear();
    assert!(cluster.plan().calico.findings.is_empty());
}

/// Whatever else tigera/operator refuses is repeated.
#[test]
fn a_refused_installation_is_said() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    refuses(&mut cluster, "Invalid Installation provided: something is wrong");
    cluster.pass();
    cluster.roll_out();
    assert_yaml_snapshot!("refused", trouble(&mut cluster, None));
}

/// A cluster that begins with Windows switched on: without the ConfigMap tigera/operator makes nothing, so that there is no
/// pool. The right that is missing is the cause.
#[test]
fn a_cold_start_without_the_right() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.delete(POOL, DEFAULT_POOL);
    hns(&mut cluster, PERSON, "HNS");
    refuses(
        &mut cluster,
        "Invalid Installation provided: services endpoint configmap 'kubernetes-services-endpoint' does not have all required \
         information for Calico Windows daemonset configuration",
    );
    let failure = Failure {
        part: Part::Component(Component::NodeAgent),
        forbidden: true,
        message: "ConfigMap tigera-operator/kubernetes-services-endpoint (allow it with the chart value tigeraOperator.enabled=true): \
                  forbidden"
            .into(),
    };
    assert_yaml_snapshot!("cold_start", trouble(&mut cluster, Some(failure)));
}

/// Without a pool in the Installation it is a person's to make.
#[test]
fn pools_that_nobody_is_to_make() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.delete(POOL, DEFAULT_POOL);
    cluster.update(
        INSTALLATION,
        DEFAULT,
        PERSON,
        json!({"calicoNetwork": {"ipPools": []}}),
    );
    assert!(findings(&cluster.plan()).iter().any(|f| f.contains("create one")));
}

/// Ranges in the list never overlap by our doing.
#[rstest]
#[case(json!(["10.96.0.0/16"]), json!(["10.96.0.0/12"]))]
#[case(json!(["10.96.0.0/16", "10.97.0.0/16", "fd00::/108"]), json!(["fd00::/108", "10.96.0.0/12"]))]
#[case(json!(["10.0.0.0/8"]), json!(["10.0.0.0/8"]))]
#[case(json!(["10.96.0.0/12"]), json!(["10.96.0.0/12"]))]
#[case(json!(["172.20.0.0/16", "x"]), json!(["172.20.0.0/16", "x", "10.96.0.0/12"]))]
fn service_cidrs_do_not_overlap(#[case] stored: Value, #[case] expected: Value) {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.update(INSTALLATION, DEFAULT, PERSON, json!({"serviceCIDRs": stored}));
    cluster.edit_spec(|s| s.calico.installation = Policy::Enforce);
    cluster.pass();
    assert_eq!(cluster.field(INSTALLATION, DEFAULT, "serviceCIDRs"), expected);
    cluster.restore();
    assert_eq!(cluster.field(INSTALLATION, DEFAULT, "serviceCIDRs"), stored);
}

/// While tigera/operator's agent runs on, because a person switched it on, it keeps what it needs.
#[test]
fn what_their_agent_needs_is_not_restored() {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    hns(&mut cluster, PERSON, "HNS");
    fill_in(&mut cluster, OPERATOR);
    cluster.edit_spec(|s| s.calico.installation = Policy::Enforce);
    cluster.pass();
    cluster.update(POOL, DEFAULT_POOL, OPERATOR, json!({"vxlanMode": "Always"}));
    cluster.pass();
    render_theirs(&mut cluster, 1);
    let before = cluster.store.specs();
    let restoration = cluster.restore();
    assert_yaml_snapshot!("runs_on", restoration.left);
    let after = cluster.store.specs();
    for kept in [(INSTALLATION, DEFAULT.to_owned()), (IPAM, DEFAULT.to_owned())] {
        assert_eq!(before[&kept], after[&kept]);
    }
}

/// Switched off with the object, tigera/operator's DaemonSet stays, and folders that a person gave stop tigera/operator.
#[rstest]
#[case::defaults(OPERATOR, "left_of_defaults")]
#[case::of_a_person(PERSON, "left_of_a_person")]
fn what_stays_is_named(#[case] by: &str, #[case] snapshot: &str) {
    let mut cluster = tigera_fresh(NetworkType::CalicoVxlan);
    cluster.edit_spec(|s| s.calico.installation = Policy::Enforce);
    cluster.pass();
    fill_in(&mut cluster, by);
    render_theirs(&mut cluster, 1);
    let restoration = cluster.restore();
    assert_yaml_snapshot!(snapshot, restoration.left);
    assert_eq!(
        cluster.field(INSTALLATION, DEFAULT, "calicoNetwork.windowsDataplane"),
        "Disabled"
    );
}
