//! Conditions: the whole set, always, with transition times that move only when a status does.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use wn_api::reasons::{Reason, conditions as types};

use crate::finding::Finding;

/// What a condition says.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub status: Status,
    pub reason: Reason,
    pub message: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    True,
    False,
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
    pub fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: Status::True,
            reason,
            message: message.into(),
        }
    }

    pub fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: Status::False,
            reason,
            message: message.into(),
        }
    }

    fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status: Status::Unknown,
            reason,
            message: message.into(),
        }
    }

    pub fn is_true(&self) -> bool {
        self.status == Status::True
    }
}

/// One verdict a condition type, in the order of `types::ALL`.
pub type Verdicts = [Verdict; types::ALL.len()];

pub fn set(old: &[Condition], generation: Option<i64>, verdicts: Verdicts, now: Timestamp) -> Vec<Condition> {
    types::ALL
        .iter()
        .zip(verdicts)
        .map(|(type_, verdict)| condition(old, type_, generation, verdict, now))
        .collect()
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

/// A refused spec: what was true of the cluster is no longer looked at.
pub fn invalid(old: &[Condition], generation: Option<i64>, message: &str, now: Timestamp) -> Vec<Condition> {
    let verdicts = overall(
        Verdict::no(Reason::InvalidSpec, message),
        Verdict::no(
            Reason::InvalidSpec,
            "nothing is written while the spec is refused",
        ),
        Verdict::yes(Reason::InvalidSpec, message),
        &Verdict::unknown(
            Reason::InvalidSpec,
            "not looked at while the spec is refused: see Stalled",
        ),
    );
    set(old, generation, verdicts, now)
}

/// A platform that is refused: the cluster is left as it is, and no longer looked at.
pub fn unsupported(
    old: &[Condition],
    generation: Option<i64>,
    finding: &Finding,
    now: Timestamp,
) -> Vec<Condition> {
    let Finding { reason, message } = finding;
    let mut verdicts = overall(
        Verdict::no(*reason, message.clone()),
        Verdict::no(*reason, "nothing is written while the platform is refused"),
        Verdict::yes(*reason, message.clone()),
        &Verdict::unknown(
            *reason,
            "not looked at while the platform is refused: see PlatformSupported",
        ),
    );
    for (type_, verdict) in types::ALL.iter().zip(&mut verdicts) {
        if *type_ == types::PLATFORM_SUPPORTED {
            *verdict = Verdict::no(*reason, message.clone());
        }
    }
    set(old, generation, verdicts, now)
}

/// What decisions need cannot be read: the cluster is left as it is.
pub fn unread(
    old: &[Condition],
    generation: Option<i64>,
    Finding { reason, message }: &Finding,
    now: Timestamp,
) -> Vec<Condition> {
    let stalled = if *reason == Reason::ReadForbidden {
        Verdict::yes(*reason, message.clone())
    } else {
        Verdict::no(*reason, "it is tried again")
    };
    let verdicts = overall(
        Verdict::no(*reason, message.clone()),
        Verdict::no(*reason, "nothing is written while the cluster cannot be read"),
        stalled,
        &Verdict::unknown(
            *reason,
            "not looked at while the cluster cannot be read: see Ready",
        ),
    );
    set(old, generation, verdicts, now)
}

/// The CR is being deleted.
pub fn restoring(
    old: &[Condition],
    generation: Option<i64>,
    message: &str,
    now: Timestamp,
) -> Vec<Condition> {
    let verdicts = overall(
        Verdict::no(Reason::Restoring, message),
        Verdict::yes(Reason::Restoring, message),
        Verdict::no(Reason::Restoring, "progress is being made"),
        &Verdict::unknown(Reason::Restoring, "not looked at while the cluster is given back"),
    );
    set(old, generation, verdicts, now)
}

/// The three conditions of the whole, and the same verdict on every concern.
fn overall(ready: Verdict, reconciling: Verdict, stalled: Verdict, concern: &Verdict) -> Verdicts {
    let mut whole = [ready, reconciling, stalled].into_iter();
    std::array::from_fn(|_| whole.next().unwrap_or_else(|| concern.clone()))
}
