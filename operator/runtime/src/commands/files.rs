//! Manifests from files, standard input and kustomizations.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use wn_workloads::input::{Manifest, Objects};

/// Bytes of one file.
const LARGEST: u64 = 256 << 20;

/// A text with manifests.
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// The file, if it is one whose lines a reader can look up.
    pub file: Option<PathBuf>,
    pub text: String,
}

/// A file; `-` is standard input.
pub fn source(file: &Path) -> anyhow::Result<Source> {
    let is_stdin = file.as_os_str() == "-";
    let name = if is_stdin {
        "<stdin>".to_owned()
    } else {
        file.display().to_string()
    };
    Ok(Source {
        name,
        file: (!is_stdin).then(|| file.to_owned()),
        text: text(file)?,
    })
}

/// The objects of all texts, in order.
pub fn objects(sources: &[Source]) -> anyhow::Result<Objects> {
    let manifests = sources.iter().map(|source| Manifest {
        name: &source.name,
        text: &source.text,
    });
    Ok(Objects::read(manifests)?)
}

/// The whole file, which must be UTF-8; `-` is standard input.
pub fn text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let bytes = if file.as_os_str() == "-" {
        bounded(std::io::stdin().lock())
    } else {
        File::open(file).and_then(bounded)
    };
    decoded(
        &name.to_string(),
        bytes.with_context(|| format!("{name}: cannot be read"))?,
    )
}

fn bounded(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn decoded(name: &str, bytes: Vec<u8>) -> anyhow::Result<String> {
    ensure!(
        bytes.len() as u64 <= LARGEST,
        "{name}: is larger than {} MiB",
        LARGEST >> 20
    );
    ensure!(
        !bytes.starts_with(&[0xff, 0xfe]) && !bytes.starts_with(&[0xfe, 0xff]),
        "{name}: is UTF-16, as Windows PowerShell writes it with `>`; write it with `Out-File -Encoding utf8`"
    );
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow::anyhow!("{name}:{line}: is not UTF-8")
    })
}

/// Programs that build a kustomization, with their arguments before the folder.
const BUILDERS: &[(&str, &str)] = &[("kubectl", "kustomize"), ("kustomize", "build")];

/// What a kustomization builds.
pub fn kustomization(folder: &Path) -> anyhow::Result<Source> {
    built(folder, BUILDERS)
}

fn built(folder: &Path, builders: &[(&str, &str)]) -> anyhow::Result<Source> {
    for (program, argument) in builders {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            child => child.with_context(|| format!("{program} cannot be started"))?,
        };
        let name = format!("{program} {argument} {}", folder.display());
        let bytes = child.stdout.take().map(bounded).transpose();
        let status = child.wait().with_context(|| name.clone())?;
        ensure!(
            status.success(),
            "{name}: failed with {status}; its own message is above"
        );
        let bytes = bytes.with_context(|| name.clone())?.unwrap_or_default();
        let text = decoded(&name, bytes)?;
        return Ok(Source {
            name,
            file: None,
            text,
        });
    }
    bail!(
        "{}: building a kustomization needs kubectl or kustomize on the PATH; install one of them, or pipe the built manifests: `-f -`",
        folder.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::byte_that_is_no_utf8(b"a: b\n\xff", "f:2: is not UTF-8")]
    #[case::powershell(b"\xff\xfea\0", "f: is UTF-16")]
    fn says_what_is_wrong_with_a_file(#[case] bytes: &[u8], #[case] begin: &str) {
        let error = decoded("f", bytes.to_vec()).unwrap_err().to_string();
        assert!(error.starts_with(begin), "{error}");
    }

    /// `echo` and `false` stand for kustomize.
    #[rstest]
    #[case::first_one_that_exists(&[("/none/such", "x"), ("echo", "kind:")], Ok("kind: folder\n"))]
    #[case::fails(&[("false", "x")], Err("false x folder: failed"))]
    #[case::none_exists(&[("/none/such", "x")], Err("folder: building a kustomization needs kubectl"))]
    fn builds_kustomizations(#[case] builders: &[(&str, &str)], #[case] expected: Result<&str, &str>) {
        match (built(Path::new("folder"), builders), expected) {
            (Ok(source), Ok(text)) => assert_eq!(source.text, text),
            (Err(error), Err(begin)) => assert!(error.to_string().starts_with(begin), "{error}"),
            (found, _) => panic!("{:?}", found.map(|source| source.text)),
        }
    }
}
