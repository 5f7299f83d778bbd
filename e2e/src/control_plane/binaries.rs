//! The programs of a real control plane, built from the Go modules in `e2e/control-plane`.
//!
//! Nothing is downloaded as a binary: each module pins its versions in `go.mod`, which is the only
//! place they are written, and is built once into `target/control-plane/<module>-<version>-<hash>/`.
//! Invariant: a directory of that name is complete, because a build happens beside it and is moved
//! into place by one rename, under a lock that other test processes wait for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::go_module::GoModule;
use super::paths;
use super::process::Program;

/// What to build out of one module, and what a person waiting for it should know.
struct Recipe {
    module: &'static str,
    /// The requirement in `go.mod` whose version names the result.
    versioned_by: &'static str,
    packages: &'static [&'static str],
    programs: &'static [&'static str],
    cold: &'static str,
}

const ETCD: Recipe = Recipe {
    module: "etcd",
    versioned_by: "go.etcd.io/etcd/server/v3",
    packages: &["."],
    programs: &["etcd"],
    cold: "half a minute",
};
const KUBERNETES: Recipe = Recipe {
    module: "kubernetes",
    versioned_by: "k8s.io/kubernetes",
    packages: &[
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
        "k8s.io/kubernetes/cmd/kubectl",
    ],
    programs: &[
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubectl",
    ],
    cold: "6 minutes",
};
const KWOK: Recipe = Recipe {
    module: "kwok",
    versioned_by: "sigs.k8s.io/kwok",
    packages: &["sigs.k8s.io/kwok/cmd/kwok"],
    programs: &["kwok"],
    cold: "1 minute",
};
const HELM: Recipe = Recipe {
    module: "helm",
    versioned_by: "helm.sh/helm/v4",
    packages: &["helm.sh/helm/v4/cmd/helm"],
    programs: &["helm"],
    cold: "2 minutes",
};

/// Paths of the built programs.
#[derive(Clone, Debug)]
pub struct Binaries {
    pub etcd: PathBuf,
    pub kube_apiserver: PathBuf,
    pub kube_controller_manager: PathBuf,
    pub kube_scheduler: PathBuf,
    pub kubectl: PathBuf,
    pub kwok: PathBuf,
    pub helm: PathBuf,
    /// As in `go.mod`, with the `v`: what `kubectl version` and simulated kubelets report.
    pub kubernetes_version: String,
}

impl Binaries {
    /// Builds what is missing. `progress` gets one line before each build that takes a while.
    pub fn ensure(progress: &dyn Fn(&str)) -> Result<Self> {
        let etcd = ensure_module(&ETCD, progress)?;
        let kubernetes = ensure_module(&KUBERNETES, progress)?;
        let kwok = ensure_module(&KWOK, progress)?;
        let helm = ensure_module(&HELM, progress)?;
        Ok(Self {
            etcd: etcd.join("etcd"),
            kube_apiserver: kubernetes.join("kube-apiserver"),
            kube_controller_manager: kubernetes.join("kube-controller-manager"),
            kube_scheduler: kubernetes.join("kube-scheduler"),
            kubectl: kubernetes.join("kubectl"),
            kwok: kwok.join("kwok"),
            helm: helm.join("helm"),
            kubernetes_version: Self::kubernetes_version()?,
        })
    }

    /// The version of the control plane, known without building it.
    pub fn kubernetes_version() -> Result<String> {
        GoModule::load(&paths::modules().join(KUBERNETES.module))?.version_of(KUBERNETES.versioned_by)
    }
}

fn ensure_module(recipe: &Recipe, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let module = GoModule::load(&paths::modules().join(recipe.module))?;
    let version = module.version_of(recipe.versioned_by)?;
    let root = paths::target().join("control-plane");
    let done = root.join(format!("{}-{version}-{}", recipe.module, module.fingerprint()));
    if done.is_dir() {
        return Ok(done);
    }
    fs::create_dir_all(&root).with_context(|| format!("create {}", root.display()))?;
    let lock = File::create(root.join(format!("{}.lock", recipe.module)))?;
    lock.lock()
        .context("wait for another process that builds the control plane")?;
    // Whoever held the lock may have built it.
    if done.is_dir() {
        return Ok(done);
    }
    progress(&format!(
        "building {} {version} (once; about {} when nothing is cached)…",
        recipe.programs.join(", "),
        recipe.cold
    ));
    let building = root.join(format!("{}.building", recipe.module));
    // Left over from a build that was interrupted; the lock says nobody works in it.
    let _ = fs::remove_dir_all(&building);
    go_build(recipe, &module, &version, &building)?;
    fs::rename(&building, &done).with_context(|| format!("move the build to {}", done.display()))?;
    Ok(done)
}

fn go_build(recipe: &Recipe, module: &GoModule, version: &str, into: &Path) -> Result<()> {
    // `go build` writes several programs only into a directory that exists.
    fs::create_dir_all(into)?;
    let mut output = into.as_os_str().to_owned();
    output.push("/");
    // Under a supervisor, so that an interrupted build does not go on behind the next one's back.
    let mut build = Program::new("go-build", &find_go(module)?, into)
        .env("CGO_ENABLED", "0")
        .arg("-C")
        .arg(module.directory())
        .args(["build", "-ldflags", &linker_flags(recipe, version), "-o"])
        .arg(output)
        .args(recipe.packages)
        .start()?;
    if !build.wait()?.success() {
        bail!(
            "go build in {} failed:\n{}",
            module.directory().display(),
            build.log()
        );
    }
    match recipe
        .programs
        .iter()
        .find(|program| !into.join(program).is_file())
    {
        Some(program) => bail!("go build succeeded, but left no program `{program}`"),
        None => Ok(()),
    }
}

fn find_go(module: &GoModule) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let go = std::env::split_paths(&path)
        .map(|folder| folder.join("go"))
        .find(|go| go.is_file());
    match go {
        Some(go) => Ok(go),
        None => bail!(
            "`go` is not on PATH: the control plane is built from source, install Go {} or newer",
            module.go_version()?
        ),
    }
}

/// Kubernetes programs refuse to work with each other when they do not know their own version,
/// which its release scripts set by the linker.
fn linker_flags(recipe: &Recipe, version: &str) -> String {
    if recipe.module != KUBERNETES.module {
        return "-s -w".to_owned();
    }
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}
