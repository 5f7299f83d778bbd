//! The object of a finding.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::kinds::{CALICO_V3_GROUP, Kind};
use crate::model::PolicyId;

/// The object of a finding. Its text is `Kind name` or `Kind namespace/name`; of the kinds `NetworkPolicy` of two groups,
/// `Kind.group namespace/name`.
#[derive(Clone, Debug)]
pub struct ObjectName {
    text: Arc<str>,
    kind: Option<&'static Kind>,
    is_namespaced: bool,
}

/// An object of the API.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ObjectReference<'a> {
    /// The kind; of Calico's kinds the row of `projectcalico.org/v3` ([`Kind::in_group`] has the other).
    pub kind: &'static Kind,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
}

impl ObjectName {
    /// An object of a kind. An empty namespace is for cluster-scoped objects.
    pub(crate) fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            text: match namespace {
                "" => format!("{kind} {name}").into(),
                _ => format!("{kind} {namespace}/{name}").into(),
            },
            kind: Kind::find(group, kind),
            is_namespaced: !namespace.is_empty(),
        }
    }

    /// A policy.
    pub(crate) fn of_policy(id: &PolicyId) -> Self {
        let (group, kind) = id.kind.group_and_kind();
        Self {
            text: id.to_string().into(),
            kind: Kind::find(group, kind),
            is_namespaced: !id.namespace.is_empty(),
        }
    }

    /// An object of Calico.
    pub(crate) fn of_calico(kind: &str, namespace: &str, name: &str) -> Self {
        Self::new(CALICO_V3_GROUP, kind, namespace, name)
    }

    /// Something that is no object of the API, such as a release of Calico.
    pub(crate) fn other(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            kind: None,
            is_namespaced: false,
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The object of the API; `None` if the finding is about a release of Calico as a whole.
    pub fn reference(&self) -> Option<ObjectReference<'_>> {
        let kind = self.kind?;
        let (_, place) = self.text.split_once(' ')?;
        let (namespace, name) = match place.split_once('/') {
            Some(both) if self.is_namespaced => both,
            _ => ("", place),
        };
        Some(ObjectReference {
            kind,
            namespace,
            name,
        })
    }
}

impl Deref for ObjectName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Serialize for ObjectName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl PartialEq for ObjectName {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ObjectName {}

impl PartialOrd for ObjectName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PolicyKind;

    #[test]
    fn a_policy_of_two_groups_has_its_group_in_the_text_and_not_in_the_kind() {
        let object = ObjectName::of_policy(&PolicyId {
            name: "web".to_owned(),
            namespace: "shop".to_owned(),
            kind: PolicyKind::Calico,
        });
        assert_eq!(object.as_str(), "NetworkPolicy.projectcalico.org shop/web");
        let reference = object.reference().unwrap();
        assert_eq!(reference.kind.api_version(), "projectcalico.org/v3");
        assert_eq!(
            (reference.kind.kind, reference.namespace, reference.name),
            ("NetworkPolicy", "shop", "web")
        );
    }

    #[test]
    fn cluster_scoped_objects_have_no_namespace() {
        let object = ObjectName::new("", "Node", "", "win-1");
        let reference = object.reference().unwrap();
        assert_eq!((reference.namespace, reference.name), ("", "win-1"));
        assert_eq!(ObjectName::other("Calico v3.32").reference(), None);
    }
}
