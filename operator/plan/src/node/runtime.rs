//! Container runtime and kubelet.

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use crate::version::{self, Version};

/// The base image of HostProcess images needs it to unpack
/// (`microsoft/windows-host-process-containers-base-image`).
const CONTAINERD: Version = Version::new(1, 6, 18);

pub fn silent(view: &View) -> Vec<Finding> {
    let finding = || find(NodeReason::KubeletNotReporting, "the kubelet stopped reporting");
    view.node.silent.then(finding).into_iter().collect()
}

pub fn containers(view: &View) -> Vec<Finding> {
    let runtime = &view.node.container_runtime;
    let (name, version) = runtime.split_once("://").unwrap_or((runtime, ""));
    let too_old = || {
        version
            .parse::<Version>()
            .is_ok_and(|v| v < CONTAINERD && !is_release_of(&v))
    };
    let unfit = match name {
        // Another runtime, or an unknown one, may support them.
        "containerd" => too_old(),
        "docker" => true,
        _ => false,
    };
    let finding = || {
        find(
            NodeReason::HostProcessUnsupported,
            format!("{runtime} cannot run HostProcess containers"),
        )
    };
    unfit.then(finding).into_iter().collect()
}

/// `1.6.18-rc.1` is that version for us.
fn is_release_of(version: &Version) -> bool {
    (version.major, version.minor, version.patch) == (CONTAINERD.major, CONTAINERD.minor, CONTAINERD.patch)
}

pub fn skew(view: &View) -> Vec<Finding> {
    let (Some(kubelet), Some(server)) = (view.node.kubelet(), view.cluster.kubernetes.as_ref()) else {
        return Vec::new();
    };
    let finding = |how| {
        find(
            NodeReason::VersionSkew,
            format!("the kubelet is {kubelet}, {how} the API server ({server})"),
        )
    };
    version::skew(&kubelet, server).map(finding).into_iter().collect()
}

/// Of kube-proxy, whoever runs it.
pub fn proxy_skew(view: &View) -> Vec<Finding> {
    let Some(proxy) = view.proxy_version() else {
        return Vec::new();
    };
    let server = view.cluster.kubernetes.as_ref();
    let of_server = server.and_then(|s| Some(format!("{} the API server ({s})", version::skew(proxy, s)?)));
    let kubelet = view.node.kubelet().filter(|k| version::apart(proxy, k));
    let of_kubelet = kubelet.map(|k| format!("more than three minors from the kubelet ({k})"));
    let finding = |how| {
        find(
            NodeReason::KubeProxyVersionSkew,
            format!("kube-proxy is {proxy}, {how}"),
        )
    };
    of_server.or(of_kubelet).map(finding).into_iter().collect()
}
