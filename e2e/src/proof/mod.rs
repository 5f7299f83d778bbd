//! What kube-proxy on Windows really does with what the operator renders: the operator on a real control plane,
//! the real `kube-proxy.exe` of each minor, a stand-in HNS, and the questions put to them.
//!
//! Invariant: what kube-proxy is given is read off the pod the operator had made; what it did is read from HNS,
//! its exit and its log. Nothing here tells what should come out of it but the cases in `tests/windows_kube_proxy`.

mod programmed;
mod run;
mod scene;
mod services;

pub use programmed::Programmed;
pub use run::Run;
pub use scene::{Dsr, Network, Scene};
pub use services::{LOCAL_PODS, REMOTE_BLOCK, Services};
