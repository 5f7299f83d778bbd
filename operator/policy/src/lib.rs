//! What network policies mean, what Felix makes of them on Windows, and the difference. Pure: no I/O, no clock, no
//! client.
//!
//! The way of data: `input` → `convert` (with `validate`) → `model` → `cluster` → `meaning` beside `felix` →
//! `difference` → `evaluate` → `output` and `findings`; `update` is two clusters and what is between them.

pub mod cluster;
mod convert;
pub mod difference;
pub mod evaluate;
pub mod felix;
pub mod findings;
mod index;
pub mod input;
pub mod meaning;
pub mod model;
mod net;
pub mod output;
pub mod packet;
pub mod release;
mod sample;
pub mod selector;
mod sets;
pub mod update;
mod validate;
