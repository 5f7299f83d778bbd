//! Which fields may be written: the spec's policies, other managers' claims, fields that flap, pools in use.

use jiff::Timestamp;
use serde_json::Value;
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::names;
use wn_api::reasons::Reason;
use wn_api::spec::{Conflicts, Ipam, Policy, WhenInUse, WhenPoolsTooSmall, WindowsNodeConfigSpec};
use wn_api::status::Original;

use super::capacity;
use super::desired;
use super::flap_guard::FlapGuard;
use super::hold;
use super::judged::{Judged, Wanted};
use super::pools;
use crate::field::{Desired, is_met, plain, shown, who};
use crate::finding::{Finding, names_of};
use crate::network;
use crate::network::role::{Backend, CalicoRole};
use crate::observed::{ConfigObject, FieldOwner, Observed};
use crate::tigera;

pub(super) struct Judge<'a> {
    pub(super) spec: &'a WindowsNodeConfigSpec,
    pub(super) observed: &'a Observed,
    originals: &'a [Original],
    flaps: &'a FlapGuard,
    now: Timestamp,
    pub(super) judged: Judged,
}

/// Decides for every field that Windows nodes need whether the operator may write it.
pub fn judge(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    originals: &[Original],
    flaps: &FlapGuard,
    now: Timestamp,
) -> Judged {
    let mut judge = Judge {
        spec,
        observed,
        originals,
        flaps,
        now,
        judged: Judged::default(),
    };
    let role = network::of(spec.network.type_).calico;
    // With host-local addresses nobody asks Calico's IPAM.
    if matches!(role, CalicoRole::Networking(_)) && spec.network.ipam == Ipam::CalicoIpam {
        judge.ipam();
    }
    // Before the pools that tigera/operator makes of it.
    judge.installation();
    // Where Calico only enforces policy, its networking is not looked at; what was set for another type lapses.
    let CalicoRole::Networking(backend) = role else {
        return judge.judged;
    };
    // Pools before Felix: with IPIP off in Felix while a pool still says IPIP, Linux nodes lose each other.
    let policy = spec.calico.encapsulation.policy;
    if judge.pools(backend) || policy == Policy::Report {
        judge.felix(desired::felix(spec, backend, observed, originals), policy);
    }
    judge.judged
}

/// Judges fields outside Calico, by the policy that holds for encapsulation, and the Installation, whose operator may
/// run the agent there, too. The findings on the fields come apart.
pub fn judge_fields(
    fields: Vec<Desired>,
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    originals: &[Original],
    flaps: &FlapGuard,
    now: Timestamp,
) -> (Judged, Vec<Finding>) {
    let mut judge = Judge {
        spec,
        observed,
        originals,
        flaps,
        now,
        judged: Judged::default(),
    };
    judge.group(fields, spec.calico.encapsulation.policy);
    let of_fields = std::mem::take(&mut judge.judged.findings);
    judge.installation();
    (judge.judged, of_fields)
}

