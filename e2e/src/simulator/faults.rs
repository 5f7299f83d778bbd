//! Faults of a node's agents that no configuration explains. What befalls the node itself is in `node_faults`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, Pod};

use super::containers::all_containers;
use super::pod_status::Outcome;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fault {
    /// Images of the agent cannot be pulled; an agent that runs goes on.
    AgentImagePull,
    /// Felix runs and never says it is ready.
    AgentNotReady,
    /// Container `node` is crash-looping with these last words.
    AgentCrash(&'static str),
    /// kube-proxy's image cannot be pulled; one that runs goes on.
    KubeProxyImagePull,
    /// kube-proxy runs and never says it is ready.
    KubeProxyNotReady,
    /// kube-proxy is crash-looping with these last words.
    KubeProxyCrash(&'static str),
    /// The image of what networks the node besides Calico cannot be pulled; an agent that runs goes on.
    NetworkAgentImagePull,
    /// That agent runs, and the network is never made.
    NetworkAgentNotReady,
    /// That agent is crash-looping with these last words.
    NetworkAgentCrash(&'static str),
}

impl Fault {
    /// Last words of the agent under this fault.
    pub const fn agent_crash(self) -> Option<&'static str> {
        match self {
            Self::AgentCrash(words) => Some(words),
            _ => None,
        }
    }

    /// Last words of the network agent under this fault.
    pub const fn network_agent_crash(self) -> Option<&'static str> {
        match self {
            Self::NetworkAgentCrash(words) => Some(words),
            _ => None,
        }
    }

    /// Last words of kube-proxy under this fault.
    pub const fn kube_proxy_crash(self) -> Option<&'static str> {
        match self {
            Self::KubeProxyCrash(words) => Some(words),
            _ => None,
        }
    }
}

#[derive(Default)]
pub struct Faults(BTreeMap<String, BTreeSet<Fault>>);

impl Faults {
    pub fn insert(&mut self, node: &str, fault: Fault) {
        self.0.entry(node.to_owned()).or_default().insert(fault);
    }

    pub fn clear(&mut self, node: &str) {
        self.0.remove(node);
    }

    pub fn of(&self, node: &str) -> BTreeSet<Fault> {
        self.0.get(node).cloned().unwrap_or_default()
    }
}

/// Why no container of `pod` gets its image: `fault`, or a name that is none. Words of the kubelet
/// (`pkg/kubelet/images/image_manager.go`).
pub fn image_problem(pod: &Pod, fault: bool) -> Option<Outcome> {
    let containers = pod.spec.iter().flat_map(all_containers);
    let problem = |container: &Container| {
        let image = container.image.as_deref().unwrap_or_default();
        let (reason, message) = if !is_reference(image) {
            let why = "couldn't parse image name: invalid reference format";
            (
                "InvalidImageName",
                format!("Failed to apply default image tag \"{image}\": {why}"),
            )
        } else if fault {
            ("ImagePullBackOff", format!("Back-off pulling image \"{image}\""))
        } else {
            return None;
        };
        Some(Outcome::Waiting {
            container: container.name.clone(),
            reason,
            message,
        })
    };
    containers.into_iter().find_map(problem)
}

/// A `+` stands in versions, never in tags.
fn is_reference(image: &str) -> bool {
    let valid = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    !image.is_empty() && image.chars().all(valid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_belong_to_a_node() {
        let mut faults = Faults::default();
        faults.insert("win-0", Fault::AgentImagePull);
        faults.insert("win-0", Fault::KubeProxyImagePull);
        faults.insert("win-1", Fault::AgentNotReady);
        faults.clear("win-0");
        assert_eq!(faults.of("win-0"), BTreeSet::new());
        assert_eq!(faults.of("win-1"), BTreeSet::from([Fault::AgentNotReady]));
    }

    #[test]
    fn images_that_cannot_be_had() {
        for (image, fault, expected) in [
            (
                "sigwindowstools/kube-proxy:v1.36.1-calico-hostprocess",
                false,
                None,
            ),
            ("registry:5000/a/b@sha256:00", false, None),
            ("kube-proxy:v1.36.1", true, Some("ImagePullBackOff")),
            ("kube-proxy:v1.36.1+rke2r1", false, Some("InvalidImageName")),
            ("", false, Some("InvalidImageName")),
        ] {
            let spec = json!({"initContainers": [{"name": "first", "image": image}], "containers": []});
            let pod = serde_json::from_value(json!({"spec": spec})).unwrap();
            let outcome = image_problem(&pod, fault);
            let reason = outcome.as_ref().map(|outcome| match outcome {
                Outcome::Waiting {
                    container, reason, ..
                } if container == "first" => *reason,
                other => panic!("{other:?}"),
            });
            assert_eq!(reason, expected, "{image}");
        }
    }
}
