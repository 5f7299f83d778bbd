//! The cluster of one black-box test: a fresh control plane, simulated nodes, the chart, the operator, and the few
//! things a test does to them and reads from them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, ConfigKind, DEFAULT};
use wn_api::names;

use crate::control_plane::{AuditEvent, Cluster, ClusterOptions};
use crate::objects::{self, text};
use crate::operator::{NAME, Operator, RunningOperator, USER};
use crate::simulator::Simulator;

/// Long for a machine that runs two clusters on two cores; a passing test never waits for it.
pub const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// Field order is drop order: the operator ends before its cluster.
pub struct TestCluster {
    pub operator: Option<RunningOperator>,
    pub simulator: Simulator,
    pub client: Client,
    pub calico_api: CalicoApi,
    pub cluster: Cluster,
}

impl TestCluster {
    /// Cluster, simulator and chart; the operator is not started, so that a test can prepare the cluster first.
    pub async fn without_operator(options: ClusterOptions) -> Result<Self> {
        Self::without_operator_with(options, &[]).await
    }

    pub async fn without_operator_with(options: ClusterOptions, values: &[(&str, &str)]) -> Result<Self> {
        let cluster = Cluster::start(options).await?;
        let client = cluster.client();
        let calico_api = objects::calico_api(&client).await?.unwrap_or(CalicoApi::V1);
        let simulator = Simulator::start(client.clone());
        Operator::install(&cluster, values).await?;
        Ok(Self {
            operator: None,
            simulator,
            client,
            calico_api,
            cluster,
        })
    }

    /// The same with the operator running.
    pub async fn with_operator(options: ClusterOptions) -> Result<Self> {
        let mut test = Self::without_operator(options).await?;
        test.start_operator().await?;
        Ok(test)
    }

    pub async fn start_operator(&mut self) -> Result<()> {
        let mut operator = Operator::run(&self.cluster).await?;
        operator.wait_ready(LIMIT).await?;
        self.operator = Some(operator);
        Ok(())
    }

    /// SIGKILL: nothing is written any more from here on.
    pub fn kill_operator(&mut self) {
        if let Some(operator) = self.operator.take() {
            operator.kill();
        }
    }

    /// Creates or changes `WindowsNodeConfig` `default`, as `kubectl apply` of the spec would.
    pub async fn apply(&self, spec: Value) -> Result<()> {
        let body = json!({
            "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
            "kind": names::KIND,
            "metadata": { "name": names::SINGLETON },
            "spec": spec,
        });
        let params = PatchParams::apply("kubectl").force();
        objects::configs(&self.client)
            .patch(names::SINGLETON, &params, &Patch::Apply(&body))
            .await?;
        Ok(())
    }

    pub async fn delete(&self) -> Result<()> {
        objects::configs(&self.client)
            .delete(names::SINGLETON, &Default::default())
            .await?;
        Ok(())
    }

    /// Deletes the config and waits until its finalizer let it go.
    pub async fn delete_and_wait(&self) -> Result<()> {
        self.delete().await?;
        self.gone().await
    }

    /// Waits until the finalizer of a config that is being deleted has let it go.
    pub async fn gone(&self) -> Result<()> {
        self.until("the config is gone", async || {
            Ok(objects::configs(&self.client)
                .get_opt(names::SINGLETON)
                .await?
                .is_none()
                .then_some(()))
        })
        .await
    }

    pub async fn config(&self) -> Result<Value> {
        objects::config(&self.client).await
    }

    /// Waits for a condition and returns its message.
    pub async fn condition(&self, type_: &str, status: &str, reason: &str) -> Result<String> {
        let what = format!("condition {type_}={status} {reason}");
        self.until(&what, async || {
            let config = self.config().await?;
            // A condition of an older generation says nothing about this spec.
            let current =
                config.pointer("/status/observedGeneration") == config.pointer("/metadata/generation");
            let found = condition(&config, type_).filter(|c| c["status"] == status && c["reason"] == reason);
            Ok(found.filter(|_| current).map(|c| text(c, "/message").to_owned()))
        })
        .await
    }

    /// Waits for a condition that says all of this: its status and reason may be older than its words.
    pub async fn condition_says(
        &self,
        type_: &str,
        status: &str,
        reason: &str,
        parts: &[&str],
    ) -> Result<()> {
        let what = format!("condition {type_}={status} {reason} with {parts:?}");
        self.until(&what, async || {
            let message = self.condition(type_, status, reason).await?;
            Ok(parts.iter().all(|part| message.contains(part)).then_some(()))
        })
        .await
    }

    pub async fn ready(&self) -> Result<()> {
        self.condition("Ready", "True", "AsExpected").await.map(drop)
    }

