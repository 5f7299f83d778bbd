//! From a valid spec and what was observed to everything that should be written, in order.

use jiff::Timestamp;
use serde_json::{Value, json};
use wn_api::names::{self, labels, managers, tigera};
use wn_api::reasons::Reason;
use wn_api::spec::{Dsr, Mode, WindowsNodeConfigSpec};
use wn_api::{WindowsNodeConfig, names::CALICO_MINORS};

use crate::calico::contest::Contests;
use crate::calico::{self, CalicoPlan, Finding};
use crate::drift::covers;
use crate::inputs::{self, Inputs};
use crate::observed::{App, Observed, OwnKind, OwnObject, Source};
use crate::standing::{self, Standing};
use crate::validate::Valid;
use crate::version::Version;
use crate::workload::{self, Surroundings, Workload};

/// Everything that should be.
#[derive(Debug)]
pub struct Plan {
    /// False in mode `Observe`: everything below is said, nothing done.
    pub write: bool,
    pub calico: CalicoPlan,
    pub inputs: Inputs,
    pub agent: WorkloadPlan,
    pub proxy: WorkloadPlan,
    /// Objects of ours that differ from what they should be.
    pub objects: Vec<ObjectWrite>,
    /// ConfigMap that tigera/operator waits for, when it is not there.
    pub services_endpoint: Option<Value>,
    /// Objects of ours that should not be.
    pub deletions: Vec<OwnObject>,
}

/// One of the DaemonSets.
#[derive(Debug)]
pub struct WorkloadPlan {
    pub standing: Standing,
    pub version: Option<Version>,
    pub image: Option<String>,
    pub flags: Vec<String>,
    /// Why it is not rolled out.
    pub blocked: Option<Finding>,
    /// Worth saying although nothing is wrong.
    pub note: Option<String>,
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
    contests: &Contests,
    now: Timestamp,
) -> Plan {
    let spec = valid.spec();
    let calico = calico::plan(spec, observed, contests, now);
    let inputs = inputs::discover(&spec.network, observed);
    let mut plan = Plan {
        write: spec.mode == Mode::Manage,
        agent: agent(spec, observed, &calico, &inputs),
        proxy: proxy(spec, observed, &calico, &inputs),
        services_endpoint: services_endpoint(observed, &inputs),
        calico,
        inputs,
        objects: Vec::new(),
        deletions: Vec::new(),
    };
    if let Some(around) = surroundings(spec, observed, &plan) {
        add(
            &mut plan,
            agent_workload(spec, observed, &around),
            App::NodeAgent,
            config,
            observed,
        );
        add(
            &mut plan,
            proxy_workload(spec, observed, &around),
            App::KubeProxy,
            config,
            observed,
        );
    }
    plan.deletions = [(&plan.agent, App::NodeAgent), (&plan.proxy, App::KubeProxy)]
        .into_iter()
        .filter(|(workload, _)| workload.standing != Standing::Managed)
        .flat_map(|(_, app)| existing(app, observed))
        .collect();
    plan
}

fn surroundings(spec: &WindowsNodeConfigSpec, observed: &Observed, plan: &Plan) -> Option<Surroundings> {
    let api = plan.inputs.api_server.as_ref()?;
    plan.inputs.complete().then_some(())?;
    Some(Surroundings {
        namespace: observed.namespace.clone(),
        network: spec.network.type_,
        image_registry: spec.image_registry.clone(),
        api_host: api.value.host.clone(),
        api_port: api.value.port,
        service_cidrs: plan.inputs.service_cidrs.as_ref()?.value.clone(),
        dns_servers: plan.inputs.dns_servers.as_ref()?.value.clone(),
        dns_search: plan.inputs.dns_search.clone(),
        vni: calico::vni(spec, observed, &plan.calico.originals),
    })
}

fn agent(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    calico: &CalicoPlan,
    inputs: &Inputs,
) -> WorkloadPlan {
    let version = calico_version(observed);
    let unknown = version
        .as_ref()
        .is_none_or(|v| v.major != 3 || !CALICO_MINORS.contains(&v.minor));
    let unsupported = || {
        let found = observed
            .calico
            .cluster_information
            .as_ref()
            .map_or("", |c| c.calico_version.as_str());
        if found.is_empty() {
            return Finding {
                reason: Reason::WaitingForPrecondition,
                message: "waits for ClusterInformation default spec.calicoVersion, which calico-node writes when it first starts".to_owned(),
            };
        }
        let (from, to) = (CALICO_MINORS.start(), CALICO_MINORS.end());
        Finding {
            reason: Reason::CalicoVersionUnsupported,
            message: format!(
                "ClusterInformation default says Calico {}: the Windows agent's command line is known for v3.{from} to v3.{to}; upgrade \
                 Calico, or run the agent yourself and set spec.nodeAgent.management to External",
                found
            ),
        }
    };
    WorkloadPlan {
        standing: standing::node_agent(spec, observed),
        blocked: waiting(App::NodeAgent, observed, calico, inputs).or_else(|| unknown.then(unsupported)),
        version,
        image: None,
        flags: Vec::new(),
        note: None,
    }
}

