//! Facts of configuration objects: the fields that the operator sets or reads, and their owners.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;
use wn_api::calico::ConfigKind;
use wn_api::names::flannel::NET_CONF_KEY;
use wn_api::names::{self, labels, managers};
use wn_api::status::Original;

use super::{items, text, tigera, time};

/// Who wrote a field last, from `managedFields`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldOwner {
    /// `manager` of the entry in `managedFields`.
    pub manager: String,
    /// By server-side apply, which keeps the field, and not by a plain update.
    pub applied: bool,
}

impl FieldOwner {
    /// A plain update is a one-off; an apply, or a manager known to reconcile, comes back.
    pub fn claims(&self) -> bool {
        self.applied || names::RECONCILING_MANAGERS.contains(&self.manager.as_str())
    }
}

/// An object whose fields are set: of the kinds of `ConfigKind`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigObject {
    /// The fields below `spec` that are set or read, as stored; a dot leads into an object.
    pub spec: BTreeMap<String, Value>,
    /// Owners of those fields other than this operator.
    pub owners: BTreeMap<String, Vec<FieldOwner>>,
    /// Fields this operator applied and nobody changed since.
    pub held: BTreeSet<String>,
    /// Managers other than this operator that wrote anything at all.
    pub foreign_writers: Vec<String>,
    /// Fields that this operator wrote are still in `managedFields`.
    pub written_by_us: bool,
    /// Reconciled by tigera/operator from its `Installation`.
    pub managed_by_tigera: bool,
    /// `metadata.resourceVersion`. Each write names it, so that it fails if the object changed since the decision.
    pub resource_version: String,
    /// `metadata.uid`.
    pub uid: String,
    /// A change of `natOutgoing` after the pool was created; pools only.
    pub nat_change: Option<Box<NatChange>>,
    /// How often its key was written since it was created. For etcd only, which has no field managers.
    pub etcd_writes: Option<i64>,
}

/// A change of a pool's `natOutgoing` by another manager than the one that wrote its CIDR. All writes of one
/// manager have one time, so a change by the creator of the pool cannot be detected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NatChange {
    /// When it was changed.
    pub at: Timestamp,
    /// The manager that changed it.
    pub by: String,
}

/// etcd does not record who wrote a key.
const ETCD_CLIENT: &str = "an etcd client";

impl ConfigObject {
    /// The facts of an object with a `spec`. flannel's configuration has none, see `flannel::read`.
    pub fn read(kind: ConfigKind, object: &Value) -> Self {
        let fields = fields_read(kind);
        let entries: Vec<_> = items(object, "/metadata/managedFields").collect();
        let foreign = || entries.iter().filter(|e| !managers::is_ours(text(e, "/manager")));
        let has = |e: &Value, field: &str| {
            let mut parts = field.split('.');
            let owned = e.pointer("/fieldsV1/f:spec");
            owned.is_some_and(|s| {
                parts
                    .try_fold(s, |at, part| at.get(format!("f:{part}")))
                    .is_some()
            })
        };
        let held = |field: &str| {
            entries.iter().any(|e| {
                managers::is_ours(text(e, "/manager")) && text(e, "/operation") == "Apply" && has(e, field)
            })
        };
        let owners_of = |field: &str| -> Vec<FieldOwner> {
            foreign()
                .filter(|e| has(e, field))
                .map(|e| FieldOwner {
                    manager: text(e, "/manager").to_owned(),
                    applied: text(e, "/operation") == "Apply",
                })
                .collect()
        };
        let etcd_writes = object.pointer("/etcd/version").and_then(Value::as_i64);
        // The operator's own later writes count, too: a value that may be somebody else's is left.
        let by_others = etcd_writes.filter(|n| *n > 1).map(|_| ETCD_CLIENT.to_owned());
        let value = |field: &str| object.pointer(&format!("/spec/{}", field.replace('.', "/")));
        let managed_by = object
            .pointer("/metadata/labels")
            .and_then(|l| l.get(labels::MANAGED_BY));
        let mut read = Self {
            spec: fields
                .iter()
                .filter_map(|f| Some(((*f).to_owned(), value(f)?.clone())))
                .collect(),
            owners: fields
                .iter()
                .map(|f| ((*f).to_owned(), owners_of(f)))
                .filter(|(_, o)| !o.is_empty())
                .collect(),
            held: fields
                .iter()
                .filter(|f| held(f))
                .map(|f| (*f).to_owned())
                .collect(),
            written_by_us: entries.iter().any(|e| managers::is_ours(text(e, "/manager"))),
            foreign_writers: foreign()
                .map(|e| text(e, "/manager").to_owned())
                .chain(by_others)
                .collect(),
            managed_by_tigera: managed_by.and_then(Value::as_str) == Some(labels::TIGERA_OPERATOR),
            resource_version: text(object, "/metadata/resourceVersion").to_owned(),
            uid: text(object, "/metadata/uid").to_owned(),
            nat_change: entries
                .iter()
                .filter(|e| kind == ConfigKind::IpPool && has(e, "natOutgoing") && !has(e, "cidr"))
                .filter_map(|e| {
                    let (at, by) = (time(e, "/time")?, text(e, "/manager").to_owned());
                    Some(NatChange { at, by })
                })
                .max_by_key(|change| change.at)
                .map(Box::new),
            etcd_writes,
        };
        pools_as_fields(&mut read);
        read
    }

    /// Did the operator create it? In etcd only its value can show that.
    pub fn is_made_by_us(&self, field: &str, applied: &Value) -> bool {
        if self.etcd_writes.is_some() {
            self.spec.get(field) == Some(applied)
        } else {
            self.written_by_us
        }
    }

