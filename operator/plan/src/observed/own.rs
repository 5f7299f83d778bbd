//! Objects of this operator, kept whole to compare them with what they should be.

use serde_json::Value;
use wn_api::names::{self, labels};

use super::Key;

/// The kinds of objects the operator owns.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum OwnKind {
    /// Settings and scripts that pods mount.
    ConfigMap,
    /// What a component runs on Windows nodes.
    DaemonSet,
}

impl OwnKind {
    const fn api_version(self) -> &'static str {
        match self {
            Self::ConfigMap => "v1",
            Self::DaemonSet => "apps/v1",
        }
    }
}

/// An object the operator owns.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct OwnObject {
    /// Its kind.
    pub kind: OwnKind,
    /// The operator's namespace.
    pub namespace: String,
    /// Its name, one of [`wn_api::component::Names`].
    pub name: String,
}

/// `ConfigMap namespace/name`.
impl std::fmt::Display for OwnObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Fields of `metadata` that the operator sets; the others change by themselves.
const METADATA: [&str; 5] = ["name", "namespace", "labels", "annotations", "ownerReferences"];

/// The object without status and without what the API server adds; `None` when it is not the operator's.
pub fn read(kind: OwnKind, (namespace, _): &Key, ours: &str, object: &Value) -> Option<Value> {
    let manager = object.pointer("/metadata/labels")?.get(labels::MANAGED_BY)?;
    (namespace == ours && manager.as_str() == Some(names::OPERATOR)).then_some(())?;
    let mut kept = object.clone();
    let fields = kept.as_object_mut()?;
    fields.remove("status");
    // Items of a list do not name their kind, watched objects do.
    fields.insert("apiVersion".to_owned(), kind.api_version().into());
    fields.insert("kind".to_owned(), format!("{kind:?}").into());
    let metadata = kept.pointer_mut("/metadata")?.as_object_mut()?;
    metadata.retain(|field, _| METADATA.contains(&field.as_str()));
    Some(kept)
}
