//! What a check sees: the whole of what is known, and what most of them ask of it.

use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::component::Component;
use wn_api::spec::WindowsNodeConfigSpec;

use crate::component::ownership::{self, Ownership};
use crate::network;
use crate::network::role::Backend;
use crate::observed::{BlockFacts, ConfigObject, Observed};
use crate::release::{self, Release};

/// What a check reads: everything observed, and the spec.
pub struct Cluster<'a> {
    /// The spec, which is valid.
    pub spec: &'a WindowsNodeConfigSpec,
    /// Everything observed.
    pub observed: &'a Observed,
    /// How Calico networks Windows nodes; `None` where it only enforces policy, so that its pools, IPAM and
    /// BGP are none of Windows' concern.
    pub backend: Option<Backend>,
}

impl<'a> Cluster<'a> {
    /// The view of the checks for a spec and an observation.
    pub fn of(spec: &'a WindowsNodeConfigSpec, observed: &'a Observed) -> Self {
        Self {
            spec,
            observed,
            backend: network::of(spec.network.type_).calico.backend(),
        }
    }

    /// A configuration of Calico's, by kind and name.
    pub fn object(&self, kind: ConfigKind, name: &str) -> Option<&'a ConfigObject> {
        self.observed.calico.objects.get(&(kind, name.to_owned()))
    }

    /// FelixConfiguration `default`; `None` when there is none.
    pub fn felix(&self) -> Option<&'a ConfigObject> {
        self.object(ConfigKind::FelixConfiguration, DEFAULT)
    }

    /// The release of Calico that Linux nodes run.
    pub fn calico(&self) -> Option<Release> {
        release::of_calico(self.observed)
    }

    /// We run the component on Windows nodes.
    pub fn runs_ours(&self, component: Component) -> bool {
        ownership::of(component, self.spec, self.observed) == Ownership::Managed
    }

    /// Blocks of Windows nodes.
    pub fn windows_blocks(&self) -> impl Iterator<Item = (&'a str, &'a BlockFacts)> {
        let blocks = self.observed.calico.blocks.iter();
        let nodes = &self.observed.nodes;
        blocks
            .filter(|(_, block)| nodes.contains_key(&block.host))
            .map(|((_, name), block)| (name.as_str(), block))
    }
}
