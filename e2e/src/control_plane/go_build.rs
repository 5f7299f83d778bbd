//! One `go build`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::go_module::GoModule;
use super::process::Program;

pub(crate) struct GoBuild<'a> {
    pub module: &'a GoModule,
    pub packages: &'a [&'a str],
    /// `GOOS` of the result.
    pub os: &'a str,
    /// What the release scripts of Kubernetes have the linker write into its programs; `None` of others.
    pub kubernetes_version: Option<&'a str>,
}

impl GoBuild<'_> {
    /// Leaves `programs` in a folder that exists: only there does `go build` write several.
    pub(crate) fn run(&self, into: &Path, programs: &[&str]) -> Result<()> {
        let mut output = into.as_os_str().to_owned();
        output.push("/");
        // Under a supervisor, so that an interrupted build does not go on behind the next one's back.
        let mut build = Program::new("go-build", &find_go(self.module)?, into)
            .env("CGO_ENABLED", "0")
            .env("GOOS", self.os)
            .arg("-C")
            .arg(self.module.directory())
            .args(["build", "-ldflags", &self.linker_flags(), "-o"])
            .arg(output)
            .args(self.packages)
            .start()?;
        if !build.wait()?.success() {
            bail!(
                "go build in {} failed:\n{}",
                self.module.directory().display(),
                build.log()
            );
        }
        match programs.iter().find(|program| !into.join(program).is_file()) {
            Some(program) => bail!("go build succeeded, but left no program `{program}`"),
            None => Ok(()),
        }
    }

    fn linker_flags(&self) -> String {
        let Some(version) = self.kubernetes_version else {
            return "-s -w".to_owned();
        };
        let mut parts = version.trim_start_matches('v').split('.');
        let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let package = "k8s.io/component-base/version";
        format!(
            "-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
        )
    }
}

fn find_go(module: &GoModule) -> Result<PathBuf> {
    match find_program("go") {
        Some(go) => Ok(go),
        None => bail!(
            "`go` is not on PATH: programs are built from source, install Go {} or newer",
            module.go_version()?
        ),
    }
}

/// A program of the `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}
