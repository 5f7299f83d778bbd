//! Writes to etcd: compare and swap, on the revision that was decided on.

use tonic::Status;
use tonic::transport::Channel;
use wn_plan::calico::{Action, Write};
use wn_plan::observed::Topic;

use super::keys::{self, Fields};
use super::link::Link;
use super::rpc::{
    self, Compare, DeleteRangeRequest, KeyValue, Operation, PutRequest, RangeRequest, RequestOp, TxnRequest,
};
use crate::context::Context;
use crate::error::Error;
use crate::lease::Leadership;

/// Writes one object in a transaction that fails if the key changed since the decision.
pub async fn write(context: &Context, link: &Link, write: &Write) -> Result<(), Error> {
    let what = format!("{} {} in etcd", write.kind.as_str(), write.name);
    let channel = link
        .channel()
        .ok_or_else(|| Error::NotServed { what: what.clone() })?;
    let swap = Swap {
        key: keys::key(&link.prefix, write.kind, &write.name).into_bytes(),
        channel,
        what,
        leadership: &context.leadership,
    };
    let topic = Topic::Calico(write.kind);
    let stored = match &write.action {
        Action::Create { spec } => {
            let fields: Fields<'_> = spec
                .iter()
                .map(|(name, value)| (name.as_str(), Some(value)))
                .collect();
            swap.create(write, &fields).await?
        }
        // What a plan changes is all of it: etcd knows no fields that are held without being changed.
        Action::Apply { resource_version, .. } | Action::Restore { resource_version, .. } => {
            let changes = write.changes.iter();
            let fields: Fields<'_> = changes.map(|c| (c.id.field.as_str(), c.to.as_ref())).collect();
            swap.change(write, resource_version, &fields).await?
        }
        Action::Delete { resource_version, .. } => {
            swap.delete(resource_version).await?;
            context.world.remove(topic, &(String::new(), write.name.clone()));
            return Ok(());
        }
    };
    match keys::object(topic, &write.name, &stored) {
        Ok(object) => context.world.put(topic, &object),
        Err(error) => return Err(swap.unreadable(&error)),
    }
    Ok(())
}

/// One key, and its name in errors.
struct Swap<'a> {
    key: Vec<u8>,
    channel: Channel,
    what: String,
    leadership: &'a Leadership,
}

impl Swap<'_> {
    async fn create(&self, write: &Write, fields: &Fields<'_>) -> Result<KeyValue, Error> {
        let uid = uid().map_err(|e| self.failed(&Status::internal(e.to_string())))?;
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let text =
            keys::create(write.kind, &write.name, fields, &uid, &now).map_err(|e| self.unreadable(&e))?;
        let absent = Compare {
            target: rpc::VERSION,
            key: self.key.clone(),
            version: Some(0),
            mod_revision: None,
        };
        self.put(absent, text, 0).await
    }

    async fn change(&self, write: &Write, version: &str, fields: &Fields<'_>) -> Result<KeyValue, Error> {
        let request = RangeRequest {
            key: self.key.clone(),
            ..RangeRequest::default()
        };
        let answer = rpc::range(&self.channel, request)
            .await
            .map_err(|e| self.failed(&e))?;
        let current = answer
            .kvs
            .into_iter()
            .next()
            .filter(|kv| kv.mod_revision.to_string() == version)
            .ok_or_else(|| self.stale())?;
        let text = String::from_utf8_lossy(&current.value);
        let text = keys::edit(write.kind, &text, fields).map_err(|e| self.unreadable(&e))?;
        self.put(self.unchanged(version), text, current.version).await
    }

    async fn delete(&self, version: &str) -> Result<(), Error> {
        let delete = Operation::Delete(DeleteRangeRequest {
            key: self.key.clone(),
        });
        self.swap(self.unchanged(version), delete).await.map(drop)
    }

    async fn put(&self, guard: Compare, text: String, writes: i64) -> Result<KeyValue, Error> {
        let value = text.into_bytes();
        let put = Operation::Put(PutRequest {
            key: self.key.clone(),
            value: value.clone(),
        });
        Ok(KeyValue {
            key: self.key.clone(),
            mod_revision: self.swap(guard, put).await?,
            version: writes + 1,
            value,
        })
    }

    fn unchanged(&self, version: &str) -> Compare {
        Compare {
            target: rpc::MOD,
            key: self.key.clone(),
            version: None,
            // One that is no number was never one of etcd's, and -1 is none either.
            mod_revision: Some(version.parse().unwrap_or(-1)),
        }
    }

    /// Does it if the guard holds; the revision it has then.
    async fn swap(&self, guard: Compare, operation: Operation) -> Result<i64, Error> {
        let request = TxnRequest {
            compare: vec![guard],
            success: vec![RequestOp {
                operation: Some(operation),
            }],
        };
        let not_leader = |_| Error::NotLeader {
            what: self.what.clone(),
        };
        let (_write, left) = self.leadership.write().map_err(not_leader)?;
        let answer = tokio::time::timeout(left, rpc::txn(&self.channel, request))
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer before the lease ended")))
            .map_err(|e| self.failed(&e))?;
        if answer.succeeded {
            Ok(answer.header.map_or(0, |h| h.revision))
        } else {
            Err(self.stale())
        }
    }

    fn stale(&self) -> Error {
        Error::Refused {
            what: self.what.clone(),
            code: 409,
            message: "was changed since it was read".to_owned(),
        }
    }

    fn failed(&self, status: &Status) -> Error {
        Error::Etcd {
            what: self.what.clone(),
            message: status.message().to_owned(),
        }
    }

    fn unreadable(&self, error: &serde_json::Error) -> Error {
        Error::Etcd {
            what: self.what.clone(),
            message: format!("its value is not as Calico writes it: {error}"),
        }
    }
}

/// A random one, as libcalico's client makes for a new resource; the kernel knows how.
fn uid() -> std::io::Result<String> {
    let uid = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(uid.trim().to_owned())
}
