//! What kstatus, which Flux, Argo CD and Helm wait for, computes for every status that the tests of `operator/plan` record.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wn_api::names;
use wn_api::reasons::conditions;
use wn_e2e::control_plane::{Binaries, paths};

const SNAPSHOTS: &str = "operator/plan/tests/plan/snapshots";
/// Key of what the test expects of kstatus, beside the conditions.
const EXPECTED: &str = "kstatus";

/// The conditions of a snapshot as `NN Type: "Status Reason: message"`; `None` of a snapshot of something else.
fn recorded(path: &Path) -> Result<Option<BTreeMap<String, String>>> {
    let text = fs::read_to_string(path)?;
    let (_, body) = text.split_once("\n---\n").context("no snapshot")?;
    let lines: Option<BTreeMap<String, String>> = serde_saphyr::from_str(body).ok();
    Ok(lines.filter(|lines| lines.contains_key(EXPECTED)))
}

fn condition(name: &str, line: &str) -> Result<Value> {
    let type_ = name.split(' ').nth(1).context("no type")?;
    let (status, rest) = line.split_once(' ').context("no status")?;
    let (reason, message) = rest.split_once(": ").context("no reason")?;
    Ok(json!({
        "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }))
}

fn object(lines: &BTreeMap<String, String>) -> Result<Value> {
    let all = lines.iter().filter(|(name, _)| *name != EXPECTED);
    let found: Vec<_> = all
        .map(|(name, line)| condition(name, line))
        .collect::<Result<_>>()?;
    ensure!(found.len() == conditions::ALL.len(), "{found:?}");
    Ok(json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "metadata": { "name": names::SINGLETON, "generation": 1 },
        "status": { "observedGeneration": 1, "conditions": found },
    }))
}

#[test]
fn every_recorded_status_is_to_kstatus_what_it_should_be() -> Result<()> {
    let kstatus = Binaries::ensure(&|line| eprintln!("{line}"))?.kstatus;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for entry in fs::read_dir(paths::workspace().join(SNAPSHOTS))? {
        let path = entry?.path();
        let Some(lines) = recorded(&path)? else { continue };
        let output = Command::new(&kstatus).arg(object(&lines)?.to_string()).output()?;
        ensure!(output.status.success(), "{}: {output:?}", path.display());
        let computed = String::from_utf8(output.stdout)?.trim().to_owned();
        ensure!(computed == lines[EXPECTED], "{}: {computed}", path.display());
        *seen.entry(computed).or_default() += 1;
    }
    let all: Vec<_> = seen.keys().map(String::as_str).collect();
    ensure!(all == ["Current", "Failed", "InProgress"], "{seen:?}");
    ensure!(seen.values().sum::<usize>() >= 30, "{seen:?}");
    Ok(())
}
