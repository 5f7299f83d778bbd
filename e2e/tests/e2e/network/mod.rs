//! Networks that are not Calico's, on a real control plane: each type works, or says why not; what is changed is
//! repaired and restored.

mod base;
mod cloud;
mod flannel;
mod policy;
mod routes;
mod verdicts;
