//! Beside tigera/operator: which of the two runs Calico's agent on Windows nodes, what its Installation must say for
//! it, and what it waits for.
//!
//! Invariant: ours and theirs never run side by side by our doing. Ours is gone from every node before
//! `windowsDataplane: HNS` is written, and comes back only when theirs is gone.

mod fields;
mod spelling;
mod trouble;
mod turn;
mod unmet;

pub use fields::{differing, encapsulations, mismatch, patch, prepared, switch};
pub use spelling::{keep_pools, nested, take_defaults_along};
pub use trouble::{left_behind, pools_to_come, refused, runs_on, stray_folders};
pub use turn::{Turn, being_given_back, installation_object, is_theirs, note, ours_present, overlap, turn};
pub use unmet::unmet;

use wn_api::spec::WindowsNodeConfigSpec;

use crate::finding::Finding;
use crate::observed::Observed;

/// How the two share the work.
#[derive(Debug)]
pub struct TigeraPlan {
    pub turn: Turn,
    /// Why ours must not run now.
    pub overlap: Option<Finding>,
    /// What tigera/operator needs before it renders its agent, as far as it can be seen.
    pub unmet: Vec<String>,
}

pub fn plan(spec: &WindowsNodeConfigSpec, observed: &Observed) -> TigeraPlan {
    let turn = turn(spec, observed);
    TigeraPlan {
        turn,
        overlap: overlap(spec, observed),
        unmet: if turn == Turn::Theirs {
            unmet(spec, observed)
        } else {
            Vec::new()
        },
    }
}