impl Judge<'_> {
    /// Judges strictAffinity. Where nodes have no block and there is none left for them, they live on borrowed addresses.
    fn ipam(&mut self) {
        let (fields, policy) = (desired::ipam(), self.spec.calico.strict_affinity);
        let hold =
            policy == Policy::Enforce && self.spec.calico.when_pools_too_small == WhenPoolsTooSmall::Hold;
        let stored = self.observed.object(ConfigKind::IpamConfiguration, DEFAULT);
        let new = |d: &Desired| !is_met(d, stored.and_then(|o| o.spec.get(&d.id.field))) && !self.holds(d);
        let short = (hold && fields.iter().any(new))
            .then(|| capacity::too_small(self.observed))
            .flatten();
        if let Some(short) = short {
            return self.find(Reason::PoolsTooSmall, too_small(&short));
        }
        self.group(fields, policy);
    }

    /// Judges every pool; true when none is left as it must not be.
    fn pools(&mut self, backend: Backend) -> bool {
        let serving = pools::serving_windows(self.observed);
        let mut all = true;
        // Without Calico's IPAM a pool says only how to encapsulate, and none says: not at all.
        if self.spec.network.ipam == Ipam::CalicoIpam {
            let unreadable = names_of(pools::with_unreadable_selector(self.observed));
            if !unreadable.is_empty() {
                self.find(Reason::InputInvalid, unreadable_selector(&unreadable));
            } else if let Some(waits) = tigera::pools_to_come(self.observed) {
                self.find(Reason::WaitingForPrecondition, waits);
            } else if serving.is_empty() {
                self.find(Reason::NoUsablePool, no_pool(self.observed));
            }
            all = !serving.is_empty();
        }
        for (name, pool) in serving {
            all &= self.pool(name, pool, backend);
        }
        all
    }

    fn pool(&mut self, name: &str, pool: &ConfigObject, backend: Backend) -> bool {
        let fields = desired::pool(name, backend);
        let differing: Vec<_> = fields
            .iter()
            .filter(|d| !is_met(d, pool.spec.get(&d.id.field)))
            .collect();
        let policy = self.spec.calico.encapsulation.policy;
        if !differing.is_empty() && policy == Policy::Enforce {
            let wanted = fields
                .iter()
                .map(|d| format!("{}: {}", d.id.field, plain(&d.value)))
                .collect::<Vec<_>>()
                .join(", ");
            if pool.managed_by_tigera {
                self.reconciled_pool(name, pool, backend, &wanted);
                return false;
            }
            let adopted = differing.iter().all(|d| self.holds(d));
            let hold = self.spec.calico.encapsulation.when_in_use == WhenInUse::Hold;
            if hold && !adopted && pools::in_use(self.observed, pool) {
                self.find(
                    Reason::PoolInUse,
                    hold::in_use(&format!("IPPool {name}"), &wanted),
                );
                return false;
            }
        }
        self.group(fields, policy)
    }

    /// Judges Felix' fields. What every packet of an overlay carries is not changed below pods that use it.
    fn felix(&mut self, fields: Vec<Desired>, policy: Policy) {
        let felix = (ConfigKind::FelixConfiguration, DEFAULT.to_owned());
        let stored = self.observed.calico.objects.get(&felix);
        let current = |d: &Desired| stored.and_then(|o| o.spec.get(&d.id.field));
        let interrupting: Vec<_> = fields
            .iter()
            .filter(|d| {
                hold::interrupts_felix(self.observed, &d.id.field, current(d), Some(&d.value))
                    && !self.holds(d)
            })
            .collect();
        let hold = policy == Policy::Enforce && self.spec.calico.encapsulation.when_in_use == WhenInUse::Hold;
        if hold && !interrupting.is_empty() {
            let message = hold::felix_in_use(self.observed, &interrupting);
            return self.find(Reason::PoolInUse, message);
        }
        self.group(fields, policy);
    }

    /// Judges fields of one object together: all are wanted or none, because half a change of
    /// encapsulation is worse than none. True when nothing stands in the way.
    pub(super) fn group(&mut self, fields: Vec<Desired>, policy: Policy) -> bool {
        let mut wanted = Vec::new();
        let mut blocked = false;
        for field in fields {
            match self.field(field, policy) {
                Ok(field) => wanted.push(field),
                Err(()) => blocked = true,
            }
        }
        // What is only reported on is not ours: it is neither written nor restored.
        if !blocked && policy == Policy::Enforce {
            self.judged.wanted.extend(wanted);
        }
        !blocked
    }

    fn field(&mut self, desired: Desired, policy: Policy) -> Result<Wanted, ()> {
        let object = self.observed.object(desired.id.kind, &desired.id.name);
        let current = object.and_then(|o| o.spec.get(&desired.id.field)).cloned();
        if is_met(&desired, current.as_ref()) {
            return Ok(Wanted {
                desired,
                differs: false,
                drifted_by: None,
            });
        }
        let owners = object
            .and_then(|o| o.owners.get(&desired.id.field))
            .map_or(&[][..], Vec::as_slice);
        // A value of ours that we were stopped from replacing was changed by nobody.
        let standing = object.is_some_and(|o| o.held.contains(&desired.id.field));
        let drifted_by = (!standing && self.holds(&desired)).then(|| managers(owners, object));
        if policy == Policy::Report {
            return self.refuse(Reason::ReportOnly, report(&desired, current.as_ref()));
        }
        if let Some(owner) = owners
            .iter()
            .find(|o| claims(desired.id.kind, o))
            .filter(|_| self.spec.calico.conflicts == Conflicts::Report)
        {
            return self.refuse(Reason::FieldConflict, conflict(&desired, current.as_ref(), owner));
        }
        if drifted_by.is_some()
            && let Some(until) = self.flaps.resting_until(&desired.id, self.now)
        {
            self.judged.given_up.push(desired.id.clone());
            self.judged.revisit = Some(self.judged.revisit.map_or(until, |at| at.min(until)));
            return self.refuse(
                Reason::Contested,
                contested(&desired, current.as_ref(), &managers(owners, object)),
            );
        }
        Ok(Wanted {
            desired,
            differs: true,
            drifted_by,
        })
    }

    /// Did we set this field to this value before?
    pub(super) fn holds(&self, desired: &Desired) -> bool {
        self.originals
            .iter()
            .any(|o| desired.id.is_of(o) && o.applied == desired.value)
    }

    pub(super) fn find(&mut self, reason: Reason, message: String) {
        self.judged.findings.push(Finding { reason, message });
    }

    fn refuse<T>(&mut self, reason: Reason, message: String) -> Result<T, ()> {
        self.find(reason, message);
        Err(())
    }
}

