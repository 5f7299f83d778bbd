//! A cluster as `calico.yaml` leaves it, and what people and other managers do to it.

use jiff::Timestamp;
use serde_json::{Value, json};
use wn_api::WindowsNodeConfig;
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::names;
use wn_api::names::flannel::CONFIG_MAP;
use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};
use wn_api::status::Original;
use wn_plan::calico::flap_guard::FlapGuard;
use wn_plan::lint::{Lint, Report};
use wn_plan::observed::{
    BlockFacts, ClusterInformation, Config, DaemonSetFacts, EtcdFacts, InstallationFacts, LinuxNodeFacts,
    NodeFacts, Observed, Source, cluster as sources,
};
use wn_plan::version::Version;

use super::Store;

pub const IPAM: ConfigKind = ConfigKind::IpamConfiguration;
pub const POOL: ConfigKind = ConfigKind::IpPool;
pub const FELIX: ConfigKind = ConfigKind::FelixConfiguration;
pub const INSTALLATION: ConfigKind = ConfigKind::Installation;
pub const FLANNEL: ConfigKind = ConfigKind::FlannelConfiguration;
pub const PERSON: &str = "kubectl-edit";
pub const ETCD: &str = "calico: {datastore: {type: Etcd, etcd: {endpoints: ['https://10.0.0.10:2379'], \
                        secretRef: {name: calico-etcd-secrets}}}}";
pub const DEFAULT_POOL: &str = "default-ipv4-ippool";
pub const NAMESPACE: &str = "windows-node-operator";
/// Field manager of Calico's own programs, and of every other Go client.
pub const CALICO: &str = "Go-http-client";

#[derive(Clone)]
pub struct Cluster {
    pub store: Store,
    pub observed: Observed,
    pub contests: FlapGuard,
    pub table: wn_plan::node::Table,
    pub lint: Lint,
    pub now: Timestamp,
}

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub fn windows_node() -> NodeFacts {
    let labels = [("kubernetes.io/os", "windows"), ("kubernetes.io/arch", "amd64")];
    NodeFacts {
        labels: labels.into(),
        kernel_version: "10.0.20348.3207".into(),
        kubelet_version: "v1.36.3".into(),
        container_runtime: "containerd://2.1.4".into(),
        ready: true,
        schedulable: true,
        ..NodeFacts::default()
    }
}

pub fn linux_node() -> LinuxNodeFacts {
    LinuxNodeFacts {
        kubelet_version: "v1.36.3".into(),
        schedulable: true,
        bgp_address: "192.168.0.10/24".into(),
        ..LinuxNodeFacts::default()
    }
}

pub fn config(spec: WindowsNodeConfigSpec) -> WindowsNodeConfig {
    let mut config = WindowsNodeConfig::new(names::SINGLETON, spec);
    config.metadata.uid = Some("2b0d7a5e-0000-4000-8000-000000000001".into());
    config.metadata.generation = Some(1);
    config
}

/// `spec` as a user writes it, with `network.type` set unless given.
pub fn spec(yaml: &str) -> WindowsNodeConfigSpec {
    let mut value: Value = serde_saphyr::from_str(yaml).unwrap();
    if value.is_null() {
        value = json!({});
    }
    if value["network"]["type"].is_null() {
        value["network"]["type"] = json!("CalicoVXLAN");
    }
    serde_json::from_value(value).unwrap()
}

/// What proptest prints of a failing cluster: the config, and Calico's objects with their owners.
impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = serde_json::to_string(&self.config().spec).unwrap();
        write!(
            f,
            "{spec}\n{:#?}\n{:?}",
            self.store.facts(),
            self.observed.calico.blocks
        )
    }
}

impl Cluster {
    /// No Calico yet: one Windows node, what kubeadm leaves, and the smallest config.
    pub fn without_calico(network: NetworkType) -> Self {
        let kubeconfig = "clusters: [{name: default, cluster: {server: 'https://api.example.com:6443'}}]";
        let observed = Observed {
            config: Some(Config::Readable(Box::new(config(
                WindowsNodeConfigSpec::minimal(network),
            )))),
            namespace: NAMESPACE.into(),
            kubernetes: Some(Version::new(1, 36, 3)),
            nodes: [("win-0".to_owned(), windows_node())].into(),
            linux: [("linux-0".to_owned(), linux_node())].into(),
            sources: [
                (
                    Source::KubeDns,
                    sources::service(&json!({"spec": {"clusterIP": "10.96.0.10"}})),
                ),
                (
                    Source::KubernetesService,
                    sources::service(&json!({"spec": {"clusterIP": "10.96.0.1"}})),
                ),
                (
                    Source::ServiceCidr,
                    sources::service_cidr(&json!({"spec": {"cidrs": ["10.96.0.0/12"]}})),
                ),
                (
                    Source::KubeProxyConfig,
                    sources::config_map(&json!({"data": {"kubeconfig.conf": kubeconfig}})),
                ),
            ]
            .into(),
            ..Observed::default()
        };
        Self {
            store: Store::default(),
            observed,
            contests: FlapGuard::default(),
            table: wn_plan::node::Table::default(),
            lint: Lint::Checked(Report::default()),
            now: at(0),
        }
    }

