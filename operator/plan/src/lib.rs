//! Decides what the cluster should be. Pure: no I/O, no clock, no client; time is a parameter.
//!
//! Data flow: `observed` → `validate` → `decide` (with `inputs`, `calico`, `component`, `workload`)
//! → the runtime applies → `status`.

#![deny(missing_docs)]

pub mod advice;
pub mod applied;
pub mod calico;
pub mod checksum;
pub mod component;
pub mod decide;
pub mod deletion;
pub mod drift;
pub mod field;
pub mod finding;
pub mod inputs;
pub mod json_text;
pub mod lint;
mod linux;
pub mod network;
pub mod news;
pub mod node;
pub mod observed;
pub mod platform;
pub mod quantity;
mod release;
pub mod selection;
pub mod share;
pub mod status;
mod summary;
pub mod tigera;
mod typha;
pub mod unread;
pub mod validate;
pub mod workload;

pub use wn_workloads::version;
