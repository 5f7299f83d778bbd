//! Programs that check a release: a registry, a client of it, and a linter of workflows. Built as the control plane is, and only by the
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

fn program(recipe: &Recipe) -> Result<PathBuf> {
    Ok(ensure_module(recipe, &|line| eprintln!("{line}"))?.join(recipe.module))
}
