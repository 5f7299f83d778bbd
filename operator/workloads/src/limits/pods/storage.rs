//! Volumes and memory that Windows does not have.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::units::Unit;
use crate::findings::Code;

/// Block devices, mount propagation, and `emptyDir` in memory.
pub fn volumes(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let code = Code::LinuxStorage;
    let mut hits = Vec::new();
    for (i, volume) in unit.spec.volumes.iter().enumerate() {
        if volume.is_in_memory() {
            let message = format!("volume {} is a folder on the disk on Windows nodes", volume.name);
            hits.push(Hit::warning(
                code,
                format!("volumes[{i}].emptyDir.medium"),
                message,
            ));
        }
    }
    for (path, container) in unit.containers() {
        if container.has_volume_devices {
            let message = "Windows nodes cannot attach block devices to containers";
            hits.push(Hit::error(code, format!("{path}.volumeDevices"), message));
        }
        let mounts = container.volume_mounts.iter().enumerate();
        for (i, _) in mounts.filter(|(_, mount)| mount.is_propagated()) {
            let message = "Windows nodes do not propagate mounts";
            hits.push(Hit::warning(
                code,
                format!("{path}.volumeMounts[{i}].mountPropagation"),
                message,
            ));
        }
    }
    hits
}

/// Huge pages.
pub fn huge_pages(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let hits = unit.containers().filter_map(|(path, container)| {
        let resources = &container.resources;
        let mut names = resources.limits.iter().chain(&resources.requests);
        let name = names.next()?;
        let message = format!("Windows nodes have no {name}");
        Some(Hit::error(
            Code::LinuxStorage,
            format!("{path}.resources"),
            message,
        ))
    });
    hits.collect()
}
