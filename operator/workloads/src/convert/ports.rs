//! Groups the ports of a rule by protocol: a rule of Calico's API has one protocol.

use std::collections::BTreeMap;

use crate::input::Port;

/// Ports by protocol. Without a protocol, every packet matches; without ports, every port.
#[derive(Default)]
pub struct ByProtocol(BTreeMap<String, Option<Vec<Port>>>);

impl ByProtocol {
    /// Matches every packet.
    pub fn any() -> Self {
        Self([(String::new(), None)].into())
    }

    /// Adds a port of a protocol; `None` adds all ports.
    pub fn add(&mut self, protocol: &str, port: Option<Port>) {
        let ports = self
            .0
            .entry(protocol.to_owned())
            .or_insert_with(|| Some(Vec::new()));
        match port {
            None => *ports = None,
            Some(port) => {
                if let Some(ports) = ports {
                    ports.push(port);
                }
            }
        }
    }

    /// Ports by name of the protocol (`None`: any), with adjacent ranges merged.
    pub fn simplified(self) -> impl Iterator<Item = (Option<String>, Vec<Port>)> {
        self.0.into_iter().map(|(protocol, ports)| {
            let protocol = Some(protocol).filter(|p| !p.is_empty());
            (protocol, simplified(ports.unwrap_or_default()))
        })
    }
}

/// The smallest number of ranges with the same ports; names come first. Unchanged if there is nothing to
/// merge.
fn simplified(ports: Vec<Port>) -> Vec<Port> {
    let mut ranges: Vec<(u16, u16)> = ports
        .iter()
        .filter_map(|port| match port {
            Port::Range(low, high) => Some((*low, *high)),
            Port::Named(_) => None,
        })
        .collect();
    let numbers: u32 = ranges.iter().map(|(low, high)| u32::from(high - low) + 1).sum();
    if ports.len() <= 1 || numbers <= 1 {
        return ports;
    }
    ranges.sort_unstable();
    let mut joined: Vec<(u16, u16)> = Vec::new();
    for (low, high) in ranges {
        match joined.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => joined.push((low, high)),
        }
    }
    let names = ports.into_iter().filter(|port| matches!(port, Port::Named(_)));
    let ranges = joined.into_iter().map(|(low, high)| Port::Range(low, high));
    names.chain(ranges).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_touch_are_joined() {
        let port = |text: &str| Port::parse(text).unwrap();
        let ports = ["82", "http", "80", "81", "9090"].map(port).to_vec();
        let expected = ["http", "80:82", "9090"].map(port).to_vec();
        assert_eq!(simplified(ports), expected);
        let unjoined = ["http", "80"].map(port).to_vec();
        assert_eq!(
            simplified(["80", "http"].map(port).to_vec()),
            ["80", "http"].map(port).to_vec()
        );
        assert_eq!(simplified(unjoined.clone()), unjoined);
    }

    #[test]
    fn all_ports_of_a_protocol_win() {
        let mut ports = ByProtocol::default();
        ports.add("TCP", Some(Port::Range(80, 80)));
        ports.add("TCP", None);
        ports.add("TCP", Some(Port::Range(81, 81)));
        let all: Vec<_> = ports.simplified().collect();
        assert_eq!(all, [(Some("TCP".to_owned()), Vec::new())]);
    }
}
