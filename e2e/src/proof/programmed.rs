//! The load balancers in HNS, by the Service they are of.

use std::collections::BTreeMap;
use std::fmt;

use super::services::Services;
use crate::hns::{Endpoint, Hns, LoadBalancer};

/// What a Windows node would hold, `<Service> <which frontend>` → its load balancer.
#[derive(Clone, Debug, Default)]
pub struct Programmed {
    pub all: BTreeMap<String, Balancer>,
}

#[derive(Clone, Debug)]
pub struct Balancer {
    pub load_balancer: LoadBalancer,
    pub local: Vec<Endpoint>,
    pub remote: Vec<Endpoint>,
}

impl Programmed {
    pub fn read(hns: &Hns, services: &Services) -> Self {
        let endpoints: BTreeMap<_, _> = hns
            .endpoints()
            .into_iter()
            .map(|one| (one.id.clone(), one))
            .collect();
        let named = hns.load_balancers().into_iter().map(|load_balancer| {
            let vip = load_balancer.frontend_vips.first().map(String::as_str);
            let name = services.name_of(vip, load_balancer.external_port());
            let all = load_balancer
                .endpoints
                .iter()
                .filter_map(|id| endpoints.get(id).cloned());
            let (remote, local) = all.partition(Endpoint::is_remote);
            let name = name.unwrap_or_else(|| format!("{vip:?}:{}", load_balancer.external_port()));
            (
                name,
                Balancer {
                    load_balancer,
                    local,
                    remote,
                },
            )
        });
        Self { all: named.collect() }
    }

    pub fn get(&self, name: &str) -> Option<&Balancer> {
        self.all.get(name)
    }
}

impl fmt::Display for Balancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = &self.load_balancer;
        let dsr = if one.is_dsr() { "DSR" } else { "no DSR" };
        let source = match one.source_vip.as_str() {
            "" => "no source VIP",
            address => address,
        };
        write!(f, "{dsr}, {source}, port {}, ", one.internal_port())?;
        write!(f, "{} local + {} remote", self.local.len(), self.remote.len())?;
        if one.has_session_affinity() {
            write!(f, ", by client")?;
        }
        Ok(())
    }
}

impl fmt::Display for Programmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all
            .iter()
            .try_for_each(|(name, balancer)| writeln!(f, "{name}: {balancer}"))
    }
}
