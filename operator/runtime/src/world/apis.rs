//! How each topic is reached: group, version, plural, namespace and selector.

use kube::api::{Api, ApiResource, DynamicObject};
use kube::{Client, core::GroupVersionKind};
use kube_runtime::watcher;
use wn_api::calico::{CalicoApi, DEFAULT, GROUP_MIGRATION, GROUP_V3};
use wn_api::component::Component;
use wn_api::names::{self, labels, tigera};
use wn_plan::observed::{Source, failures};

use super::Topic;
use crate::store::etcd::Link;

/// Typed paths to everything the operator reads or writes.
#[derive(Clone)]
pub struct Apis {
    client: Client,
    namespace: String,
    /// Form of Calico's API, once known.
    pub calico: Option<CalicoApi>,
    /// The way to Calico's etcd, when that holds Calico.
    pub etcd: Option<Link>,
    /// Served version of `DatastoreMigration`: v1, or v1beta1 in Calico v3.32.
    pub migration_version: Option<String>,
}

impl Apis {
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            calico: None,
            etcd: None,
            migration_version: None,
        }
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The API of a topic; `None` while it is not known which one is served.
    pub fn api(&self, topic: Topic) -> Option<Api<DynamicObject>> {
        let resource = self.resource(topic)?;
        Some(match self.namespace_of(topic) {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        })
    }

    pub fn resource(&self, topic: Topic) -> Option<ApiResource> {
        let (group, version, kind, plural) = match topic {
            Topic::Config => (names::GROUP, names::VERSION, names::KIND, "windowsnodeconfigs"),
            Topic::Nodes | Topic::LinuxNodes => ("", "v1", "Node", "nodes"),
            Topic::Pods => ("", "v1", "Pod", "pods"),
            Topic::DaemonSets => ("apps", "v1", "DaemonSet", "daemonsets"),
            Topic::ConfigMaps | Topic::Flannel => ("", "v1", "ConfigMap", "configmaps"),
            Topic::Source(source) => source_resource(source),
            Topic::Definition(_) => (
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
            ),
            Topic::Installation => (tigera::GROUP, "v1", "Installation", "installations"),
            Topic::TigeraStatus => (tigera::GROUP, "v1", "TigeraStatus", "tigerastatuses"),
            Topic::Migrations => (
                GROUP_MIGRATION,
                self.migration_version.as_deref()?,
                "DatastoreMigration",
                "datastoremigrations",
            ),
            Topic::Calico(kind) => {
                let (served, plural) = self.calico?.served(kind)?;
                (self.calico?.group(), self.calico?.version(), served, plural)
            }
            Topic::PoolsInV3 => (GROUP_V3, "v3", "IPPool", "ippools"),
            Topic::InformationInV3 => (GROUP_V3, "v3", "ClusterInformation", "clusterinformations"),
            Topic::Blocks => (
                self.calico?.group(),
                self.calico?.version(),
                "IPAMBlock",
                "ipamblocks",
            ),
            Topic::Affinities => (
                self.calico?.group(),
                self.calico?.version(),
                "BlockAffinity",
                "blockaffinities",
            ),
            Topic::Typha => ("apps", "v1", "Deployment", "deployments"),
            Topic::Etcd | Topic::Announced => return None,
            // The core API's view: the kubelet writes there, and only there a selector by reason is served.
            Topic::Failures => ("", "v1", "Event", "events"),
            Topic::ClusterInformation => (
                self.calico?.group(),
                self.calico?.version(),
                "ClusterInformation",
                "clusterinformations",
            ),
            Topic::BgpConfiguration => (
                self.calico?.group(),
                self.calico?.version(),
                "BGPConfiguration",
                "bgpconfigurations",
            ),
            Topic::BgpPeers => (
                self.calico?.group(),
                self.calico?.version(),
                "BGPPeer",
                "bgppeers",
            ),
            Topic::Reservations => (
                self.calico?.group(),
                self.calico?.version(),
                "IPReservation",
                "ipreservations",
            ),
            Topic::HostEndpoints => (
                self.calico?.group(),
                self.calico?.version(),
                "HostEndpoint",
                "hostendpoints",
            ),
            Topic::KubeControllers => (
                self.calico?.group(),
                self.calico?.version(),
                "KubeControllersConfiguration",
                "kubecontrollersconfigurations",
            ),
        };
        Some(ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(group, version, kind),
            plural,
        ))
    }

    /// Namespace a topic is confined to.
    fn namespace_of(&self, topic: Topic) -> Option<&str> {
        match topic {
            Topic::ConfigMaps => Some(&self.namespace),
            Topic::Source(source) => source_place(source).0,
            Topic::Flannel => Some(names::flannel::NAMESPACE),
            _ => None,
        }
    }

    /// Our DaemonSets' own API: they are watched everywhere and written in one namespace.
    pub fn own_daemon_sets(&self) -> Option<Api<DynamicObject>> {
        let resource = self.resource(Topic::DaemonSets)?;
        Some(Api::namespaced_with(self.client(), &self.namespace, &resource))
    }
}

