//! Container runtime and kubelet.

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use crate::version::Version;

/// The base image of HostProcess images needs it to unpack
/// (`microsoft/windows-host-process-containers-base-image`).
const CONTAINERD: Version = Version::new(1, 6, 18);

/// Minors a kubelet may be older than the API server (kubernetes.io: Version skew policy).
const OLDEST_SKEW: u32 = 3;

pub fn silent(view: &View) -> Vec<Finding> {
    let said = || find(NodeReason::KubeletNotReporting, "the kubelet stopped reporting");
    view.node.silent.then(said).into_iter().collect()
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
        // Another runtime, or one that is not told, may be able.
        "containerd" => too_old(),
        "docker" => true,
        _ => false,
    };
    let said = || {
        find(
            NodeReason::HostProcessUnsupported,
            format!("{runtime} cannot run HostProcess containers"),
        )
    };
    unfit.then(said).into_iter().collect()
}

/// `1.6.18-rc.1` is that version for us.
fn is_release_of(version: &Version) -> bool {
    (version.major, version.minor, version.patch) == (CONTAINERD.major, CONTAINERD.minor, CONTAINERD.patch)
}

pub fn skew(view: &View) -> Vec<Finding> {
    let (Some(kubelet), Some(server)) = (view.node.kubelet(), view.setting.kubernetes.as_ref()) else {
        return Vec::new();
    };
    let newer = kubelet.minor > server.minor;
    let older = kubelet.minor.saturating_add(OLDEST_SKEW) < server.minor;
    let said = || {
        let how = if newer {
            "newer than"
        } else {
            "more than three minors older than"
        };
        find(
            NodeReason::VersionSkew,
            format!("the kubelet is {kubelet}, {how} the API server ({server})"),
        )
    };
    (newer || older).then(said).into_iter().collect()
}
