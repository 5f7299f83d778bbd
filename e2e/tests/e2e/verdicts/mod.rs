//! What the operator says of Windows nodes, and where: each cause made to happen, named and repaired.

mod crowd;
mod events;
mod lifecycle;
mod rows;
mod support;
mod table;
mod taints;
