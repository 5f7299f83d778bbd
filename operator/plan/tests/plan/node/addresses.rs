//! Blocks, pools, tunnels and BGP.

use super::*;

#[rstest]
#[case(239, State::Progressing)]
#[case(240, State::Failing)]
fn a_block_has_its_time(#[case] now: i64, #[case] expected: State) {
    let node = works().at(now).without_block();
    assert_eq!(node.found(), (expected, vec![R::NoIPAMBlock]));
}

/// What we know of Calico's configuration is the cause of a missing block, and so of a network that is not made; there
/// is nothing to wait for.
#[rstest]
#[case::strict_affinity(|w: World| w.ipam(|i| i.lax = true), R::StrictAffinityFalse)]
#[case::no_pool(|w: World| w.ipam(|i| i.pools.clear()), R::NoQualifiedPool)]
#[case::small_blocks(|w: World| w.ipam(|i| i.pools = vec![offer("all()", false)]), R::NoQualifiedPool)]
#[case::not_selected(|w: World| w.ipam(|i| i.pools = vec![offer("has(linux)", true)]), R::NoPoolForNode)]
#[case::vni(|w: World| w.cluster(|s| s.felix_vni = Some(4095)), R::VNITooLow)]
fn a_known_cause_stands_before_what_follows_from_it(#[case] spoil: fn(World) -> World, #[case] cause: R) {
    let node = spoil(works())
        .at(10)
        .without_block()
        .pod(Component::KubeProxy, |p| {
            crash(p, "could not find HNS network Calico")
        });
    assert_eq!(
        node.found(),
        (
            State::Failing,
            vec![cause, R::KubeProxyNoHNSNetwork, R::NoIPAMBlock]
        )
    );
}

/// The Event of a pod says once more what the configuration says.
#[test]
fn a_cause_is_reported_once() {
    let node = works().ipam(|i| i.lax = true).fails(
        "global strict affinity should not be false for Windows node",
        3599,
    );
    assert_eq!(node.found().1, [R::StrictAffinityFalse]);
    let message = node.verdict().findings[0].message.clone();
    assert!(message.contains("IPAMConfiguration default"), "{message}");
}

/// The plugin asks IPAM and the pools for each pod, whatever block the node has; only a pool's blockSize is of no
/// concern once there is a block.
#[rstest]
#[case(|w: World| w.ipam(|i| i.lax = true), &[R::StrictAffinityFalse])]
#[case(|w: World| w.ipam(|i| i.pools = vec![offer("has(linux)", true)]), &[R::NoPoolForNode])]
#[case(|w: World| w.ipam(|i| i.pools = vec![offer("all()", false)]), &[])]
#[case(|w: World| w.ipam(|i| i.pools.push(offer("all()", false))), &[])]
#[case(|w: World| w.ipam(|i| i.pools = vec![offer("what is this", true)]), &[])]
#[case(|w: World| w.cluster(|s| s.felix_vni = None), &[])]
#[case(|w: World| w.cluster(|s| (s.felix_vni, s.network) = (Some(1), NetworkType::CalicoBgp)), &[])]
#[case(|w: World| w.cluster(|s| s.calico_ipam = None).without_block(), &[R::NoIPAMBlock])]
fn configuration_of_a_node_with_a_block(#[case] spoil: fn(World) -> World, #[case] expected: &[R]) {
    assert_eq!(spoil(works()).found().1, expected);
}

#[rstest]
#[case(|b: &mut BlockFacts| b.reserved = false, State::Failing, R::BlockReservationMissing)]
#[case(|b: &mut BlockFacts| b.exhausted = true, State::Failing, R::BlockExhausted)]
#[case(|b: &mut BlockFacts| b.foreign = true, State::Ready, R::ForeignAllocations)]
fn blocks(#[case] change: fn(&mut BlockFacts), #[case] state: State, #[case] reason: R) {
    assert_eq!(works().block(change).found(), (state, vec![reason]));
}

#[test]
fn a_second_block_is_lost_space() {
    let mut node = works();
    set_up(&mut node.observed, "other", 1);
    let mut block = node.observed.calico.blocks.remove(&key("other")).unwrap();
    let mut affinity = node.observed.calico.affinities.remove(&key("other")).unwrap();
    (block.host, affinity.node) = (NODE.into(), NODE.into());
    node.observed.calico.blocks.insert(key("other"), block);
    node.observed.calico.affinities.insert(key("other"), affinity);
    assert_eq!(node.found(), (State::Ready, vec![R::MultipleBlocks]));
}

#[rstest]
#[case(60, &[])]
#[case(61, &[R::BlockSmallerThanMaxPods])]
fn a_block_holds_its_size_less_four(#[case] pods: u32, #[case] advice: &[R]) {
    let found = works().node(|n| n.max_pods = Some(pods)).found();
    assert_eq!(found, (State::Ready, advice.to_vec()));
}

