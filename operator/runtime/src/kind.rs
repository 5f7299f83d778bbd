//! A kind of objects that this operator has no type for.

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use wn_workloads::kinds;

/// A kind as it is served.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
}

impl From<&kinds::Kind> for Kind {
    fn from(kind: &kinds::Kind) -> Self {
        Self::new(kind.group, kind.version, kind.kind, kind.plural)
    }
}

impl Kind {
    pub const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group,
            version,
            kind,
            plural,
        }
    }

    /// `plural.group`, as in a role.
    pub fn name(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.plural, self.group)
    }

    pub fn resource(&self) -> ApiResource {
        let kind = GroupVersionKind::gvk(self.group, self.version, self.kind);
        ApiResource::from_gvk_with_plural(&kind, self.plural)
    }

    /// The API of the kind, of every namespace or of one.
    pub fn api(&self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = self.resource();
        match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        }
    }
}
