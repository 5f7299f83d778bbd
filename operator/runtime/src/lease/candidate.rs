//! Runs leader election: sends the requests that [`Election`] decides on, and updates [`Leadership`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use kube_runtime::WatchStreamExt;
use kube_runtime::watcher::watch_object;
use tracing::{info, warn};
use wn_api::names::{LEASE, OPERATOR};

use super::election::{Election, Record, Step};
use super::{DURATION, HISTORY, Leadership, RENEWAL};

/// Time limit of a request. After a longer time the lease would be about to end.
const LIMIT: Duration = RENEWAL;

/// A replica that takes part in leader election.
pub struct Candidate {
    api: Api<Lease>,
    identity: String,
    election: Mutex<Election>,
    leadership: Arc<Leadership>,
}

impl Candidate {
    /// A candidate with the name `identity`. Two processes must not use the same name at the same time. A
    /// process that restarts with the same name, such as the container of a pod, takes over the lease at
    /// once.
    pub fn new(client: Client, namespace: &str, identity: &str, leadership: Arc<Leadership>) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            identity: identity.to_owned(),
            election: Mutex::new(Election::new(identity.to_owned())),
            leadership,
        }
    }

    fn election(&self) -> MutexGuard<'_, Election> {
        self.election.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the lease and renews it, for ever.
    pub async fn run(&self) {
        let watch = watch_object(self.api.clone(), LEASE).default_backoff();
        let mut watch = std::pin::pin!(watch);
        loop {
            let step = self.election().step(Instant::now());
            self.leadership.set(self.election().held_until());
            self.leadership.restored(self.election().history().1);
            let at = match step {
                Step::Wait(at) => at,
                act => {
                    self.act(act).await;
                    continue;
                }
            };
            tokio::select! {
                Some(seen) = watch.next() => match seen {
                    Ok(lease) => self.election().noticed(lease.as_ref().map(record), Instant::now()),
                    Err(error) => warn!(%error, "Lease {LEASE} cannot be watched"),
                },
                () = until(at) => {}
            }
        }
    }

    async fn act(&self, step: Step) {
        let sent = Instant::now();
        let answer = match &step {
            Step::Read => tokio::time::timeout(LIMIT, self.api.get_opt(LEASE)).await,
            Step::Create => tokio::time::timeout(LIMIT, self.create()).await,
            Step::Replace(stored) => tokio::time::timeout(LIMIT, self.replace(stored, &self.identity)).await,
            Step::Wait(_) => return,
        };
        let mut election = self.election();
        match answer {
            Ok(Ok(lease)) if step == Step::Read => {
                election.read(lease.as_ref().map(record), Instant::now());
            }
            Ok(Ok(Some(lease))) => election.won(record(&lease), sent),
            // Another client has replaced, created or deleted the Lease.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => election.lost_race(),
            Ok(Err(error)) => {
                warn!(%error, ?step, "Lease {LEASE}");
                election.failed(Instant::now());
            }
            Ok(Ok(None)) | Err(_) => {
                warn!(?step, "Lease {LEASE}: no answer within {} s", LIMIT.as_secs());
                election.failed(Instant::now());
            }
        }
    }

    fn history(&self) -> u64 {
        self.election().history().0
    }

    async fn create(&self) -> kube::Result<Option<Lease>> {
        let lease = lease(&Record::default(), &self.identity, self.history());
        self.api.create(&params(), &lease).await.map(Some)
    }

    /// Replaces the stored Lease, if its version is unchanged.
    async fn replace(&self, stored: &Record, holder: &str) -> kube::Result<Option<Lease>> {
        let lease = lease(stored, holder, self.history());
        self.api.replace(LEASE, &params(), &lease).await.map(Some)
    }

    /// Releases the lease, if it is held, so that another replica takes it at once. [`Self::run`] must have
    /// ended. One of its requests may still arrive, so the release is tried a few times.
    pub async fn release(&self) {
        for _ in 0..3 {
            match tokio::time::timeout(LIMIT, self.try_release()).await {
                Ok(Ok(())) => return,
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => {
                    return warn!(%error, "the lease was not released: it ends in {} s", DURATION.as_secs());
                }
                Err(_) => {
                    return warn!(
                        "the lease was not released in time: it ends in {} s",
                        DURATION.as_secs()
                    );
                }
            }
        }
    }

    async fn try_release(&self) -> kube::Result<()> {
        let stored = self.api.get_opt(LEASE).await?.as_ref().map(record);
        if let Some(stored) = stored.filter(|s| s.holder == self.identity) {
            self.replace(&stored, "").await?;
            info!("released the lease");
        }
        Ok(())
    }
}

/// The Lease to store: held by `holder` from now on, or released if `holder` is empty.
fn lease(stored: &Record, holder: &str, history: u64) -> Lease {
    let now = Timestamp::now();
    let renewal = stored.holder == holder;
    let taken = !renewal && !holder.is_empty();
    let acquired = stored.acquired.filter(|_| renewal).unwrap_or(now);
    Lease {
        metadata: ObjectMeta {
            name: Some(LEASE.to_owned()),
            annotations: (history > 0).then(|| [(HISTORY.to_owned(), history.to_string())].into()),
            resource_version: (!stored.version.is_empty()).then(|| stored.version.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            lease_transitions: Some(stored.transitions.saturating_add(i32::from(taken))),
            acquire_time: Some(MicroTime(acquired)),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    }
}

fn params() -> PostParams {
    PostParams {
        field_manager: Some(OPERATOR.to_owned()),
        ..PostParams::default()
    }
}

fn record(lease: &Lease) -> Record {
    let spec = lease.spec.clone().unwrap_or_default();
    Record {
        version: lease.resource_version().unwrap_or_default(),
        holder: spec.holder_identity.unwrap_or_default(),
        duration: spec
            .lease_duration_seconds
            .and_then(|s| u64::try_from(s).ok())
            .map_or(DURATION, Duration::from_secs),
        transitions: spec.lease_transitions.unwrap_or_default(),
        acquired: spec.acquire_time.map(|t| t.0),
        history: lease
            .annotations()
            .get(HISTORY)
            .and_then(|h| h.parse().ok())
            .unwrap_or_default(),
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
