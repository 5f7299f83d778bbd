//! The labels, and the few values each can have.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

use wn_api::status::Severity;

use crate::error::Error;

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByState {
    pub state: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByReason {
    pub reason: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByAdvisory {
    code: &'static str,
    severity: &'static str,
}

impl ByAdvisory {
    pub const fn new(code: &'static str, severity: Severity) -> Self {
        let severity = match severity {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
            Severity::Info => "Info",
        };
        Self { code, severity }
    }
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByCondition {
    r#type: &'static str,
    status: String,
    /// One of those in `wn_api::reasons`: only the operator writes the status.
    reason: String,
}

impl ByCondition {
    pub fn new(type_: &'static str, condition: &Condition) -> Self {
        Self {
            r#type: type_,
            status: condition.status.clone(),
            reason: condition.reason.clone(),
        }
    }
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByField {
    kind: String,
    field: String,
}

impl ByField {
    pub fn new(kind: &str, field: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            field: field.to_owned(),
        }
    }
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByClass {
    pub class: Class,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByKind {
    pub kind: Pass,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByRequest {
    pub method: &'static str,
    pub code: String,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByTopic {
    pub topic: String,
}

/// What a pass looked at.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Pass {
    /// The cluster as a whole.
    Full,
    /// Nodes whose facts changed, or whose time has come.
    Nodes,
}

impl Pass {
    pub const ALL: [Self; 2] = [Self::Full, Self::Nodes];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Nodes => "nodes",
        }
    }
}

/// Why a write failed, as far as it says whose turn it is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Class {
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Throttled,
    Server,
    Unreachable,
}

impl Class {
    pub const ALL: [Self; 7] = [
        Self::Conflict,
        Self::Forbidden,
        Self::Invalid,
        Self::NotFound,
        Self::Throttled,
        Self::Server,
        Self::Unreachable,
    ];

    pub const fn of(error: &Error) -> Self {
        match error {
            Error::Unreachable { .. } | Error::Silent { .. } | Error::Etcd { .. } => Self::Unreachable,
            Error::NotServed { .. } => Self::NotFound,
            Error::NotLeader { .. } => Self::Conflict,
            Error::Refused { code, .. } => match *code {
                401 | 403 => Self::Forbidden,
                404 => Self::NotFound,
                409 => Self::Conflict,
                429 => Self::Throttled,
                500.. => Self::Server,
                _ => Self::Invalid,
            },
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Forbidden => "forbidden",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Throttled => "throttled",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
        }
    }
}

impl EncodeLabelValue for Pass {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        self.as_str().encode(encoder)
    }
}

impl EncodeLabelValue for Class {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        self.as_str().encode(encoder)
    }
}
