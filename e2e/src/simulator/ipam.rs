//! Calico IPAM as far as a Windows node's start needs it: which pool, which block, and the objects
//! libcalico writes for it (`libcalico-go/lib/ipam`). Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use wn_api::calico::{CalicoApi, WINDOWS_RESERVED_HANDLE};

use super::hostname_hash::hostname_hash;

/// Longest prefix of a block that holds the reserved addresses: 32 - bits.Len(4)
/// (`getMaxPrefixLen`, `libcalico-go/lib/ipam/ipam.go`).
const LONGEST_BLOCK_PREFIX: u8 = 29;
const DEFAULT_BLOCK_PREFIX: u8 = 26;
/// HNS keeps the first three addresses of a block and the last (`HostReservedAttr` with StartOfBlock 3
/// and EndOfBlock 1, `node/pkg/lifecycle/startup/startup_windows.go`).
const RESERVED_AT_START: u32 = 3;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Cidr {
    base: u32,
    prefix: u8,
}

impl Cidr {
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let prefix = prefix.parse().ok().filter(|prefix| *prefix <= 32)?;
        Some(Self {
            base: address.parse::<Ipv4Addr>().ok()?.into(),
            prefix,
        })
    }

    pub fn address(self, ordinal: u32) -> Ipv4Addr {
        Ipv4Addr::from(self.base.wrapping_add(ordinal))
    }

    fn size(self) -> u64 {
        1 << (32 - u32::from(self.prefix))
    }

    fn overlaps(self, other: Self) -> bool {
        let shared = self.prefix.min(other.prefix);
        shared == 0 || (self.base ^ other.base) >> (32 - u32::from(shared)) == 0
    }

    /// Name of the block: every separator becomes a dash.
    pub fn dashed(self) -> String {
        self.to_string().replace(['.', '/'], "-")
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(0), self.prefix)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    pub cidr: Cidr,
    pub block_prefix: u8,
    /// Enabled, assigned from automatically, and open to workloads.
    pub assignable: bool,
    pub node_selector: String,
}

impl Pool {
    /// `None` for IPv6 pools: Windows nodes take no block of them.
    pub fn parse(spec: &Value) -> Option<Self> {
        let text = |field: &str| spec[field].as_str();
        let uses = spec["allowedUses"].as_array();
        let workloads = uses.is_none_or(|uses| uses.is_empty() || uses.iter().any(|one| one == "Workload"));
        let disabled = spec["disabled"].as_bool().unwrap_or(false);
        let prefix = spec["blockSize"]
            .as_u64()
            .and_then(|size| u8::try_from(size).ok());
        Some(Self {
            cidr: Cidr::parse(text("cidr")?)?,
            block_prefix: prefix
                .filter(|prefix| *prefix > 0)
                .unwrap_or(DEFAULT_BLOCK_PREFIX),
            assignable: workloads && !disabled && text("assignmentMode") != Some("Manual"),
            node_selector: text("nodeSelector").unwrap_or_default().to_owned(),
        })
    }

    /// Can a block of this pool hold a Windows node's reservation?
    pub fn qualifies(&self) -> bool {
        self.assignable && self.block_prefix <= LONGEST_BLOCK_PREFIX && self.block_prefix >= self.cidr.prefix
    }
}

/// The blocks that exist: CIDR → node that holds it.
pub type Blocks = BTreeMap<Cidr, Option<String>>;

pub fn block_of(blocks: &Blocks, node: &str) -> Option<Cidr> {
    blocks
        .iter()
        .find(|(_, holder)| holder.as_deref() == Some(node))
        .map(|(cidr, _)| *cidr)
}

/// The first block of the pools that nobody holds. libcalico starts its search at a place hashed from
/// the node's name; which free block it finds is of no consequence, and the first one is repeatable.
pub fn first_free(pools: &[&Pool], blocks: &Blocks) -> Option<Cidr> {
    pools.iter().find_map(|pool| {
        let block = |n: u64| {
            let base = u64::from(pool.cidr.base) + (n << (32 - u32::from(pool.block_prefix)));
            Cidr {
                base: base as u32,
                prefix: pool.block_prefix,
            }
        };
        let count = pool.cidr.size() >> (32 - u32::from(pool.block_prefix));
        (0..count).map(block).find(|candidate| {
            // Blocks are ordered by address, so an overlapping one is a neighbour.
            let before = blocks.range(..=*candidate).next_back();
            let after = blocks.range(*candidate..).next();
            !before
                .into_iter()
                .chain(after)
                .any(|(taken, _)| taken.overlaps(*candidate))
        })
    })
}

