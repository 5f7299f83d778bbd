//! One session: the watches of all kinds, and the judge they report to. Dropping it ends all of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::Api;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::error;
use wn_api::calico::CalicoApi;
use wn_plan::lint::{Lint, Published};
use wn_plan::observed::Config;
use wn_workloads::kinds;
use wn_workloads::release::Release;

use super::Findings;
use super::announce::Announcer;
use super::judge::Judge;
use super::sink::ToJudge;
use crate::backoff::Backoff;
use crate::context::Context;
use crate::events::Events;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::watch::feed::Feed;
use crate::world::World;

/// Changes that wait for the judge: enough to keep the watches busy, and few objects.
const WAITING: usize = 64;
/// The first lists wait: what a new `WindowsNodeConfig` makes the operator write is more urgent.
const DELAY: Duration = Duration::from_millis(500);
/// A session that went well for so long did not fail at once.
const STEADY: Duration = Duration::from_mins(10);

/// What a session needs.
pub struct Session {
    client: kube::Client,
    namespace: String,
    events: Arc<Events>,
    metrics: Arc<Metrics>,
    findings: Arc<Findings>,
    world: Arc<World>,
    calico: Option<CalicoApi>,
    release: Release,
}

impl Session {
    pub fn new(context: &Context, calico: Option<CalicoApi>, release: Release) -> Self {
        Self {
            client: context.apis.client(),
            namespace: context.apis.namespace().to_owned(),
            events: context.events.clone(),
            metrics: context.metrics.clone(),
            findings: context.findings.clone(),
            world: context.world.clone(),
            calico,
            release,
        }
    }

    /// Runs until it is dropped. After a panic in the engine everything is read again.
    pub async fn for_ever(self) {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            self.run().await;
            self.findings.set(Lint::Reading);
            if began.elapsed() > STEADY {
                backoff.reset();
            }
            let pause = backoff.next();
            error!(?pause, "the check of workloads ended, starting it again");
            tokio::time::sleep(pause).await;
        }
    }

    async fn run(&self) {
        tokio::time::sleep(DELAY).await;
        let kinds: Vec<_> = kinds(self.calico).collect();
        let (judge, changes) = mpsc::channel(WAITING);
        let mut tasks = JoinSet::new();
        for (position, kind) in kinds.iter().enumerate() {
            let sink = ToJudge {
                kind: position,
                judge: judge.clone(),
            };
            let kind = Kind::from(*kind);
            let pulse = self.metrics.watch(format!("workloads/{}", kind.name()));
            let api = Api::all_with(pulse.client(self.client.clone()), &kind.resource());
            let feed = Feed::new(api, sink, &self.metrics, pulse);
            tasks.spawn(feed.for_ever());
        }
        drop(judge);
        let stored = self.world.read(|observed| {
            let config = observed.config.as_ref().map(Config::object)?;
            Some(Published::of_status(config.status.as_ref()?.workloads.as_ref()))
        });
        let published = stored.unwrap_or_default();
        let announcer = Announcer::new(self.client.clone(), self.events.clone(), self.calico, published);
        let judge = Judge::new(kinds, self.release, &self.namespace, self.findings.clone());
        judge.run(changes, announcer).await;
    }
}

/// The kinds that are watched.
fn kinds(calico: Option<CalicoApi>) -> impl Iterator<Item = &'static kinds::Kind> {
    let of_calico: &[kinds::Kind] = match calico {
        Some(CalicoApi::V1) => &kinds::CALICO_V1,
        Some(CalicoApi::V3) => &kinds::CALICO_V3,
        Some(CalicoApi::Etcd) | None => &[],
    };
    kinds::KUBERNETES.iter().chain(of_calico)
}