    /// Polls until `look` finds something; the error tells how things stood at the end.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
        let began = Instant::now();
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            if began.elapsed() > LIMIT {
                bail!("{what}: not within {} s\n{}", LIMIT.as_secs(), self.state().await);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn state(&self) -> String {
        let config = self.config().await.unwrap_or_default();
        let log = self
            .operator
            .as_ref()
            .map_or_else(String::new, RunningOperator::log);
        let tail: Vec<_> = log.lines().rev().take(20).collect();
        let status = serde_json::to_string_pretty(&config["status"]).unwrap_or_default();
        let agents = self.simulator.all_problems();
        format!(
            "status: {status}\nagents: {agents:?}\nlog, newest first:\n{}",
            tail.join("\n")
        )
    }

    pub fn calico(&self, kind: ConfigKind) -> Api<DynamicObject> {
        objects::calico(&self.client, self.calico_api, kind)
    }

    /// `spec` of a Calico object; null when it does not exist.
    pub async fn spec(&self, kind: ConfigKind, name: &str) -> Result<Value> {
        let object = self.calico(kind).get_opt(name).await?;
        object.map_or(Ok(Value::Null), |o| Ok(objects::json(&o)?["spec"].take()))
    }

    /// Waits until a field of a Calico object has a value.
    pub async fn field(&self, kind: ConfigKind, name: &str, field: &str, value: Value) -> Result<()> {
        let what = format!("{} {name} spec.{field} = {value}", kind.as_str());
        self.until(&what, async || {
            Ok((self.spec(kind, name).await?[field] == value).then_some(()))
        })
        .await
    }

    /// Specs of every Calico object the operator may write, by kind and name.
    pub async fn calico_specs(&self) -> Result<Value> {
        let mut specs = serde_json::Map::new();
        for kind in [
            ConfigKind::IpamConfiguration,
            ConfigKind::IpPool,
            ConfigKind::FelixConfiguration,
        ] {
            for object in objects::list(&self.calico(kind)).await? {
                let name = format!("{} {}", kind.as_str(), text(&object, "/metadata/name"));
                specs.insert(name, object["spec"].clone());
            }
        }
        Ok(Value::Object(specs))
    }

    /// A plain update by `manager`, as Calico itself or `kubectl edit` does.
    pub async fn edit(&self, kind: ConfigKind, name: &str, spec: Value, manager: &str) -> Result<()> {
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        self.calico(kind)
            .patch(name, &params, &Patch::Merge(json!({ "spec": spec })))
            .await?;
        Ok(())
    }

    /// A server-side apply by `manager`, as Argo CD or Flux does.
    pub async fn apply_as(&self, kind: ConfigKind, name: &str, spec: Value, manager: &str) -> Result<()> {
        let (served, _) = objects::served(self.calico_api, kind);
        let api_version = format!("{}/{}", self.calico_api.group(), self.calico_api.version());
        let body =
            json!({"apiVersion": api_version, "kind": served, "metadata": {"name": name}, "spec": spec});
        let params = PatchParams::apply(manager).force();
        self.calico(kind)
            .patch(name, &params, &Patch::Apply(&body))
            .await?;
        Ok(())
    }

    /// Creates any object from JSON.
    pub async fn create(&self, plural: &str, object: Value) -> Result<()> {
        let (group, version) = text(&object, "/apiVersion")
            .split_once('/')
            .unwrap_or(("", text(&object, "/apiVersion")));
        let resource = objects::resource(group, version, text(&object, "/kind"), plural);
        let api: Api<DynamicObject> = match text(&object, "/metadata/namespace") {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        api.create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(())
    }

    /// A DaemonSet in the operator's namespace; null when it does not exist.
    pub async fn daemon_set(&self, name: &str) -> Result<Value> {
        let api: Api<DynamicObject> = Api::namespaced_with(
            self.client.clone(),
            NAME,
            &objects::resource("apps", "v1", "DaemonSet", "daemonsets"),
        );
        api.get_opt(name)
            .await?
            .map_or(Ok(Value::Null), |o| objects::json(&o))
    }

    /// Sets a container's image the way `kubectl set image` does.
    pub async fn set_image(&self, daemon_set: &str, container: &str, image: &str) -> Result<()> {
        let containers = json!([{ "name": container, "image": image }]);
        let body = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
        let params = PatchParams {
            field_manager: Some("kubectl-set".to_owned()),
            ..PatchParams::default()
        };
        let api: Api<k8s_openapi::api::apps::v1::DaemonSet> = Api::namespaced(self.client.clone(), NAME);
        api.patch(daemon_set, &params, &Patch::Strategic(&body)).await?;
        Ok(())
    }

    /// Image of the first container of a DaemonSet.
    pub async fn image(&self, daemon_set: &str) -> Result<String> {
        let object = self.daemon_set(daemon_set).await?;
        Ok(text(&object, "/spec/template/spec/containers/0/image").to_owned())
    }

    /// Waits until no pod is left in the operator's namespace.
    pub async fn pods_gone(&self) -> Result<()> {
        let pods: Api<DynamicObject> = Api::namespaced_with(
            self.client.clone(),
            NAME,
            &objects::resource("", "v1", "Pod", "pods"),
        );
        self.until("the pods are gone", async || {
            Ok(objects::list(&pods).await?.is_empty().then_some(()))
        })
        .await
    }

    /// Events on the config, as `reason: note`.
    pub async fn events(&self) -> Result<Vec<String>> {
        let ours = self.events_on(names::KIND, names::SINGLETON).await?;
        Ok(ours
            .iter()
            .map(|e| format!("{}: {}", text(e, "/reason"), text(e, "/note")))
            .collect())
    }

    /// Events the operator wrote about an object of no namespace.
    pub async fn events_on(&self, kind: &str, name: &str) -> Result<Vec<Value>> {
        let resource = objects::resource("events.k8s.io", "v1", "Event", "events");
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), "default", &resource);
        let mut all = objects::list(&api).await?;
        all.retain(|e| {
            let by_us = text(e, "/reportingController") == names::OPERATOR;
            by_us && text(e, "/regarding/kind") == kind && text(e, "/regarding/name") == name
        });
        Ok(all)
    }