/// An IPAMBlock with the Windows reservation (`newBlock`, `libcalico-go/lib/ipam/ipam_block.go`).
pub fn block(api: CalicoApi, cidr: Cidr, node: &str, now: &str, sequence: u64) -> Value {
    let size = cidr.size() as u32;
    let reserved = |ordinal: u32| ordinal < RESERVED_AT_START || ordinal == size - 1;
    let allocations: Vec<Option<u8>> = (0..size).map(|n| reserved(n).then_some(0)).collect();
    let unallocated: Vec<u32> = (0..size).filter(|n| !reserved(*n)).collect();
    let mut block = json!({
        "apiVersion": format!("{}/{}", api.group(), api.version()),
        "kind": "IPAMBlock",
        "metadata": {"name": cidr.dashed()},
        "spec": {
            "affinity": format!("host:{node}"),
            "affinityClaimTime": now,
            "allocations": allocations,
            "attributes": [{
                "handle_id": WINDOWS_RESERVED_HANDLE,
                "secondary": {"note": "windows host rsvd"},
            }],
            "cidr": cidr.to_string(),
            "deleted": false,
            "sequenceNumber": sequence,
            "sequenceNumberForAllocation": {},
            "strictAffinity": false,
            "unallocated": unallocated,
        },
    });
    // v1 objects carry their v3 metadata in an annotation (`ConvertCalicoResourceToK8sResource`,
    // `libcalico-go/lib/backend/k8s/resources/resources.go`).
    if api == CalicoApi::V1 {
        block["metadata"]["annotations"] = v3_metadata(&json!({"creationTimestamp": null}));
    }
    block
}

/// A BlockAffinity; `state` is `pending` until the block exists, then `confirmed`
/// (`libcalico-go/lib/ipam/ipam_block_reader_writer.go`).
pub fn affinity(api: CalicoApi, cidr: Cidr, node: &str, state: &str) -> Value {
    let labels = json!({
        "projectcalico.org/affinity-type": "host",
        "projectcalico.org/hostname-hash": hostname_hash(node),
        "projectcalico.org/ip-version": "4",
    });
    // A mistake of early releases that v1 has to keep: a string, not a boolean.
    let deleted = if api == CalicoApi::V1 {
        json!("false")
    } else {
        json!(false)
    };
    let mut affinity = json!({
        "apiVersion": format!("{}/{}", api.group(), api.version()),
        "kind": "BlockAffinity",
        "metadata": {"name": format!("{node}-{}", cidr.dashed()), "labels": labels},
        "spec": {
            "cidr": cidr.to_string(),
            "deleted": deleted,
            "node": node,
            "state": state,
            "type": "host",
        },
    });
    if api == CalicoApi::V1 {
        affinity["metadata"]["annotations"] =
            v3_metadata(&json!({"creationTimestamp": null, "labels": labels}));
    }
    affinity
}

/// The IPAM configuration libcalico makes on the first IPAM call of any node (`GetIPAMConfig` in v3.24
/// to v3.32, `ensureDefaultIPAMConfigExists` in `node/pkg/lifecycle/startup/startup.go` after it).
pub fn default_config(api: CalicoApi) -> Value {
    let (kind, _) = crate::objects::served(api, wn_api::calico::ConfigKind::IpamConfiguration);
    let mut config = json!({
        "apiVersion": format!("{}/{}", api.group(), api.version()),
        "kind": kind,
        "metadata": {"name": wn_api::calico::DEFAULT},
        "spec": {"strictAffinity": false, "autoAllocateBlocks": true},
    });
    if api == CalicoApi::V1 {
        config["metadata"]["annotations"] = v3_metadata(&json!({"creationTimestamp": null}));
    }
    config
}

/// The pool that a start-up on Windows makes where there is none. Its CIDR is that of `kubeadm-config`, else this.
pub fn default_pool(api: CalicoApi) -> Value {
    let (kind, _) = crate::objects::served(api, wn_api::calico::ConfigKind::IpPool);
    json!({
        "apiVersion": format!("{}/{}", api.group(), api.version()),
        "kind": kind,
        "metadata": {"name": "default-ipv4-ippool"},
        "spec": {
            "cidr": "192.168.0.0/16", "blockSize": 26, "ipipMode": "Never", "vxlanMode": "Never",
            "natOutgoing": true, "nodeSelector": "all()",
        },
    })
}

fn v3_metadata(metadata: &Value) -> Value {
    json!({"projectcalico.org/metadata": metadata.to_string()})
}

#[cfg(test)]
#[path = "ipam_tests.rs"]
mod tests;
