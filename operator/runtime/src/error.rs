//! What can go wrong on a write. Messages carry no name, count or time that changes from try to try:
//! they end in conditions, and a changing condition would wake us for ever.

use crate::lease::NotLeader;

/// Why a write failed. `what` is the object, as messages name it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server answered with an error.
    #[error("{what}: {message}")]
    Refused {
        what: String,
        /// HTTP status code.
        code: u16,
        /// Message of the API server.
        message: String,
    },
    /// The API server did not answer.
    #[error("{what}: the API server did not answer")]
    Unreachable {
        what: String,
        #[source]
        source: Box<kube::Error>,
    },
    /// This replica does not hold the lease, so nothing was sent.
    #[error("{what}: not written, because this replica does not hold the lease")]
    NotLeader { what: String },
    /// No answer within the limit; the write may have happened.
    #[error("{what}: no answer in time")]
    Silent { what: String },
    /// The API of the object is not served now.
    #[error("{what}: its API is not served now")]
    NotServed { what: String },
    /// etcd refused the write or did not answer.
    #[error("{what}: {message}")]
    Etcd { what: String, message: String },
}

impl Error {
    /// From an error of the client.
    pub fn new(what: impl Into<String>, error: kube::Error) -> Self {
        let what = what.into();
        match error {
            kube::Error::Api(status) => Self::Refused {
                what,
                code: status.code,
                message: status.message,
            },
            kube::Error::Service(source) if source.is::<NotLeader>() => Self::NotLeader { what },
            source => Self::Unreachable {
                what,
                source: Box::new(source),
            },
        }
    }

    /// As when the API server refuses a version that is not the newest.
    pub fn stale(what: &str) -> Self {
        Self::Refused {
            what: what.to_owned(),
            code: 409,
            message: "it changed meanwhile".to_owned(),
        }
    }

    /// What was decided on is no longer what is stored: not a failure, a reason to look again.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// A right is missing, or an admission policy refuses it (403).
    pub const fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// The object or its API does not exist (404).
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. } | Self::NotServed { .. })
    }
}