/// What of a topic is watched.
pub fn selection(topic: Topic) -> watcher::Config {
    let all = watcher::Config::default();
    let one = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    match topic {
        Topic::Config => one(names::SINGLETON),
        Topic::Nodes => all.labels(&format!("{}={}", labels::OS, labels::WINDOWS)),
        Topic::LinuxNodes => all.labels(&format!("{}={}", labels::OS, labels::LINUX)),
        Topic::Pods => {
            let apps = Component::ALL.map(|component| component.names().daemon_sets);
            let apps = apps.concat().join(",");
            all.labels(&format!("{} in ({apps})", labels::K8S_APP))
        }
        Topic::ConfigMaps => all.labels(&format!("{}={}", labels::MANAGED_BY, names::OPERATOR)),
        Topic::Source(source) => one(source_place(source).1),
        Topic::Definition(i) => one(super::topic::DEFINITIONS[i]),
        Topic::Installation
        | Topic::ClusterInformation
        | Topic::BgpConfiguration
        | Topic::KubeControllers => one(DEFAULT),
        Topic::Typha => one(names::TYPHA),
        Topic::Flannel => one(names::flannel::CONFIG_MAP),
        Topic::Failures => all.fields(&format!("reason={}", failures::REASON)),
        Topic::DaemonSets
        | Topic::Migrations
        | Topic::Calico(_)
        | Topic::PoolsInV3
        | Topic::InformationInV3
        | Topic::Blocks
        | Topic::Affinities
        | Topic::BgpPeers
        | Topic::Reservations
        | Topic::HostEndpoints
        | Topic::TigeraStatus
        | Topic::Etcd
        | Topic::Announced => all,
    }
}

fn source_resource(source: Source) -> (&'static str, &'static str, &'static str, &'static str) {
    match source {
        Source::ServicesEndpoint
        | Source::KubeProxyConfig
        | Source::KubeadmConfig
        | Source::ClusterInfo
        | Source::CalicoConfig
        | Source::KubeletConfig
        | Source::CoreDns
        | Source::AmazonVpcCni => ("", "v1", "ConfigMap", "configmaps"),
        Source::KubernetesEndpoints => ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
        Source::ServiceCidr => ("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs"),
        Source::KubernetesService | Source::KubeDns | Source::OpenShiftDns | Source::Rke2Dns => {
            ("", "v1", "Service", "services")
        }
    }
}

/// Namespace and name of a source.
const fn source_place(source: Source) -> (Option<&'static str>, &'static str) {
    match source {
        Source::ServicesEndpoint => (Some(tigera::NAMESPACE), tigera::SERVICES_ENDPOINT),
        Source::KubeProxyConfig => (Some("kube-system"), "kube-proxy"),
        Source::KubeadmConfig => (Some("kube-system"), "kubeadm-config"),
        Source::ClusterInfo => (Some("kube-public"), "cluster-info"),
        Source::KubernetesEndpoints | Source::KubernetesService => (Some("default"), "kubernetes"),
        Source::ServiceCidr => (None, "kubernetes"),
        Source::KubeDns => (Some("kube-system"), "kube-dns"),
        Source::OpenShiftDns => (Some("openshift-dns"), "dns-default"),
        Source::Rke2Dns => (Some("kube-system"), "rke2-coredns-rke2-coredns"),
        Source::CalicoConfig => (Some("kube-system"), "calico-config"),
        Source::AmazonVpcCni => (Some("kube-system"), names::eks::CONFIG_MAP),
        Source::KubeletConfig => (Some("kube-system"), "kubelet-config"),
        Source::CoreDns => (Some("kube-system"), "coredns"),
    }
}
