//! Watches, applies and reports: the thin layer between the plan and the API server.
//!
//! Nothing here decides what should be; a decision found here belongs into `wn-plan`.

mod apply;
mod backoff;
mod cli;
mod context;
mod error;
mod events;
mod finalize;
mod http;
mod limits;
mod metrics;
mod nodes;
mod observe;
mod reconcile;
mod report;
mod run;
mod status_writer;
mod store;
mod telemetry;
mod world;

pub use cli::main;