#[rstest]
#[case(|n: &mut NodeFacts| n.tunnel_address.clear(), R::TunnelAddressMissing)]
#[case(|n: &mut NodeFacts| n.tunnel_mac.clear(), R::TunnelAddressMissing)]
#[case(|n: &mut NodeFacts| n.tunnel_address = "10.100.0.2".into(), R::TunnelAddressStale)]
fn tunnels(#[case] change: fn(&mut NodeFacts), #[case] reason: R) {
    assert_eq!(works().node(change).found(), (State::Failing, vec![reason]));
    let bgp = works().cluster(|s| s.network = NetworkType::CalicoBgp);
    assert_eq!(bgp.node(change).found().0, State::Ready, "BGP has no tunnel");
}

#[rstest]
#[case(4096, &[])]
#[case(4097, &[R::VNIMismatch])]
fn one_vni_for_all(#[case] own: i64, #[case] expected: &[R]) {
    let node = works().cluster(|s| s.own_vnis = [(NODE.to_owned(), own)].into());
    assert_eq!(node.found().1, expected);
}

#[rstest]
#[case("192.168.0.1/24", "", &[])]
#[case("", "", &[R::BGPAddressMissing])]
#[case("192.168.0.1/24", "64512", &[])]
#[case("192.168.0.1/24", "1.10", &[])]
#[case("192.168.0.1/24", "4294967296", &[R::BGPASNumberInvalid])]
fn bgp(#[case] address: &str, #[case] number: &str, #[case] expected: &[R]) {
    let node = works()
        .cluster(|s| s.network = NetworkType::CalicoBgp)
        .node(|n| (n.bgp_address, n.as_number) = (address.into(), number.into()));
    assert_eq!(node.found().1, expected);
}

#[test]
fn a_network_keeps_its_vni_until_it_is_made_anew() {
    let changed = || {
        let world = remembered(works()).cluster(|s| (s.vni, s.felix_vni) = (5000, Some(5000)));
        // The agent is rolled out with the new VNI, and starts beside the old network.
        remembered(
            world
                .node(|n| n.network_up = Some(at(100)))
                .pod(Component::NodeAgent, |p| {
                    (p.startup, p.vni) = (Some(at(99)), Some(5000));
                }),
        )
    };
    assert_eq!(changed().found(), (State::Failing, vec![R::NodeRebuildRequired]));
    let message = changed().verdict().findings[0].message.clone();
    assert!(message.contains("4096") && message.contains("5000"), "{message}");
    // After a restart the operator reads it from the Node; nothing else shows it.
    let forgotten = changed().node(|n| n.network_made = None);
    assert_eq!(forgotten.found(), (State::Ready, vec![]));
    // With the original value the network fits again.
    let back = changed().cluster(|s| s.felix_vni = None);
    assert_eq!(back.found(), (State::Ready, vec![]));

    // Proof of a new network: another boot, another block or another MAC, each with a startup since.
    let booted = || changed().node(|n| n.boot_id = "2".into());
    for made_anew in [
        booted(),
        changed().node(|n| n.tunnel_mac = "00:15:5d:00:00:02".into()),
    ] {
        let made_anew = remembered(made_anew);
        assert_eq!(made_anew.found(), (State::Ready, vec![]));
        assert_eq!(made_anew.verdict().network_made.unwrap().vni, 5000);
    }
    // A startup that is still to come has made nothing.
    let early = booted().pod(Component::NodeAgent, |p| p.startup = Some(at(3599)));
    assert_eq!(early.found(), (State::Progressing, vec![R::StartupNotFinished]));
    assert_eq!(early.verdict().network_made.unwrap().vni, 4096);
    // A boot whose pods are those of before neither.
    let pods_of_before = booted().node(|n| n.rebooted = Some(at(3500)));
    assert_eq!(pods_of_before.verdict().network_made.unwrap().vni, 4096);
    // An agent from before the change creates the network with the VNI it was started with.
    let old = remembered(booted().pod(Component::NodeAgent, |p| p.vni = Some(4096)));
    assert_eq!(old.found().1, [R::NodeRebuildRequired]);
}

#[test]
fn only_calicos_overlay_has_a_network_to_remember() {
    assert!(works().verdict().network_made.is_some());
    for network in [NetworkType::CalicoBgp, NetworkType::FlannelVxlan] {
        let other = remembered(works()).cluster(|s| s.network = network);
        assert_eq!(other.verdict().network_made, None, "{network:?}");
    }
    let unknown = works().pod(Component::NodeAgent, |p| p.vni = None);
    assert_eq!(unknown.verdict().network_made, None);
    assert_eq!(works().node(|n| n.boot_id.clear()).verdict().network_made, None);
}
