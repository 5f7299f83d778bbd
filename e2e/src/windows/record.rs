//! `e2e/windows/seen.tsv` and `seen-agent.tsv`: what each release of kube-proxy and of Calico's agent was seen to do
//! under each condition. `cargo windows-proof --record` writes them; the simulator of kube-proxy takes its failures
//! from the first.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::control_plane::paths;

const COLUMNS: &str = "# release\tcondition\toutcome\tmessage\n";

/// A file of what was seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Record {
    KubeProxy,
    /// Calico's agent.
    Agent,
}

impl Record {
    fn path(self) -> PathBuf {
        paths::windows().join(match self {
            Self::KubeProxy => "seen.tsv",
            Self::Agent => "seen-agent.tsv",
        })
    }

    fn head(self) -> &'static str {
        match self {
            Self::KubeProxy => {
                "# What kube-proxy.exe was seen to do at its start under Wine, by `cargo windows-proof --record`.\n"
            }
            Self::Agent => {
                "# What Calico's agent was seen to do under Wine, by `cargo windows-proof --agent DIR --record`.\n"
            }
        }
    }

    /// What is recorded, of every release.
    pub fn read(self) -> Result<Vec<Seen>> {
        let text = fs::read_to_string(self.path()).context("read the record")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Ok(lines.filter_map(parse).collect())
    }

    /// What is recorded of a release; nothing where it is not.
    pub fn of(self, version: &str) -> Result<Vec<Seen>> {
        let mut all = self.read()?;
        all.retain(|seen| seen.version == version);
        Ok(all)
    }

    /// Replaces the record.
    pub fn write(self, all: &[Seen]) -> Result<PathBuf> {
        let lines = all.iter().map(|seen| {
            let cells = [&seen.version, &seen.condition, &seen.outcome, &seen.message];
            cells.map(|cell| cell.replace(['\t', '\n'], " ")).join("\t") + "\n"
        });
        fs::write(
            self.path(),
            [self.head(), COLUMNS, &lines.collect::<String>()].concat(),
        )?;
        Ok(self.path())
    }
}

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
