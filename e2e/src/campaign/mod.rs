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

use std::num::NonZeroUsize;
use std::ops::Range;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use fastrand::Rng;
use futures::StreamExt as _;
use futures::stream;

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
    /// Clusters at the same time, each with up to 25 of the rounds
    #[arg(long, default_value = "1", value_name = "N")]
    pub clusters: NonZeroUsize,
}

/// Runs the rounds and prints their table. The first violation ends the campaign with the round's log.
pub async fn campaign(options: &CampaignOptions, say: &dyn Fn(&str)) -> Result<()> {
    let each = options.rounds.div_ceil(DATASTORES.len()).min(ROUNDS_PER_CLUSTER);
    let clusters = (0..options.rounds).step_by(each.max(1)).enumerate();
    let mut running = stream::iter(clusters)
        .map(async |(index, first)| {
            let datastore = DATASTORES[index % DATASTORES.len()];
            let rounds = first..options.rounds.min(first + each);
            let mut report = Report::default();
            let result = on_one_cluster(options.seed, datastore, rounds, &mut report, say).await;
            (report, result)
        })
        .buffer_unordered(options.clusters.get());
    let mut report = Report::default();
    let mut result = Ok(());
    while let Some((part, ended)) = running.next().await {
        report.add(part);
        result = ended;
        if result.is_err() {
            break;
        }
    }
    result = result.and_then(|()| report.require());
    report.print(result.is_err(), say);
    result
}

async fn on_one_cluster(
    seed: u64,
    datastore: Datastore,
    rounds: Range<usize>,
    report: &mut Report,
    say: &dyn Fn(&str),
) -> Result<()> {
    let mut environment = Environment::start(datastore).await?;
    for round in rounds {
        // Each round has its own generator, so that a round is the same whatever came before.
        environment.begin(seed.wrapping_mul(1_000_003).wrapping_add(round as u64));
        let result = one(&mut environment, round, report).await;
        report.faults(environment.injected());
        if let Err(error) = result {
            bail!(
                "round {round} of seed {seed} with Calico in {datastore:?}: {error:#}\n\nthe round's log:\n{}\n\nthe operator's log:\n{}",
                environment.log().join("\n"),
                environment.operator_log(),
            );
        }
        say(&format!("round {round}: {}", report.last()));
    }
    report.memory(environment.memory()?);
    Ok(())
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
