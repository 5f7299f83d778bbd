//! Rights and requests are the same set: nothing is refused, and nothing is granted that is not used.
//!
//! The grants are those of the installed release; the requests those the API server wrote down while the
//! operator lived through all that it knows how to do.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::{flannel, kube_proxy, node_agent};
use wn_e2e::control_plane::{AuditEvent, CalicoApi, Cluster, ClusterOptions, Neighbour, NodeSpec};
use wn_e2e::objects::text;
use wn_e2e::operator::{NAME, Operator, USER};
use wn_e2e::simulator::{Mishap, words};
use wn_e2e::stage::{SINGLETON, Stage, minimal};

use super::{kubectl, stage_on};

/// One verb on one resource, somewhere.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Right {
    verb: String,
    group: String,
    /// With the subresource, as a rule spells it.
    resource: String,
    /// Empty: every namespace.
    namespace: String,
    /// Empty: every name.
    name: String,
}

impl Right {
    fn allows(&self, asked: &Self) -> bool {
        let same = (&self.verb, &self.group, &self.resource) == (&asked.verb, &asked.group, &asked.resource);
        let wide = |granted: &str, asked: &str| granted.is_empty() || granted == asked;
        same && wide(&self.namespace, &asked.namespace) && wide(&self.name, &asked.name)
    }
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// What the release grants the operator itself; the agent and kube-proxy have accounts of their own.
fn granted(manifest: &str) -> Result<BTreeSet<Right>> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(manifest)?;
    let mut rights = BTreeSet::new();
    for binding in objects
        .iter()
        .filter(|o| text(o, "/kind").ends_with("RoleBinding"))
    {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        if !subjects.into_iter().any(|s| s["name"] == NAME) {
            continue;
        }
        let namespace = text(binding, "/metadata/namespace");
        let role = |o: &&Value| {
            o["kind"] == binding["roleRef"]["kind"]
                && o["metadata"]["name"] == binding["roleRef"]["name"]
                && text(o, "/metadata/namespace") == namespace
        };
        let rules = objects
            .iter()
            .filter(role)
            .flat_map(|r| r["rules"].as_array().into_iter().flatten());
        for rule in rules {
            let mut names = strings(&rule["resourceNames"]);
            if names.is_empty() {
                names.push(String::new());
            }
            for group in strings(&rule["apiGroups"]) {
                for resource in strings(&rule["resources"]) {
                    for verb in strings(&rule["verbs"]) {
                        rights.extend(names.iter().map(|name| Right {
                            verb: verb.clone(),
                            group: group.clone(),
                            resource: resource.clone(),
                            namespace: namespace.to_owned(),
                            name: name.clone(),
                        }));
                    }
                }
            }
        }
    }
    Ok(rights)
}

/// The rights a request needs.
fn needed(event: &AuditEvent) -> Vec<Right> {
    let resource = match event.subresource.as_str() {
        "" => event.resource.clone(),
        sub => format!("{}/{sub}", event.resource),
    };
    let right = |verb: &str| Right {
        verb: verb.to_owned(),
        group: event.group.clone(),
        resource: resource.clone(),
        namespace: event.namespace.clone(),
        name: event.name.clone(),
    };
    let mut rights = vec![right(&event.verb)];
    // An apply of what does not exist asks a second time, whether it may be created.
    if event.verb == "patch" && event.response_code == 201 {
        rights.push(right("create"));
    }
    rights
}

/// What the release of a stage grants, and what of it its operator has used.
async fn rights(stage: &Stage) -> Result<(BTreeSet<Right>, BTreeSet<Right>)> {
    let grants = granted(&stage.cluster.helm(&["get", "manifest", NAME, "-n", NAME]).await?)?;
    let log = stage.cluster.audit_log()?;
    let requests = log.by(USER);
    let refused: Vec<_> = requests
        .iter()
        .filter(|e| [401, 403].contains(&e.response_code))
        .collect();
    ensure!(refused.is_empty(), "refused: {refused:#?}");
    let mut used = BTreeSet::new();
    // A resource that was gone, or not there yet, is not one that was used.
    for event in requests
        .iter()
        .filter(|e| !e.resource.is_empty() && e.response_code != 404)
    {
        for asked in needed(event) {
            let by: Vec<_> = grants.iter().filter(|g| g.allows(&asked)).cloned().collect();
            ensure!(
                !by.is_empty() || asked.group == "authorization.k8s.io",
                "allowed by no rule of ours: {asked:?}"
            );
            used.extend(by);
        }
    }
    Ok((grants, used))
}

