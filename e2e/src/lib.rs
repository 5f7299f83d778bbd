//! A real control plane with simulated Windows nodes, for black-box tests and for people to play with.
//!
//! Invariant: nothing here knows how the operator works. It is built and run as a program, and judged
//! by what the API server saw.

pub mod calico_fields;
pub mod campaign;
pub mod control_plane;
pub mod etcd_fixture;
pub mod fail_open;
pub mod flannel;
pub mod hns;
pub mod lab;
pub mod objects;
pub mod operator;
pub mod proof;
pub mod real_node;
pub mod registry;
pub mod simulator;
pub mod skip;
pub mod test_cluster;
pub mod tigera;
pub mod windows;
