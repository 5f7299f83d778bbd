use super::super::ipam::Cidr;
use super::*;

fn pod(value: serde_json::Value) -> Pod {
    serde_json::from_value(value).unwrap()
}

#[test]
fn host_process_is_said_by_pod_or_container() {
    let yes = json!({"windowsOptions": {"hostProcess": true}});
    let no = json!({"windowsOptions": {"hostProcess": false}});
    for (of_pod, of_container, host_network, expected) in [
        (&yes, &json!({}), true, true),
        (&json!({}), &yes, true, true),
        (&yes, &no, true, false),
        (&json!({}), &json!({}), true, false),
        (&yes, &json!({}), false, false),
    ] {
        let pod = pod(json!({"spec": {
            "hostNetwork": host_network,
            "securityContext": of_pod,
            "containers": [{"name": "c", "securityContext": of_container}],
        }}));
        assert_eq!(
            is_host_process(&pod),
            expected,
            "{of_pod} {of_container} {host_network}"
        );
    }
}

#[test]
fn pods_that_live() {
    for (status, deleted, expected) in [
        (json!({}), None, true),
        (json!({"phase": "Running"}), None, true),
        (json!({"phase": "Failed"}), None, false),
        (json!({"phase": "Running"}), Some("2026-01-01T00:00:00Z"), false),
    ] {
        let pod = pod(json!({"metadata": {"deletionTimestamp": deleted}, "status": status}));
        assert_eq!(lives(&pod), expected);
    }
}

#[test]
fn network_is_known_from_what_an_earlier_start_left() {
    let node = |annotations: serde_json::Value| -> Node {
        let metadata = json!({"name": "win-0", "annotations": annotations});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    };
    let mut cache = Cache::default();
    let bgp = node(json!({"projectcalico.org/IPv4Address": "172.20.0.5/24"}));
    let vxlan = node(json!({"projectcalico.org/IPv4VXLANTunnelAddr": "10.244.0.1"}));
    assert_eq!(network_of(&cache, &bgp), None);
    cache
        .calico_mut(CalicoApi::V1)
        .book(Cidr::parse("10.244.0.0/26").unwrap(), Some("win-0"));
    assert_eq!(network_of(&cache, &bgp), Some(Network::L2Bridge));
    assert_eq!(network_of(&cache, &vxlan), Some(Network::Overlay));
    assert_eq!(network_of(&cache, &node(json!({}))), None);
}
