//! What the program is built from, as an SBOM and in the program itself.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use cyclonedx_bom::prelude::{Bom, Validate as _};
use wn_release::dependencies::{Dependencies, Dependency};
use wn_release::platform::Platform;
use wn_release::{NAME, audit, sbom};

fn named<'a>(dependencies: &'a Dependencies, name: &str) -> Option<&'a Dependency> {
    dependencies.all.iter().find(|dependency| dependency.name == name)
}

#[test]
fn only_crates_of_the_operator_are_listed() -> Result<()> {
    for platform in Platform::ALL {
        let dependencies = Dependencies::of(platform)?;
        for name in [NAME, "wn-plan", "kube-client", "ring"] {
            assert!(
                named(&dependencies, name).is_some_and(|d| d.runtime),
                "{name} is in the program"
            );
        }
        for name in ["clap_derive", "cc"] {
            assert!(
                named(&dependencies, name).is_some_and(|d| !d.runtime),
                "{name} runs in the build"
            );
        }
        for name in ["wn-e2e", "wn-release", "insta", "rstest", "windows-sys"] {
            assert!(named(&dependencies, name).is_none(), "{name} is not built");
        }
        let ring = named(&dependencies, "ring").context("no ring")?;
        assert_eq!(ring.checksum.as_ref().map(String::len), Some(64));
        let on = ring
            .dependencies
            .iter()
            .map(|n| dependencies.all[*n].name.as_str());
        assert!(
            on.collect::<BTreeSet<_>>()
                .is_superset(&["cc", "untrusted"].into())
        );
        for dependency in &dependencies.all {
            assert!(dependency.license.is_some(), "{} has no licence", dependency.name);
        }
    }
    Ok(())
}

#[test]
fn the_sbom_is_valid_and_names_the_program() -> Result<()> {
    let program = Platform::Amd64.stand_in();
    let dependencies = Dependencies::of(Platform::Amd64)?;
    let document = sbom::document(&dependencies, &program, jiff::Timestamp::UNIX_EPOCH);
    let bom = Bom::parse_from_json_v1_5(document.to_string().as_bytes())?;
    let result = bom.validate();
    assert!(result.passed(), "{result:?}");

    let component = &document["metadata"]["component"];
    assert_eq!(component["name"], NAME);
    assert_eq!(component["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        component["hashes"][0]["content"],
        wn_release::image::digest::sha256(&program)
    );
    let components = document["components"].as_array().context("no components")?;
    assert_eq!(components.len() + 1, dependencies.all.len());
    let text = document.to_string();
    assert!(
        !text.contains(env!("CARGO_MANIFEST_DIR")),
        "no path of the machine is in it"
    );
    Ok(())
}

/// Its own program stands in for the operator.
#[test]
fn the_list_is_read_back_from_a_program() -> Result<()> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_wn-release"), &built)?;
    let dependencies = Dependencies::of(Platform::Amd64)?;
    let program = audit::embed(&built, &dependencies)?;
    let found = audit::read(&program)?;
    assert_eq!(found, dependencies.audit_data()?);
    assert!(
        found
            .packages
            .iter()
            .any(|package| package.name == NAME && package.root)
    );
    assert!(found.packages.iter().all(|package| package.name != "clap_derive"));
    let without = audit::embed(&built, &Dependencies { all: Vec::new() })?;
    let cost = program.len() - without.len();
    assert!(cost < 100 << 10, "it costs {cost} bytes");
    assert_eq!(audit::embed(&built, &dependencies)?, program);
    Ok(())
}
