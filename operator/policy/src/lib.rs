//! What network policies mean, what Felix makes of them on Windows, and the difference. Pure: no I/O, no clock, no
//! client.
//!
//! The way of data: `input` → `convert` (with `validate`) → `model` → `cluster` → `meaning` beside `felix` →
//! `difference` → `evaluate` → `output` and `findings`; `update` is two clusters and what is between them.

#![deny(missing_docs)]

mod cluster;
mod convert;
mod difference;
mod evaluate;
mod felix;
pub mod findings;
mod index;
pub mod input;
mod meaning;
mod model;
mod net;
pub mod output;
mod packet;
pub mod release;
mod sample;
pub mod selector;
mod sets;
pub mod update;
mod validate;
