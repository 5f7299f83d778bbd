//! Watches, applies and reports: the thin layer between the plan and the API server.
//!
//! Nothing here decides what should be; a decision found here belongs into `wn-plan`.

mod apis;
mod apply;
mod backoff;
mod cli;
mod commands;
mod context;
mod error;
mod events;
#[cfg(test)]
mod fake;
mod finalize;
mod http;
mod kind;
mod lease;
mod limits;
mod metrics;
mod nodes;
mod observe;
mod reconcile;
mod report;
#[cfg(test)]
mod requests;
mod run;
mod settings;
mod status_writer;
mod store;
mod survey;
mod telemetry;
mod topics;
mod uninstall;
mod watch;
mod workloads;
mod world;

pub use cli::main;
