//! The campaign: rounds of faults, kills and changes by a user, each of which must end in a healthy cluster.
//!
//! A round is drawn from a seed. Between the operator and the API server stands a proxy that injects faults;
//! meanwhile processes are killed and a user changes objects. Then the faults end, and [`check`] says what
//! must hold. The same seed draws the same steps and the same faults in the order of requests; how threads and
//! processes interleave is not repeated.

mod check;
mod environment;
mod fault;
mod link;
mod proxy;
mod refusal;
mod report;
mod step;
mod user;

pub use proxy::{Proxy, Write};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use fastrand::Rng;

use crate::control_plane::CalicoApi;
use environment::{Datastore, Environment};
use report::Report;
use step::Step;

const DATASTORES: [Datastore; 3] = [
    Datastore::Api(CalicoApi::V1),
    Datastore::Api(CalicoApi::V3),
    Datastore::Etcd,
];
/// Rounds on one cluster at most. Then a fresh one follows, with Calico in another datastore.
const ROUNDS_PER_CLUSTER: usize = 25;
/// One round of so many has a write that is refused for as long as the round lasts.
const REFUSAL_EVERY: usize = 20;

#[derive(Args, Clone, Debug)]
pub struct CampaignOptions {
    /// Number of rounds
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub rounds: usize,
    /// Draws the steps and faults of each round
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
}

/// Runs the rounds and prints their table. The first violation ends the campaign with the round's log.
pub async fn campaign(options: &CampaignOptions, say: &dyn Fn(&str)) -> Result<()> {
    let mut report = Report::default();
    let result = rounds(options, &mut report, say).await;
    report.print(result.is_err(), say);
    result
}

async fn rounds(options: &CampaignOptions, report: &mut Report, say: &dyn Fn(&str)) -> Result<()> {
    let mut done = 0;
    let each = options.rounds.div_ceil(DATASTORES.len()).min(ROUNDS_PER_CLUSTER);
    while done < options.rounds {
        let datastore = DATASTORES[(done / each) % DATASTORES.len()];
        let mut environment = Environment::start(datastore).await?;
        let last = options.rounds.min(done + each);
        for round in done..last {
            // Each round has its own generator, so that a round is the same whatever came before.
            let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(round as u64);
            environment.begin(seed);
            let result = one(&mut environment, round, report).await;
            report.faults(environment.injected());
            if let Err(error) = result {
                bail!(
                    "round {round} of seed {} with Calico in {datastore:?}: {error:#}\n\nthe round's log:\n{}\n\nthe operator's log:\n{}",
                    options.seed,
                    environment.log().join("\n"),
                    environment.operator_log(),
                );
            }
            say(&format!("round {round}: {}", report.last()));
        }
        report.memory(environment.memory()?);
        done = last;
    }
    report.require_memory()
}

async fn one(environment: &mut Environment, round: usize, report: &mut Report) -> Result<()> {
    let mut rng = Rng::with_seed(environment.seed());
    if (round + 1).is_multiple_of(REFUSAL_EVERY) {
        refusal::run(environment, &mut rng, report).await?;
    } else {
        for step in Step::draw(&mut rng, environment.etcd.is_some()) {
            environment.note(format!("{step:?}"));
            step.take(environment, &mut rng)
                .await
                .with_context(|| format!("step {step:?}"))?;
            report.step(&step);
        }
    }
    let target = user::target(environment, &mut rng);
    environment.note(format!("faults end; the user asks for {target}"));
    report.round(check::converges(environment, target).await?);
    Ok(())
}
