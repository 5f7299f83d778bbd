//! From a valid spec and what was observed to everything that should be written, in order.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;
use wn_api::WindowsNodeConfig;
use wn_api::component::{Component, PerComponent};
use wn_api::spec::{Mode, WindowsNodeConfigSpec};

use crate::advice::{self, Advisory};
use crate::calico::flap_guard::FlapGuard;
use crate::calico::{self, CalicoPlan};
use crate::component::ownership::{self, Ownership};
use crate::component::{self, Basis, Changes, ComponentPlan, ObjectWrite};
use crate::finding::Finding;
use crate::inputs::{self, Inputs};
use crate::linux;
use crate::network;
use crate::observed::{Observed, OwnObject};
use crate::platform::{self, PlatformPlan};
use crate::tigera::{self, TigeraPlan};
use crate::typha;
use crate::unread;
use crate::validate::Valid;
use crate::workload::kube_proxy::Group;
use crate::workload::{EtcdAccess, RenderContext};

/// Everything that should be.
#[derive(Debug)]
pub struct Plan {
    /// Write anything at all? False in mode `Observe` and on a refused platform.
    pub write: bool,
    /// The platform, and whether it is supported.
    pub platform: PlatformPlan,
    /// Linux nodes that are missing.
    pub linux: Vec<Finding>,
    /// What happens to Calico's configuration.
    pub calico: CalicoPlan,
    /// Addresses that Windows nodes use.
    pub inputs: Inputs,
    /// What of the cluster is not as the network type needs it.
    pub network: Vec<Finding>,
    /// Worth saying of the network although nothing is wrong.
    pub notes: Vec<String>,
    /// When something will be overdue that is not yet.
    pub revisit: Option<Timestamp>,
    /// Who runs each component, and what is rolled out.
    pub components: PerComponent<ComponentPlan>,
    /// Groups of nodes, each with a kube-proxy of its own; of kube-proxy's DaemonSets the one at the same place.
    pub groups: Vec<Group>,
    /// Objects of ours that differ from what they should be.
    pub objects: Vec<ObjectWrite>,
    /// Objects of ours that differ, and are left to who changes them.
    pub contested: Vec<OwnObject>,
    /// ConfigMap that tigera/operator waits for, when it is not there.
    pub services_endpoint: Option<Value>,
    /// Objects of ours that should not be.
    pub deletions: Vec<(Component, OwnObject)>,
    /// Limits that this cluster runs into, by severity.
    pub advisories: Vec<Advisory>,
    /// Who runs the agent beside tigera/operator.
    pub tigera: TigeraPlan,
    /// `spec.readiness.minReadyNodes`.
    pub min_ready_nodes: Option<IntOrString>,
}

/// Makes the plan of one pass. `flaps`: what is contested; `now`: the time of the pass.
pub fn decide(
    valid: Valid,
    config: &WindowsNodeConfig,
    observed: &Observed,
    flaps: &FlapGuard,
    now: Timestamp,
) -> Plan {
    let spec = valid.spec();
    let calico = calico::plan(spec, observed, flaps, now);
    let inputs = inputs(spec, observed);
    let platform = platform::plan(spec, observed);
    let tigera = tigera::plan(spec, observed);
    let groups = component::groups(spec, observed);
    let (network, overdue) = network(spec, observed, &calico, now);
    let basis = Basis {
        spec,
        config,
        observed,
        flaps,
        now,
        calico: &calico,
        tigera: &tigera,
        inputs: &inputs,
        network: &network,
        groups: &groups,
    };
    let context = render_context(&basis);
    let mut changes = Changes::default();
    let components = PerComponent::new(|component| {
        let (plan, of_component) = component::plan(component, &basis, context.as_ref());
        changes.extend(of_component);
        plan
    });
    Plan {
        write: spec.mode == Mode::Manage && !platform.is_refused(),
        platform,
        linux: linux::findings(observed),
        notes: notes(spec, observed),
        revisit: [calico.revisit, overdue, changes.revisit]
            .into_iter()
            .flatten()
            .min(),
        components,
        objects: changes.objects,
        contested: changes.contested,
        services_endpoint: tigera::services_endpoint(tigera.agent_owner, observed, &inputs),
        deletions: changes.deletions,
        advisories: advice::advise(spec, observed),
        tigera,
        min_ready_nodes: spec.readiness.min_ready_nodes.clone(),
        groups,
        network,
        calico,
        inputs,
    }
}

fn inputs(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Inputs {
    let mut inputs = inputs::discover(&spec.network, observed);
    if !inputs.complete()
        && let Some(cause) = unread::cause(&observed.unread)
    {
        inputs.findings.insert(0, cause);
    }
    inputs
}

/// What of the cluster is not as the network type needs it, and when more of it will be overdue.
fn network(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    calico: &CalicoPlan,
    now: Timestamp,
) -> (Vec<Finding>, Option<Timestamp>) {
    let profile = network::of(spec.network.type_);
    let (overdue, next) = profile.overdue(spec, observed, now);
    let mut findings = profile.checks.findings(spec, observed);
    findings.extend(calico.of_network.iter().cloned());
    findings.extend(overdue);
    (findings, next)
}

fn notes(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<String> {
    let of_network = network::of(spec.network.type_).checks.notes(spec, observed);
    unread::notes(&observed.unread).chain(of_network).collect()
}

fn render_context(basis: &Basis) -> Option<RenderContext> {
    let Basis {
        spec,
        observed,
        inputs,
        ..
    } = *basis;
    let api = inputs.api_server.as_ref()?;
    inputs.complete().then_some(())?;
    let profile = network::of(spec.network.type_);
    Some(RenderContext {
        namespace: observed.namespace.clone(),
        calico: profile.calico,
        source_vip: profile.source_vip,
        network_agent: profile.agent.map(|agent| (agent.daemon_set(), agent.container())),
        ipam: spec.network.ipam,
        node_selector: spec.node_selector.clone(),
        typha: typha::usable(observed).map(str::to_owned),
        image_registry: spec.image_registry.clone(),
        api_host: api.value.host.clone(),
        api_port: api.value.port,
        service_cidrs: inputs.service_cidrs.as_ref()?.value.clone(),
        dns_servers: inputs.dns_servers.as_ref()?.value.clone(),
        dns_search: inputs.dns_search.as_ref()?.value.clone(),
        etcd: etcd_access(spec, observed),
        vni: calico::agents_vni(spec, observed, basis.calico),
        hns_network: profile.hns_network(observed).unwrap_or_default().into_owned(),
        kube_proxy_is_ours: ownership::of(Component::KubeProxy, spec, observed) == Ownership::Managed,
        cni_plugin: profile.cni_plugin(spec, observed),
        cni_dirs: profile.cni_dirs(spec, observed),
    })
}

fn etcd_access(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<EtcdAccess> {
    let etcd = spec.calico.datastore.etcd.as_ref()?;
    let facts = observed.calico.etcd.as_ref()?;
    Some(EtcdAccess {
        endpoints: etcd.endpoints.clone(),
        secret: etcd.secret_ref.clone(),
        certificates: facts.certificates.clone(),
    })
}
