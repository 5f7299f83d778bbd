//! Calico's configuration on a real control plane: what the operator changes, whose fields it leaves
//! alone, when it waits, and what it restores. Each test has a cluster of its own.

mod absent;
mod base;
mod fresh;
mod network;
mod observe;
mod owners;
mod pauses;
mod pools;
mod releases;
mod values;
