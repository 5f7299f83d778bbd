//! Facts of Calico's objects: the fields we set or read, and who owns them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;
use wn_api::calico::{ConfigKind, WINDOWS_RESERVED_HANDLE};
use wn_api::names::{self, labels, managers};

use super::filed::OnNode;
use super::reservations::{self, Reservations};
use super::{flag, items, text, tigera, time};

/// Who wrote a field last, from `managedFields`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldOwner {
    pub manager: String,
    /// Server-side apply (a standing claim) as opposed to a plain update.
    pub applied: bool,
}

impl FieldOwner {
    /// A plain update is a one-off; an apply, or a manager known to reconcile, comes back.
    pub fn claims(&self) -> bool {
        self.applied || names::RECONCILING_MANAGERS.contains(&self.manager.as_str())
    }
}

/// An IPAM configuration, IP pool, Felix configuration or Installation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalicoObject {
    /// The fields below `spec` that are set or read, as stored; a dot leads into an object.
    pub spec: BTreeMap<String, Value>,
    /// Owners of those fields other than this operator.
    pub owners: BTreeMap<String, Vec<FieldOwner>>,
    /// Fields this operator applied and nobody changed since.
    pub held: BTreeSet<String>,
    /// Managers other than this operator that wrote anything at all.
    pub foreign_writers: Vec<String>,
    /// This operator wrote something of it that still stands.
    pub written_by_us: bool,
    /// Reconciled by tigera/operator from its `Installation`.
    pub managed_by_tigera: bool,
    /// Guards each write: what was decided on must still be what is stored.
    pub resource_version: String,
    pub uid: String,
    /// Of a pool: a change of `natOutgoing` after it was made.
    pub nat_change: Option<Box<NatChange>>,
    /// How often its key was written since it was made, in etcd, which knows no managers.
    pub etcd_writes: Option<i64>,
}

/// A change of a pool's `natOutgoing` by another manager than the one that wrote its CIDR: one manager's writes
/// share one time, so that of the maker's it cannot be told which field changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NatChange {
    pub at: Timestamp,
    pub by: String,
}

/// Whoever it was: etcd does not tell.
const ETCD_CLIENT: &str = "an etcd client";

impl CalicoObject {
    pub fn read(kind: ConfigKind, object: &Value) -> Self {
        if kind == ConfigKind::FlannelConfiguration {
            return super::flannel::read(object);
        }
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
        // Our own later writes count, too: what is not known to be ours alone is left.
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
        tigera::pools_as_fields(&mut read);
        read
    }

    /// Was it made by us? In etcd only its value can tell.
    pub fn is_made_by_us(&self, field: &str, applied: &Value) -> bool {
        if self.etcd_writes.is_some() {
            self.spec.get(field) == Some(applied)
        } else {
            self.written_by_us
        }
    }

