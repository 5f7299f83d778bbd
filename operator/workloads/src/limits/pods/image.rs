//! Images and builds: a node runs images of some builds only.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::units::Unit;
use crate::findings::Code;
use crate::windows::{WindowsBuild, build_of_image, runs};

/// Images that the nodes of the pod do not run. Images of HostProcess containers do not count: their base image runs on
/// every build.
pub fn build(cluster: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let builds = builds(cluster, unit);
    let containers = unit
        .containers()
        .filter(|(_, container)| !unit.is_host_process(container));
    let hits = containers.filter_map(|(path, container)| {
        let of_image = build_of_image(&container.image)?;
        let (source, build) = builds.iter().find(|(_, build)| !runs(*build, of_image))?;
        let message = format!(
            "{} is for build {of_image}, which Windows {build} ({source}) does not run",
            container.image
        );
        let field = format!("{path}.image");
        Some(if builds.iter().any(|(_, build)| runs(*build, of_image)) {
            Hit::warning(Code::ImageBuild, field, message)
        } else {
            Hit::error(Code::ImageBuild, field, message)
        })
    });
    hits.collect()
}

/// The builds that the pods may meet, each with the name of its source.
fn builds(cluster: &Cluster<'_>, unit: &Unit<'_>) -> Vec<(String, WindowsBuild)> {
    if let Some(build) = unit.placement.build.as_deref().and_then(WindowsBuild::parse) {
        return vec![("its nodeSelector".to_owned(), build)];
    }
    let hosts = unit
        .placement
        .hosts
        .iter()
        .filter_map(|position| cluster.windows.get(*position));
    let of_hosts = hosts.filter_map(|host| Some((format!("node {}", host.name), host.build?)));
    let of_hosts: Vec<_> = of_hosts.collect();
    if of_hosts.is_empty() && cluster.windows.is_empty() {
        return cluster.builds.clone();
    }
    of_hosts
}

/// A build that no node has. Nodes whose build is not known may have it.
pub fn no_node(cluster: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let Some(label) = unit.placement.build.as_deref() else {
        return Vec::new();
    };
    let wanted = WindowsBuild::parse(label).filter(|build| build.ubr.is_none());
    let hosts = &cluster.windows;
    let may_have = |found: Option<WindowsBuild>| match (found, wanted) {
        (None, _) => true,
        (Some(found), Some(wanted)) => found.build == wanted.build,
        (Some(_), None) => false,
    };
    if hosts.is_empty() || hosts.iter().any(|host| may_have(host.build)) {
        return Vec::new();
    }
    let message = format!("no Windows node has the label with the value {label}: the pod stays pending");
    vec![Hit::error(Code::NoNodeOfBuild, "nodeSelector", message)]
}