    /// Calico v3.32.1 as `calico.yaml` leaves it.
    pub fn fresh(network: NetworkType) -> Self {
        let mut cluster = Self::without_calico(network);
        let definitions =
            ["crd.projectcalico.org", "projectcalico.org"].map(|g| format!("felixconfigurations.{g}"));
        cluster.observed.calico.definitions.extend(definitions);
        cluster.observed.calico.cluster_information = Some(ClusterInformation {
            calico_version: "v3.32.1".into(),
            datastore_ready: true,
        });
        cluster.update(
            IPAM,
            DEFAULT,
            CALICO,
            json!({"strictAffinity": false, "autoAllocateBlocks": true}),
        );
        cluster.update(
            POOL,
            DEFAULT_POOL,
            CALICO,
            pool("10.244.0.0/16", "Always", "Never"),
        );
        cluster.update(
            FELIX,
            DEFAULT,
            CALICO,
            json!({"bpfConnectTimeLoadBalancing": "TCP", "logSeverityScreen": "Info"}),
        );
        cluster
    }

    pub fn vxlan() -> Self {
        Self::fresh(NetworkType::CalicoVxlan)
    }

    /// The same with etcd as Calico's datastore, which the spec says and the operator has read.
    pub fn in_etcd(mut self) -> Self {
        self.config_mut().spec.calico.datastore = spec(ETCD).calico.datastore;
        self.observed.calico.definitions.clear();
        self.observed.calico.etcd = Some(EtcdFacts {
            trouble: None,
            certificates: "0123456789abcdef".into(),
        });
        self.store.etcd = true;
        self.look();
        self
    }

    pub fn with_spec(mut self, yaml: &str) -> Self {
        self.config_mut().spec = spec(yaml);
        self
    }

    pub fn config(&self) -> &WindowsNodeConfig {
        self.observed.readable().unwrap()
    }

    pub fn config_mut(&mut self) -> &mut WindowsNodeConfig {
        match &mut self.observed.config {
            Some(Config::Readable(config)) => config,
            _ => panic!("no readable config"),
        }
    }

    /// The user edits the spec: what was contested gets a new chance, as in the runtime.
    pub fn edit_spec(&mut self, edit: impl FnOnce(&mut WindowsNodeConfigSpec)) {
        let config = self.config_mut();
        edit(&mut config.spec);
        config.metadata.generation = config.metadata.generation.map(|g| g + 1);
        self.contests.reset();
    }

    pub fn update(&mut self, kind: ConfigKind, name: &str, manager: &str, spec: Value) {
        self.store.update(kind, name, manager, &spec);
        self.look();
    }

    pub fn apply_as(&mut self, kind: ConfigKind, name: &str, manager: &str, spec: Value) {
        self.store.apply(kind, name, manager, &spec);
        self.look();
    }

    pub fn delete(&mut self, kind: ConfigKind, name: &str) {
        self.store.delete(kind, name);
        self.look();
    }

    pub fn manage_by_tigera(&mut self, pool: &str) {
        self.store.label(
            POOL,
            pool,
            names::labels::MANAGED_BY,
            names::labels::TIGERA_OPERATOR,
        );
        self.look();
    }

    pub fn serve_linux_pods(&mut self, cidr: &str) {
        let block = BlockFacts {
            cidr: cidr.parse().ok(),
            serves_linux_pods: true,
            ..BlockFacts::default()
        };
        self.observed
            .calico
            .blocks
            .insert((String::new(), cidr.to_owned()), block);
    }

    pub fn install_hns(&mut self) {
        self.update(
            INSTALLATION,
            DEFAULT,
            PERSON,
            json!({"calicoNetwork": {"windowsDataplane": "HNS"}}),
        );
    }

    /// The watch: facts are what is stored.
    pub fn look(&mut self) {
        let mut objects = self.store.facts();
        self.observed.installation_object = objects.remove(&(INSTALLATION, DEFAULT.to_owned()));
        self.observed.flannel = objects.remove(&(FLANNEL, CONFIG_MAP.to_owned()));
        self.observed.calico.objects = objects;
        let installation = self.store.json(INSTALLATION, DEFAULT);
        self.observed.installation = installation.map(|i| InstallationFacts::read(&i));
    }

    /// A field of a Calico object; null when absent.
    pub fn field(&self, kind: ConfigKind, name: &str, field: &str) -> Value {
        self.store
            .specs()
            .get(&(kind, name.to_owned()))
            .and_then(|s| s.get(field))
            .cloned()
            .unwrap_or_default()
    }

    pub fn originals(&self) -> Vec<Original> {
        let status = self.config().status.as_ref();
        status
            .and_then(|s| s.calico.as_ref())
            .map(|c| c.originals.clone())
            .unwrap_or_default()
    }

    pub fn original(&self, kind: ConfigKind, field: &str) -> Option<Original> {
        self.originals()
            .into_iter()
            .find(|o| o.kind == kind && o.field == field)
    }

    pub fn foreign_daemon_set(&mut self, namespace: &str, name: &str, image: &str) {
        let facts = DaemonSetFacts::read(&json!({
            "metadata": {"name": name},
            "spec": {"template": {"spec": {
                "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "c", "image": image}],
            }}},
        }));
        self.observed
            .daemon_sets
            .insert((namespace.into(), name.into()), facts.unwrap());
    }
}

pub fn pool(cidr: &str, ipip: &str, vxlan: &str) -> Value {
    json!({
        "cidr": cidr, "blockSize": 26, "ipipMode": ipip, "vxlanMode": vxlan, "natOutgoing": true,
        "nodeSelector": "all()", "allowedUses": ["Workload", "Tunnel"], "assignmentMode": "Automatic",
    })
}
