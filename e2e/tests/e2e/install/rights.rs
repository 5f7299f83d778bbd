//! Rights and requests are the same set: nothing is refused, and nothing is granted that is not used.
//!
//! The grants are those of the installed release; the requests those the API server wrote down while the
//! operator lived through all that it knows how to do.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::{kube_proxy, node_agent};
use wn_e2e::control_plane::{AuditEvent, CalicoApi, Cluster, ClusterOptions, Neighbour, NodeSpec};
use wn_e2e::flannel;
use wn_e2e::objects::text;
use wn_e2e::operator::{NAME, Operator, USER};
use wn_e2e::simulator::{NodeFault, words};
use wn_e2e::test_cluster::{SINGLETON, TestCluster, minimal};

use super::{cluster_on, kubectl};

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

/// What the release of a test grants, and what of it its operator has used.
async fn rights(test: &TestCluster) -> Result<(BTreeSet<Right>, BTreeSet<Right>)> {
    let grants = granted(&test.cluster.helm(&["get", "manifest", NAME, "-n", NAME]).await?)?;
    let log = test.cluster.audit_log()?;
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

async fn test_cluster(calico_api: CalicoApi) -> Result<TestCluster> {
    let options = ClusterOptions {
        calico_api,
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await?;
    cluster
        .kubectl(&["create", "namespace", "tigera-operator"])
        .await?;
    cluster.install_neighbour(Neighbour::ClusterNetworkPolicy).await?;
    cluster.install_calico_policy(calico_api).await?;
    cluster.install_neighbour(Neighbour::DatastoreMigration).await?;
    cluster.install_neighbour(Neighbour::Installation).await?;
    cluster.install_neighbour(Neighbour::TigeraStatus).await?;
    Operator::install(&cluster, &[("tigeraOperator.enabled", "true")]).await?;
    cluster_on(cluster).await
}

/// Calico's own objects are changed and restored; then there are none, and ours are made and removed.
async fn calico_life(test: &mut TestCluster) -> Result<()> {
    let before = test.calico_specs().await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.until("policies, Services and pods are read", async || {
        Ok(test.config().await?.pointer("/status/workloads").map(drop))
    })
    .await?;
    test.edit(
        ConfigKind::IpamConfiguration,
        SINGLETON,
        json!({"strictAffinity": false}),
        "kubectl-edit",
    )
    .await?;
    test.event("DriftRepaired", "strictAffinity").await?;
    test.delete_and_wait().await?;
    ensure!(test.calico_specs().await? == before, "Calico was not restored");

    for kind in [ConfigKind::IpamConfiguration, ConfigKind::FelixConfiguration] {
        test.calico(kind)
            .delete(SINGLETON, &DeleteParams::default())
            .await?;
    }
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.delete_and_wait().await?;
    for kind in [ConfigKind::IpamConfiguration, ConfigKind::FelixConfiguration] {
        ensure!(
            test.spec(kind, SINGLETON).await?.is_null(),
            "{} that we made is still there",
            kind.as_str()
        );
    }
    Ok(())
}

async fn own_proxy(test: &TestCluster, wanted: bool) -> Result<()> {
    let what = format!("a DaemonSet of its own for the old node: {wanted}");
    test.until(&what, async || {
        let found = test.daemon_set(kube_proxy::NO_DSR_DAEMON_SET).await?;
        Ok((found.is_null() != wanted).then_some(()))
    })
    .await
}

/// The same change twice, so that the Event is counted up; and everything of ours handed over.
async fn workload_life(test: &TestCluster) -> Result<()> {
    // Nodes that come up are tainted, and those that are up are not.
    let mut tainting = minimal("CalicoVXLAN");
    tainting["readiness"] = json!({"taint": "Continuous"});
    test.apply(tainting).await?;
    test.ready().await?;
    // The pod that an Event names is looked at.
    let failing = test
        .simulator
        .break_node("windows-0", &NodeFault::Sandbox(words::MUTEX))
        .await?;
    test.condition("NodesReady", "False", "NodesNotReady").await?;
    failing.run().await?;
    test.ready().await?;
    // A node that cannot do DSR has a DaemonSet of kube-proxy for itself.
    let old = NodeSpec::windows("old").kernel_version("10.0.17763.1000");
    test.cluster.add_node(old).await?;
    own_proxy(test, true).await?;
    test.cluster.remove_node("old").await?;
    own_proxy(test, false).await?;
    // The leader makes its Lease again.
    kubectl(test, &format!("delete lease {NAME} -n {NAME}")).await?;
    test.until("the Lease is made again", async || {
        let found = kubectl(test, &format!("get leases -n {NAME} -o name")).await?;
        Ok((!found.is_empty()).then_some(()))
    })
    .await?;
    let maps = [node_agent::CONFIG_MAP, kube_proxy::CONFIG_MAP];
    for map in [maps[0], maps[0], maps[1]] {
        kubectl(
            test,
            &format!(r#"patch configmap {map} -n {NAME} --type=json -p [{{"op":"remove","path":"/data"}}]"#),
        )
        .await?;
        test.until("the ConfigMap is restored", async || {
            let data = kubectl(
                test,
                &format!("get configmap {map} -n {NAME} -o jsonpath={{.data}}"),
            )
            .await?;
            Ok((!data.is_empty()).then_some(()))
        })
        .await?;
        test.quiet().await?;
    }
    for name in [node_agent::DAEMON_SET, kube_proxy::DAEMON_SET] {
        kubectl(test, &format!("delete daemonset {name} -n {NAME}")).await?;
        test.until("the DaemonSet is made again", async || {
            Ok((!test.daemon_set(name).await?.is_null()).then_some(()))
        })
        .await?;
    }
    let installation = json!({
        "apiVersion": "operator.tigera.io/v1", "kind": "Installation", "metadata": {"name": "default"},
        "spec": {"calicoNetwork": {"windowsDataplane": "HNS"}},
    });
    let mut enforcing = minimal("CalicoVXLAN");
    enforcing["calico"] = json!({"installation": "Enforce"});
    test.apply(enforcing).await?;
    test.create("installations", installation).await?;
    test.until("the Installation is as Windows nodes need it", async || {
        let bgp = "get installation default -o jsonpath={.spec.calicoNetwork.bgp}";
        Ok((kubectl(test, bgp).await? == "Disabled").then_some(()))
    })
    .await?;
    test.until("the ConfigMap for tigera/operator is made", async || {
        let found = kubectl(test, "get configmaps -n tigera-operator -o name").await?;
        Ok(found.contains("kubernetes-services-endpoint").then_some(()))
    })
    .await?;
    kubectl(test, "delete installation default").await?;
    test.ready().await?;
    test.delete_and_wait().await
}

/// Networks that are not Calico's, one after the other; flannel's configuration is changed and restored.
async fn network_life(test: &TestCluster) -> Result<()> {
    flannel::assign_pod_cidrs(test).await?;
    flannel::install(
        test,
        r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}"#,
    )
    .await?;
    for network in ["FlannelVXLAN", "StaticRoutes"] {
        test.apply(json!({
            "network": {"type": network},
            "networkAgent": {"image": {"repository": "example/agent", "tag": "v1"}},
            "calico": {"encapsulation": {"whenInUse": "Migrate"}},
        }))
        .await?;
        test.ready().await?;
    }
    test.apply(minimal("CloudProvider")).await?;
    test.ready().await?;
    test.delete_and_wait().await
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_exactly_those_that_are_used() -> Result<()> {
    let (v1, v3) = tokio::try_join!(
        async {
            let mut test = test_cluster(CalicoApi::V1).await?;
            calico_life(&mut test).await?;
            workload_life(&test).await?;
            network_life(&test).await?;
            // It gives up its Lease.
            let operator = test.operator.take().context("the operator does not run")?;
            operator.terminate()?;
            rights(&test).await
        },
        async {
            let mut test = test_cluster(CalicoApi::V3).await?;
            calico_life(&mut test).await?;
            rights(&test).await
        },
    )?;
    ensure!(v1.0 == v3.0 && v1.0.len() > 50, "{} grants", v1.0.len());
    let used: BTreeSet<_> = v1.1.union(&v3.1).collect();
    let unused: Vec<_> = v1.0.iter().filter(|g| !used.contains(g)).collect();
    ensure!(unused.is_empty(), "granted and never used: {unused:#?}");
    Ok(())
}
