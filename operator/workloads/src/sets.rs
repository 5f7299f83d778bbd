//! Sets of addresses that rules refer to by selector, service or named port.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::convert::Item;
use crate::index::Index;
use crate::input::Objects;
use crate::input::slice::EndpointSlice;
use crate::model::{Direction, Name, Policy, Side};
use crate::net::{self, Spans};
use crate::selector::Selector;

/// IPv4 members of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// Sorted, without duplicates.
    pub nets: Vec<Ipv4Net>,
    /// The same addresses as ranges.
    pub spans: Spans,
}

impl Members {
    fn of(mut nets: Vec<Ipv4Net>) -> Self {
        nets.sort_unstable();
        nets.dedup();
        Self {
            spans: Spans::of(&nets),
            nets,
        }
    }
}

/// An address, the IANA number of a protocol, and a port.
pub type Socket = (Ipv4Addr, u8, u16);

/// The sets of all rules of active policies.
#[derive(Debug, Default)]
pub struct Sets {
    by_selector: HashMap<String, Members>,
    by_service: HashMap<(String, String), Members>,
    sockets: HashMap<(String, String), Vec<Socket>>,
    named_ports: HashMap<(String, String), Vec<Socket>>,
    leaves_out_covered: bool,
}

/// The selector of every endpoint.
const EVERY_ENDPOINT: &str = "all()";

impl Sets {
    /// Computes every set that the rules of `policies` refer to.
    pub fn new<'a>(
        policies: impl Iterator<Item = &'a Policy>,
        index: &Index<'_>,
        objects: &Objects,
        leaves_out_covered: bool,
    ) -> Self {
        let mut sets = Self {
            leaves_out_covered,
            ..Self::default()
        };
        let services = Services::new(objects);
        for policy in policies {
            let rules = Direction::BOTH.into_iter().flat_map(|d| policy.rules(d));
            for side in rules.flat_map(|rule| rule.sides()) {
                sets.add(side, index, &services);
            }
        }
        sets
    }

    fn add(&mut self, side: &Side, index: &Index<'_>, services: &Services<'_>) {
        for selector in side
            .selector
            .iter()
            .chain(&side.not_selector)
            .chain(&felix_selector(side))
        {
            self.add_selector(selector, index);
        }
        if let Some(service) = &side.service {
            self.by_service
                .entry(service.clone())
                .or_insert_with(|| services.members(service));
            self.sockets
                .entry(service.clone())
                .or_insert_with(|| services.sockets(service));
        }
        for name in side.named_ports.iter().chain(&side.not_named_ports) {
            let key = named_port_key(side, name);
            self.named_ports
                .entry(key)
                .or_insert_with(|| named_ports(index, side.selector.as_ref(), name));
        }
    }

    fn add_selector(&mut self, selector: &Selector, index: &Index<'_>) {
        let leaves_out_covered = self.leaves_out_covered;
        self.by_selector.entry(selector.to_string()).or_insert_with(|| {
            let items = index.selected(selector);
            let nets: Vec<_> = items
                .flat_map(|item| item.nets.iter().map(Ipv4Net::trunc))
                .collect();
            Members::of(if leaves_out_covered {
                net::without_covered(&nets)
            } else {
                nets
            })
        });
    }

    /// Members of a selector in a rule of an active policy.
    pub fn selected(&self, selector: &Selector) -> &Members {
        self.by_selector.get(&selector.to_string()).unwrap_or(&NOTHING)
    }

    /// Addresses of a service's endpoints.
    pub fn service(&self, service: &(String, String)) -> &Members {
        self.by_service.get(service).unwrap_or(&NOTHING)
    }

    /// Addresses and ports of a service's endpoints; sorted, without duplicates.
    pub fn service_sockets(&self, service: &(String, String)) -> &[Socket] {
        self.sockets.get(service).map_or(&[], Vec::as_slice)
    }

    /// Addresses and numbers of the port with this name in the pods that one side of a rule selects; sorted,
    /// without duplicates.
    pub fn named_port(&self, side: &Side, name: &str) -> &[Socket] {
        let sockets = self.named_ports.get(&named_port_key(side, name));
        sockets.map_or(&[], Vec::as_slice)
    }
}

static NOTHING: Members = Members {
    nets: Vec::new(),
    spans: Spans::EMPTY,
};

/// The selector into which Felix combines `selector` and `not_selector`. `None` without a `selector`, because
/// a negation alone would have another meaning.
pub fn felix_selector(side: &Side) -> Option<Selector> {
    let positive = side.selector.clone()?;
    Some(match &side.not_selector {
        Some(not) => positive.and(not.clone().negated()),
        None => positive,
    })
}

fn named_port_key(side: &Side, name: &str) -> (String, String) {
    let selector = side.selector.as_ref().map(ToString::to_string);
    (
        selector.unwrap_or_else(|| EVERY_ENDPOINT.to_owned()),
        name.to_owned(),
    )
}

fn named_ports(index: &Index<'_>, selector: Option<&Selector>, name: &str) -> Vec<Socket> {
    let all = Selector::all();
    let items = index.selected(selector.unwrap_or(&all));
    let mut sockets: Vec<Socket> = items.flat_map(|item| ports_of(item, name)).collect();
    sockets.sort_unstable();
    sockets.dedup();
    sockets
}

fn ports_of<'a>(item: &'a Item, name: &'a str) -> impl Iterator<Item = Socket> + 'a {
    let pod = item.pod.iter();
    let named = pod.flat_map(move |pod| pod.ports.iter().filter(move |(n, _, _)| n == name));
    named.flat_map(|(_, protocol, port)| item.nets.iter().map(|net| (net.addr(), *protocol, *port)))
}

/// Endpoints of services, by namespace and name of the service.
struct Services<'a> {
    slices: HashMap<(String, String), Vec<&'a EndpointSlice>>,
}

impl<'a> Services<'a> {
    fn new(objects: &'a Objects) -> Self {
        let mut slices: HashMap<_, Vec<_>> = HashMap::new();
        for ((namespace, _), slice) in &objects.endpoint_slices {
            let service = slice.service.as_deref().unwrap_or_default().to_owned();
            slices
                .entry((namespace.clone(), service))
                .or_default()
                .push(slice);
        }
        Self { slices }
    }

    fn slices(&self, service: &(String, String)) -> &[&'a EndpointSlice] {
        self.slices.get(service).map_or(&[], Vec::as_slice)
    }

    fn members(&self, service: &(String, String)) -> Members {
        let slices = self.slices(service).iter();
        let addresses = slices.flat_map(|slice| slice.addresses());
        Members::of(addresses.map(net::host).collect())
    }

    fn sockets(&self, service: &(String, String)) -> Vec<Socket> {
        let mut sockets = Vec::new();
        for slice in self.slices(service) {
            for (protocol, port) in slice.ports.iter().filter_map(|p| Some((&p.protocol, p.port?))) {
                let protocol = match protocol.as_deref() {
                    Some("UDP") => Name::Udp,
                    Some("SCTP") => Name::Sctp,
                    _ => Name::Tcp,
                };
                let addresses = slice.addresses();
                sockets.extend(addresses.map(|address| (address, protocol.number(), port)));
            }
        }
        sockets.sort_unstable();
        sockets.dedup();
        sockets
    }
}
