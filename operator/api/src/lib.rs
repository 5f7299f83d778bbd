//! The `WindowsNodeConfig` API, and every name that crosses a process boundary (groups, labels, reasons, field managers), each once.
//!
//! Nothing here decides anything; `wn-plan` does. Black-box tests depend on this crate only.

#![deny(missing_docs)]

pub mod calico;
pub mod component;
pub mod crd;
pub mod names;
pub mod node_reasons;
pub mod reasons;
pub mod spec;
pub mod status;

pub use spec::{WindowsNodeConfig, WindowsNodeConfigSpec};
pub use status::WindowsNodeConfigStatus;
