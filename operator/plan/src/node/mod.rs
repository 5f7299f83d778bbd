//! Whether a Windows node works, judged from the API: a chain of small checks, each in a file of its own. The
//! first that fails, by rank, is the reason; the others are listed.

mod check;
mod cluster_context;
mod conditions;
mod deadlines;
mod dsr;
mod ipam;
mod known_issues;
mod network_made;
mod os;
mod pods;
mod reboot;
mod runtime;
mod sandbox;
mod table;
mod tunnel;
mod update;
mod verdict;

pub use check::{Finding, View};
pub use cluster_context::{CalicoIpam, ClusterContext, Run};
pub use deadlines::SANDBOX_WINDOW;
pub use table::{Entry, Judgement, Table};
pub use update::{NodeUpdate, condition_status, node_update};
pub use verdict::{State, Verdict, chain, verdict};