    /// Who changes its fields when no owner of them is known.
    pub const fn unknown_writer(&self) -> &'static str {
        if self.etcd_writes.is_some() {
            ETCD_CLIENT
        } else {
            "an unknown manager"
        }
    }

    /// Is the field's value of our making? It has the one we set last, or one we set before and were
    /// stopped from replacing.
    pub fn is_ours(&self, field: &str, applied: &Value) -> bool {
        self.spec.get(field) == Some(applied) || self.held.contains(field)
    }

    pub fn text(&self, field: &str) -> &str {
        self.spec.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn is_true(&self, field: &str) -> bool {
        self.spec.get(field) == Some(&Value::Bool(true))
    }

    pub fn is_false(&self, field: &str) -> bool {
        self.spec.get(field) == Some(&Value::Bool(false))
    }

    pub fn number(&self, field: &str) -> Option<i64> {
        self.spec.get(field)?.as_i64()
    }

    pub fn cidr_v4(&self) -> Option<Ipv4Net> {
        self.text("cidr").parse().ok()
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

/// A block of addresses of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockFacts {
    pub cidr: Option<Ipv4Net>,
    /// The node it is affine to; empty when to none.
    pub host: String,
    /// Addresses of pods of a Linux node are in it. Windows pods do not count: they never had a
    /// working encapsulation to lose.
    pub serves_linux_pods: bool,
    /// Ordinals 0, 1, 2 and the last are held for Windows.
    pub reserved: bool,
    /// No address is left. Not how many are: that changes with every pod, and means nothing.
    pub exhausted: bool,
    /// Pods of other nodes have addresses of it.
    pub foreign: bool,
    /// When the oldest of its pods got its address. Of Windows blocks only, and of the oldest only: that one
    /// rarely changes.
    pub oldest: Option<Timestamp>,
}

impl BlockFacts {
    /// Facts, unless the block is marked as deleted.
    pub fn read(block: &Value) -> Option<Self> {
        if flag(block, "/spec/deleted") {
            return None;
        }
        let attributes: Vec<_> = items(block, "/spec/attributes").collect();
        let allocations: Vec<_> = items(block, "/spec/allocations")
            .map(|i| attributes.get(usize::try_from(i.as_u64()?).ok()?))
            .collect();
        let windows = attributes.iter().any(|a| is_reservation(a));
        let in_use = allocations.iter().flatten().any(|a| is_pod(a));
        let host = text(block, "/spec/affinity")
            .strip_prefix("host:")
            .unwrap_or_default();
        let foreign =
            |a: &Value| !matches!(text(a, "/secondary/node"), "") && text(a, "/secondary/node") != host;
        let cidr: Option<Ipv4Net> = text(block, "/spec/cidr").parse().ok();
        let last = cidr.map_or(0, |c| (1_usize << (32 - c.prefix_len()).min(16)) - 1);
        let held = |ordinal: usize| {
            allocations
                .get(ordinal)
                .copied()
                .flatten()
                .is_some_and(|a| is_reservation(a))
        };
        Some(Self {
            cidr,
            serves_linux_pods: in_use && !windows,
            reserved: [0, 1, 2, last].into_iter().all(held),
            exhausted: items(block, "/spec/unallocated").next().is_none(),
            foreign: !host.is_empty() && allocations.iter().flatten().any(|a| foreign(a)),
            host: host.to_owned(),
            oldest: allocations
                .iter()
                .flatten()
                .filter(|a| windows && !is_reservation(a))
                .filter_map(|a| go_time(text(a, "/secondary/timestamp")))
                .min(),
        })
    }

    /// Addresses that no pod has.
    pub fn free(block: &Value) -> Vec<Ipv4Addr> {
        let cidr: Option<Ipv4Net> = text(block, "/spec/cidr").parse().ok();
        let base = cidr.map(|c| u32::from(c.network()));
        let ordinals = items(block, "/spec/unallocated").filter_map(|o| u32::try_from(o.as_u64()?).ok());
        ordinals
            .filter_map(|o| Some(base?.wrapping_add(o).into()))
            .collect()
    }

    /// Free addresses that are reserved are not given to anybody.
    #[must_use]
    pub fn reserving(self, free: &[Ipv4Addr], reservations: &Reservations) -> Self {
        let exhausted = free.iter().all(|a| reservations::cover(reservations, *a));
        Self { exhausted, ..self }
    }

    /// What decisions about the cluster as a whole read of it: `changes` are the pools whose `natOutgoing` was
    /// changed, and when.
    pub fn of_plan(&self, changes: &[(Ipv4Net, Timestamp)]) -> (Option<Ipv4Net>, bool, bool) {
        (
            self.cidr.filter(|_| self.serves_linux_pods),
            self.foreign,
            changes.iter().any(|(pool, at)| self.older_in(*pool, *at)),
        )
    }

    /// Is it of that pool, and has it a pod that got its address before then?
    pub fn older_in(&self, pool: Ipv4Net, at: Timestamp) -> bool {
        self.cidr.is_some_and(|c| pool.contains(&c)) && self.oldest.is_some_and(|oldest| oldest < at)
    }
}

impl OnNode for BlockFacts {
    fn node(&self) -> &str {
        &self.host
    }
}

/// By handle, not by place: Calico compacts the attributes when an address is released.
fn is_reservation(attribute: &Value) -> bool {
    text(attribute, "/handle_id").eq_ignore_ascii_case(WINDOWS_RESERVED_HANDLE)
}

/// A node's claim of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct AffinityFacts {
    pub node: String,
    pub cidr: String,
    pub confirmed: bool,
}

