//! What kube-proxy on Windows really does with what the operator renders: the operator on a real control plane,
//! the real `kube-proxy.exe` of each minor, a stand-in HNS, and the questions put to them.
//!
//! Invariant: what kube-proxy is given is read off the pod the operator had made; what it did is read from HNS,
//! its exit and its log. Nothing here tells what should come out of it but the cases in `tests/e2e/windows_kube_proxy.rs`.

pub mod agent;
mod api_version;
mod cases;
mod conditions;
mod expected;
mod fixture;
mod programmed;
mod run;
mod services;
mod suite;

pub use cases::{CASES, Case};
pub use conditions::{CONDITIONS, Condition, Outcome, termination_message};
pub use fixture::{Fixture, NODE, Network};
pub use suite::{Suite, build};