/// Will the owner set the field again? What tigera/operator wrote into its own Installation are defaults for fields
/// that were empty (`core_controller.go`, `fillDefaults`); it takes what stands there.
fn claims(kind: ConfigKind, owner: &FieldOwner) -> bool {
    let its_own = kind == ConfigKind::Installation
        && !owner.applied
        && names::TIGERA_OPERATOR_MANAGERS.contains(&owner.manager.as_str());
    owner.claims() && !its_own
}

const NO_POOL: &str = "no enabled IPv4 IPPool can serve a Windows node: create one with allowedUses Workload, \
                       blockSize 29 or less and a nodeSelector that matches the Windows nodes";

/// The size of blocks cannot be changed in a pool that exists, so the way out is a recipe.
fn no_pool(observed: &Observed) -> String {
    let small = names_of(pools::with_small_blocks(observed));
    if small.is_empty() {
        return NO_POOL.to_owned();
    }
    format!(
        "{NO_POOL}; blocks of IPPool {small} are too small for Windows and cannot be changed: create a pool beside it with another cidr and \
         blockSize 26, set disabled: true on the old one, and restart its pods"
    )
}

fn too_small(short: &capacity::Short) -> String {
    format!(
        "IPPool {} has fewer free blocks of addresses than there are nodes without one ({}), and with strictAffinity these can no longer \
         borrow addresses of other nodes' blocks; waiting to set strictAffinity: true: add an IPPool, or set \
         spec.calico.whenPoolsTooSmall to Proceed to allow it",
        short.pools, short.nodes
    )
}

fn unreadable_selector(pools: &str) -> String {
    format!(
        "spec.nodeSelector of IPPool {pools} is not a valid selector, so Calico's IPAM assigns no addresses: correct it, e.g. to all(); \
         the operator does not change the pool"
    )
}

fn report(desired: &Desired, current: Option<&Value>) -> String {
    let policy = match desired.id.kind {
        ConfigKind::IpamConfiguration => "spec.calico.strictAffinity",
        ConfigKind::IpPool | ConfigKind::FelixConfiguration | ConfigKind::FlannelConfiguration => {
            "spec.calico.encapsulation.policy"
        }
        ConfigKind::Installation => "spec.calico.installation",
    };
    format!(
        "{} is {}, Windows nodes need {}: change it, or set {policy} to Enforce",
        desired.id,
        shown(current),
        plain(&desired.value)
    )
}

fn conflict(desired: &Desired, current: Option<&Value>, owner: &FieldOwner) -> String {
    format!(
        "{} is {} and owned by {}, Windows nodes need {}: change it there, or set spec.calico.conflicts to Force",
        desired.id,
        shown(current),
        who(&owner.manager),
        plain(&desired.value)
    )
}

fn contested(desired: &Desired, current: Option<&Value>, by: &str) -> String {
    format!(
        "{} is changed back to {} again and again by {by}, Windows nodes need {}: stop that manager; the operator \
         tries again in an hour, or when the WindowsNodeConfig changes",
        desired.id,
        shown(current),
        plain(&desired.value)
    )
}

fn managers(owners: &[FieldOwner], object: Option<&ConfigObject>) -> String {
    if owners.is_empty() {
        return object
            .map_or("an unknown manager", ConfigObject::unknown_writer)
            .to_owned();
    }
    owners
        .iter()
        .map(|o| who(&o.manager))
        .collect::<Vec<_>>()
        .join(", ")
}
