//! What Calico's agent on Windows really does with what the operator renders: the operator on a real control plane,
//! Calico's programs of a release, a stand-in HNS.
//!
//! Invariant: each program gets the environment of the pod the operator had made, and the rights of the chart's
//! ServiceAccounts on the API server; what it did is read from the API server, from HNS, its exit and its log.

mod conditions;
mod fixture;
mod network;
mod steps;

pub use conditions::{CONDITIONS, StartCondition};
pub use fixture::AgentFixture;
pub use network::{ALL as NETWORKS, AgentNetwork};
pub use steps::STEPS;
