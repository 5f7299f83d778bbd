//! The two DaemonSets on Windows nodes: rolled out, kept right, and left to others where others run them.

mod drift;
mod kubectl;
mod nodes;
mod ownership;
mod rollout;
mod selection;
mod support;
mod versions;