fn proxy(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    calico: &CalicoPlan,
    inputs: &Inputs,
) -> WorkloadPlan {
    let unable = nodes_without_dsr(observed);
    let blocked = (spec.kube_proxy.dsr == Dsr::Enabled && !unable.is_empty()).then(|| Finding {
        reason: Reason::DSRUnsupported,
        message: format!(
            "spec.kubeProxy.dsr is Enabled, but the Windows build of {unable} cannot do DSR (needs 17763.1432, KB4571748, or later): update \
             these nodes, or set dsr to Auto"
        ),
    });
    let note = (spec.kube_proxy.dsr == Dsr::Auto && !unable.is_empty())
        .then(|| format!("DSR is off because the Windows build of {unable} cannot do it (needs 17763.1432, KB4571748, or later)"));
    WorkloadPlan {
        standing: standing::kube_proxy(spec, observed),
        blocked: blocked.or_else(|| waiting(App::KubeProxy, observed, calico, inputs)),
        version: proxy_version(spec, observed),
        image: None,
        flags: proxy_version(spec, observed)
            .map(|v| workload::kube_proxy::arguments(&spec.kube_proxy, &v, dsr(spec, observed)))
            .unwrap_or_default(),
        note,
    }
}

/// A DaemonSet is first made when it can work. One that is there is kept right in any case: a node must
/// not lose its network because Calico's pool was edited.
fn waiting(app: App, observed: &Observed, calico: &CalicoPlan, inputs: &Inputs) -> Option<Finding> {
    let wait = |message: &str| Finding {
        reason: Reason::WaitingForPrecondition,
        message: message.to_owned(),
    };
    if !inputs.complete() {
        return Some(wait("waits for InputsDiscovered"));
    }
    let exists = existing(app, observed).any(|o| o.kind == OwnKind::DaemonSet);
    (!calico.fit_for_agents && !exists).then(|| wait("waits for CalicoConfigured"))
}

fn calico_version(observed: &Observed) -> Option<Version> {
    observed
        .calico
        .cluster_information
        .as_ref()?
        .calico_version
        .parse()
        .ok()
}

/// The lowest kubelet version of the Windows nodes, so that kube-proxy is nowhere newer than the kubelet;
/// before the first node joins, the API server's.
fn proxy_version(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Version> {
    let asked = spec.kube_proxy.version.as_deref().and_then(|v| v.parse().ok());
    let lowest = || {
        observed
            .nodes
            .values()
            .filter_map(crate::observed::NodeFacts::kubelet)
            .min()
    };
    asked.or_else(lowest).or_else(|| observed.kubernetes.clone())
}

/// Names of at most three nodes whose build is known not to do DSR; empty when there is none.
fn nodes_without_dsr(observed: &Observed) -> String {
    let unable = observed
        .nodes
        .iter()
        .filter(|(_, n)| n.build().is_some_and(|b| !b.can_dsr()));
    names_of(unable.map(|(name, _)| name.as_str()))
}

/// `a, b, c and others`: enough to start looking, and bounded.
pub fn names_of<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let first: Vec<_> = names.by_ref().take(3).collect();
    let more = if names.next().is_some() { " and others" } else { "" };
    format!("{}{more}", first.join(", "))
}

fn agent_workload(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    around: &Surroundings,
) -> Option<Workload> {
    let form = calico::api::form(&observed.calico)?;
    Some(workload::node_agent::node_agent(
        &spec.node_agent,
        &calico_version(observed)?,
        form,
        around,
    ))
}

fn proxy_workload(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    around: &Surroundings,
) -> Option<Workload> {
    let version = proxy_version(spec, observed)?;
    Some(workload::kube_proxy::kube_proxy(
        &spec.kube_proxy,
        &version,
        dsr(spec, observed),
        around,
    ))
}

fn dsr(spec: &WindowsNodeConfigSpec, observed: &Observed) -> bool {
    match spec.kube_proxy.dsr {
        Dsr::Enabled => true,
        Dsr::Disabled => false,
        Dsr::Auto => nodes_without_dsr(observed).is_empty(),
    }
}

