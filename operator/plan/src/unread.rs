//! What cannot be read of the cluster, and what to do about it.

use wn_api::reasons::Reason;

use crate::finding::Finding;

/// Objects whose first list fails.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unread {
    /// Plural and group of the objects, as in a role: `deployments.apps`.
    pub objects: String,
    /// What the API server says.
    pub error: String,
    /// It is a right that is missing.
    pub forbidden: bool,
    /// Decisions can be made without it.
    pub can_be_lacking: bool,
}

impl Unread {
    fn message(&self) -> String {
        let Self { objects, error, .. } = self;
        if self.forbidden {
            format!(
                "{objects} cannot be read: grant get, list and watch on them to the operator's ServiceAccount, as the chart and \
                 manifests/base do ({error})"
            )
        } else {
            format!("{objects} cannot be read and will be read again: see the API server's log ({error})")
        }
    }
}

/// Why nothing can be decided now; `None` when what is lacking can be done without.
pub fn essential(unread: &[Unread]) -> Option<Finding> {
    finding(unread.iter().filter(|u| !u.can_be_lacking))
}

/// What may be why something was not found.
pub fn cause(unread: &[Unread]) -> Option<Finding> {
    finding(unread.iter())
}

fn finding<'a>(unread: impl Iterator<Item = &'a Unread>) -> Option<Finding> {
    let all: Vec<_> = unread.collect();
    let forbidden = all.iter().any(|u| u.forbidden);
    let messages: Vec<_> = all.iter().take(3).map(|u| u.message()).collect();
    (!messages.is_empty()).then(|| Finding {
        reason: if forbidden {
            Reason::ReadForbidden
        } else {
            Reason::ReadFailed
        },
        message: messages.join("; "),
    })
}

/// What is worth saying although decisions are made without it.
pub fn notes(unread: &[Unread]) -> impl Iterator<Item = String> {
    let lacking = unread.iter().filter(|u| u.can_be_lacking);
    lacking.take(3).map(Unread::message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(objects: &str, forbidden: bool, can_be_lacking: bool) -> Unread {
        Unread {
            objects: objects.into(),
            error: "no".into(),
            forbidden,
            can_be_lacking,
        }
    }

    #[test]
    fn a_missing_right_is_reported_before_a_fault() {
        let fault = unread("nodes", false, false);
        let right = unread("ippools.projectcalico.org", true, false);
        let lacking = unread("deployments.apps", true, true);
        assert_eq!(essential(&[]), None);
        assert_eq!(essential(std::slice::from_ref(&lacking)), None);
        let reason = |all: &[Unread]| essential(all).map(|f| f.reason);
        assert_eq!(
            reason(&[fault.clone(), lacking.clone()]),
            Some(Reason::ReadFailed)
        );
        assert_eq!(reason(&[fault, right.clone()]), Some(Reason::ReadForbidden));
        let message = essential(&[right]).unwrap().message;
        assert!(message.contains("grant get, list and watch"), "{message}");
        assert_eq!(notes(&[lacking]).count(), 1);
    }
}
