//! The facts of a cluster that checks read.

use super::Known;
use super::placement::{BUILD, OS, WINDOWS};
use super::references::{self, Reference};
use super::units::{self, Unit};
use crate::input::Objects;
use crate::input::kubernetes::Node;
use crate::version::Version;
use crate::windows::WindowsBuild;

/// A Windows node.
#[derive(Debug)]
pub struct Host<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// The Node.
    pub node: &'a Node,
    /// Its build; `None` if the Node does not say it.
    pub build: Option<WindowsBuild>,
}

/// A cluster.
pub struct Cluster<'a> {
    /// Every object.
    pub objects: &'a Objects,
    /// The Windows nodes, sorted by name.
    pub windows: Vec<Host<'a>>,
    /// Known builds, each with the name of its source.
    pub builds: Vec<(String, WindowsBuild)>,
    /// Known versions of kube-proxy on Windows nodes, each with the name of its source.
    pub kube_proxies: Vec<(String, Version)>,
    /// Everything that makes pods.
    pub units: Vec<Unit<'a>>,
    /// Services that pods on Windows nodes name.
    pub references: Vec<Reference<'a>>,
}

impl<'a> Cluster<'a> {
    /// The facts of `objects` and `known`.
    pub fn new(objects: &'a Objects, known: &Known) -> Self {
        let nodes = objects.nodes.iter().filter(|(_, node)| is_windows(node));
        let windows: Vec<_> = nodes
            .map(|((_, name), node)| Host {
                name,
                node,
                build: build(node),
            })
            .collect();
        let of_nodes = windows
            .iter()
            .filter_map(|host| Some((format!("node {}", host.name), host.build?)));
        let given = known
            .builds
            .iter()
            .map(|build| ("--node-build".to_owned(), *build));
        let builds = of_nodes.chain(given).collect();
        let units = units::all(objects, &windows);
        let mut kube_proxies = kube_proxies(&units);
        kube_proxies.extend(
            known
                .kube_proxy
                .clone()
                .map(|version| ("--kube-proxy".to_owned(), version)),
        );
        Self {
            references: references::all(objects, &units),
            objects,
            windows,
            builds,
            kube_proxies,
            units,
        }
    }

    /// The first known build with a property, as `10.0.17763.1 (node win-1)`.
    pub fn build_where(&self, property: impl Fn(WindowsBuild) -> bool) -> Option<String> {
        let found = self.builds.iter().find(|(_, build)| property(*build));
        found.map(|(source, build)| format!("{build} ({source})"))
    }
}

/// Whether a Node is a Windows node.
fn is_windows(node: &Node) -> bool {
    node.metadata.labels.get(OS).is_some_and(|os| os == WINDOWS)
}

fn build(node: &Node) -> Option<WindowsBuild> {
    let version = &node.status.node_info.kernel_version;
    let label = node.metadata.labels.get(BUILD);
    WindowsBuild::parse(version).or_else(|| WindowsBuild::parse(label?))
}

/// Versions in the tags of kube-proxy's images on Windows nodes.
fn kube_proxies(units: &[Unit<'_>]) -> Vec<(String, Version)> {
    let windows = units.iter().filter(|unit| unit.is_on_windows);
    let images = windows.flat_map(|unit| unit.spec.containers.iter().map(move |c| (unit, c.image.as_str())));
    let found = images.filter_map(|(unit, image)| {
        let (name, tag) = image.rsplit('/').next()?.split_once(':')?;
        let tag = tag.split('@').next()?;
        name.contains("kube-proxy")
            .then_some((unit.object.to_string(), tag.parse().ok()?))
    });
    found.collect()
}
