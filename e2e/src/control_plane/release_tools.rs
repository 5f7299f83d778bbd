//! Programs that check a release: a registry, a client of it, linters, and schemas. Built as the control plane is, and only by the
//! tests that run them.

use std::path::PathBuf;

use anyhow::Result;

use super::binaries::{Recipe, ensure_module};

const ACTIONLINT: Recipe = Recipe {
    module: "actionlint",
    versioned_by: "github.com/rhysd/actionlint",
    packages: &["github.com/rhysd/actionlint/cmd/actionlint"],
    programs: &["actionlint"],
    cold: "10 seconds",
};
const KUBECONFORM: Recipe = Recipe {
    module: "kubeconform",
    versioned_by: "github.com/yannh/kubeconform",
    packages: &["github.com/yannh/kubeconform/cmd/kubeconform"],
    programs: &["kubeconform"],
    cold: "10 seconds",
};
const KUBE_SCORE: Recipe = Recipe {
    module: "kube-score",
    versioned_by: "github.com/zegl/kube-score",
    packages: &["github.com/zegl/kube-score/cmd/kube-score"],
    programs: &["kube-score"],
    cold: "1 minute",
};
const PROMTOOL: Recipe = Recipe {
    module: "promtool",
    versioned_by: "github.com/prometheus/prometheus",
    // Checking rules needs no client of any cloud. go.sum was made with the same tag.
    packages: &[
        "-tags=remove_all_sd",
        "github.com/prometheus/prometheus/cmd/promtool",
    ],
    programs: &["promtool"],
    cold: "2 minutes",
};
const JV: Recipe = Recipe {
    module: "jv",
    versioned_by: "github.com/santhosh-tekuri/jsonschema/cmd/jv",
    packages: &["github.com/santhosh-tekuri/jsonschema/cmd/jv"],
    programs: &["jv"],
    cold: "10 seconds",
};
const CRANE: Recipe = Recipe {
    module: "crane",
    versioned_by: "github.com/google/go-containerregistry",
    packages: &["github.com/google/go-containerregistry/cmd/crane"],
    programs: &["crane"],
    cold: "20 seconds",
};
const REGISTRY: Recipe = Recipe {
    module: "registry",
    versioned_by: "github.com/distribution/distribution/v3",
    packages: &["github.com/distribution/distribution/v3/cmd/registry"],
    programs: &["registry"],
    cold: "1 minute",
};

/// Path of actionlint, built if it is missing.
pub fn actionlint() -> Result<PathBuf> {
    program(&ACTIONLINT)
}

/// Path of crane, built if it is missing.
pub fn crane() -> Result<PathBuf> {
    program(&CRANE)
}

/// Path of the registry, built if it is missing.
pub fn registry() -> Result<PathBuf> {
    program(&REGISTRY)
}

/// Path of kubeconform, built if it is missing.
pub fn kubeconform() -> Result<PathBuf> {
    program(&KUBECONFORM)
}

/// Path of kube-score, built if it is missing.
pub fn kube_score() -> Result<PathBuf> {
    program(&KUBE_SCORE)
}

/// Path of promtool, built if it is missing.
pub fn promtool() -> Result<PathBuf> {
    program(&PROMTOOL)
}

/// Path of jv, which validates by a JSON schema, built if it is missing.
pub fn jv() -> Result<PathBuf> {
    program(&JV)
}

fn program(recipe: &Recipe) -> Result<PathBuf> {
    Ok(ensure_module(recipe, &|line| eprintln!("{line}"))?.join(recipe.module))
}
