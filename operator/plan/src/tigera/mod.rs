//! Beside tigera/operator: which of the two runs Calico's agent on Windows nodes, what its Installation must say for
//! it, and what it waits for.
//!
//! Invariant: ours and theirs never run side by side by our doing. Ours is gone from every node before
//! `windowsDataplane: HNS` is written, and comes back only when theirs is gone.

mod agent_owner;
mod fields;
mod services_endpoint;
mod spelling;
mod trouble;
mod unmet;

pub use agent_owner::{
    AgentOwner, agent_owner, being_restored, installation_object, is_theirs, note, ours_present, overlap,
};
pub use fields::{differing, encapsulations, mismatch, patch, prepared, switch};
pub use services_endpoint::services_endpoint;
pub use spelling::{keep_pools, nested, take_defaults_along};
pub use trouble::{left_behind, pools_to_come, refused, runs_on, stray_folders};
pub use unmet::unmet;

use wn_api::spec::WindowsNodeConfigSpec;

use crate::finding::Finding;
use crate::observed::Observed;

/// How the two share the work.
#[derive(Debug)]
pub struct TigeraPlan {
    /// Who runs the agent.
    pub agent_owner: AgentOwner,
    /// Why ours must not run now.
    pub overlap: Option<Finding>,
    /// What tigera/operator needs before it renders its agent, as far as it can be seen.
    pub unmet: Vec<String>,
}

/// Decides who runs the agent, and what tigera/operator still needs for it.
pub fn plan(spec: &WindowsNodeConfigSpec, observed: &Observed) -> TigeraPlan {
    let agent_owner = agent_owner(spec, observed);
    TigeraPlan {
        agent_owner,
        overlap: overlap(spec, observed),
        unmet: if agent_owner == AgentOwner::Theirs {
            unmet(spec, observed)
        } else {
            Vec::new()
        },
    }
}