    /// Did only the operator write to it? Never true in etcd, where that is unknown.
    pub const fn is_ours_alone(&self) -> bool {
        self.written_by_us && self.foreign_writers.is_empty()
    }

    /// Who changes its fields when no owner of them is known.
    pub const fn unknown_writer(&self) -> &'static str {
        if self.etcd_writes.is_some() {
            ETCD_CLIENT
        } else {
            "an unknown manager"
        }
    }

    /// Is the field's value of our making, and nobody else's? It has the one we set last, or one we set before and were
    /// stopped from replacing. A manager that set the same value wants it with or without us.
    pub fn is_ours(&self, original: &Original) -> bool {
        let field = &original.field;
        self.has_value_of(original) && (self.is_part(field) || !self.owners.contains_key(field))
    }

    /// Has the field a value that the operator set?
    pub fn has_value_of(&self, original: &Original) -> bool {
        let current = self.spec.get(&original.field);
        let set = current == Some(&original.applied)
            || (current.is_some() && current == original.replaces.as_ref());
        set || self.held.contains(&original.field)
    }

    /// Is the field part of a list or a text that has one owner as a whole, who may have changed another part of it?
    pub fn is_part(&self, field: &str) -> bool {
        field.contains('[') || self.spec.contains_key(NET_CONF_KEY)
    }

    /// A field as text; empty when it is missing or no string.
    pub fn text(&self, field: &str) -> &str {
        self.spec.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Is the field the boolean `true`?
    pub fn is_true(&self, field: &str) -> bool {
        self.spec.get(field) == Some(&Value::Bool(true))
    }

    /// Is the field the boolean `false`? A missing field is not.
    pub fn is_false(&self, field: &str) -> bool {
        self.spec.get(field) == Some(&Value::Bool(false))
    }

    /// A field as a number; `None` when it is missing or no integer.
    pub fn number(&self, field: &str) -> Option<i64> {
        self.spec.get(field)?.as_i64()
    }

    /// `spec.cidr` of an IPv4 pool; `None` for IPv6.
    pub fn cidr_v4(&self) -> Option<Ipv4Net> {
        self.text("cidr").parse().ok()
    }
}

/// The pools of an Installation are one list to the API server. Here the encapsulation of each IPv4 pool is a
/// field of its own, so that what is restored of one pool never takes along what the user did to another.
fn pools_as_fields(object: &mut ConfigObject) {
    let Some(Value::Array(pools)) = object.spec.get(tigera::POOLS).cloned() else {
        return;
    };
    for pool in pools {
        let cidr = text(&pool, "/cidr");
        if cidr.parse::<Ipv4Net>().is_err() {
            continue;
        }
        let field = tigera::pool_field(cidr);
        if let Some(value) = pool.get("encapsulation") {
            object.spec.insert(field.clone(), value.clone());
        }
        if let Some(owners) = object.owners.get(tigera::POOLS).cloned() {
            object.owners.insert(field.clone(), owners);
        }
        if object.held.contains(tigera::POOLS) {
            object.held.insert(field);
        }
    }
}

/// Fields of `spec` worth keeping; a FelixConfiguration has 180 more.
const fn fields_read(kind: ConfigKind) -> &'static [&'static str] {
    match kind {
        ConfigKind::IpamConfiguration => &["strictAffinity", "autoAllocateBlocks", "maxBlocksPerHost"],
        ConfigKind::IpPool => &[
            "cidr",
            "blockSize",
            "ipipMode",
            "vxlanMode",
            "disabled",
            "nodeSelector",
            "allowedUses",
            "assignmentMode",
            "natOutgoing",
        ],
        ConfigKind::FelixConfiguration => &[
            "ipipEnabled",
            "vxlanEnabled",
            "vxlanVNI",
            "vxlanPort",
            "bpfEnabled",
            "defaultEndpointToHostAction",
            "healthEnabled",
            "healthPort",
            "ipv6Support",
            "policySyncPathPrefix",
            "prometheusMetricsEnabled",
            "prometheusMetricsPort",
            "vxlanMTU",
            "vxlanMTUV6",
            "windowsManageFirewallRules",
            "wireguardEnabled",
            "wireguardEnabledV6",
        ],
        ConfigKind::Installation => tigera::FIELDS,
        ConfigKind::FlannelConfiguration => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn owners_come_from_managed_fields_without_us() {
        let object = json!({
            "metadata": {"resourceVersion": "7", "managedFields": [
                {"manager": "Go-http-client", "operation": "Update", "fieldsV1": {"f:spec": {"f:autoAllocateBlocks": {}}}},
                {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {"f:spec": {"f:strictAffinity": {}}}},
                {"manager": "windows-node-operator/ipam", "operation": "Apply", "fieldsV1": {"f:spec": {"f:strictAffinity": {}}}},
            ]},
            "spec": {"strictAffinity": false, "autoAllocateBlocks": true, "kubeVirtVMAddressPersistence": "Enabled"},
        });
        let facts = ConfigObject::read(ConfigKind::IpamConfiguration, &object);
        assert_eq!(facts.spec.len(), 2, "fields nobody reads are not kept");
        assert_eq!(
            facts.owners["strictAffinity"],
            [FieldOwner {
                manager: "argocd-controller".into(),
                applied: true
            }]
        );
        assert_eq!(facts.foreign_writers, ["Go-http-client", "argocd-controller"]);
    }
}
