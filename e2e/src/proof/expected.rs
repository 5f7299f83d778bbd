//! What HNS must hold for the fixture's Services, whatever the minor.

use anyhow::{Result, ensure};

use super::fixture::{Dsr, Fixture, Network, TUNNEL};
use super::programmed::{Balancer, Programmed};
use super::services::CROWD;

/// When a load balancer has the DSR flag.
#[derive(Clone, Copy)]
enum WithDsr {
    /// As `--enable-dsr` says.
    Flag,
    /// Of `externalTrafficPolicy: Local`, where the platform can, flag or not.
    Always,
    Never,
}

struct Expected {
    name: &'static str,
    dsr: WithDsr,
    local: usize,
    remote: usize,
}

const fn expect(name: &'static str, dsr: WithDsr, local: usize, remote: usize) -> Expected {
    Expected {
        name,
        dsr,
        local,
        remote,
    }
}

const EXPECTED: &[Expected] = &[
    expect("cluster-ip clusterIP", WithDsr::Flag, 1, 1),
    expect("node-port clusterIP", WithDsr::Flag, 1, 1),
    expect("node-port nodePort", WithDsr::Never, 1, 1),
    expect("load-balancer clusterIP", WithDsr::Flag, 1, 1),
    expect("load-balancer nodePort", WithDsr::Never, 1, 1),
    expect("load-balancer ingress", WithDsr::Never, 1, 1),
    expect("external-local clusterIP", WithDsr::Flag, 1, 1),
    expect("external-local nodePort", WithDsr::Always, 1, 0),
    expect("external-local ingress", WithDsr::Always, 1, 0),
    expect("internal-local clusterIP", WithDsr::Flag, 1, 0),
    expect("session-affinity clusterIP", WithDsr::Flag, 1, 1),
    expect("named-port clusterIP", WithDsr::Flag, 1, 1),
    expect("crowd clusterIP", WithDsr::Flag, 0, CROWD),
    expect("abroad clusterIP", WithDsr::Flag, 0, 1),
    expect("kubernetes clusterIP", WithDsr::Flag, 0, 1),
];

pub fn count() -> usize {
    EXPECTED.len()
}

pub fn check(programmed: &Programmed, fixture: &Fixture, dsr: Dsr) -> Result<()> {
    ensure!(programmed.all.len() == count(), "in HNS are\n{programmed}");
    for expected in EXPECTED {
        let found = programmed.get(expected.name);
        let right = found.is_some_and(|found| is_right(found, expected, fixture, dsr));
        ensure!(
            right,
            "{}: {:?}; in HNS are\n{programmed}",
            expected.name,
            found.map(ToString::to_string)
        );
    }
    Ok(())
}

fn is_right(found: &Balancer, expected: &Expected, fixture: &Fixture, dsr: Dsr) -> bool {
    let one = &found.load_balancer;
    let with_dsr = match expected.dsr {
        WithDsr::Flag => dsr == Dsr::Auto,
        WithDsr::Always => true,
        WithDsr::Never => false,
    };
    one.is_dsr() == with_dsr
        && (found.local.len(), found.remote.len()) == (expected.local, expected.remote)
        && one.source_vip == source_vip(expected, fixture)
        && one.has_session_affinity() == expected.name.starts_with("session-affinity")
        && one.is_external() != expected.name.ends_with("clusterIP")
}

/// On an overlay the endpoint's address; where pods are outside of the cluster the node's.
fn source_vip(expected: &Expected, fixture: &Fixture) -> String {
    let outside = ["abroad", "kubernetes"]
        .iter()
        .any(|name| expected.name.starts_with(name));
    match (fixture.network, outside) {
        (Network::Bgp, _) => String::new(),
        (Network::Vxlan, false) => TUNNEL.to_owned(),
        (Network::Vxlan, true) => fixture.node_ip.to_string(),
    }
}
