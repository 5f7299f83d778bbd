//! Each topic of the world in one table: where it is served, what of it is watched, when, and how it is kept.

use wn_api::calico::{self, ConfigKind, GROUP_V3};
use wn_api::names::{self, eks, flannel, labels, tigera};
use wn_plan::observed::topic::{INSTALLATIONS, MIGRATIONS, TIGERA_STATUSES};
use wn_plan::observed::{Source, Topic, failures};

/// How one topic is watched and kept.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Where its objects are served.
    pub served: Served,
    /// Whose objects are watched.
    pub namespace: Namespace,
    /// Which objects are watched.
    pub selection: Selection,
    /// When they are watched.
    pub watched: Watched,
    /// Decisions can be made without it: a check or an advisory is silent then, or a value is looked for elsewhere. Of any
    /// other topic, objects that cannot be read would be taken for absent, and be made, changed or deleted.
    pub optional: bool,
    /// The version of each object is kept, because the answer to a write may overtake the watch. Not where there are
    /// thousands of objects, none of which is written.
    pub versioned: bool,
}

/// Where the objects of a topic are served.
#[derive(Clone, Copy, Debug)]
pub enum Served {
    /// Group, version, kind and plural.
    At(&'static str, &'static str, &'static str, &'static str),
    /// Kind and plural in Calico's API, whose group and version are found out.
    Calico(&'static str, &'static str),
    /// A kind of Calico's API whose name and plural differ between its versions.
    CalicoConfig(ConfigKind),
    /// DatastoreMigrations, whose version is found out.
    Migrations,
    /// In etcd only.
    Etcd,
}

