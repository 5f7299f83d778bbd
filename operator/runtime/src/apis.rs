//! Typed paths to everything the operator reads or writes.

use kube::api::{Api, ApiResource, DynamicObject, PatchParams};
use kube::core::{DynamicResourceScope, GroupVersionKind};
use kube::{Client, Resource};
use kube_runtime::watcher;
use wn_api::calico::{CalicoApi, GROUP_MIGRATION};
use wn_api::component::Component;
use wn_api::names::labels;
use wn_plan::observed::Topic;

use crate::store::etcd::link::Link;
use crate::topics::{Namespace, Selection, Served, descriptor};

/// Clients for every resource that the operator reads or writes.
#[derive(Clone)]
pub struct Apis {
    client: Client,
    namespace: String,
    /// The API that Calico uses, once known.
    pub calico: Option<CalicoApi>,
    /// The connection to Calico's etcd, when that holds Calico.
    pub etcd: Option<Link>,
    /// Served version of `DatastoreMigration`: v1, or v1beta1 in Calico v3.32.
    pub migration_version: Option<String>,
}

impl Apis {
    /// Without Calico: its API, or its etcd, is set when it is known.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            calico: None,
            etcd: None,
            migration_version: None,
        }
    }

    /// The operator's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The client that every path uses.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The API of a topic; `None` while it is not known which one is served.
    pub fn api(&self, topic: Topic) -> Option<Api<DynamicObject>> {
        self.api_through(self.client(), topic)
    }

    /// The API of a topic by another client.
    pub fn api_through<K>(&self, client: Client, topic: Topic) -> Option<Api<K>>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let resource = self.resource(topic)?;
        Some(match descriptor(topic).namespace {
            Namespace::All => Api::all_with(client, &resource),
            Namespace::Own => Api::namespaced_with(client, &self.namespace, &resource),
            Namespace::Named(namespace) => Api::namespaced_with(client, namespace, &resource),
        })
    }

    /// Group, version, kind and plural of a topic; `None` while its API is unknown or not served.
    pub fn resource(&self, topic: Topic) -> Option<ApiResource> {
        let (group, version, kind, plural) = match descriptor(topic).served {
            Served::At(group, version, kind, plural) => (group, version, kind, plural),
            Served::Calico(kind, plural) => (self.calico?.group(), self.calico?.version(), kind, plural),
            Served::CalicoConfig(kind) => {
                let (served, plural) = self.calico?.served(kind)?;
                (self.calico?.group(), self.calico?.version(), served, plural)
            }
            Served::Migrations => (
                GROUP_MIGRATION,
                self.migration_version.as_deref()?,
                "DatastoreMigration",
                "datastoremigrations",
            ),
            Served::Etcd => return None,
        };
        let kind = GroupVersionKind::gvk(group, version, kind);
        Some(ApiResource::from_gvk_with_plural(&kind, plural))
    }

    /// The API of the operator's DaemonSets: DaemonSets are watched in every namespace and written in one.
    pub fn own_daemon_sets(&self) -> Option<Api<DynamicObject>> {
        let resource = self.resource(Topic::DaemonSets)?;
        Some(Api::namespaced_with(self.client(), &self.namespace, &resource))
    }
}

/// Which objects of a topic are watched.
pub fn selection(topic: Topic) -> watcher::Config {
    let all = watcher::Config::default();
    match descriptor(topic).selection {
        Selection::All => all,
        Selection::Name(name) => all.fields(&format!("metadata.name={name}")),
        Selection::Label(label, value) => all.labels(&format!("{label}={value}")),
        Selection::Apps => {
            let apps = Component::ALL.map(|component| component.names().daemon_sets);
            let apps = apps.concat().join(",");
            all.labels(&format!("{} in ({apps})", labels::K8S_APP))
        }
        Selection::Reason(reason) => all.fields(&format!("reason={reason}")),
    }
}

/// Parameters of a merge patch by a field manager.
pub fn merge_as(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}
