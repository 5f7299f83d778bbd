//! One connection to etcd: what it holds is listed at one revision, then watched from the next. When it ends, the
//! next one lists again, so nothing is missed that happened in between, nor by a compaction.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tonic::Status;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tracing::warn;
use wn_plan::observed::{EtcdTrouble, Key, Topic};

use super::keys::{self, TOPICS};
use super::rpc::{self, DELETED, KeyValue, RangeRequest, WatchCreateRequest};
use super::secret::Certificates;
use crate::metrics::Pulse;
use crate::world::World;

/// As long as Calico's own client waits for a connection, halved: there may be other members.
const CONNECT: Duration = Duration::from_secs(5);
/// Calico's own values (libcalico-go `lib/backend/etcdv3/etcdv3.go`): a member that vanished is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);
/// Values in one answer: the whole answer is in memory at once.
const PAGE: i64 = 100;

/// Connects to one member of etcd.
pub async fn connect(url: &str, certificates: Option<&Certificates>) -> Result<Channel, EtcdTrouble> {
    let unreachable = |error: &tonic::transport::Error| EtcdTrouble::Unreachable {
        endpoint: url.to_owned(),
        error: causes(error),
    };
    let mut endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(|e| unreachable(&e))?
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER)
        .keep_alive_while_idle(true);
    if let Some(certificates) = certificates {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&certificates.authority))
            .identity(Identity::from_pem(&certificates.certificate, &certificates.key));
        endpoint = endpoint
            .tls_config(tls)
            .map_err(|e| EtcdTrouble::CertificateInvalid { error: causes(&e) })?;
    }
    endpoint.connect().await.map_err(|e| unreachable(&e))
}

/// An error with what it says it comes from, each once.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if parts.last().is_none_or(|last| !last.contains(&text)) {
            parts.push(text);
        }
        next = cause.source();
    }
    parts.join(": ")
}

/// Takes in all that etcd holds; says at which revision.
pub async fn list(channel: &Channel, prefix: &str, known: i64, world: &World) -> Result<i64, Status> {
    let mut revision = 0;
    for topic in TOPICS {
        let (mut key, range_end) = keys::span(prefix, topic);
        let mut seen = BTreeSet::new();
        loop {
            let request = RangeRequest {
                key,
                range_end: range_end.clone(),
                limit: PAGE,
                revision,
            };
            let answer = rpc::range(channel, request).await?;
            if revision == 0 {
                revision = answer.header.map_or(0, |h| h.revision);
                // Restored from a backup: what we remember is of a time that is undone.
                if revision < known {
                    TOPICS.into_iter().for_each(|topic| world.forget(topic));
                }
            }
            seen.extend(answer.kvs.iter().filter_map(|kv| put(prefix, kv, world)));
            match answer.kvs.last().filter(|_| answer.more) {
                // The key right after the last one.
                Some(last) => key = [last.key.as_slice(), &[0]].concat(),
                None => break,
            }
        }
        world.listed(topic, &seen);
    }
    Ok(revision)
}

/// Follows etcd from a revision on until the connection ends; says why.
pub async fn follow(channel: &Channel, prefix: &str, from: &mut i64, world: &World, pulse: &Pulse) -> Status {
    let watches = TOPICS.into_iter().map(|topic| {
        let (key, range_end) = keys::span(prefix, topic);
        WatchCreateRequest {
            key,
            range_end,
            start_revision: *from + 1,
            progress_notify: true,
        }
    });
    let mut answers = match rpc::watch(channel, watches.collect()).await {
        Ok(answers) => answers,
        Err(status) => return status,
    };
    loop {
        match answers.message().await {
            Ok(Some(answer)) => {
                pulse.beat();
                if answer.canceled {
                    return Status::aborted(format!("the watch was canceled: {}", answer.cancel_reason));
                }
                *from = answer.header.map_or(*from, |h| h.revision.max(*from));
                for event in answer.events {
                    take(prefix, event, world);
                }
            }
            Ok(None) => return Status::unavailable("the connection was closed"),
            Err(status) => return status,
        }
    }
}

fn take(prefix: &str, event: rpc::Event, world: &World) {
    let Some(kv) = event.kv else { return };
    if event.kind == DELETED {
        if let Some((topic, name)) = place(prefix, &kv) {
            world.remove(topic, &(String::new(), name));
        }
    } else {
        put(prefix, &kv, world);
    }
}

fn place(prefix: &str, kv: &KeyValue) -> Option<(Topic, String)> {
    keys::place(prefix, std::str::from_utf8(&kv.key).ok()?)
}

/// Takes in a key; its key in the world, when it is one of ours to read.
fn put(prefix: &str, kv: &KeyValue, world: &World) -> Option<Key> {
    let (topic, name) = place(prefix, kv)?;
    let object: Value = keys::object(topic, &name, kv)
        .inspect_err(|error| warn!(?topic, name, %error, "a value in etcd cannot be read"))
        .ok()?;
    world.put(topic, &object);
    Some((String::new(), name))
}
