//! When to stop fixing a field, or an object of the operator, that somebody else keeps changing.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::field::FieldId;
use crate::observed::OwnObject;

/// A field changed back this often within `WINDOW` is contested: fewer may be a person trying things
/// out, more is a controller that will not give in either.
const LIMIT: usize = 3;
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// Then we look again: whoever contested the field may be gone, and a daily visit would be too rare.
const REST: SignedDuration = SignedDuration::from_hours(1);

/// What is contested.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Subject {
    /// A field of a configuration object.
    Field(FieldId),
    /// A DaemonSet or ConfigMap of the operator.
    Object(OwnObject),
}

impl From<&FieldId> for Subject {
    fn from(field: &FieldId) -> Self {
        Self::Field(field.clone())
    }
}

impl From<FieldId> for Subject {
    fn from(field: FieldId) -> Self {
        Self::Field(field)
    }
}

impl From<&OwnObject> for Subject {
    fn from(object: &OwnObject) -> Self {
        Self::Object(object.clone())
    }
}

/// What happened to each of them. Lives in memory: a restart forgets, and the count begins again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlapGuard {
    subjects: BTreeMap<Subject, History>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct History {
    repairs: Vec<Timestamp>,
    given_up: Option<Timestamp>,
}

impl FlapGuard {
    /// Until when something that drifted is left alone; `None` when it may be repaired.
    pub fn resting_until(&self, subject: impl Into<Subject>, now: Timestamp) -> Option<Timestamp> {
        let history = self.subjects.get(&subject.into())?;
        if let Some(since) = history.given_up {
            let until = since + REST;
            return (now < until).then_some(until);
        }
        let recent = history
            .repairs
            .iter()
            .filter(|at| now.duration_since(**at) <= WINDOW)
            .count();
        // Each earlier repair undid one change; this drift is one more.
        (recent + 1 >= LIMIT).then(|| now + REST)
    }

    /// Records that drift of `subject` was repaired at `now`.
    pub fn repaired(&mut self, subject: impl Into<Subject>, now: Timestamp) {
        let history = self.subjects.entry(subject.into()).or_default();
        history.given_up = None;
        history.repairs.retain(|at| now.duration_since(*at) <= WINDOW);
        history.repairs.push(now);
    }

    /// Starts the rest, unless one runs.
    pub fn give_up(&mut self, subject: impl Into<Subject>, now: Timestamp) {
        let history = self.subjects.entry(subject.into()).or_default();
        if history.given_up.is_none_or(|since| now >= since + REST) {
            history.given_up = Some(now);
            history.repairs.clear();
        }
    }

    /// The user changed the CR: everything gets a new chance.
    pub fn reset(&mut self) {
        self.subjects.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wn_api::calico::ConfigKind;

    fn field() -> FieldId {
        FieldId {
            kind: ConfigKind::IpamConfiguration,
            name: "default".into(),
            field: "strictAffinity".into(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn the_third_change_within_ten_minutes_is_left() {
        let mut flaps = FlapGuard::default();
        assert_eq!(flaps.resting_until(field(), at(0)), None);
        flaps.repaired(field(), at(0));
        assert_eq!(flaps.resting_until(field(), at(100)), None);
        flaps.repaired(field(), at(100));
        assert!(flaps.resting_until(field(), at(600)).is_some());
        assert_eq!(
            flaps.resting_until(field(), at(601)),
            None,
            "the first repair is over ten minutes ago"
        );
    }

    #[test]
    fn rests_an_hour_then_begins_again() {
        let mut flaps = FlapGuard::default();
        flaps.repaired(field(), at(0));
        flaps.repaired(field(), at(1));
        flaps.give_up(field(), at(2));
        flaps.give_up(field(), at(3));
        assert!(flaps.resting_until(field(), at(2 + 3599)).is_some());
        assert_eq!(flaps.resting_until(field(), at(2 + 3600)), None);
        flaps.reset();
        assert_eq!(flaps, FlapGuard::default());
    }
}
