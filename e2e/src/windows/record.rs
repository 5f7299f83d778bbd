//! `e2e/windows/seen.tsv`: what each release was seen to do under each condition. `cargo windows-proof --record`
//! writes it, the simulator of kube-proxy takes its failures from it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::control_plane::paths;

const HEAD: &str = "# What kube-proxy.exe was seen to do at its start under Wine, by `cargo windows-proof --record`.\n\
    # release\tcondition\toutcome\tmessage\n";

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Seen {
    pub version: String,
    pub condition: String,
    pub outcome: String,
    pub message: String,
}

impl Seen {
    pub fn new(version: &str, condition: &str, (outcome, message): (&str, &str)) -> Self {
        Self {
            version: version.to_owned(),
            condition: condition.to_owned(),
            outcome: outcome.to_owned(),
            message: message.to_owned(),
        }
    }

    /// What is recorded of a release; nothing where it is not.
    pub fn recorded(version: &str) -> Result<Vec<Self>> {
        let text = fs::read_to_string(file()).context("read the record")?;
        let all = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(parse);
        Ok(all.filter(|seen| seen.version == version).collect())
    }

    /// Replaces the record.
    pub fn record(all: &[Self]) -> Result<PathBuf> {
        let lines = all.iter().map(|seen| {
            let cells = [&seen.version, &seen.condition, &seen.outcome, &seen.message];
            cells.map(|cell| cell.replace(['\t', '\n'], " ")).join("\t") + "\n"
        });
        fs::write(file(), HEAD.to_owned() + &lines.collect::<String>())?;
        Ok(file())
    }
}

pub fn parse(line: &str) -> Option<Seen> {
    let mut cells = line.split('\t').map(str::to_owned);
    Some(Seen {
        version: cells.next()?,
        condition: cells.next()?,
        outcome: cells.next()?,
        message: cells.next()?,
    })
}

fn file() -> PathBuf {
    paths::windows().join("seen.tsv")
}
