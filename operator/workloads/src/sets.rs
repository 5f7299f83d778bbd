//! Sets of addresses that rules refer to by selector, service or named port.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::OnceLock;

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

/// The sets of all rules of active policies. The members of a selector are computed when they are first asked for.
#[derive(Debug, Default)]
pub struct Sets {
    items: Vec<Item>,
    by_selector: HashMap<Box<str>, Selected>,
    by_service: HashMap<(String, String), Members>,
    sockets: HashMap<(String, String), Vec<Socket>>,
    named_ports: HashMap<(String, String), Vec<Socket>>,
    leaves_out_covered: bool,
}

/// What a selector selects.
#[derive(Debug)]
struct Selected {
    /// Positions of the items.
    items: Box<[usize]>,
    members: OnceLock<Members>,
}

/// The selector of every endpoint.
const EVERY_ENDPOINT: &str = "all()";

impl Sets {
    /// Every set of the items that the rules of `policies` refer to. `items` are those of the index.
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

    /// The sets with the items of their index.
    pub fn with_items(self, items: Vec<Item>) -> Self {
        Self { items, ..self }
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
        if !self.by_selector.contains_key(selector.text()) {
            let selected = Selected {
                items: index.positions(selector).collect(),
                members: OnceLock::new(),
            };
            self.by_selector.insert(selector.text().into(), selected);
        }
    }

    /// Members of a selector in a rule of an active policy.
    pub fn selected(&self, selector: &Selector) -> &Members {
        let selected = self.by_selector.get(selector.text());
        selected.map_or(&NOTHING, |selected| {
            selected.members.get_or_init(|| self.members(&selected.items))
        })
    }

    fn members(&self, positions: &[usize]) -> Members {
        let items = positions.iter().filter_map(|position| self.items.get(*position));
        let nets: Vec<_> = items.flat_map(|item| &item.nets).map(Ipv4Net::trunc).collect();
        Members::of(if self.leaves_out_covered {
            net::without_covered(&nets)
        } else {
            nets
        })
    }

    /// Positions of the items that a selector in a rule of an active policy selects.
    pub fn positions(&self, selector: &Selector) -> &[usize] {
        let selected = self.by_selector.get(selector.text());
        selected.map_or(&[], |selected| &selected.items)
    }

    /// Every item.
    pub fn items(&self) -> &[Item] {
        &self.items
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
    let selector = side.selector.as_ref().map(Selector::text);
    (selector.unwrap_or(EVERY_ENDPOINT).to_owned(), name.to_owned())
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
    let named = item.ports.iter().filter(move |(n, _, _)| n == name);
    named.flat_map(|(_, protocol, port)| item.nets.iter().map(|net| (net.addr(), *protocol, *port)))
}

/// Endpoints of services, by namespace and name of the service.
struct Services<'a> {
    slices: HashMap<(&'a str, &'a str), Vec<&'a EndpointSlice>>,
}

impl<'a> Services<'a> {
    fn new(objects: &'a Objects) -> Self {
        let mut slices: HashMap<_, Vec<_>> = HashMap::new();
        for ((namespace, _), slice) in &objects.endpoint_slices {
            let service = slice.service.as_deref().unwrap_or_default();
            slices.entry((&**namespace, service)).or_default().push(&**slice);
        }
        Self { slices }
    }

    fn slices<'s>(&'s self, (namespace, name): &'s (String, String)) -> &'s [&'a EndpointSlice] {
        let slices = self.slices.get(&(namespace.as_str(), name.as_str()));
        slices.map_or(&[], Vec::as_slice)
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
