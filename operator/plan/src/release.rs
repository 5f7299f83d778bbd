//! Which release of Calico Linux nodes run, and of which release our agent is.
//!
//! Every agent writes its own version into ClusterInformation when it starts, those on Windows nodes too. So an agent on a Windows
//! node that was not updated yet would take the whole DaemonSet back if that field decided: it decides only where nothing on
//! Linux nodes shows the release, and then never for a downgrade.

use wn_api::calico::DEFAULT;
use wn_api::component::Component;
use wn_api::names::tigera::CALICO_NAMESPACE;
use wn_api::spec::WindowsNodeConfigSpec;

use crate::observed::Observed;
use crate::version::Version;

/// A release, and the field that shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Release {
    /// The release.
    pub version: Version,
    /// Kind and name, with the namespace where there is one.
    pub object: String,
    /// Path of the field of `object`.
    pub field: &'static str,
}

/// Where manifests, charts and tigera/operator install Calico on Linux nodes; elsewhere anybody may call anything so.
const NAMESPACES: [&str; 2] = [CALICO_NAMESPACE, "kube-system"];

/// Of Calico as the cluster has it: what Linux nodes run, else what ClusterInformation says.
pub fn of_calico(observed: &Observed) -> Option<Release> {
    let written = written(observed);
    let Some(mut release) = on_linux(observed) else {
        return written;
    };
    // A tag has a suffix of its build, the program one of its release.
    if let Some(written) = written
        && written.version.numbers() == release.version.numbers()
    {
        release.version = written.version;
    }
    Some(release)
}

/// Of our agent: the pinned one, else Calico's; where only agents show that, never one older than the last.
pub fn of_agent(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Release> {
    if let Some(version) = pinned(spec) {
        return Some(Release {
            version,
            object: "WindowsNodeConfig default".to_owned(),
            field: "spec.nodeAgent.image.tag",
        });
    }
    kept(observed).or_else(|| of_calico(observed))
}

/// Why the agent is newer than what ClusterInformation says.
pub fn note(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<String> {
    let kept = kept(observed).filter(|_| pinned(spec).is_none())?;
    let written = written(observed)?;
    Some(format!(
        "{} {} is {}, which an older agent on a Windows node may have written: the agent stays at {}; to downgrade it, \
         set spec.nodeAgent.image.tag",
        written.object, written.field, written.version, kept.version
    ))
}

/// The release of the operator's stored DaemonSet, if only ClusterInformation shows Calico's release and has an older one.
fn kept(observed: &Observed) -> Option<Release> {
    let written = written(observed).filter(|_| on_linux(observed).is_none())?;
    let ours = observed.daemon_sets.iter();
    ours.filter(|(_, facts)| facts.ours && facts.component == Component::NodeAgent)
        .filter_map(|((namespace, name), facts)| {
            Some(Release {
                version: facts.version.clone()?,
                object: format!("DaemonSet {namespace}/{name}"),
                field: IMAGE,
            })
        })
        .find(|ours| ours.version.numbers() > written.version.numbers())
}

fn pinned(spec: &WindowsNodeConfigSpec) -> Option<Version> {
    let image = &spec.node_agent.image;
    image
        .tag
        .as_deref()
        .filter(|_| image.digest.is_none())?
        .parse()
        .ok()
}

const IMAGE: &str = "spec.template.spec.containers";

/// The newest where an upgrade or a move from manifests to tigera/operator has two of them.
fn on_linux(observed: &Observed) -> Option<Release> {
    let trusted = |namespace: &str| NAMESPACES.contains(&namespace);
    let nodes = observed
        .calico
        .linux_agents
        .iter()
        .filter(|((namespace, _), _)| trusted(namespace))
        .map(|((namespace, name), version)| (format!("DaemonSet {namespace}/{name}"), version));
    let typha = observed
        .typha
        .iter()
        .filter(|(namespace, _)| trusted(namespace))
        .filter_map(|(namespace, typha)| {
            Some((
                format!("Deployment {namespace}/calico-typha"),
                typha.version.as_ref()?,
            ))
        });
    let newest = |(object, version): (String, &Version)| Release {
        version: version.clone(),
        object,
        field: IMAGE,
    };
    let by_version = |(_, a): &(String, &Version), (_, b): &(String, &Version)| a.cmp(b);
    let installed = || {
        let installation = observed.installation.as_ref()?;
        Some(Release {
            version: installation.calico_version.clone()?,
            object: format!("Installation {DEFAULT}"),
            field: "status.calicoVersion",
        })
    };
    nodes
        .max_by(by_version)
        .or_else(|| typha.max_by(by_version))
        .map(newest)
        .or_else(installed)
}

fn written(observed: &Observed) -> Option<Release> {
    let information = observed.calico.cluster_information.as_ref()?;
    Some(Release {
        version: information.calico_version.parse().ok()?,
        object: format!("ClusterInformation {DEFAULT}"),
        field: "spec.calicoVersion",
    })
}
