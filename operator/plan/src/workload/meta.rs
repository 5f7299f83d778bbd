//! What both DaemonSets have in common: labels, scheduling, roll-out, and the rules of HostProcess pods.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, EnvVar, EnvVarSource, LocalObjectReference,
    ObjectFieldSelector, PodOS, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements,
    Toleration as PodToleration, Volume, VolumeMount, WindowsSecurityContextOptions,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use wn_api::component::Component;
use wn_api::names::{OPERATOR, READINESS_TAINT, annotations, labels};
use wn_api::spec::{
    Image, PullPolicy, Quantity as Written, Resources, SecretReference, Toleration, TolerationEffect,
    TolerationOperator, UpdateStrategy, UpdateStrategyType,
};

use super::RenderContext;
use crate::checksum;

/// Where containerd puts the files of a HostProcess container. hcsshim replaces this text in command lines,
/// arguments and variables before the process starts (`jobcontainer.go`, `replaceWithMountPoint`), with and
/// without bind mounts (containerd 1.6 and 1.7).
pub const ROOT: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT";

/// As every upstream agent on a Windows node: nothing on the node may evict what gives it a network.
const PRIORITY_CLASS: &str = "system-node-critical";
/// The account HNS lets change networks (`calico-node-windows` of tigera/operator).
const ACCOUNT: &str = r"NT AUTHORITY\system";

/// What a DaemonSet is called, and what it takes from the spec of its workload besides containers.
pub struct Base<'a> {
    pub name: &'static str,
    pub component: Component,
    pub service_account: &'static str,
    /// Seconds between the stop signal and the end of the containers.
    pub grace_period: i64,
    pub tolerations: &'a [Toleration],
    pub pull_secrets: &'a [SecretReference],
    pub update_strategy: &'a UpdateStrategy,
}

/// The containers and volumes of one pod.
pub struct Contents {
    pub init_containers: Vec<Container>,
    pub containers: Vec<Container>,
    pub volumes: Vec<Volume>,
}

pub fn daemon_set(
    base: &Base<'_>,
    contents: Contents,
    config: Option<&ConfigMap>,
    context: &RenderContext,
) -> DaemonSet {
    let data = config
        .iter()
        .filter_map(|c| c.data.as_ref())
        .flatten()
        .flat_map(|(key, value)| [key.as_str(), value.as_str()]);
    let checksum = BTreeMap::from([(annotations::CONFIG_CHECKSUM.to_owned(), checksum::of(data))]);
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(object_labels(base.name, base.component)),
            annotations: Some(checksum),
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(base, contents, &context.node_selector)),
    };
    DaemonSet {
        metadata: object_meta(base.name, base, context),
        spec: Some(DaemonSetSpec {
            // A selector is immutable: it holds nothing that could ever change.
            selector: LabelSelector {
                match_labels: Some(selector(base.name)),
                ..LabelSelector::default()
            },
            template,
            update_strategy: Some(update_strategy(base.update_strategy)),
            ..DaemonSetSpec::default()
        }),
        status: None,
    }
}

pub fn config_map(
    name: &str,
    key: &str,
    value: String,
    base: &Base<'_>,
    context: &RenderContext,
) -> ConfigMap {
    config_map_of(name, BTreeMap::from([(key.to_owned(), value)]), base, context)
}

pub fn config_map_of(
    name: &str,
    data: BTreeMap<String, String>,
    base: &Base<'_>,
    context: &RenderContext,
) -> ConfigMap {
    ConfigMap {
        metadata: object_meta(name, base, context),
        data: Some(data),
        ..ConfigMap::default()
    }
}

/// A HostProcess pod must use the host's network, and all of its containers must be HostProcess containers
/// (Kubernetes, `validateWindowsHostProcessPod`): set once for the pod, because no container can differ.
fn pod_spec(base: &Base<'_>, contents: Contents, selected: &BTreeMap<String, String>) -> PodSpec {
    let mut node_selector = selected.clone();
    node_selector.insert(labels::OS.to_owned(), labels::WINDOWS.to_owned());
    PodSpec {
        // Named so that the API server refuses fields a Windows pod would silently ignore (KEP-2802).
        os: Some(PodOS {
            name: labels::WINDOWS.to_owned(),
        }),
        node_selector: Some(node_selector),
        host_network: Some(true),
        security_context: Some(PodSecurityContext {
            windows_options: Some(WindowsSecurityContextOptions {
                host_process: Some(true),
                run_as_user_name: Some(ACCOUNT.to_owned()),
                ..WindowsSecurityContextOptions::default()
            }),
            ..PodSecurityContext::default()
        }),
        service_account_name: Some(base.service_account.to_owned()),
        priority_class_name: Some(PRIORITY_CLASS.to_owned()),
        termination_grace_period_seconds: Some(base.grace_period),
        tolerations: Some(tolerations(base.tolerations)),
        image_pull_secrets: pull_secrets(base.pull_secrets),
        init_containers: Some(contents.init_containers).filter(|c| !c.is_empty()),
        containers: contents.containers,
        volumes: Some(contents.volumes),
        ..PodSpec::default()
    }
}

fn object_meta(name: &str, base: &Base<'_>, context: &RenderContext) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(context.namespace.clone()),
        labels: Some(object_labels(base.name, base.component)),
        ..ObjectMeta::default()
    }
}

fn selector(daemon_set: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(labels::K8S_APP.to_owned(), daemon_set.to_owned())])
}

fn object_labels(daemon_set: &str, component: Component) -> BTreeMap<String, String> {
    let mut all = selector(daemon_set);
    all.insert(labels::MANAGED_BY.to_owned(), OPERATOR.to_owned());
    all.insert(labels::COMPONENT.to_owned(), component.names().label.to_owned());
    all.insert(labels::PART_OF.to_owned(), OPERATOR.to_owned());
    all
}