/// Notes what the workload is, and its objects where they differ.
fn add(
    plan: &mut Plan,
    workload: Option<Workload>,
    app: App,
    config: &WindowsNodeConfig,
    observed: &Observed,
) {
    let (target, manager) = match app {
        App::NodeAgent => (&mut plan.agent, managers::NODE_AGENT),
        App::KubeProxy => (&mut plan.proxy, managers::KUBE_PROXY),
    };
    let Some(workload) =
        workload.filter(|_| target.standing == Standing::Managed && target.blocked.is_none())
    else {
        return;
    };
    let containers = workload
        .daemon_set
        .spec
        .as_ref()
        .and_then(|s| s.template.spec.as_ref())
        .map(|s| &s.containers);
    target.image = containers.and_then(|c| c.first()).and_then(|c| c.image.clone());
    let writes = [
        (OwnKind::ConfigMap, to_json(&workload.config_map)),
        (OwnKind::DaemonSet, to_json(&workload.daemon_set)),
    ];
    for (kind, body) in writes {
        plan.objects
            .extend(object_write(kind, body, manager, config, observed));
    }
}

/// k8s-openapi types always serialize; null would never be applied because it names no object.
fn to_json(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

fn object_write(
    kind: OwnKind,
    mut body: Value,
    manager: &'static str,
    config: &WindowsNodeConfig,
    observed: &Observed,
) -> Option<ObjectWrite> {
    let name = body.pointer("/metadata/name")?.as_str()?.to_owned();
    // The garbage collector then removes it with the CR, even when we are not there to do it.
    body["metadata"]["ownerReferences"] = json!([{
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "name": config.metadata.name,
        "uid": config.metadata.uid,
        "controller": true,
    }]);
    let object = OwnObject {
        kind,
        namespace: observed.namespace.clone(),
        name,
    };
    let stored = observed.ours.get(&object);
    let met = stored.is_some_and(|stored| covers(stored, &body));
    let drift = match stored {
        Some(stored) => annotation(stored, INTENT) == Some(&intent(&body)),
        None => was_there(config, manager, &observed.namespace),
    };
    body["metadata"]["annotations"][INTENT] = json!(intent(&body));
    (!met).then_some(ObjectWrite {
        object,
        manager,
        body,
        drift,
    })
}

/// Did our last status speak of this workload's DaemonSet? Then what is missing of it was deleted.
fn was_there(config: &WindowsNodeConfig, manager: &str, namespace: &str) -> bool {
    let status = config.status.as_ref();
    let (last, name) = if manager == managers::NODE_AGENT {
        (
            status.and_then(|s| s.node_agent.as_ref()),
            names::node_agent::DAEMON_SET,
        )
    } else {
        (
            status.and_then(|s| s.kube_proxy.as_ref()),
            names::kube_proxy::DAEMON_SET,
        )
    };
    last.filter(|w| w.management == Standing::Managed.as_str())
        .and_then(|w| w.daemon_set.as_deref())
        .is_some_and(|d| d == format!("{namespace}/{name}"))
}

/// Tells a change somebody made (same intent, other content) from a change of our own mind.
const INTENT: &str = "windowsnode.dev/intent";

fn intent(body: &Value) -> String {
    let mut bare = body.clone();
    if let Some(annotations) = bare
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(INTENT);
    }
    crate::checksum::of([bare.to_string().as_str()])
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}

/// Our stored objects of a workload.
fn existing(app: App, observed: &Observed) -> impl Iterator<Item = OwnObject> {
    let names = match app {
        App::NodeAgent => [names::node_agent::DAEMON_SET, names::node_agent::CONFIG_MAP],
        App::KubeProxy => [names::kube_proxy::DAEMON_SET, names::kube_proxy::CONFIG_MAP],
    };
    observed
        .ours
        .keys()
        .filter(move |o| names.contains(&o.name.as_str()))
        .cloned()
}

/// Beside tigera/operator with Windows switched on: the ConfigMap without which it does nothing
/// (tigera/operator `windows_controller.go`; calico#13702 asks for this).
fn services_endpoint(observed: &Observed, inputs: &Inputs) -> Option<Value> {
    let wanted = observed.installation.as_ref().is_some_and(|i| i.windows_hns);
    let missing = !observed.sources.contains_key(&Source::ServicesEndpoint);
    let endpoint = &inputs.api_server.as_ref().filter(|_| wanted && missing)?.value;
    Some(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": tigera::SERVICES_ENDPOINT,
            "namespace": tigera::NAMESPACE,
            "labels": { (labels::MANAGED_BY): names::OPERATOR },
        },
        "data": { (tigera::ENDPOINT_HOST): endpoint.host, (tigera::ENDPOINT_PORT): endpoint.port.to_string() },
    }))
}
