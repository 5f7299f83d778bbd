//! The operator's binary on a real control plane, as a user meets it: one module an area.
//!
//! One program, so that it is linked once and tests of all areas run side by side: most of them wait for the control plane. Each
//! test has a cluster of its own. How many run at once is `RUST_TEST_THREADS` in `.cargo/config.toml`.

mod advisories;
mod bad_input;
mod calico;
mod campaign;
mod chart;
mod commands;
mod control_plane;
mod etcd;
mod findings;
mod install;
mod kstatus;
mod metrics;
mod network;
mod platforms;
mod real_node;
mod restarts;
mod sarif;
mod tigera;
mod verdicts;
mod windows_kube_proxy;
mod workloads;