/// A node loses its network while the pod is away, hence one by one unless the user says otherwise.
const ONE: IntOrString = IntOrString::Int(1);

fn update_strategy(spec: &UpdateStrategy) -> DaemonSetUpdateStrategy {
    let (type_, rolling_update) = match spec.type_ {
        UpdateStrategyType::OnDelete => ("OnDelete", None),
        UpdateStrategyType::RollingUpdate => (
            "RollingUpdate",
            Some(RollingUpdateDaemonSet {
                max_unavailable: Some(spec.max_unavailable.as_ref().map_or(ONE, number_or_percentage)),
                ..RollingUpdateDaemonSet::default()
            }),
        ),
    };
    DaemonSetUpdateStrategy {
        type_: Some(type_.to_owned()),
        rolling_update,
    }
}

/// `"2"` is fine in the spec; a DaemonSet takes a number as a number only.
fn number_or_percentage(value: &IntOrString) -> IntOrString {
    match value {
        IntOrString::String(text) => text.parse().map_or_else(|_| value.clone(), IntOrString::Int),
        IntOrString::Int(_) => value.clone(),
    }
}

/// Without tolerations of its own a workload tolerates what tigera/operator's `TolerateAll` does: a node
/// whose taint waits for the network must get the pod that brings the network.
fn tolerations(spec: &[Toleration]) -> Vec<PodToleration> {
    if spec.is_empty() {
        let exists = |key: Option<&str>, effect: Option<&str>| PodToleration {
            key: key.map(str::to_owned),
            operator: Some("Exists".to_owned()),
            effect: effect.map(str::to_owned),
            ..PodToleration::default()
        };
        return vec![
            exists(Some("CriticalAddonsOnly"), None),
            exists(None, Some("NoSchedule")),
            exists(None, Some("NoExecute")),
        ];
    }
    // Whatever the user tolerates: our taint waits for just these pods.
    let ours = PodToleration {
        key: Some(READINESS_TAINT.to_owned()),
        operator: Some("Exists".to_owned()),
        ..PodToleration::default()
    };
    spec.iter().map(toleration).chain([ours]).collect()
}

fn toleration(spec: &Toleration) -> PodToleration {
    let operator = spec.operator.map(|operator| match operator {
        TolerationOperator::Exists => "Exists",
        TolerationOperator::Equal => "Equal",
    });
    let effect = spec.effect.map(|effect| match effect {
        TolerationEffect::NoSchedule => "NoSchedule",
        TolerationEffect::PreferNoSchedule => "PreferNoSchedule",
        TolerationEffect::NoExecute => "NoExecute",
    });
    PodToleration {
        key: spec.key.clone(),
        operator: operator.map(str::to_owned),
        value: spec.value.clone(),
        effect: effect.map(str::to_owned),
        toleration_seconds: None,
    }
}

fn pull_secrets(spec: &[SecretReference]) -> Option<Vec<LocalObjectReference>> {
    let secrets: Vec<_> = spec
        .iter()
        .map(|s| LocalObjectReference { name: s.name.clone() })
        .collect();
    Some(secrets).filter(|s| !s.is_empty())
}

pub fn pull_policy(image: &Image) -> Option<String> {
    let policy = match image.pull_policy {
        Some(PullPolicy::Always) => "Always",
        Some(PullPolicy::Never) => "Never",
        Some(PullPolicy::IfNotPresent) | None => "IfNotPresent",
    };
    Some(policy.to_owned())
}

pub fn resources(spec: &Resources) -> ResourceRequirements {
    let quantities = |map: &BTreeMap<String, Written>| {
        let all: BTreeMap<_, _> = map
            .iter()
            .map(|(k, v)| (k.clone(), Quantity(v.as_str().to_owned())))
            .collect();
        Some(all).filter(|all| !all.is_empty())
    };
    ResourceRequirements {
        requests: quantities(&spec.requests),
        limits: quantities(&spec.limits),
        ..ResourceRequirements::default()
    }
}

/// Has PowerShell run a script of a mounted ConfigMap. `-File`, not `-Command`: it must not read `,` and `;` in the
/// arguments as its own.
pub fn powershell(script: &str) -> Vec<String> {
    let script = format!("{ROOT}{script}");
    [
        "powershell.exe",
        "-NoLogo",
        "-NoProfile",
        "-NonInteractive",
        "-ExecutionPolicy",
        "Bypass",
        "-File",
        &script,
    ]
    .map(str::to_owned)
    .to_vec()
}

pub fn config_map_volume(volume: &str, config_map: &str) -> Volume {
    Volume {
        name: volume.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: config_map.to_owned(),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    }
}

pub fn mount(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: volume.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    }
}

/// An environment variable with a fixed value.
pub fn env(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.into()),
        value_from: None,
    }
}

pub fn field_env(name: &str, field_path: &str) -> EnvVar {
    let field = ObjectFieldSelector {
        field_path: field_path.to_owned(),
        ..ObjectFieldSelector::default()
    };
    let source = EnvVarSource {
        field_ref: Some(field),
        ..EnvVarSource::default()
    };
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(source),
    }
}

/// The API server's own address. Without it the kubelet injects the ClusterIP of Service `kubernetes`, which a
/// Windows host cannot reach before kube-proxy runs (tigera/operator#3113, sig-windows-tools#277).
pub fn api_server_env(context: &RenderContext) -> [EnvVar; 2] {
    [
        env("KUBERNETES_SERVICE_HOST", context.api_host.clone()),
        env("KUBERNETES_SERVICE_PORT", context.api_port.to_string()),
    ]
}