    /// A Node; null when it does not exist.
    pub async fn node(&self, name: &str) -> Result<Value> {
        self.nodes()
            .get_opt(name)
            .await?
            .map_or(Ok(Value::Null), |o| objects::json(&o))
    }

    pub fn nodes(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &objects::resource("", "v1", "Node", "nodes"))
    }

    /// Removes a Node and its pods, as an autoscaler does. Pods that are left to the garbage collector delay the rollout of their DaemonSet
    /// by a minute.
    pub async fn remove_node(&self, name: &str) -> Result<()> {
        self.cluster.remove_node(name).await?;
        let host = format!("spec.nodeName={name}");
        let delete = [
            "delete",
            "pods",
            "-A",
            "--grace-period=0",
            "--force",
            "--field-selector",
            &host,
        ];
        self.cluster.kubectl(&delete).await?;
        Ok(())
    }

    /// Waits for an Event with this reason whose note contains `part`.
    pub async fn event(&self, reason: &str, part: &str) -> Result<String> {
        let what = format!("Event {reason} with {part:?}");
        self.until(&what, async || {
            let events = self.events().await?;
            Ok(events
                .into_iter()
                .find(|e| e.starts_with(&format!("{reason}: ")) && e.contains(part)))
        })
        .await
    }

    /// Requests of the operator that wrote something, since a moment, its lease apart.
    pub fn writes_since(&self, since: Timestamp) -> Result<Vec<AuditEvent>> {
        let log = self.cluster.audit_log()?.since(since);
        let writes = log.writes_by(USER).into_iter().filter(|e| !e.is_election());
        Ok(writes.cloned().collect())
    }

    /// Has the operator write once more, and waits for that: what it had to do before, it has done by then. The length of a list in its
    /// status changes, and nothing else; the moment before that.
    pub async fn fence(&self) -> Result<Timestamp> {
        let before = Timestamp::now();
        let config = self.config().await?;
        let limit = config.pointer("/spec/nodeListLimit").and_then(Value::as_u64);
        let other = if limit == Some(49) { 48 } else { 49 };
        let patch = json!({"spec": {"nodeListLimit": other}});
        objects::configs(&self.client)
            .patch(names::SINGLETON, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        self.until("the operator's next status", async || {
            let config = self.config().await?;
            let seen = config.pointer("/status/observedGeneration") == config.pointer("/metadata/generation");
            Ok(seen.then_some(()))
        })
        .await?;
        Ok(before)
    }

    /// Waits until the operator has made no request but watches for a while; the moment that began.
    pub async fn quiet(&self) -> Result<Timestamp> {
        // The status is written once a second at most: what happened before may still be reported.
        const WHILE: Duration = Duration::from_millis(1300);
        let began = Instant::now();
        loop {
            let since = Timestamp::now();
            tokio::time::sleep(WHILE).await;
            if self.writes_since(since)?.is_empty() {
                return Ok(since);
            }
            if began.elapsed() > LIMIT {
                bail!(
                    "the operator does not come to rest: {:?}",
                    self.writes_since(since)?
                );
            }
        }
    }

    /// What the cluster's folder holds, for a test that failed.
    pub fn state_dir(&self) -> &Path {
        self.cluster.state_dir()
    }
}

/// A condition of a config.
pub fn condition<'a>(config: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = config.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|c| c["type"] == type_)
}

/// The smallest spec of a network type.
pub fn minimal(network: &str) -> Value {
    json!({ "network": { "type": network } })
}

/// Names of Calico's singletons, for readable tests.
pub const SINGLETON: &str = DEFAULT;

/// A field of a JSON document, or an error that shows the document.
pub fn at<'a>(document: &'a Value, pointer: &str) -> Result<&'a Value> {
    document
        .pointer(pointer)
        .with_context(|| format!("{pointer} is not in {document}"))
}
