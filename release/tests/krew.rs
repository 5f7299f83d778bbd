//! What krew installs is what a release has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use serde_json::Value;
use wn_release::image::digest::sha256;
use wn_release::platform::Platform;
use wn_release::{krew, workspace};

const SOURCE: &str = "https://example.com/team/operator";
const MANIFEST: &str = "kubectl-wnc-1.2.3.yaml";

fn files(source: Option<&str>) -> Result<BTreeMap<String, Vec<u8>>> {
    let programs = Platform::ALL.map(|platform| (platform, platform.stand_in()));
    let programs = programs
        .each_ref()
        .map(|(platform, program)| (*platform, program.as_slice()));
    Ok(krew::files("1.2.3", source, &programs, b"a licence")?
        .into_iter()
        .collect())
}

fn manifest() -> Result<Value> {
    let files = files(Some(SOURCE))?;
    let text = std::str::from_utf8(files.get(MANIFEST).context("no manifest")?)?;
    Ok(serde_saphyr::from_str(text)?)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Names of an archive's files, and whether each is a program.
fn entries(archive: &[u8]) -> Result<BTreeMap<String, bool>> {
    let mut tar = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut tar)?;
    let mut archive = tar::Archive::new(tar.as_slice());
    let entries = archive.entries()?.map(|entry| {
        let entry = entry?;
        let name = entry.path()?.display().to_string();
        Ok((name, entry.header().mode()? == 0o755))
    });
    entries.collect()
}

#[test]
fn the_manifest_lists_every_archive() -> Result<()> {
    let (manifest, files) = (manifest()?, files(Some(SOURCE))?);
    assert_eq!(manifest["spec"]["version"], "v1.2.3");
    assert_eq!(manifest["spec"]["homepage"], SOURCE);
    let platforms = manifest["spec"]["platforms"].as_array().context("no platforms")?;
    let mut found = BTreeSet::new();
    for platform in platforms {
        let labels = &platform["selector"]["matchLabels"];
        found.insert(format!("{}/{}", text(&labels["os"]), text(&labels["arch"])));
        let archive = text(&platform["uri"])
            .strip_prefix(&format!("{SOURCE}/releases/download/v1.2.3/"))
            .context("another place")?;
        assert!(
            archive.ends_with(&format!("-linux-{}.tar.gz", text(&labels["arch"]))),
            "{archive}"
        );
        let bytes = files.get(archive).with_context(|| format!("no {archive}"))?;
        assert_eq!(platform["sha256"], sha256(bytes));
        let entries = entries(bytes)?;
        let listed = platform["files"].as_array().context("no files")?;
        let listed: BTreeSet<_> = listed.iter().map(|file| text(&file["from"])).collect();
        assert_eq!(listed, entries.keys().map(String::as_str).collect());
        let bin = text(&platform["bin"]);
        assert_eq!(bin, format!("kubectl-{}", text(&manifest["metadata"]["name"])));
        assert_eq!(entries.get(bin), Some(&true), "{bin} is not a program");
    }
    assert_eq!(found, Platform::ALL.map(|platform| platform.to_string()).into());
    assert_eq!(
        files.len(),
        platforms.len() + 1,
        "an archive is not in the manifest"
    );
    Ok(())
}

/// A manifest without an address would be one that nobody can install.
#[test]
fn without_a_source_there_is_no_manifest() -> Result<()> {
    let names: Vec<_> = files(None)?.into_keys().collect();
    assert_eq!(
        names,
        [
            "kubectl-wnc-1.2.3-linux-amd64.tar.gz",
            "kubectl-wnc-1.2.3-linux-arm64.tar.gz"
        ]
    );
    Ok(())
}

/// krew-index asks for a description of 50 characters at most, and for one that does not repeat kubectl.
#[test]
fn the_short_description_is_short() -> Result<()> {
    let manifest = manifest()?;
    let short = text(&manifest["spec"]["shortDescription"]);
    assert!(
        !short.is_empty() && short.len() <= 50 && !short.contains("kubectl"),
        "{short}"
    );
    Ok(())
}

/// Archives get their checksums and their signature, and are uploaded to the place that the manifest names.
#[test]
fn the_workflow_publishes_the_archives() -> Result<()> {
    let workflow = fs::read_to_string(workspace().join(".github/workflows/release.yaml"))?;
    let lines: Vec<&str> = workflow.lines().map(str::trim).collect();
    let of = |command: &str| -> Result<&str> {
        let at = lines.iter().position(|line| line.starts_with(command));
        let at = at.with_context(|| format!("no {command}"))?;
        // Arguments may be on the next line.
        Ok(if lines[at].ends_with('\\') {
            lines[at + 1]
        } else {
            lines[at]
        })
    };
    for command in ["sha256sum", "gh release create"] {
        let arguments = of(command)?;
        assert!(
            arguments.contains("kubectl-wnc-$VERSION\"*"),
            "{command}: {arguments}"
        );
    }
    assert!(of("cargo image")?.contains("--source \"$GITHUB_SERVER_URL/$GITHUB_REPOSITORY\""));
    assert!(
        workflow.contains("\"v$version\""),
        "the tag is not v and the version"
    );
    Ok(())
}
