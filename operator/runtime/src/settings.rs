//! The settings of `windows-node-operator run`; every flag has an environment variable.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

/// Settings of the process, from arguments and environment.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Namespace of the operator, where its DaemonSets go.
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: String,
    /// Address for /livez, /readyz and /metrics.
    #[arg(long, env = "LISTEN", default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// What to log: a level, or a filter such as `info,wn_runtime=debug`.
    #[arg(long, env = "LOG_LEVEL", default_value = "info")]
    pub log_level: String,
    /// How to log.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Whether the operator may read network policies, Services and pods, for `spec.workloads.lint`. The rights belong to the chart.
    #[arg(long, env = "WORKLOAD_LINT", default_value_t = true, action = clap::ArgAction::Set)]
    pub workload_lint: bool,
    /// Name of this instance in Events and in the Lease; no two that run may share it. Default: the name of the host.
    #[arg(long, env = "POD_NAME", default_value_t = host(), hide_default_value = true)]
    pub pod_name: String,
}

/// The name of the host, which is that of the pod in one, and of the process, because several may run on one host.
fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", host.trim(), std::process::id())
}

/// Format of the log.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}
