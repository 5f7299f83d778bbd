//! Which findings are published as Events on the objects they are about.
//!
//! Invariant: a finding is published once. A finding that is in the stored status was published before a restart; the name of the
//! Event is the same for the same finding of the same object, so the API server refuses to create it twice. A finding that is gone
//! and comes back is published again when the first Event has expired.

use std::collections::BTreeSet;

use wn_api::reasons::events::UNSUPPORTED_ON_WINDOWS;
use wn_api::status::WorkloadsStatus;
use wn_workloads::findings::{Finding, Severity};
use wn_workloads::kinds::Kind;

use super::report::message;
use crate::checksum;
use crate::news::News;

/// Longest note of an Event without the code, in characters; the API server refuses 1,024 bytes.
const LONGEST: usize = 900;
/// Longest name of an object in the name of an Event, which has at most 253 characters.
const LONGEST_NAME: usize = 236;

/// An Event on the object of a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Announcement {
    /// Kind of the object; of Calico's kinds in the form of `projectcalico.org/v3`.
    pub kind: &'static Kind,
    /// Namespace of the object; empty for a cluster-scoped one.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Reason and note.
    pub news: News,
    key: u64,
}

impl Announcement {
    /// `None` for a finding that is not about an object of the API.
    fn new(finding: &Finding) -> Option<Self> {
        let object = finding.object.reference()?;
        let note = format!("{}: {}", finding.code, message(finding, LONGEST));
        Some(Self {
            kind: object.kind,
            namespace: object.namespace.to_owned(),
            name: object.name.to_owned(),
            news: News::warning(UNSUPPORTED_ON_WINDOWS, note),
            key: key(finding),
        })
    }

    /// Name of the Event on the object with this uid. Another object of the same name has another Event, and so has another code.
    pub fn event_name(&self, uid: &str) -> String {
        let name: String = self.name.chars().take(LONGEST_NAME).collect();
        let key = format!("{:016x}", self.key);
        format!("{name}.{}", checksum::of([uid, &key]))
    }
}

/// Namespace of a finding's object; empty for cluster-scoped objects.
pub fn namespace(finding: &Finding) -> &str {
    finding.object.reference().map_or("", |object| object.namespace)
}

fn key(finding: &Finding) -> u64 {
    checksum::number([finding.code.entry().code, &finding.object])
}

/// The findings that were published.
#[derive(Debug, Default)]
pub struct Published(BTreeSet<u64>);

impl Published {
    /// Those that the stored status has.
    pub fn of_status(stored: Option<&WorkloadsStatus>) -> Self {
        let list = stored.into_iter().flat_map(|status| &status.list);
        Self(
            list.map(|f| checksum::number([f.code.as_str(), &f.object]))
                .collect(),
        )
    }

    /// Forgets findings that do not exist any more.
    pub fn retain<'a>(&mut self, findings: impl Iterator<Item = &'a Finding>) {
        let present: BTreeSet<_> = findings.map(key).collect();
        self.0.retain(|key| present.contains(key));
    }

    /// The first finding that was not published, of findings in the order of `findings::sort`. Findings of severity Info are not
    /// published.
    pub fn next<'a>(&self, findings: impl Iterator<Item = &'a Finding>) -> Option<Announcement> {
        let severe = findings.filter(|finding| finding.severity > Severity::Info);
        let mut new = severe.filter(|finding| !self.0.contains(&key(finding)));
        new.find_map(Announcement::new)
    }

    /// It was published, or cannot be.
    pub fn mark(&mut self, announcement: &Announcement) {
        self.0.insert(announcement.key);
    }
}
