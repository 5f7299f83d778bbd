//! What the cluster runs on, and what follows of it: who runs kube-proxy, and whether Calico for Windows works there
//! at all. `detect` finds it, `behaviour` says what it means.

mod behaviour;
pub(crate) mod detect;

use wn_api::names::KUBERNETES_MINORS;
use wn_api::reasons::Reason;
use wn_api::spec::{NetworkType, Platform, WindowsNodeConfigSpec};

use crate::finding::Finding;
use crate::network;
use crate::observed::Observed;
use crate::version::Version;

pub use behaviour::{Behaviour, LIMITATIONS, Support, behaviour, name};
pub use detect::{Found, cloud, of};

/// HostProcess containers are final, and cannot be switched off, from Kubernetes 1.26 on (KEP-1981).
const OLDEST_MINOR: u32 = 26;

/// What the cluster runs on, and what follows of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlatformPlan {
    /// The platform; `None` while there is no node to detect it by.
    pub platform: Option<Platform>,
    /// How the platform was detected.
    pub source: String,
    /// Why it is not supported; nothing is written to the cluster then, and nothing taken away.
    pub findings: Vec<Finding>,
    /// Kubernetes is of a minor nobody tested.
    pub untested: Option<String>,
}

impl PlatformPlan {
    /// Does the operator refuse to work here?
    pub fn is_refused(&self) -> bool {
        !self.findings.is_empty()
    }
}

/// Detects the platform and decides whether it is supported.
pub fn plan(spec: &WindowsNodeConfigSpec, observed: &Observed) -> PlatformPlan {
    let found = of(spec, observed);
    let refusal = (!spec.platform.accept_unsupported)
        .then(|| refusal(spec, found.as_ref()))
        .flatten();
    PlatformPlan {
        platform: found.as_ref().map(|f| f.platform),
        source: found.map(|f| f.source).unwrap_or_default(),
        findings: too_old(observed.kubernetes.as_ref())
            .into_iter()
            .chain(refusal)
            .collect(),
        untested: untested(observed),
    }
}

fn refusal(spec: &WindowsNodeConfigSpec, found: Option<&Found>) -> Option<Finding> {
    let found = found?;
    let objection = objection(found.platform, spec.network.type_)?;
    Some(Finding {
        reason: Reason::PlatformUnsupported,
        message: format!(
            "{objection}; detected by {}. Nothing is written: correct spec.platform.type, or set \
             spec.platform.acceptUnsupported to true to continue",
            found.source
        ),
    })
}

/// Why a network type cannot be had on a platform; `None` when it can.
pub fn objection(platform: Platform, network: NetworkType) -> Option<String> {
    let name = name(platform);
    match behaviour(platform).support {
        Support::Full => None,
        Support::PolicyOnly if network::of(network).is_of_platform() => None,
        Support::PolicyOnly => Some(format!(
            "{name} networks pods on Windows nodes itself, and Calico only enforces policy there ({LIMITATIONS}): set \
             spec.network.type to CloudProvider instead of {}",
            network.as_str()
        )),
        Support::Refused => Some(format!(
            "Calico for Windows does not support {name} ({LIMITATIONS})"
        )),
    }
}

/// Below the floor nothing we run can start. A newer minor than tested is no reason to leave a cluster alone that
/// was upgraded while it worked.
fn too_old(kubernetes: Option<&Version>) -> Option<Finding> {
    let version = kubernetes.filter(|v| v.major == 1 && v.minor < OLDEST_MINOR)?;
    Some(Finding {
        reason: Reason::KubernetesVersionUnsupported,
        message: format!(
            "the API server is {version}: the agent and kube-proxy run as HostProcess containers, which need Kubernetes \
             1.{OLDEST_MINOR} or later; nothing is written until the cluster is upgraded"
        ),
    })
}

/// The message about an untested minor of Kubernetes.
pub fn untested(observed: &Observed) -> Option<String> {
    let version = observed.kubernetes.as_ref()?;
    let tested = version.major == 1 && KUBERNETES_MINORS.contains(&version.minor);
    let (from, to) = (KUBERNETES_MINORS.start(), KUBERNETES_MINORS.end());
    (!tested).then(|| {
        format!("Kubernetes {version} is outside what this version was tested with, 1.{from} to 1.{to}")
    })
}
