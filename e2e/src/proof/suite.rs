//! All questions, put to one release after the other in the same two clusters.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use futures::future::join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::cases::{CASES, Case, Ground};
use super::conditions::{CONDITIONS, Condition, Outcome};
use super::fixture::{Fixture, Network};
use crate::windows::{Release, WindowsHost};

/// Each waits more than it works.
const AT_ONCE: usize = 4;

pub struct Suite {
    vxlan: Fixture,
    bgp: Fixture,
}

impl Suite {
    pub async fn set(host: &WindowsHost) -> Result<Self> {
        let (vxlan, bgp) = tokio::try_join!(
            Fixture::start(host, Network::Vxlan),
            Fixture::start(host, Network::Bgp)
        )?;
        Ok(Self { vxlan, bgp })
    }

    /// Before anything is asked about a release.
    pub async fn enter(&mut self, release: &Release) -> Result<()> {
        tokio::try_join!(self.vxlan.enter(release), self.bgp.enter(release)).map(drop)
    }

    pub fn fixture(&self, network: Network) -> &Fixture {
        match network {
            Network::Vxlan => &self.vxlan,
            Network::Bgp => &self.bgp,
        }
    }

    pub async fn ask(&self, release: &Release, program: &Path, case: &Case) -> Result<String> {
        let ground = Ground {
            fixture: self.fixture(case.network),
            release,
            program,
        };
        let found = case.ask(&ground).await;
        found.with_context(|| format!("kube-proxy {}, {}", release.version, case.name))
    }

    /// The answers to all that is slow, at once: each has Services of its own.
    pub async fn ask_slow(&self, release: &Release, program: &Path) -> Vec<(&'static Case, Result<String>)> {
        let slow = CASES.iter().filter(|case| case.slow);
        join_all(slow.map(async |case| (case, self.ask(release, program, case).await))).await
    }

    /// What becomes of a release under each condition, in their order.
    pub async fn conditions(
        &self,
        release: &Release,
        program: &Path,
    ) -> Result<Vec<(&'static Condition, Outcome)>> {
        stream::iter(CONDITIONS)
            .map(async |condition| {
                let outcome = condition
                    .try_out(self.fixture(condition.network), release, program)
                    .await;
                let context = || format!("kube-proxy {}, {}", release.version, condition.name);
                Ok((condition, outcome.with_context(context)?))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await
    }
}

/// Built on a thread that may block for minutes.
pub async fn build(release: &Release) -> Result<PathBuf> {
    let release = release.clone();
    tokio::task::spawn_blocking(move || release.build(&|line| eprintln!("{line}"))).await?
}
