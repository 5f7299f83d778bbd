//! The API server's audit log: the witness of who asked for what, and when.
//!
//! An event is written when a request was answered (or, for a watch, when it began), which may be a
//! moment after the client has its answer: ask again before concluding that something is missing.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// One request.
#[derive(Clone, Debug)]
pub struct AuditEvent {
    pub user: String,
    /// Identifies the token or certificate that the client presented; empty where the API server knows none.
    pub credential: String,
    /// As Kubernetes authorizes it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// Empty for the core group, and for URLs that are no resources.
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub uri: String,
    /// `ResponseStarted` (watches), `ResponseComplete` or `Panic`.
    pub stage: String,
    pub request_received: Timestamp,
    pub stage_timestamp: Timestamp,
    pub response_code: u16,
    pub user_agent: String,
    /// The body of a write.
    pub request_object: Option<Value>,
}

impl AuditEvent {
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// Is it about the lease by which replicas agree on who writes? It is renewed as long as one of them runs.
    pub fn is_election(&self) -> bool {
        self.resource == "leases"
    }
}

/// The log as it was when it was read, in the order of its lines.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    pub events: Vec<AuditEvent>,
}

impl AuditLog {
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let events = whole.lines().map(parse).collect::<Result<_>>()?;
        Ok(Self { events })
    }

    /// Answered requests of `user` that change something, refused ones included.
    pub fn writes_by(&self, user: &str) -> Vec<&AuditEvent> {
        self.by(user)
            .into_iter()
            .filter(|event| event.is_write())
            .collect()
    }

    /// All requests of `user`.
    pub fn by(&self, user: &str) -> Vec<&AuditEvent> {
        self.events.iter().filter(|event| event.user == user).collect()
    }

    /// What was asked at `start` or later.
    pub fn since(&self, start: Timestamp) -> Self {
        let events = self
            .events
            .iter()
            .filter(|event| event.request_received >= start)
            .cloned()
            .collect();
        Self { events }
    }
}

/// The log as it grows.
#[derive(Clone, Debug)]
pub struct AuditTail {
    path: PathBuf,
    read: u64,
}

impl AuditTail {
    /// What is written from now on.
    pub(super) fn of(path: PathBuf) -> Result<Self> {
        let mut tail = Self { path, read: 0 };
        tail.lines()?;
        Ok(tail)
    }

    /// What was written since the last call.
    pub fn more(&mut self) -> Result<Vec<AuditEvent>> {
        self.lines()?.lines().map(parse).collect()
    }

    /// The whole lines since the last call.
    fn lines(&mut self) -> Result<String> {
        let mut file = File::open(&self.path).with_context(|| format!("read {}", self.path.display()))?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        bytes.truncate(whole);
        self.read += whole as u64;
        String::from_utf8(bytes).context("the audit log is not UTF-8")
    }
}

fn parse(line: &str) -> Result<AuditEvent> {
    let raw: Raw = serde_json::from_str(line).with_context(|| format!("audit event {line}"))?;
    let object = raw.object_ref.unwrap_or_default();
    Ok(AuditEvent {
        user: raw.user.username,
        credential: raw.user.extra.credential_id.concat(),
        verb: raw.verb,
        group: object.api_group,
        resource: object.resource,
        subresource: object.subresource,
        namespace: object.namespace,
        name: object.name,
        uri: raw.request_uri,
        stage: raw.stage,
        request_received: raw.request_received_timestamp,
        stage_timestamp: raw.stage_timestamp,
        response_code: raw.response_status.map_or(0, |status| status.code),
        user_agent: raw.user_agent,
        request_object: raw.request_object,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    user: User,
    verb: String,
    object_ref: Option<ObjectRef>,
    #[serde(rename = "requestURI")]
    request_uri: String,
    stage: String,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
    response_status: Option<ResponseStatus>,
    #[serde(default)]
    user_agent: String,
    request_object: Option<Value>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
    #[serde(default)]
    extra: Extra,
}

#[derive(Default, Deserialize)]
struct Extra {
    #[serde(default, rename = "authentication.kubernetes.io/credential-id")]
    credential_id: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}
