//! A real Kubernetes control plane on this machine, with simulated nodes.
//!
//! kube-apiserver, controller manager, scheduler, etcd, kubectl and helm are the upstream programs,
//! built from source; only the kubelets are played, by kwok. See [`Cluster`].
//! Invariants: loopback only; nothing outlives the process that started it; clusters do not share
//! anything but the built programs.

mod audit;
mod binaries;
mod calico;
mod calico_etcd;
mod calico_objects;
mod cluster;
mod commands;
mod components;
mod credentials;
pub(crate) mod go_build;
pub(crate) mod go_module;
mod kubeadm;
mod kwok;
mod nodes;
pub(crate) mod once;
pub mod paths;
pub mod process;
pub mod release_tools;
mod state;

pub use audit::{AuditEvent, AuditLog, AuditTail};
pub use binaries::{Binaries, node_programs};
pub use calico::{CalicoApi, CalicoCrds, Neighbour, shared_crds};
pub use calico_etcd::{CalicoEtcd, Entry};
pub use cluster::{Cluster, ClusterOptions};
pub use commands::client;
pub use components::SERVICE_RANGE;
pub(crate) use components::free_ports;
pub use go_build::find_program;
pub use nodes::{NodeSpec, Os};
