//! The crates that the program is built from, for one platform.
//!
//! Which crates these are is asked of `cargo tree`, which resolves features as `cargo build` does; licences and edges come from
//! `cargo metadata`, checksums from Cargo.lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use auditable_serde::{DependencyKind, Package, Source, VersionInfo};
use cargo_metadata::{Metadata, MetadataCommand, PackageId};

use crate::platform::Platform;
use crate::{NAME, binary, workspace};

/// Derived from what cargo prints; procedural macros do not count as crates of the program (`auditable_serde::VersionInfo`).
const AUDIT_FORMAT: u32 = 1;

/// Name and version.
type Key = (String, String);

/// A crate.
#[derive(Clone, Debug)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub license: Option<String>,
    /// SHA-256 of the package in the registry, in hex. `None` for crates of this workspace.
    pub checksum: Option<String>,
    /// Its code is in the program. Otherwise it runs during the build only, as a build script or procedural macro.
    pub runtime: bool,
    /// Indices of the crates it depends on.
    pub dependencies: Vec<usize>,
}

/// All crates, ordered by name and version.
#[derive(Clone, Debug)]
pub struct Dependencies {
    pub all: Vec<Dependency>,
}

impl Dependencies {
    /// Of the program.
    pub fn of(platform: Platform) -> Result<Self> {
        let built = tree(platform, "normal,build")?;
        let runtime = tree(platform, "normal,no-proc-macro")?;
        let metadata = MetadataCommand::new()
            .cargo_path(binary::cargo())
            .current_dir(workspace())
            .other_options([
                "--locked".to_owned(),
                format!("--filter-platform={}", platform.target()),
                // Build scripts and procedural macros run here.
                format!("--filter-platform={}", host()?),
            ])
            .exec()?;
        let edges = edges(&metadata)?;
        let checksums = checksums()?;
        let mut packages: BTreeMap<Key, &cargo_metadata::Package> = BTreeMap::new();
        for package in &metadata.packages {
            let key = key(package);
            if built.contains(&key) {
                packages.insert(key, package);
            }
        }
        ensure!(
            packages.len() == built.len(),
            "cargo metadata lacks crates of cargo tree"
        );
        let position: BTreeMap<&PackageId, usize> = packages
            .values()
            .enumerate()
            .map(|(n, package)| (&package.id, n))
            .collect();
        let all = packages
            .iter()
            .map(|(key, package)| Dependency {
                name: key.0.clone(),
                version: key.1.clone(),
                // As cargo wrote it before SPDX expressions.
                license: package.license.as_ref().map(|text| text.replace('/', " OR ")),
                checksum: checksums.get(key).cloned(),
                runtime: runtime.contains(key),
                dependencies: edges
                    .get(&package.id)
                    .into_iter()
                    .flatten()
                    .filter_map(|id| position.get(id).copied())
                    .collect(),
            })
            .collect();
        Ok(Self { all })
    }

    /// Those in the program, as `cargo auditable` records them.
    pub fn audit_data(&self) -> Result<VersionInfo> {
        let kept: Vec<usize> = (0..self.all.len()).filter(|n| self.all[*n].runtime).collect();
        let packages = kept.iter().map(|n| {
            let dependency = &self.all[*n];
            Ok(Package {
                name: dependency.name.clone(),
                version: dependency.version.parse()?,
                source: match dependency.checksum {
                    Some(_) => Source::CratesIo,
                    None => Source::Local,
                },
                kind: DependencyKind::Runtime,
                dependencies: dependency
                    .dependencies
                    .iter()
                    .filter_map(|wanted| kept.binary_search(wanted).ok())
                    .collect(),
                root: dependency.name == NAME,
            })
        });
        Ok(VersionInfo {
            packages: packages.collect::<Result<_>>()?,
            format: AUDIT_FORMAT,
        })
    }
}

/// The target of this machine.
fn host() -> Result<String> {
    let output = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .current_dir(workspace())
        .output()
        .context("run rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn key(package: &cargo_metadata::Package) -> Key {
    (package.name.to_string(), package.version.to_string())
}

/// What `cargo tree` prints of the program: a crate a line, as `name vVERSION`.
fn tree(platform: Platform, edges: &str) -> Result<BTreeSet<Key>> {
    let output = Command::new(binary::cargo())
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}"])
        .args(["--package", NAME, "--target", platform.target(), "--edges", edges])
        .current_dir(workspace())
        .output()
        .context("run cargo tree")?;
    ensure!(
        output.status.success(),
        "cargo tree: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let crates = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split_whitespace().next()?.to_owned()))
    });
    Ok(crates.collect())
}

/// What each package depends on to run or to be built; not what its tests need.
fn edges(metadata: &Metadata) -> Result<BTreeMap<&PackageId, BTreeSet<&PackageId>>> {
    let resolve = metadata
        .resolve
        .as_ref()
        .context("cargo metadata resolved nothing")?;
    let used = |node: &cargo_metadata::NodeDep| {
        let kinds = node.dep_kinds.iter();
        kinds
            .clone()
            .any(|kind| kind.kind != cargo_metadata::DependencyKind::Development)
    };
    let nodes = resolve.nodes.iter().map(|node| {
        let to = node.deps.iter().filter(|dep| used(dep)).map(|dep| &dep.pkg);
        (&node.id, to.collect())
    });
    Ok(nodes.collect())
}

#[derive(serde::Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(serde::Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

fn checksums() -> Result<BTreeMap<Key, String>> {
    let lock: Lock = toml::from_str(&fs::read_to_string(workspace().join("Cargo.lock"))?)?;
    let packages = lock.package.into_iter();
    Ok(packages
        .filter_map(|package| Some(((package.name, package.version), package.checksum?)))
        .collect())
}
