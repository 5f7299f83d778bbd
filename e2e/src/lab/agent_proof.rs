//! `cargo windows-proof --agent DIR`: Calico's agent of one release, its life on a node of every network.

use std::path::Path;

use anyhow::{Result, bail};

use super::bench::table::{self, Figures};
use crate::proof::agent::{AgentFixture, AgentNetwork, CONDITIONS, NETWORKS, STEPS};
use crate::windows::record::{Record, Seen};
use crate::windows::{Programs, WindowsHost};

/// The first network is that of the conditions.
pub async fn agent_proof(host: &WindowsHost, folder: &Path, record: bool, say: &dyn Fn(&str)) -> Result<()> {
    let programs = Programs::open(host, folder).await?;
    say(&format!("Calico {}", programs.version));
    let (mut columns, mut starts) = (Vec::new(), Figures::default());
    let (mut seen, mut failures) = (Vec::new(), Vec::new());
    for (number, network) in NETWORKS.iter().enumerate() {
        say(&format!("{}…", network.name));
        let mut fixture = AgentFixture::start(host, *network, &programs).await?;
        let mut figures = Figures::default();
        for (step, found) in live(&mut fixture, *network, &mut failures).await {
            figures.value(step, "", found.clone());
            let condition = format!("{}: {step}", network.name);
            seen.push(Seen::new(&programs.version, &condition, (&found, "")));
        }
        columns.push((network.name.to_owned(), figures));
        if number == 0 {
            for condition in CONDITIONS {
                let (outcome, message) = condition.try_out(&fixture).await?;
                starts.value(condition.name, "", format!("{outcome}  {message}"));
                seen.push(Seen::new(&programs.version, condition.name, (&outcome, &message)));
            }
        }
    }
    table::print(&columns, say);
    say("");
    table::print(&[("startup".to_owned(), starts)], say);
    if record {
        let mut all = Record::Agent.read().unwrap_or_default();
        all.retain(|one| one.version != programs.version);
        all.extend(seen);
        say(&format!("recorded in {}", Record::Agent.write(&all)?.display()));
    }
    if !failures.is_empty() {
        bail!("{} answers are wrong:\n{}", failures.len(), failures.join("\n"));
    }
    Ok(())
}

/// What each step came to; what does not belong to the network is a dash.
async fn live(
    fixture: &mut AgentFixture,
    network: AgentNetwork,
    failures: &mut Vec<String>,
) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for step in STEPS {
        let found = if step.kinds.contains(&network.kind) {
            step.go(fixture).await.unwrap_or_else(|error| {
                failures.push(format!("{}, {}: {error:#}", network.name, step.name));
                "FAILED".to_owned()
            })
        } else {
            "-".to_owned()
        };
        all.push((step.name, found));
    }
    all
}
