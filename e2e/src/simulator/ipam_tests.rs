use super::*;

fn cidr(text: &str) -> Cidr {
    Cidr::parse(text).unwrap()
}

fn pool(spec: Value) -> Pool {
    Pool::parse(&spec).unwrap()
}

#[test]
fn block_reserves_four_addresses_for_hns() {
    let block = block(
        CalicoApi::V1,
        cidr("10.244.194.128/26"),
        "win-0",
        "2026-11-21T10:41:56Z",
        7,
    );
    let spec = &block["spec"];
    assert_eq!(block["apiVersion"], "crd.projectcalico.org/v1");
    assert_eq!(block["metadata"]["name"], "10-244-194-128-26");
    assert_eq!(
        block["metadata"]["annotations"]["projectcalico.org/metadata"],
        r#"{"creationTimestamp":null}"#
    );
    assert_eq!(spec["affinity"], "host:win-0");
    let allocations = spec["allocations"].as_array().unwrap();
    let taken: Vec<usize> = (0..64).filter(|n| allocations[*n] == 0).collect();
    assert_eq!((allocations.len(), taken), (64, vec![0, 1, 2, 63]));
    assert_eq!(spec["unallocated"], json!((3..63).collect::<Vec<_>>()));
    assert_eq!(spec["attributes"][0]["handle_id"], "windows-reserved-ipam-handle");
    assert_eq!(
        spec["attributes"][0]["secondary"],
        json!({"note": "windows host rsvd"})
    );
}

#[test]
fn the_two_forms_differ_where_calico_does() {
    let at = cidr("10.244.3.64/26");
    let (v1, v3) = (
        affinity(CalicoApi::V1, at, "win-1", "confirmed"),
        affinity(CalicoApi::V3, at, "win-1", "confirmed"),
    );
    assert_eq!(
        (&v1["spec"]["deleted"], &v3["spec"]["deleted"]),
        (&json!("false"), &json!(false))
    );
    assert_eq!(v1["metadata"]["name"], "win-1-10-244-3-64-26");
    let mirror = v1["metadata"]["annotations"]["projectcalico.org/metadata"]
        .as_str()
        .unwrap();
    assert_eq!(
        mirror,
        r#"{"creationTimestamp":null,"labels":{"projectcalico.org/affinity-type":"host","projectcalico.org/hostname-hash":"DHICJF5B6V3H2GEGGEWOYMDPKFLAVJUWIJV4PMROHESG5YER5JYA","projectcalico.org/ip-version":"4"}}"#
    );
    assert_eq!(v3["metadata"]["annotations"], Value::Null);
    assert_eq!(default_config(CalicoApi::V1)["kind"], "IPAMConfig");
    assert_eq!(default_config(CalicoApi::V3)["kind"], "IPAMConfiguration");
}

#[test]
fn first_free_block_is_found_between_others() {
    let pool = pool(json!({"cidr": "10.244.0.0/24"}));
    let mut blocks = Blocks::new();
    for expected in [
        "10.244.0.0/26",
        "10.244.0.64/26",
        "10.244.0.128/26",
        "10.244.0.192/26",
    ] {
        assert_eq!(first_free(&[&pool], &blocks), Some(cidr(expected)));
        blocks.insert(cidr(expected), None);
    }
    assert_eq!(first_free(&[&pool], &blocks), None);
    // Blocks left over from another block size count as taken.
    let odd = Blocks::from([(cidr("10.244.0.0/25"), None), (cidr("10.244.0.160/28"), None)]);
    assert_eq!(first_free(&[&pool], &odd), Some(cidr("10.244.0.192/26")));
}

#[test]
fn pools_that_qualify() {
    for (spec, qualifies) in [
        (json!({"cidr": "10.244.0.0/16"}), true),
        (json!({"cidr": "10.244.0.0/16", "blockSize": 29}), true),
        (json!({"cidr": "10.244.0.0/16", "blockSize": 30}), false),
        (json!({"cidr": "10.244.0.0/16", "disabled": true}), false),
        (
            json!({"cidr": "10.244.0.0/16", "assignmentMode": "Manual"}),
            false,
        ),
        (
            json!({"cidr": "10.244.0.0/16", "allowedUses": ["LoadBalancer"]}),
            false,
        ),
        (
            json!({"cidr": "10.244.0.0/16", "allowedUses": ["Workload", "Tunnel"]}),
            true,
        ),
    ] {
        assert_eq!(pool(spec.clone()).qualifies(), qualifies, "{spec}");
    }
    assert_eq!(Pool::parse(&json!({"cidr": "fd00::/48"})), None);
}
