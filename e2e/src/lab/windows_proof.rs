//! `cargo windows-proof`: every pinned release of kube-proxy.exe, every question; or, with `--agent`, Calico's agent.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use super::agent_proof;
use super::bench::table::{self, Figures};
use crate::proof::{CASES, CONDITIONS, Case, Outcome, Suite, build};
use crate::windows::record::{Record, Seen};
use crate::windows::{Release, WindowsHost};

#[derive(Args, Clone, Debug)]
pub struct ProofOptions {
    /// Only this minor of Kubernetes 1; may be given more than once
    #[arg(long, value_name = "MINOR")]
    pub minor: Vec<u32>,
    /// Leave out what takes minutes because kube-proxy's own periods have to pass
    #[arg(long)]
    pub quick: bool,
    /// Write what was seen at the start of each release into e2e/windows/seen.tsv
    #[arg(long, conflicts_with = "minor")]
    pub record: bool,
    /// Ask Calico's agent instead: DIR holds calico-node.exe, calico.exe and install.exe of a release
    #[arg(long, value_name = "DIR", conflicts_with_all = ["minor", "quick"])]
    pub agent: Option<PathBuf>,
}

/// What was found of one release.
struct Found {
    release: Release,
    answers: Figures,
    starts: Figures,
    seen: Vec<Seen>,
    failures: Vec<String>,
}

pub async fn windows_proof(options: &ProofOptions, say: &dyn Fn(&str)) -> Result<()> {
    let Some(host) = WindowsHost::prepare("windows-proof", say)? else {
        return Ok(());
    };
    if let Some(folder) = &options.agent {
        return agent_proof::agent_proof(&host, folder, options.record, say).await;
    }
    let mut releases = Release::all()?;
    releases.retain(|release| options.minor.is_empty() || options.minor.contains(&release.minor));
    let mut suite = Suite::set(&host).await?;
    let mut all = Vec::new();
    for release in releases {
        say(&format!("kube-proxy {}…", release.version));
        suite.enter(&release).await?;
        all.push(find_out(&suite, release, options.quick).await?);
    }
    if options.record {
        let seen: Vec<Seen> = all.iter().flat_map(|found| found.seen.clone()).collect();
        say(&format!(
            "recorded in {}",
            Record::KubeProxy.write(&seen)?.display()
        ));
    }
    print(all, say)?;
    say(
        "Calico's agent is not shown: installer, startup, token refresher, Felix, CNI plugin and shutdown run with --agent DIR",
    );
    Ok(())
}

async fn find_out(suite: &Suite, release: Release, quick: bool) -> Result<Found> {
    let program = build(&release).await?;
    let began = Instant::now();
    let (mut answers, mut starts) = (Figures::default(), Figures::default());
    let mut failures = Vec::new();
    for case in CASES.iter().filter(|case| !case.slow) {
        let answer = suite.ask(&release, &program, case).await;
        enter(&mut answers, &mut failures, case, answer);
    }
    if !quick {
        for (case, answer) in suite.ask_slow(&release, &program).await {
            enter(&mut answers, &mut failures, case, answer);
        }
    }
    let outcomes = suite.conditions(&release, &program).await?;
    for (condition, outcome) in &outcomes {
        let word = match outcome {
            Outcome::Starts => "starts",
            Outcome::Waits(_) => "waits",
            Outcome::Exits { .. } => "exits",
        };
        starts.value(condition.name, "", word);
    }
    answers.value("time", "", seconds(began.elapsed()));
    let seen = outcomes
        .iter()
        .map(|(condition, outcome)| Seen::new(&release.version, condition.name, outcome.words()));
    Ok(Found {
        seen: seen.collect(),
        release,
        answers,
        starts,
        failures,
    })
}

fn enter(answers: &mut Figures, failures: &mut Vec<String>, case: &Case, answer: Result<String>) {
    let answer = answer.unwrap_or_else(|error| {
        failures.push(format!("{error:#}"));
        "FAILED".to_owned()
    });
    answers.value(case.name, case.goal, answer);
}

fn print(all: Vec<Found>, say: &dyn Fn(&str)) -> Result<()> {
    let (mut answers, mut starts, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for found in all {
        answers.push((found.release.version.clone(), found.answers));
        starts.push((found.release.version, found.starts));
        failures.extend(found.failures);
    }
    table::print(&answers, say);
    say("");
    table::print(&starts, say);
    if !failures.is_empty() {
        bail!("{} answers are wrong:\n{}", failures.len(), failures.join("\n"));
    }
    say(&format!(
        "\n{} cases and {} conditions each",
        CASES.len(),
        CONDITIONS.len()
    ));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}
