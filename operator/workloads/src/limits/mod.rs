//! Findings about Services and pods on Windows nodes: which settings Windows or kube-proxy ignores or refuses.
//!
//! A pod is judged if it can run on Windows nodes only (`placement`). A Service is judged if one of its endpoints is on
//! a Windows node, or if a pod on Windows nodes names it in its environment or its arguments (`references`). What the
//! objects and `Known` do not say never leads to a finding.

mod cluster;
mod hit;
mod placement;
mod pods;
mod references;
mod services;
mod units;

use crate::findings::Finding;
use crate::input::Objects;
use crate::version::Version;
use crate::windows::WindowsBuild;
use cluster::Cluster;

/// What is known of a cluster beside its objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Builds of Windows nodes, in addition to those of Nodes among the objects.
    pub builds: Vec<WindowsBuild>,
    /// Version of kube-proxy on Windows nodes, in addition to that of a kube-proxy among the objects.
    pub kube_proxy: Option<Version>,
}

/// All findings about Services and pods.
pub fn findings(objects: &Objects, known: &Known) -> Vec<Finding> {
    let cluster = Cluster::new(objects, known);
    let mut findings = services::findings(&cluster);
    findings.extend(pods::findings(&cluster));
    findings
}
