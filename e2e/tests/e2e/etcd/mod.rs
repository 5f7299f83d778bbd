//! Calico's configuration in an etcd of its own, as real Calico wrote it there: what the operator changes, byte for byte,
//! and what it says when it cannot.

mod life;
mod trouble;
