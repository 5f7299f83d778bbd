//! What a real node needs of the machine.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::cgroup::Cgroup;
use super::{Images, NAMESPACES};
use crate::control_plane::find_program;

/// Programs, and the packages of Debian that have them.
const PROGRAMS: [(&str, &str); 8] = [
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("ip", "iproute2"),
    ("mount", "mount"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
];
/// Where distributions have the plugins of CNI, in the package containernetworking-plugins.
const CNI: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];

/// Everything that is missing, for people; `None` where nothing is.
pub fn missing() -> Option<String> {
    let mut missing = Vec::new();
    // The folder of a process belongs to its effective user.
    if fs::metadata("/proc/self").map_or(true, |folder| folder.uid() != 0) {
        missing.push("root".to_owned());
    }
    for (program, package) in PROGRAMS {
        if find_program(program).is_none() {
            missing.push(format!("{program} (package {package})"));
        }
    }
    if !CNI
        .iter()
        .any(|folder| Path::new(folder).join("bridge").is_file())
    {
        missing.push(format!(
            "the CNI plugin bridge in {} (package containernetworking-plugins)",
            CNI.join(" or ")
        ));
    }
    if !can_unshare() {
        missing.push("namespaces of its own (unshare --net --mount --pid)".to_owned());
    }
    // In a container they are often read-only, for root as well.
    if let Err(e) = Cgroup::create() {
        missing.push(format!("cgroups ({e:#})"));
    }
    if !Images::layout().is_dir() {
        missing.push("the image in target/image (cargo image)".to_owned());
    }
    (!missing.is_empty()).then(|| format!("a real node needs {}", missing.join(", ")))
}

fn can_unshare() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(NAMESPACES).arg("true").stderr(Stdio::null());
    unshare.status().is_ok_and(|status| status.success())
}
