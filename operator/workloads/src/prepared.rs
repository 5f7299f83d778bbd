//! Policies in the form that is evaluated, each converted once: an object that did not change keeps its form.

use std::collections::HashMap;
use std::sync::Arc;

use crate::convert::{self, Source};
use crate::input::Objects;
use crate::model::{Policy, PolicyId};
use crate::release::Release;
use crate::validate::{self, Refusal};

/// A policy in the form that is evaluated.
#[derive(Debug)]
pub struct Prepared {
    /// Kind, namespace and name.
    pub id: PolicyId,
    /// Number of this form of the policy. A changed policy has another one.
    pub number: u64,
    /// Name of the tier as it is written.
    pub tier: String,
    /// Why Calico's API refuses it.
    pub refusal: Option<Refusal>,
    /// `None` if Felix cannot use the policy.
    pub policy: Option<Arc<Policy>>,
}

/// The policies of a cluster as one release sees them.
#[derive(Debug, Default)]
pub struct Policies {
    release: Option<Release>,
    /// `None` for a policy that Calico skips.
    known: HashMap<PolicyId, (Source, Option<Arc<Prepared>>)>,
    last: u64,
}

impl Policies {
    /// Every policy of the objects, by kind and name.
    pub fn of(&mut self, objects: &Objects, release: Release) -> Vec<Arc<Prepared>> {
        if self.release != Some(release) {
            self.known.clear();
            self.release = Some(release);
        }
        let mut before = std::mem::take(&mut self.known);
        let mut all = Vec::new();
        for (id, source) in convert::sources(objects) {
            let known = before.remove(&id).filter(|(known, _)| known.is(&source));
            let known = known.unwrap_or_else(|| {
                self.last += 1;
                let prepared = prepared(&id, &source, release, self.last);
                (source, prepared.map(Arc::new))
            });
            all.extend(known.1.clone());
            self.known.insert(id, known);
        }
        all
    }
}

fn prepared(id: &PolicyId, source: &Source, release: Release, number: u64) -> Option<Prepared> {
    let converted = source.converted(id)?;
    let policy = convert::model(&converted).filter(validate::felix_accepts);
    Some(Prepared {
        id: id.clone(),
        number,
        refusal: validate::refusal(&converted, release),
        tier: converted.spec.tier,
        policy: policy.map(Arc::new),
    })
}