async fn stage(form: CalicoApi) -> Result<Stage> {
    let options = ClusterOptions {
        calico_api: form,
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await?;
    cluster
        .kubectl(&["create", "namespace", "tigera-operator"])
        .await?;
    cluster.install_neighbour(Neighbour::DatastoreMigration).await?;
    cluster.install_neighbour(Neighbour::Installation).await?;
    cluster.install_neighbour(Neighbour::TigeraStatus).await?;
    Operator::install(&cluster, &[("tigeraOperator.enabled", "true")]).await?;
    stage_on(cluster).await
}

/// Calico's own objects are changed and given back; then there are none, and ours are made and removed.
async fn calico_life(stage: &mut Stage) -> Result<()> {
    let before = stage.calico_specs().await?;
    stage.start().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    stage
        .edit(
            ConfigKind::IpamConfiguration,
            SINGLETON,
            json!({"strictAffinity": false}),
            "kubectl-edit",
        )
        .await?;
    stage.event("DriftRepaired", "strictAffinity").await?;
    stage.delete_and_wait().await?;
    ensure!(stage.calico_specs().await? == before, "Calico was not given back");

    for kind in [ConfigKind::IpamConfiguration, ConfigKind::FelixConfiguration] {
        stage
            .calico(kind)
            .delete(SINGLETON, &DeleteParams::default())
            .await?;
    }
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    stage.delete_and_wait().await?;
    for kind in [ConfigKind::IpamConfiguration, ConfigKind::FelixConfiguration] {
        ensure!(
            stage.spec(kind, SINGLETON).await?.is_null(),
            "{} that we made is still there",
            kind.as_str()
        );
    }
    Ok(())
}

async fn own_proxy(stage: &Stage, wanted: bool) -> Result<()> {
    let what = format!("a DaemonSet of its own for the old node: {wanted}");
    stage
        .until(&what, async || {
            let found = stage.daemon_set(kube_proxy::NO_DSR_DAEMON_SET).await?;
            Ok((found.is_null() != wanted).then_some(()))
        })
        .await
}

/// The same change twice, so that the Event is counted up; and everything of ours handed over.
async fn workload_life(stage: &Stage) -> Result<()> {
    // Nodes that come up are tainted, and those that are up are not.
    let mut tainting = minimal("CalicoVXLAN");
    tainting["readiness"] = json!({"taint": "Continuous"});
    stage.apply(tainting).await?;
    stage.ready().await?;
    // The pod that an Event names is looked at.
    let failing = stage
        .simulator
        .befall("windows-0", &Mishap::Sandbox(words::MUTEX))
        .await?;
    stage.condition("NodesReady", "False", "NodesNotReady").await?;
    failing.run().await?;
    stage.ready().await?;
    // A node that cannot do DSR has a DaemonSet of kube-proxy for itself.
    let old = NodeSpec::windows("old").kernel_version("10.0.17763.1000");
    stage.cluster.add_node(old).await?;
    own_proxy(stage, true).await?;
    stage.cluster.remove_node("old").await?;
    own_proxy(stage, false).await?;
    // The leader makes its Lease again.
    kubectl(stage, &format!("delete lease {NAME} -n {NAME}")).await?;
    stage
        .until("the Lease is made again", async || {
            let found = kubectl(stage, &format!("get leases -n {NAME} -o name")).await?;
            Ok((!found.is_empty()).then_some(()))
        })
        .await?;
    let maps = [node_agent::CONFIG_MAP, kube_proxy::CONFIG_MAP];
    for map in [maps[0], maps[0], maps[1]] {
        kubectl(
            stage,
            &format!(r#"patch configmap {map} -n {NAME} --type=json -p [{{"op":"remove","path":"/data"}}]"#),
        )
        .await?;
        stage
            .until("the ConfigMap is put right", async || {
                let data = kubectl(
                    stage,
                    &format!("get configmap {map} -n {NAME} -o jsonpath={{.data}}"),
                )
                .await?;
                Ok((!data.is_empty()).then_some(()))
            })
            .await?;
        stage.quiet().await?;
    }
    for name in [node_agent::DAEMON_SET, kube_proxy::DAEMON_SET] {
        kubectl(stage, &format!("delete daemonset {name} -n {NAME}")).await?;
        stage
            .until("the DaemonSet is made again", async || {
                Ok((!stage.daemon_set(name).await?.is_null()).then_some(()))
            })
            .await?;
    }
    let installation = json!({
        "apiVersion": "operator.tigera.io/v1", "kind": "Installation", "metadata": {"name": "default"},
        "spec": {"calicoNetwork": {"windowsDataplane": "HNS"}},
    });
    let mut enforcing = minimal("CalicoVXLAN");
    enforcing["calico"] = json!({"installation": "Enforce"});
    stage.apply(enforcing).await?;
    stage.create("installations", installation).await?;
    stage
        .until("the Installation is as Windows nodes need it", async || {
            let bgp = "get installation default -o jsonpath={.spec.calicoNetwork.bgp}";
            Ok((kubectl(stage, bgp).await? == "Disabled").then_some(()))
        })
        .await?;
    stage
        .until("the ConfigMap for tigera/operator is made", async || {
            let found = kubectl(stage, "get configmaps -n tigera-operator -o name").await?;
            Ok(found.contains("kubernetes-services-endpoint").then_some(()))
        })
        .await?;
    kubectl(stage, "delete installation default").await?;
    stage.ready().await?;
    stage.delete_and_wait().await
}

/// Networks that are not Calico's, one after the other; flannel's configuration is changed and given back.
async fn network_life(stage: &Stage) -> Result<()> {
    for (node, cidr) in [("linux-0", "10.244.0.0/24"), ("windows-0", "10.244.1.0/24")] {
        let spec = json!({"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
        kubectl(stage, &format!("patch node {node} --type=merge -p {spec}")).await?;
    }
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": flannel::NAMESPACE}});
    stage.create("namespaces", namespace).await?;
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": flannel::CONFIG_MAP, "namespace": flannel::NAMESPACE},
        "data": {"net-conf.json": r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}"#},
    });
    stage.create("configmaps", config).await?;
    for network in ["FlannelVXLAN", "StaticRoutes"] {
        stage
            .apply(json!({
                "network": {"type": network},
                "networkAgent": {"image": {"repository": "example/agent", "tag": "v1"}},
                "calico": {"encapsulation": {"whenInUse": "Migrate"}},
            }))
            .await?;
        stage.ready().await?;
    }
    stage.apply(minimal("CloudProvider")).await?;
    stage.ready().await?;
    stage.delete_and_wait().await
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_exactly_those_that_are_used() -> Result<()> {
    let (v1, v3) = tokio::try_join!(
        async {
            let mut stage = stage(CalicoApi::V1).await?;
            calico_life(&mut stage).await?;
            workload_life(&stage).await?;
            network_life(&stage).await?;
            // It gives up its Lease.
            let operator = stage.operator.take().context("the operator does not run")?;
            operator.terminate()?;
            rights(&stage).await
        },
        async {
            let mut stage = stage(CalicoApi::V3).await?;
            calico_life(&mut stage).await?;
            rights(&stage).await
        },
    )?;
    ensure!(v1.0 == v3.0 && v1.0.len() > 50, "{} grants", v1.0.len());
    let used: BTreeSet<_> = v1.1.union(&v3.1).collect();
    let unused: Vec<_> = v1.0.iter().filter(|g| !used.contains(g)).collect();
    ensure!(unused.is_empty(), "granted and never used: {unused:#?}");
    Ok(())
}
