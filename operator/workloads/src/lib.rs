//! What Windows does differently with the workloads of a cluster. Pure: no I/O, no clock, no client.
//!
//! Evaluates network policies: their meaning, the ACLs that Felix makes of them on Windows, and the differences.
//! Checks Services and pods against the limits of Windows (`limits`). All findings have one form (`findings`).
//!
//! Data flow of policies: `input` → `convert` (with `validate`) → `model` → `cluster` → `meaning` and `felix` →
//! `difference` → `evaluate` → `output` and `findings`. `update` compares two clusters: before and after an
//! edit.

#![deny(missing_docs)]

mod cluster;
mod convert;
mod difference;
mod evaluate;
mod felix;
pub mod findings;
mod fingerprint;
mod index;
pub mod input;
pub mod kinds;
pub mod limits;
pub mod live;
mod meaning;
mod model;
mod net;
pub mod output;
mod packet;
mod prepared;
pub mod release;
mod sample;
pub mod selector;
mod sets;
pub mod update;
mod validate;
pub mod version;
pub mod windows;
