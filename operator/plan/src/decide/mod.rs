//! From a valid spec and what was observed to everything that should be written, in order.

mod objects;
mod proxy;
mod rollout;

use jiff::Timestamp;
use serde_json::Value;
use wn_api::WindowsNodeConfig;
use wn_api::names::managers;
use wn_api::reasons::Reason;
use wn_api::spec::{Mode, WindowsNodeConfigSpec};

use crate::advice::{self, Advisory};
use crate::calico::flap_guard::FlapGuard;
use crate::calico::{self, CalicoPlan};
use crate::finding::Finding;
use crate::inputs::{self, Inputs};
use crate::linux;
use crate::network;
use crate::network::role::CalicoRole;
use crate::observed::{App, Observed, OwnObject};
use crate::platform::{self, PlatformPlan};
use crate::standing::Standing;
use crate::tigera::{self, TigeraPlan};
use crate::typha;
use crate::unread;
use crate::validate::Valid;
use crate::version::Version;
use crate::workload::kube_proxy::Group;
use crate::workload::{EtcdAccess, Surroundings};

/// Everything that should be.
#[derive(Debug)]
pub struct Plan {
    /// False in mode `Observe`, where everything below is said and nothing done, and on a platform that is refused.
    pub write: bool,
    pub platform: PlatformPlan,
    /// Linux nodes that are missing.
    pub linux: Vec<Finding>,
    pub calico: CalicoPlan,
    pub inputs: Inputs,
    /// What of the cluster is not as the network type needs it.
    pub network: Vec<Finding>,
    /// Worth saying of the network although nothing is wrong.
    pub notes: Vec<String>,
    /// When something will be overdue that is not yet.
    pub revisit: Option<Timestamp>,
    /// What networks nodes where Calico does not.
    pub network_agent: WorkloadPlan,
    /// Calico's agent.
    pub agent: WorkloadPlan,
    pub proxy: WorkloadPlan,
    /// Groups of nodes, each with a kube-proxy of its own; of kube-proxy's DaemonSets the one at the same place.
    pub groups: Vec<Group>,
    /// Objects of ours that differ from what they should be.
    pub objects: Vec<ObjectWrite>,
    /// Objects of ours that differ, and are left to who changes them.
    pub contested: Vec<OwnObject>,
    /// ConfigMap that tigera/operator waits for, when it is not there.
    pub services_endpoint: Option<Value>,
    /// Objects of ours that should not be.
    pub deletions: Vec<OwnObject>,
    pub advisories: Vec<Advisory>,
    pub tigera: TigeraPlan,
}

/// One of the workloads on Windows nodes.
#[derive(Debug)]
pub struct WorkloadPlan {
    pub standing: Standing,
    /// Its DaemonSets, that of most nodes first; none where the network type has none.
    pub daemon_sets: Vec<DaemonSetPlan>,
    /// Why none of them is rolled out.
    pub blocked: Option<Finding>,
    /// Worth saying although nothing is wrong.
    pub note: Option<String>,
}

#[derive(Debug, Default)]
pub struct DaemonSetPlan {
    pub name: &'static str,
    pub version: Option<Version>,
    pub image: Option<String>,
    pub flags: Vec<String>,
    /// Why this one is not rolled out, although others may be.
    pub blocked: Option<Finding>,
}

/// A server-side apply of an object we own.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectWrite {
    pub object: OwnObject,
    pub manager: &'static str,
    pub body: Value,
    /// It existed with our values and someone changed or deleted it.
    pub drift: bool,
}

