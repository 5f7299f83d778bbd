//! The workflows of the repository.

use anyhow::Result;
use wn_e2e::control_plane::{paths, release_tools};

use crate::output;

#[test]
fn actionlint_finds_nothing() -> Result<()> {
    let actionlint = release_tools::actionlint()?;
    for workflow in ["ci", "release"] {
        let path = paths::workspace().join(format!(".github/workflows/{workflow}.yaml"));
        // shellcheck and pyflakes differ from machine to machine.
        output(
            &actionlint,
            &[
                "-no-color",
                "-shellcheck=",
                "-pyflakes=",
                &path.display().to_string(),
            ],
        )?;
    }
    Ok(())
}

/// A linter that accepts everything would pass, too.
#[test]
fn actionlint_finds_mistakes() -> Result<()> {
    let file = crate::folder("actionlint")?.join("broken.yaml");
    std::fs::write(
        &file,
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ steps.none.outputs.x }}\n",
    )?;
    let actionlint = release_tools::actionlint()?;
    let error = output(
        &actionlint,
        &["-no-color", "-shellcheck=", &file.display().to_string()],
    )
    .unwrap_err();
    assert!(error.to_string().contains("\"none\" is not defined"), "{error}");
    Ok(())
}
