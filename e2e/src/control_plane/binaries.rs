//! The programs of a real control plane, built from the Go modules in `e2e/control-plane`.
//!
//! Nothing is downloaded as a binary: each module pins its versions in `go.mod`, which is the only
//! place they are written, and is built once into `target/control-plane/<module>-<version>-<hash>/`.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::go_build::GoBuild;
use super::go_module::GoModule;
use super::once::once;
use super::paths;

/// What to build out of one module, and what a person waiting for it should know.
pub(super) struct Recipe {
    pub module: &'static str,
    /// The requirement in `go.mod` whose version names the result.
    pub versioned_by: &'static str,
    /// Arguments of `go build`: packages, and before them flags that only they need.
    pub packages: &'static [&'static str],
    pub programs: &'static [&'static str],
    pub cold: &'static str,
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
/// What a real node runs. A module of its own: more dependencies, and few people need it.
const NODE: Recipe = Recipe {
    module: "node",
    versioned_by: "k8s.io/kubernetes",
    packages: &[
        "k8s.io/kubernetes/cmd/kubelet",
        "k8s.io/kubernetes/cmd/kube-proxy",
        "./pause",
    ],
    programs: &["kubelet", "kube-proxy", "pause"],
    cold: "4 minutes",
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

/// What Flux, Argo CD and Helm wait for.
const KSTATUS: Recipe = Recipe {
    module: "kstatus",
    versioned_by: "sigs.k8s.io/cli-utils",
    packages: &["."],
    programs: &["kstatus"],
    cold: "half a minute",
};

/// What Argo CD runs health checks with.
const LUA: Recipe = Recipe {
    module: "lua",
    versioned_by: "github.com/yuin/gopher-lua",
    packages: &["."],
    programs: &["lua"],
    cold: "10 seconds",
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
    pub kstatus: PathBuf,
    pub lua: PathBuf,
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
        let kstatus = ensure_module(&KSTATUS, progress)?;
        let lua = ensure_module(&LUA, progress)?;
        Ok(Self {
            etcd: etcd.join("etcd"),
            kube_apiserver: kubernetes.join("kube-apiserver"),
            kube_controller_manager: kubernetes.join("kube-controller-manager"),
            kube_scheduler: kubernetes.join("kube-scheduler"),
            kubectl: kubernetes.join("kubectl"),
            kwok: kwok.join("kwok"),
            helm: helm.join("helm"),
            kstatus: kstatus.join("kstatus"),
            lua: lua.join("lua"),
            kubernetes_version: Self::kubernetes_version()?,
        })
    }

    /// The version of the control plane, known without building it.
    pub fn kubernetes_version() -> Result<String> {
        GoModule::load(&paths::modules().join(KUBERNETES.module))?.version_of(KUBERNETES.versioned_by)
    }
}

/// Folder with kubelet, kube-proxy and pause, built if it is missing.
pub fn node_programs() -> Result<PathBuf> {
    let node = GoModule::load(&paths::modules().join(NODE.module))?.version_of(NODE.versioned_by)?;
    let control_plane = Binaries::kubernetes_version()?;
    ensure!(
        node == control_plane,
        "e2e/control-plane/node/go.mod has Kubernetes {node}, the control plane is {control_plane}"
    );
    ensure_module(&NODE, &|line| eprintln!("{line}"))
}

pub(super) fn ensure_module(recipe: &Recipe, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let module = GoModule::load(&paths::modules().join(recipe.module))?;
    let version = module.version_of(recipe.versioned_by)?;
    let root = paths::target().join("control-plane");
    let tag = format!("{version}-{}", module.fingerprint());
    once(&root, recipe.module, &tag, |into| {
        progress(&format!(
            "building {} {version} (once; about {} when nothing is cached)…",
            recipe.programs.join(", "),
            recipe.cold
        ));
        // Kubernetes programs refuse to work with each other when they do not know their own version.
        let version = (recipe.versioned_by == KUBERNETES.versioned_by).then_some(version.as_str());
        let build = GoBuild {
            module: &module,
            packages: recipe.packages,
            os: "linux",
            kubernetes_version: version,
        };
        build.run(into, recipe.programs)
    })
}
