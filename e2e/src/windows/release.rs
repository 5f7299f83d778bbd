//! `kube-proxy.exe` of the releases in `e2e/windows/kube-proxy`, one Go module a minor.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::control_plane::go_build::GoBuild;
use crate::control_plane::go_module::GoModule;
use crate::control_plane::once::once;
use crate::control_plane::paths;

const PROGRAM: &str = "kube-proxy.exe";

/// A release of Kubernetes, named by the minor of its module.
#[derive(Clone, Debug)]
pub struct Release {
    pub minor: u32,
    /// Without the `v`.
    pub version: String,
    folder: PathBuf,
}

impl Release {
    /// Every release there is a module of, oldest first.
    pub fn all() -> Result<Vec<Self>> {
        let folder = paths::windows().join("kube-proxy");
        let entries = fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))?;
        let mut all = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(minor) = name.strip_prefix("1.").and_then(|minor| minor.parse().ok()) {
                all.push(Self::of(minor)?);
            }
        }
        all.sort_by_key(|release| release.minor);
        Ok(all)
    }

    pub fn of(minor: u32) -> Result<Self> {
        let folder = paths::windows().join("kube-proxy").join(format!("1.{minor}"));
        let version = GoModule::load(&folder)?.version_of("k8s.io/kubernetes")?;
        Ok(Self {
            minor,
            version: version.trim_start_matches('v').to_owned(),
            folder,
        })
    }

    /// The newest there is a module of.
    pub fn newest() -> Result<Self> {
        Self::all()?.pop().context("there is no module of kube-proxy")
    }

    /// The program, built where it was not yet.
    pub fn build(&self, progress: &dyn Fn(&str)) -> Result<PathBuf> {
        let module = GoModule::load(&self.folder)?;
        let name = format!("kube-proxy-1.{}", self.minor);
        let tag = format!("{}-{}", self.version, module.fingerprint());
        let folder = once(&paths::target().join("windows"), &name, &tag, |into| {
            progress(&format!(
                "building {PROGRAM} {} (once; about 3 minutes when nothing is cached)…",
                self.version
            ));
            let build = GoBuild {
                module: &module,
                packages: &["k8s.io/kubernetes/cmd/kube-proxy"],
                os: "windows",
                kubernetes_version: Some(&format!("v{}", self.version)),
            };
            build.run(into, &[PROGRAM])
        })?;
        Ok(folder.join(PROGRAM))
    }
}
