//! Fields of tigera/operator's Installation, judged as Calico's own are.

use serde_json::Value;
use wn_api::reasons::Reason;
use wn_api::spec::{Policy, WhenInUse};

use super::ownership::Judge;
use super::{hold, pools};
use crate::field::{Desired, is_met, plain};
use crate::network;
use crate::network::role::{Backend, CalicoRole};
use crate::observed::ConfigObject;
use crate::observed::tigera::{POOLS, pool_field};
use crate::tigera::{self, AgentOwner, installation_object};

impl Judge<'_> {
    pub(super) fn installation(&mut self) {
        let Some(installation) = installation_object(self.observed) else {
            return;
        };
        self.judged.released = tigera::being_restored(self.spec, self.observed)
            .into_iter()
            .collect();
        let enforce = self.spec.calico.installation == Policy::Enforce;
        let owner = tigera::agent_owner(self.spec, self.observed);
        if matches!(owner, AgentOwner::Ours | AgentOwner::NoOperator)
            && let Some(stray) = tigera::stray_folders(self.observed)
        {
            self.find(Reason::ReportOnly, stray);
        }
        let mut fields = match owner {
            AgentOwner::NoOperator => return,
            AgentOwner::Ours if enforce => self.encapsulations(installation),
            AgentOwner::Ours => return,
            AgentOwner::OursForNow | AgentOwner::Theirs => {
                tigera::prepared(self.spec, self.observed, installation)
            }
        };
        if owner == AgentOwner::Theirs {
            fields.push(tigera::switch());
        }
        if let Some(message) = tigera::mismatch(self.spec, self.observed) {
            self.find(Reason::InstallationMismatch, message);
        } else if !enforce {
            self.report_on(&fields, installation);
        } else if !self.pools_held(&fields, installation) {
            self.withhold_switch(&mut fields, installation);
            self.group(fields, Policy::Enforce);
        }
    }

    fn encapsulations(&self, installation: &ConfigObject) -> Vec<Desired> {
        match network::of(self.spec.network.type_).calico {
            CalicoRole::Networking(backend) => tigera::encapsulations(self.observed, installation, backend),
            CalicoRole::Policy { .. } => Vec::new(),
        }
    }

    /// One finding for all, with one command that fixes all.
    fn report_on(&mut self, fields: &[Desired], installation: &ConfigObject) {
        let differing = tigera::differing(fields, installation);
        if differing.is_empty() {
            return;
        }
        let message = format!(
            "{}: run `{}`, or set spec.calico.installation to Enforce",
            differing.join("; "),
            tigera::patch(fields, installation)
        );
        self.find(Reason::ReportOnly, message);
    }

    /// Theirs may come when ours is gone from every node, and no sooner.
    fn withhold_switch(&mut self, fields: &mut Vec<Desired>, installation: &ConfigObject) {
        let switch = tigera::switch();
        let waits = !is_met(&switch, installation.spec.get(&switch.id.field))
            && fields.contains(&switch)
            && tigera::ours_present(self.observed);
        if waits {
            fields.retain(|d| *d != switch);
            self.find(
                Reason::WaitingForPrecondition,
                format!(
                    "{} is set to HNS when the last pod of the operator's DaemonSet calico-node-windows is gone",
                    switch.id
                ),
            );
        }
    }

    /// Pools whose pods would lose traffic: nothing of the Installation is written then, because tigera/operator refuses
    /// Windows with any other encapsulation.
    fn pools_held(&mut self, fields: &[Desired], installation: &ConfigObject) -> bool {
        let hold = self.spec.calico.encapsulation.when_in_use == WhenInUse::Hold;
        let differing = fields
            .iter()
            .filter(|d| !is_met(d, installation.spec.get(&d.id.field)) && !self.holds(d));
        let list = installation.spec.get(POOLS).and_then(Value::as_array);
        let cidrs: Vec<_> = list
            .into_iter()
            .flatten()
            .filter_map(|p| p.get("cidr")?.as_str())
            .collect();
        let used: Vec<_> = differing
            .filter_map(|d| {
                let cidr = cidrs.iter().find(|cidr| pool_field(cidr) == d.id.field)?;
                pools::in_use_cidr(self.observed, cidr).then_some((*cidr, d.value.clone()))
            })
            .collect();
        for (cidr, value) in used.iter().filter(|_| hold) {
            let wanted = format!("encapsulation: {}", plain(value));
            let pool = format!("pool {cidr} of Installation default");
            self.find(Reason::PoolInUse, hold::in_use(&pool, &wanted));
        }
        hold && !used.is_empty()
    }

    /// A pool that tigera/operator creates from the Installation differs. tigera/operator has still to apply what the operator wrote
    /// to the Installation; what the operator may not write there is reported there.
    pub(super) fn reconciled_pool(
        &mut self,
        name: &str,
        pool: &ConfigObject,
        backend: Backend,
        wanted: &str,
    ) {
        let field = pool_field(pool.text("cidr"));
        let listed = installation_object(self.observed).is_some_and(|i| {
            let list = i.spec.get(POOLS).and_then(Value::as_array);
            let mut pools = list.into_iter().flatten();
            pools.any(|p| p["cidr"] == pool.text("cidr"))
        });
        let enforce = self.spec.calico.installation == Policy::Enforce
            && tigera::agent_owner(self.spec, self.observed) != AgentOwner::NoOperator;
        let written = self.judged.wanted.iter().any(|w| w.desired.id.field == field);
        match (enforce && listed, written) {
            (true, true) => self.find(
                Reason::WaitingForPrecondition,
                format!("IPPool {name} waits for tigera/operator to set {wanted} from Installation default"),
            ),
            (true, false) => {}
            (false, _) => self.find(Reason::PoolManagedByOperator, managed_pool(name, backend)),
        }
    }
}

fn managed_pool(name: &str, backend: Backend) -> String {
    let encapsulation = match backend {
        Backend::Vxlan => "VXLAN",
        Backend::Bgp => "None",
    };
    format!(
        "IPPool {name} is managed by tigera/operator, which reverts direct changes: set encapsulation: {encapsulation} for it in \
         Installation default spec.calicoNetwork.ipPools, or spec.calico.installation to Enforce"
    )
}