impl AffinityFacts {
    /// Facts, unless it is marked as deleted (v1 says so in a string, v3 in a boolean).
    pub fn read(affinity: &Value) -> Option<Self> {
        let deleted = flag(affinity, "/spec/deleted") || text(affinity, "/spec/deleted") == "true";
        let host = matches!(text(affinity, "/spec/type"), "" | "host");
        (!deleted && host).then(|| Self {
            node: text(affinity, "/spec/node").to_owned(),
            cidr: text(affinity, "/spec/cidr").to_owned(),
            confirmed: text(affinity, "/spec/state") == "confirmed",
        })
    }
}

impl OnNode for AffinityFacts {
    fn node(&self) -> &str {
        &self.node
    }
}

/// Go's `Time.String()` of a time in UTC: `2026-05-01 10:00:00.123456789 +0000 UTC` (Calico's
/// `cni-plugin/pkg/ipamplugin`, `AttributeTimestamp`).
fn go_time(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_once(' ')?;
    let time = rest.split(' ').next()?;
    format!("{date}T{time}Z").parse().ok()
}

/// Tunnel addresses and released, cooling addresses are no pod's (calico-node `secondary.type`).
fn is_pod(attribute: &Value) -> bool {
    !text(attribute, "/secondary/type").ends_with("TunnelAddress")
        && attribute.get("releasedAt").is_none_or(Value::is_null)
}

/// `ClusterInformation` `default`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterInformation {
    pub calico_version: String,
    /// Missing counts as ready: only an explicit false stops Calico.
    pub datastore_ready: bool,
}

impl ClusterInformation {
    pub fn read(object: &Value) -> Self {
        Self {
            calico_version: text(object, "/spec/calicoVersion").to_owned(),
            datastore_ready: object.pointer("/spec/datastoreReady") != Some(&Value::Bool(false)),
        }
    }
}

/// A `DatastoreMigration` from v1 to native v3 objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigrationFacts {
    pub phase: String,
}

impl MigrationFacts {
    pub fn read(object: &Value) -> Self {
        Self {
            phase: text(object, "/status/phase").to_owned(),
        }
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
        let facts = CalicoObject::read(ConfigKind::IpamConfiguration, &object);
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

    fn block(attributes: Value, allocations: Value) -> Value {
        json!({"spec": {"cidr": "10.0.0.0/26", "attributes": attributes, "allocations": allocations}})
    }

    #[test]
    fn a_linux_pod_makes_a_block_used() {
        let pod = json!([{"handle_id": "k8s-pod-network.1", "secondary": {"pod": "a"}}]);
        assert!(
            BlockFacts::read(&block(pod.clone(), json!([0, null])))
                .unwrap()
                .serves_linux_pods
        );
        assert!(
            !BlockFacts::read(&block(pod, json!([null, null])))
                .unwrap()
                .serves_linux_pods
        );
    }

    #[test]
    fn tunnels_and_windows_blocks_are_not_linux_pods() {
        let tunnel = json!([{"handle_id": "t", "secondary": {"type": "ipipTunnelAddress"}}]);
        assert!(
            !BlockFacts::read(&block(tunnel, json!([0])))
                .unwrap()
                .serves_linux_pods
        );
        let windows = json!([{"handle_id": "windows-reserved-ipam-handle"}, {"handle_id": "pod"}]);
        assert!(
            !BlockFacts::read(&block(windows, json!([0, 0, 0, 1])))
                .unwrap()
                .serves_linux_pods
        );
    }
}
