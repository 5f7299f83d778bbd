//! Calico's etcd: one connection that feeds the world as the watches of the Kubernetes API do, and takes writes.
//! There is none unless the spec asks for it.

mod keys;
pub mod link;
mod order;
mod rpc;
mod secret;
mod session;
mod write;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};
use wn_api::spec::Etcd;
use wn_plan::calico::datastore;
use wn_plan::observed::{EtcdFacts, EtcdTrouble};

use crate::metrics::Pulse;
use crate::world::World;
use link::Link;
use secret::{Certificates, State};

pub use keys::TOPICS;
pub use write::write;

/// Starts to follow an etcd; dropping the set ends it.
pub fn follow(
    spec: &Etcd,
    client: Client,
    namespace: &str,
    world: Arc<World>,
    pulse: Arc<Pulse>,
) -> (Link, JoinSet<()>) {
    let link = Link::new(datastore::prefix(spec));
    let mut tasks = JoinSet::new();
    let first = if spec.secret_ref.is_some() {
        State::Unknown
    } else {
        State::NotNeeded
    };
    let (sender, secret) = watch::channel(first);
    if let Some(reference) = spec.secret_ref.clone() {
        tasks.spawn(secret::follow(client, namespace.to_owned(), reference, sender));
    }
    let follower = Follower {
        endpoints: spec.endpoints.clone(),
        link: link.clone(),
        world,
        pulse,
        revision: 0,
        certificates: String::new(),
        lost: None,
    };
    tasks.spawn(follower.run(secret));
    (link, tasks)
}

/// Calico's own components do without etcd for that long, too, and members restart faster.
const GRACE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

struct Follower {
    endpoints: Vec<String>,
    link: Link,
    world: Arc<World>,
    pulse: Arc<Pulse>,
    /// The newest that was seen.
    revision: i64,
    /// Checksum of those that etcd took.
    certificates: String,
    /// Since when there is no connection, after there was one.
    lost: Option<Instant>,
}

impl Follower {
    async fn run(mut self, mut secret: watch::Receiver<State>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let state = secret.borrow_and_update().clone();
            let certificates = match state {
                State::Unknown => None,
                State::Trouble(trouble) => {
                    self.say(Some(trouble));
                    None
                }
                State::NotNeeded => Some(None),
                State::Found(found) => Some(Some(found)),
            };
            let Some(certificates) = certificates else {
                if secret.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let changed = secret.changed();
            let attempt = async {
                let longer = (pause * 2).min(LONGEST_PAUSE);
                let next = if self.round(certificates.as_ref()).await {
                    FIRST_PAUSE
                } else {
                    longer
                };
                tokio::time::sleep(next).await;
                next
            };
            tokio::select! {
                next = attempt => pause = next,
                // Without a Secret nobody sends, and that never counts as news.
                Ok(()) = changed => {
                    self.link.set(None);
                    pause = FIRST_PAUSE;
                }
            }
        }
    }

    /// Tries every member once, and stays with the first that answers until it ends; true when that took a while.
    async fn round(&mut self, certificates: Option<&Certificates>) -> bool {
        let began = Instant::now();
        let mut trouble = None;
        for endpoint in self.endpoints.clone() {
            match self.stay(&endpoint, certificates).await {
                (true, _) => return began.elapsed() > GRACE,
                (false, why) => {
                    warn!(endpoint, ?why, "etcd cannot be used, trying again");
                    trouble.get_or_insert(why);
                }
            }
        }
        // What is known is not wrong because a member restarts.
        if self.lost.is_none_or(|since| since.elapsed() > GRACE) {
            self.say(trouble);
        }
        false
    }

    /// Stays with one member until it ends: whether it ever worked, and why it does not.
    async fn stay(&mut self, endpoint: &str, certificates: Option<&Certificates>) -> (bool, EtcdTrouble) {
        let channel = match session::connect(endpoint, certificates).await {
            Ok(channel) => channel,
            Err(trouble) => return (false, trouble),
        };
        let unusable = |status: &tonic::Status| EtcdTrouble::Unreachable {
            endpoint: endpoint.to_owned(),
            error: describe(status),
        };
        let (prefix, world) = (self.link.prefix.clone(), self.world.clone());
        match session::list(&channel, &prefix, self.revision, &world).await {
            Ok(revision) => self.revision = revision,
            Err(status) => return (false, unusable(&status)),
        }
        info!(endpoint, revision = self.revision, "etcd is read");
        self.pulse.beat();
        self.link.set(Some(channel.clone()));
        self.lost = None;
        self.certificates = certificates.map(Certificates::checksum).unwrap_or_default();
        self.say(None);
        let end = session::follow(&channel, &prefix, &mut self.revision, &world, &self.pulse).await;
        self.link.set(None);
        self.lost = Some(Instant::now());
        warn!(
            endpoint,
            error = describe(&end),
            "etcd is followed no more, trying again"
        );
        (true, unusable(&end))
    }

    fn say(&self, trouble: Option<EtcdTrouble>) {
        self.world.set_etcd(Some(EtcdFacts {
            trouble,
            certificates: self.certificates.clone(),
        }));
    }
}

/// What a call ended with, and where it comes from.
fn describe(status: &tonic::Status) -> String {
    use std::error::Error as _;
    status
        .source()
        .map_or_else(|| status.message().to_owned(), session::causes)
}
