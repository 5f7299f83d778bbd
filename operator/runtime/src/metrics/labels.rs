//! The labels, and the few values each can have.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

use wn_api::status::Severity;

use crate::error::Error;

/// Label `state`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByState {
    /// A state of nodes.
    pub state: &'static str,
}

/// Label `reason`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByReason {
    /// A `NodeReason`.
    pub reason: &'static str,
}

/// Labels `code` and `severity`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByAdvisory {
    code: &'static str,
    severity: &'static str,
}

impl ByAdvisory {
    /// The labels of a rule.
    pub const fn new(code: &'static str, severity: Severity) -> Self {
        let severity = self::severity(severity);
        Self { code, severity }
    }
}

/// Label `severity`.
pub const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    }
}

/// Labels `type`, `status` and `reason`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByCondition {
    r#type: &'static str,
    status: String,
    /// One of those in `wn_api::reasons`: only the operator writes the status.
    reason: String,
}

impl ByCondition {
    /// The labels of a condition.
    pub fn new(type_: &'static str, condition: &Condition) -> Self {
        Self {
            r#type: type_,
            status: condition.status.clone(),
            reason: condition.reason.clone(),
        }
    }
}

/// Labels `kind` and `field`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByField {
    kind: String,
    field: String,
}

impl ByField {
    /// The labels of a field below `spec`.
    pub fn new(kind: &str, field: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            field: field.to_owned(),
        }
    }
}

/// Label `class`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByClass {
    /// A class of errors.
    pub class: Class,
}

/// Label `kind`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByKind {
    /// A kind of pass.
    pub kind: Pass,
}

/// Labels `method` and `code`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByRequest {
    /// HTTP method.
    pub method: &'static str,
    /// HTTP status code, or `none` without an answer.
    pub code: String,
}

/// Label `topic`.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub struct ByTopic {
    /// Name of the topic that is watched.
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
    /// Both kinds.
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
    /// 409: somebody else wrote the object first.
    Conflict,
    /// 403: a right is missing, or an admission policy refuses it.
    Forbidden,
    /// 400 or 422: the object is not valid.
    Invalid,
    /// 404: the object or its API does not exist.
    NotFound,
    /// 429: the API server is overloaded.
    Throttled,
    /// 5xx: the API server failed.
    Server,
    /// There was no answer.
    Unreachable,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 7] = [
        Self::Conflict,
        Self::Forbidden,
        Self::Invalid,
        Self::NotFound,
        Self::Throttled,
        Self::Server,
        Self::Unreachable,
    ];

    /// The class of an error.
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