/// Namespaces of the objects.
#[derive(Clone, Copy, Debug)]
pub enum Namespace {
    /// Every namespace, and cluster-scoped objects.
    All,
    /// The operator's.
    Own,
    /// This namespace.
    Named(&'static str),
}

/// Which objects are watched.
#[derive(Clone, Copy, Debug)]
pub enum Selection {
    /// Every object.
    All,
    /// The object with this name.
    Name(&'static str),
    /// Objects with this label and value.
    Label(&'static str, &'static str),
    /// Label `k8s-app` of the agents and of kube-proxy.
    Apps,
    /// The reason of an Event.
    Reason(&'static str),
}

/// When a topic is watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Watched {
    /// As long as the operator runs.
    Always,
    /// While this CustomResourceDefinition exists.
    Defined(&'static str),
    /// While Calico's API is served, and is Calico's datastore.
    WithCalico,
    /// While Calico's v1 is empty and v3 is defined beside it.
    WithEmptyV1,
    /// With a network type of flannel's, and until its configuration is restored.
    WithFlannel,
    /// With a network type that reads it.
    WithNetwork(Source),
    /// While the spec names an etcd.
    WithEtcd,
    /// Never by itself: read with the rest of etcd.
    Never,
}

/// A topic that is always watched, everywhere, as a whole.
const fn at(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Descriptor {
    Descriptor {
        served: Served::At(group, version, kind, plural),
        namespace: Namespace::All,
        selection: Selection::All,
        watched: Watched::Always,
        optional: false,
        versioned: true,
    }
}

const fn core(kind: &'static str, plural: &'static str) -> Descriptor {
    at("", "v1", kind, plural)
}

const fn of_tigera(kind: &'static str, plural: &'static str, definition: &'static str) -> Descriptor {
    at(tigera::GROUP, "v1", kind, plural).watched(Watched::Defined(definition))
}

const fn of_calico(kind: &'static str, plural: &'static str) -> Descriptor {
    let served = Served::Calico(kind, plural);
    Descriptor {
        served,
        ..core(kind, plural)
    }
    .watched(Watched::WithCalico)
}

const fn of_etcd(watched: Watched) -> Descriptor {
    let served = Served::Etcd;
    Descriptor {
        served,
        ..core("", "")
    }
    .watched(watched)
}

const fn config_map(namespace: &'static str, name: &'static str) -> Descriptor {
    core("ConfigMap", "configmaps").within(namespace).named(name)
}

const fn service(namespace: &'static str, name: &'static str) -> Descriptor {
    core("Service", "services").within(namespace).named(name)
}

impl Descriptor {
    const fn watched(self, watched: Watched) -> Self {
        Self { watched, ..self }
    }

    const fn select(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    const fn named(self, name: &'static str) -> Self {
        self.select(Selection::Name(name))
    }

    const fn within(self, namespace: &'static str) -> Self {
        let namespace = Namespace::Named(namespace);
        Self { namespace, ..self }
    }

    const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }

    const fn unversioned(self) -> Self {
        Self {
            versioned: false,
            ..self
        }
    }
}

/// The row of a topic.
pub const fn descriptor(topic: Topic) -> Descriptor {
    match topic {
        Topic::Config => {
            at(names::GROUP, names::VERSION, names::KIND, "windowsnodeconfigs").named(names::SINGLETON)
        }
        Topic::Nodes => core("Node", "nodes").select(Selection::Label(labels::OS, labels::WINDOWS)),
        Topic::LinuxNodes => core("Node", "nodes").select(Selection::Label(labels::OS, labels::LINUX)),
        Topic::Pods => core("Pod", "pods").select(Selection::Apps).unversioned(),
        Topic::DaemonSets => at("apps", "v1", "DaemonSet", "daemonsets"),
        Topic::ConfigMaps => {
            let namespace = Namespace::Own;
            let ours = Selection::Label(labels::MANAGED_BY, names::OPERATOR);
            Descriptor {
                namespace,
                ..core("ConfigMap", "configmaps")
            }
            .select(ours)
        }
        Topic::Source(source) => of_source(source).optional(),
        Topic::Definition(name) => at(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        )
        .named(name),
        Topic::Installation => {
            of_tigera("Installation", "installations", INSTALLATIONS).named(calico::DEFAULT)
        }
        Topic::TigeraStatus => of_tigera("TigeraStatus", "tigerastatuses", TIGERA_STATUSES).optional(),
        Topic::Migrations => {
            let served = Served::Migrations;
            Descriptor {
                served,
                ..core("", "")
            }
            .watched(Watched::Defined(MIGRATIONS))
        }
        Topic::Calico(kind) => Descriptor {
            served: Served::CalicoConfig(kind),
            ..of_calico("", "")
        },
        Topic::PoolsInV3 => at(GROUP_V3, "v3", "IPPool", "ippools").watched(Watched::WithEmptyV1),
        Topic::InformationInV3 => {
            at(GROUP_V3, "v3", "ClusterInformation", "clusterinformations").watched(Watched::WithEmptyV1)
        }
        Topic::Blocks => of_calico("IPAMBlock", "ipamblocks").unversioned(),
        Topic::Affinities => of_calico("BlockAffinity", "blockaffinities").unversioned(),
        Topic::ClusterInformation => {
            of_calico("ClusterInformation", "clusterinformations").named(calico::DEFAULT)
        }
        Topic::BgpConfiguration => of_calico("BGPConfiguration", "bgpconfigurations").named(calico::DEFAULT),
        Topic::BgpPeers => of_calico("BGPPeer", "bgppeers").optional(),
        Topic::Typha => at("apps", "v1", "Deployment", "deployments")
            .named(names::TYPHA)
            .optional(),
        Topic::Reservations => of_calico("IPReservation", "ipreservations").optional(),
        Topic::HostEndpoints => of_calico("HostEndpoint", "hostendpoints")
            .unversioned()
            .optional(),
        Topic::KubeControllers => of_calico("KubeControllersConfiguration", "kubecontrollersconfigurations")
            .named(calico::DEFAULT)
            .optional(),
        Topic::Etcd => of_etcd(Watched::WithEtcd),
        Topic::Announced => of_etcd(Watched::Never),
        // The core API's view: the kubelet writes there, and only there a selector by reason is served.
        Topic::Failures => core("Event", "events")
            .select(Selection::Reason(failures::REASON))
            .unversioned()
            .optional(),
        Topic::Flannel => config_map(flannel::NAMESPACE, flannel::CONFIG_MAP).watched(Watched::WithFlannel),
    }
}

const fn of_source(source: Source) -> Descriptor {
    match source {
        Source::ServicesEndpoint => config_map(tigera::NAMESPACE, tigera::SERVICES_ENDPOINT),
        Source::KubeProxyConfig => config_map("kube-system", "kube-proxy"),
        Source::KubeadmConfig => config_map("kube-system", "kubeadm-config"),
        Source::ClusterInfo => config_map("kube-public", "cluster-info"),
        Source::KubernetesEndpoints => at("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
            .within("default")
            .named("kubernetes"),
        Source::KubernetesService => service("default", "kubernetes"),
        Source::ServiceCidr => {
            at("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs").named("kubernetes")
        }
        Source::KubeDns => service("kube-system", "kube-dns"),
        Source::OpenShiftDns => service("openshift-dns", "dns-default"),
        Source::Rke2Dns => service("kube-system", "rke2-coredns-rke2-coredns"),
        Source::CalicoConfig => config_map("kube-system", "calico-config"),
        Source::AmazonVpcCni => {
            config_map("kube-system", eks::CONFIG_MAP).watched(Watched::WithNetwork(source))
        }
        Source::KubeletConfig => config_map("kube-system", "kubelet-config"),
        Source::CoreDns => config_map("kube-system", "coredns"),
    }
}

/// The name of a topic in metrics and on `/readyz`.
pub fn label(topic: Topic) -> String {
    match topic {
        Topic::Definition(name) => name.to_owned(),
        Topic::Calico(kind) => kind.as_str().to_owned(),
        Topic::Source(source) => format!("{source:?}"),
        _ => format!("{topic:?}"),
    }
}