pub fn decide(
    valid: Valid,
    config: &WindowsNodeConfig,
    observed: &Observed,
    contests: &FlapGuard,
    now: Timestamp,
) -> Plan {
    let spec = valid.spec();
    let calico = calico::plan(spec, observed, contests, now);
    let mut inputs = inputs::discover(&spec.network, observed);
    if !inputs.complete()
        && let Some(cause) = unread::cause(&observed.unread)
    {
        inputs.findings.insert(0, cause);
    }
    let platform = platform::plan(spec, observed);
    let option = network::of(spec.network.type_);
    let mut network = option.findings(spec, observed);
    network.extend(calico.of_network.iter().cloned());
    let (overdue, next) = option.overdue(spec, observed, now);
    network.extend(overdue);
    let mut plan = Plan {
        write: spec.mode == Mode::Manage && !platform.is_refused(),
        platform,
        linux: linux::findings(observed),
        revisit: calico.revisit.into_iter().chain(next).min(),
        notes: unread::notes(&observed.unread)
            .chain(option.notes(spec, observed))
            .collect(),
        network_agent: rollout::network_agent(spec, observed, &network, &inputs),
        advisories: advice::advise(spec, observed),
        tigera: tigera::plan(spec, observed),
        agent: rollout::agent(spec, observed, &calico, &inputs),
        proxy: proxy::plan(spec, observed, &calico, &network, &inputs),
        groups: proxy::groups(spec, observed),
        network,
        services_endpoint: objects::services_endpoint(tigera::turn(spec, observed), observed, &inputs),
        calico,
        inputs,
        objects: Vec::new(),
        contested: Vec::new(),
        deletions: Vec::new(),
    };
    if let Some(around) = surroundings(spec, observed, &plan) {
        let network = rollout::network_workload(spec, observed, &around);
        let agent = rollout::agent_workload(spec, observed, &around);
        let proxies = proxy::workloads(spec, observed, &plan, &around);
        objects::add(&mut plan, network.as_slice(), App::NetworkAgent, config, observed);
        objects::add(&mut plan, agent.as_slice(), App::NodeAgent, config, observed);
        objects::add(&mut plan, &proxies, App::KubeProxy, config, observed);
    }
    let workloads = [
        (&plan.network_agent, App::NetworkAgent),
        (&plan.agent, App::NodeAgent),
        (&plan.proxy, App::KubeProxy),
    ];
    let unwanted: Vec<_> = workloads
        .into_iter()
        .filter(|(workload, app)| {
            let overlaps = *app == App::NodeAgent && plan.tigera.overlap.is_some();
            workload.standing != Standing::Managed || overlaps
        })
        .flat_map(|(_, app)| objects::existing(app, observed))
        .collect();
    plan.deletions.extend(unwanted);
    leave_contested(&mut plan, observed, contests, now);
    plan
}

/// Objects of ours that someone changes again and again are left for a time: each repair of a DaemonSet restarts
/// networking on the nodes. One that is missing is made in any case, as nothing runs without it.
fn leave_contested(plan: &mut Plan, observed: &Observed, contests: &FlapGuard, now: Timestamp) {
    let until = |o: &ObjectWrite| {
        let changed = o.drift && observed.ours.contains_key(&o.object);
        contests.resting_until(&o.object, now).filter(|_| changed)
    };
    for write in plan.objects.extract_if(.., |o| until(o).is_some()) {
        plan.revisit = plan.revisit.into_iter().chain(until(&write)).min();
        let object = &write.object;
        let finding = Finding {
            reason: Reason::Contested,
            message: format!(
                "{:?} {}/{} is changed again and again by another manager (see its metadata.managedFields): stop that manager; the \
                 operator tries again in an hour, or when the WindowsNodeConfig changes",
                object.kind, object.namespace, object.name
            ),
        };
        let workload = match write.manager {
            managers::NODE_AGENT => &mut plan.agent,
            managers::NETWORK_AGENT => &mut plan.network_agent,
            _ => &mut plan.proxy,
        };
        workload.blocked.get_or_insert(finding);
        plan.contested.push(write.object);
    }
}

fn surroundings(spec: &WindowsNodeConfigSpec, observed: &Observed, plan: &Plan) -> Option<Surroundings> {
    let api = plan.inputs.api_server.as_ref()?;
    plan.inputs.complete().then_some(())?;
    let option = network::of(spec.network.type_);
    Some(Surroundings {
        namespace: observed.namespace.clone(),
        network: spec.network.type_,
        calico: option.calico(),
        ipam: spec.network.ipam,
        typha: typha::usable(observed).map(str::to_owned),
        image_registry: spec.image_registry.clone(),
        api_host: api.value.host.clone(),
        api_port: api.value.port,
        service_cidrs: plan.inputs.service_cidrs.as_ref()?.value.clone(),
        dns_servers: plan.inputs.dns_servers.as_ref()?.value.clone(),
        dns_search: plan.inputs.dns_search.as_ref()?.value.clone(),
        etcd: etcd_access(spec, observed),
        vni: calico::agents_vni(spec, observed, &plan.calico),
        hns_network: option.hns_network(observed).unwrap_or_default().into_owned(),
        kube_proxy_is_ours: plan.proxy.standing == Standing::Managed,
        hns_networks: match option.calico() {
            CalicoRole::Networking(_) => "Calico.*",
            CalicoRole::Policy { hns_networks } => hns_networks,
        },
        cni_plugin: option.cni_plugin(spec, observed),
        cni_dirs: option.cni_dirs(spec, observed),
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
