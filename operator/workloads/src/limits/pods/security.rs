//! Security settings.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::placement::WINDOWS;
use super::super::units::Unit;
use crate::findings::{Code, Severity};
use crate::input::key;
use crate::input::pod::SecurityContext;

/// Fields of a pod's security context that the API server refuses for Windows pods (`validateWindows`).
const OF_POD: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];

/// Fields of a container's security context that the API server refuses for Windows pods (`validateWindows`).
const OF_CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Label of a namespace with the level that Pod Security enforces.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// The namespace of the parts of a cluster.
const SYSTEM: &str = "kube-system";

/// Fields that Windows does not have.
pub fn linux_fields(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let spec = unit.spec;
    let of_spec = [
        ("hostPID", spec.host_pid),
        ("hostIPC", spec.host_ipc),
        ("hostUsers", spec.host_users.is_some()),
        ("shareProcessNamespace", spec.share_process_namespace.is_some()),
    ];
    let of_spec = of_spec.into_iter().filter(|(_, is_set)| *is_set);
    let mut fields: Vec<String> = of_spec.map(|(name, _)| name.to_owned()).collect();
    fields.extend(set("securityContext", &spec.security_context, &OF_POD));
    for (path, container) in unit.containers() {
        let path = format!("{path}.securityContext");
        fields.extend(set(&path, &container.security_context, &OF_CONTAINER));
    }
    let Some(first) = fields.first() else {
        return Vec::new();
    };
    let all = fields.join(", ");
    let is_named = spec.os.name == WINDOWS;
    let (severity, message) = if is_named {
        (
            Severity::Error,
            format!("the API server refuses the pod because of {all}"),
        )
    } else {
        (Severity::Warning, format!("Windows ignores {all}"))
    };
    vec![Hit::new(Code::LinuxSecurityContext, severity, first, message)]
}

/// The fields among `names` that are set.
fn set(path: &str, context: &SecurityContext, names: &[&str]) -> Vec<String> {
    let is_set = |name: &&&str| context.others.contains(name);
    names
        .iter()
        .filter(is_set)
        .map(|name| format!("{path}.{name}"))
        .collect()
}

/// HostProcess containers outside of kube-system.
pub fn host_process(cluster: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    if unit.namespace == SYSTEM || !unit.has_host_process() {
        return Vec::new();
    }
    let namespace = cluster.objects.namespaces.get(&key("", unit.namespace));
    let level = namespace.and_then(|namespace| namespace.metadata.labels.get(ENFORCE));
    let refusing = level.filter(|level| matches!(*level, "baseline" | "restricted"));
    let field = "securityContext.windowsOptions.hostProcess";
    let hit = match refusing {
        Some(level) => {
            let message = format!(
                "namespace {} enforces level {level}, which refuses the pod",
                unit.namespace
            );
            Hit::error(Code::HostProcess, field, message)
        }
        None => {
            let message = "the pod has the rights of its user on the node itself";
            Hit::info(Code::HostProcess, field, message)
        }
    };
    vec![hit]
}
