//! Which release the agent is rendered for: what Linux nodes run, never what our own agent wrote.

use rstest::rstest;
use serde_json::{Value, json};
use wn_api::component::Component;
use wn_api::spec::NetworkType;
use wn_plan::observed::{DaemonSetFacts, InstallationFacts, TyphaFacts, linux_agent};

use crate::common::Cluster;

/// What shows the release, in order of precedence.
#[derive(Default)]
struct Case {
    /// Namespace and image of a DaemonSet of Calico on Linux nodes.
    linux: Option<(&'static str, &'static str)>,
    typha: Option<&'static str>,
    installation: Option<&'static str>,
    information: &'static str,
    /// Tag of our stored DaemonSet.
    ours: Option<&'static str>,
    pinned: Option<&'static str>,
}

fn cluster(case: &Case) -> Cluster {
    let mut cluster = Cluster::fresh(NetworkType::CalicoVxlan);
    cluster.pass();
    let observed = &mut cluster.observed;
    observed
        .calico
        .cluster_information
        .as_mut()
        .unwrap()
        .calico_version = case.information.to_owned();
    if let Some((namespace, image)) = case.linux {
        let pod = json!({"containers": [{"name": "calico-node", "image": image}]});
        let version = linux_agent(&json!({"spec": {"template": {"spec": pod}}})).unwrap();
        let key = (namespace.to_owned(), "calico-node".to_owned());
        observed.calico.linux_agents.insert(key, version);
    }
    if let Some(version) = case.typha {
        let typha = TyphaFacts {
            version: version.parse().ok(),
            ..TyphaFacts::default()
        };
        observed.typha.insert("calico-system".to_owned(), typha);
    }
    observed.installation = case.installation.map(|version| {
        InstallationFacts::read(&json!({"status": {"variant": "Calico", "calicoVersion": version}}))
    });
    if let Some(tag) = case.ours {
        let facts = DaemonSetFacts::read(&json!({
            "metadata": {"labels": {
                "app.kubernetes.io/managed-by": "windows-node-operator", "k8s-app": "calico-node-windows",
            }},
            "spec": {"template": {"spec": {
                "nodeSelector": {"kubernetes.io/os": "windows"},
                "containers": [{"image": format!("mirror/agent:{tag}")}],
            }}},
        }));
        let key = (observed.namespace.clone(), "calico-node-windows".to_owned());
        observed.daemon_sets.insert(key, facts.unwrap());
    }
    let pinned = case.pinned.map(str::to_owned);
    cluster.edit_spec(|spec| spec.node_agent.image.tag = pinned);
    cluster
}

#[rstest]
#[case::as_written(Case { information: "v3.32.1", ..Case::default() }, "v3.32.1")]
#[case::linux_upgraded(
    Case { linux: Some(("kube-system", "calico/node:v3.32.2")), information: "v3.32.1", ours: Some("v3.32.2"), ..Case::default() },
    "v3.32.2"
)]
#[case::linux_goes_back(
    Case { linux: Some(("calico-system", "calico/node:v3.32.1")), information: "v3.32.2", ours: Some("v3.32.2"), ..Case::default() },
    "v3.32.1"
)]
#[case::suffix_of_a_build(
    Case { linux: Some(("kube-system", "x/hardened-calico:v3.32.1-build1")), information: "v3.32.1", ..Case::default() },
    "v3.32.1"
)]
#[case::suffix_of_a_release(
    Case { linux: Some(("kube-system", "calico/node:v3.33.0-0.dev")), information: "v3.33.0-0.dev", ..Case::default() },
    "v3.33.0-0.dev"
)]
#[case::a_tenants_daemon_set(
    Case { linux: Some(("tenant", "calico/node:v3.29.0")), information: "v3.32.1", ..Case::default() },
    "v3.32.1"
)]
#[case::typha(Case { typha: Some("v3.32.2"), information: "v3.32.1", ..Case::default() }, "v3.32.2")]
#[case::installation(Case { installation: Some("v3.32.2"), information: "v3.32.1", ..Case::default() }, "v3.32.2")]
#[case::agent_wrote_an_older_one(
    Case { information: "v3.32.1", ours: Some("v3.32.2"), ..Case::default() },
    "v3.32.2"
)]
#[case::calico_is_newer(Case { information: "v3.33.0", ours: Some("v3.32.2"), ..Case::default() }, "v3.33.0")]
#[case::pinned(
    Case { linux: Some(("kube-system", "calico/node:v3.32.2")), information: "v3.32.2", pinned: Some("v3.33.0-fips"), ..Case::default() },
    "v3.33.0-fips"
)]
#[case::pinned_without_a_version(Case { information: "v3.32.1", pinned: Some("stable"), ..Case::default() }, "v3.32.1")]
fn release_of_the_agent(#[case] case: Case, #[case] expected: &str) {
    let plan = cluster(&case).plan();
    assert_eq!(plan.components[Component::NodeAgent].blocked, None);
    let agent = plan.components[Component::NodeAgent].daemon_sets.first().unwrap();
    assert_eq!(agent.version.as_ref().unwrap().to_string(), expected);
    let tag = case.pinned.unwrap_or(expected);
    let image = agent.image.as_ref().unwrap();
    assert!(image.ends_with(&format!(":{tag}")), "{image}");
}

/// v3.33 has another program, and the tag says which one is in the image.
#[test]
fn a_pinned_tag_decides_about_the_command_line() {
    let case = Case {
        information: "v3.32.1",
        pinned: Some("v3.33.0"),
        ..Case::default()
    };
    let plan = cluster(&case).plan();
    let bodies: Vec<&Value> = plan.objects.iter().map(|write| &write.body).collect();
    let daemon_set = bodies
        .iter()
        .find(|body| body["kind"] == "DaemonSet" && body["metadata"]["name"] == "calico-node-windows");
    let text = daemon_set.unwrap().to_string();
    assert!(
        text.contains("CalicoWindows/calico.exe") && !text.contains("calico-node.exe"),
        "{text}"
    );
}

#[test]
fn a_release_that_is_kept_is_reported() {
    let case = Case {
        information: "v3.32.1",
        ours: Some("v3.32.2"),
        ..Case::default()
    };
    let note = cluster(&case).plan().components[Component::NodeAgent]
        .note
        .clone()
        .unwrap();
    insta::assert_snapshot!(note, @"ClusterInformation default spec.calicoVersion is v3.32.1, which an older agent on a Windows node may have written: the agent stays at v3.32.2; to downgrade it, set spec.nodeAgent.image.tag");
}

#[test]
fn a_pinned_release_must_be_known() {
    let case = Case {
        information: "v3.32.1",
        pinned: Some("v3.99.0"),
        ..Case::default()
    };
    let message = cluster(&case).plan().components[Component::NodeAgent]
        .blocked
        .clone()
        .unwrap()
        .message;
    assert!(
        message.starts_with("WindowsNodeConfig default spec.nodeAgent.image.tag is v3.99.0: "),
        "{message}"
    );
}
