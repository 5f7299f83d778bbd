//! What happens in a round beside the faults of connections.

use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;

use super::environment::{Environment, REPLICAS};
use super::user;

/// One disturbance, or one thing a user does.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Step {
    Configure,
    DeleteConfig,
    CreatePool,
    DeletePool,
    Drift,
    Kill,
    Stop,
    Roll,
    RestartApiServer,
    RestartEtcd,
    SaveSnapshot,
    RestoreSnapshot,
}

/// Each as often as it is drawn. What restarts the control plane takes seconds.
const DRAWN: [Step; 22] = [
    Step::Configure,
    Step::Configure,
    Step::Configure,
    Step::Configure,
    Step::Configure,
    Step::DeleteConfig,
    Step::DeleteConfig,
    Step::DeleteConfig,
    Step::CreatePool,
    Step::CreatePool,
    Step::CreatePool,
    Step::DeletePool,
    Step::DeletePool,
    Step::Drift,
    Step::Kill,
    Step::Kill,
    Step::Kill,
    Step::Stop,
    Step::Roll,
    Step::RestartApiServer,
    Step::RestartEtcd,
    Step::RestoreSnapshot,
];
const STEPS: std::ops::Range<usize> = 3..8;
/// Long enough that the operator is in the middle of its answer to the step before.
const PAUSE_MILLISECONDS: std::ops::Range<u64> = 0..1500;
/// Longer than a lease, too.
const STOP_MILLISECONDS: std::ops::Range<u64> = 200..16_000;

impl Step {
    /// The steps of a round. The first gives the operator something to do.
    /// With an etcd of Calico's there are no pools to create, and a snapshot of the cluster would be older than Calico.
    pub fn draw(rng: &mut Rng, etcd: bool) -> Vec<Self> {
        let mut steps = vec![Self::Configure];
        for _ in 0..rng.usize(STEPS) {
            let step = rng.choice(DRAWN).unwrap_or(Self::Configure);
            if etcd && matches!(step, Self::CreatePool | Self::DeletePool | Self::RestoreSnapshot) {
                continue;
            }
            // A field that is changed three times is contested, and rightly not repaired.
            if step != Self::Drift || !steps.contains(&step) {
                steps.push(step);
            }
        }
        if let Some(restore) = steps.iter().position(|step| *step == Self::RestoreSnapshot) {
            steps.insert(rng.usize(0..=restore), Self::SaveSnapshot);
        }
        steps
    }

    pub async fn take(self, environment: &mut Environment, rng: &mut Rng) -> Result<()> {
        let replica = rng.usize(0..REPLICAS);
        match self {
            Self::Configure => user::configure(environment, rng).await?,
            Self::DeleteConfig => user::delete_config(environment).await?,
            Self::CreatePool => user::create_pool(environment, rng).await?,
            Self::DeletePool => user::delete_pool(environment, rng).await?,
            Self::Drift => user::drift(environment, rng).await?,
            Self::Kill => environment.kill(replica).await?,
            Self::Stop => {
                let time = Duration::from_millis(rng.u64(STOP_MILLISECONDS));
                environment.pause(replica, time).await?;
            }
            Self::Roll => environment.roll().await?,
            Self::RestartApiServer => environment.test.cluster.restart_api_server().await?,
            Self::RestartEtcd => environment.test.cluster.restart_etcd().await?,
            Self::SaveSnapshot => environment.save().await?,
            Self::RestoreSnapshot => environment.restore().await?,
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(PAUSE_MILLISECONDS))).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_saved_before_it_is_restored() {
        for seed in 0..500 {
            let steps = Step::draw(&mut Rng::with_seed(seed), false);
            let at = |step| steps.iter().position(|s| *s == step);
            if let Some(restore) = at(Step::RestoreSnapshot) {
                assert!(
                    at(Step::SaveSnapshot).is_some_and(|save| save < restore),
                    "{steps:?}"
                );
            }
        }
    }
}
