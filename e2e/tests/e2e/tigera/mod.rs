//! Beside tigera/operator: from Degraded to Available by what we write, restored, and never two agents on one node.

mod fresh;
mod support;
mod switch;
