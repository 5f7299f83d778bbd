//! Conditions: the whole set, always, with transition times that move only when a status does.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use wn_api::reasons::{Reason, conditions as types};

use crate::finding::Finding;

/// What a condition says.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Status of the condition.
    pub status: Status,
    /// Reason of the condition.
    pub reason: Reason,
    /// Message of the condition, cut to what the API server accepts when it is written.
    pub message: String,
}

/// Status of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// What the condition is named after is the case.
    True,
    /// It is not.
    False,
    /// The operator cannot know.
    Unknown,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl Verdict {
    /// A condition that is True.
    pub fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: Status::True,
            reason,
            message: message.into(),
        }
    }

    /// A condition that is False.
    pub fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: Status::False,
            reason,
            message: message.into(),
        }
    }

    /// A condition that is Unknown.
    pub fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: Status::Unknown,
            reason,
            message: message.into(),
        }
    }

    /// Is the condition True?
    pub fn is_true(&self) -> bool {
        self.status == Status::True
    }
}

/// One verdict a condition type, in the order of `types::ALL`.
pub type Verdicts = [Verdict; types::ALL.len()];

/// The conditions of the status. `old` has the transition times that are kept, and the condition `kept` as a whole.
pub fn set(
    old: &[Condition],
    generation: Option<i64>,
    verdicts: Verdicts,
    kept: Option<&str>,
    now: Timestamp,
) -> Vec<Condition> {
    let one = |(type_, verdict): (&&str, Verdict)| {
        let as_it_was = old.iter().find(|c| c.type_ == *type_ && kept == Some(*type_));
        match as_it_was {
            Some(as_it_was) => Condition {
                observed_generation: generation,
                ..as_it_was.clone()
            },
            None => condition(old, type_, generation, verdict, now),
        }
    };
    types::ALL.iter().zip(verdicts).map(one).collect()
}

/// The API server refuses longer messages.
const LONGEST_MESSAGE: usize = 32_768;

fn condition(
    old: &[Condition],
    type_: &str,
    generation: Option<i64>,
    verdict: Verdict,
    now: Timestamp,
) -> Condition {
    let status = verdict.status.as_str();
    let same = old.iter().find(|c| c.type_ == type_ && c.status == status);
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: verdict.reason.as_str().to_owned(),
        message: verdict.message.chars().take(LONGEST_MESSAGE).collect(),
        observed_generation: generation,
        last_transition_time: same
            .map_or_else(|| Time(to_the_second(now)), |c| c.last_transition_time.clone()),
    }
}

/// The API keeps whole seconds; a finer time would differ from itself once stored.
pub fn to_the_second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// An object of which parts cannot be read: nothing is known of what the user wants.
pub fn unreadable(message: &str) -> Verdicts {
    refused(
        Reason::InvalidSpec,
        &format!(
            "{message}; a newer version of the operator wrote it: install that version, or correct the field"
        ),
        "spec",
        "see Stalled",
    )
}

/// A refused spec: what was true of the cluster is no longer looked at.
pub fn invalid(message: &str) -> Verdicts {
    refused(Reason::InvalidSpec, message, "spec", "see Stalled")
}

/// A platform that is refused: the cluster is left as it is, and no longer looked at.
pub fn unsupported(findings: &[Finding]) -> Verdicts {
    let first = findings.first();
    let (reason, message) = first.map_or((Reason::PlatformUnsupported, ""), |f| {
        (f.reason, f.message.as_str())
    });
    let mut verdicts = refused(reason, message, "platform", "see PlatformSupported");
    for (type_, verdict) in types::ALL.iter().zip(&mut verdicts) {
        if *type_ == types::PLATFORM_SUPPORTED {
            *verdict = Verdict::no(reason, message);
        }
    }
    verdicts
}

fn refused(reason: Reason, message: &str, what: &str, see: &str) -> Verdicts {
    overall(
        Verdict::no(reason, message),
        Verdict::no(reason, format!("nothing is written while the {what} is refused")),
        Verdict::yes(reason, message),
        &Verdict::unknown(reason, format!("not checked while the {what} is refused: {see}")),
    )
}

/// What decisions need cannot be read: the cluster is left as it is.
pub fn unread(Finding { reason, message }: &Finding) -> Verdicts {
    let stalled = if *reason == Reason::ReadForbidden {
        Verdict::yes(*reason, message.clone())
    } else {
        Verdict::no(*reason, "it is tried again")
    };
    overall(
        Verdict::no(*reason, message.clone()),
        Verdict::no(*reason, "nothing is written while the cluster cannot be read"),
        stalled,
        &Verdict::unknown(*reason, "not checked while the cluster cannot be read: see Ready"),
    )
}

/// The CR is being deleted.
pub fn restoring(message: &str) -> Verdicts {
    overall(
        Verdict::no(Reason::Restoring, message),
        Verdict::yes(Reason::Restoring, message),
        Verdict::no(Reason::Restoring, "progress is being made"),
        &Verdict::unknown(Reason::Restoring, "not checked while the cluster is restored"),
    )
}

/// The three conditions of the whole, and the same verdict on every concern.
fn overall(ready: Verdict, reconciling: Verdict, stalled: Verdict, concern: &Verdict) -> Verdicts {
    let mut whole = [ready, reconciling, stalled].into_iter();
    std::array::from_fn(|_| whole.next().unwrap_or_else(|| concern.clone()))
}
