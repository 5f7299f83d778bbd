//! IP pools.

use super::*;

pub(super) fn table() -> Vec<Case> {
    vec![
        (
            "WN1020",
            vec![(
                another_pool(json!({"cidr": "fd00::/48", "blockSize": 122})),
                "IPPool another",
                "spec.nodeSelector",
            )],
            vec![
                another_pool(json!({"cidr": "fd00::/48", "blockSize": 122, "nodeSelector": OF_LINUX})),
                another_pool(json!({"cidr": "fd00::/48", "blockSize": 122, "disabled": true})),
                of_type("FlannelVXLAN", another_pool(json!({"cidr": "fd00::/48"}))),
                another_pool(json!({})),
            ],
        ),
        (
            "WN1021",
            vec![(
                another_pool(json!({"vxlanMode": "CrossSubnet", "nodeSelector": OF_LINUX})),
                "IPPool another",
                "spec.vxlanMode",
            )],
            vec![
                another_pool(json!({"vxlanMode": "CrossSubnet"})),
                another_pool(json!({"nodeSelector": OF_LINUX})),
                another_pool(json!({"vxlanMode": "CrossSubnet", "nodeSelector": OF_LINUX, "disabled": true})),
            ],
        ),
        (
            "WN1022",
            vec![
                (
                    another_pool(
                        json!({"ipipMode": "CrossSubnet", "vxlanMode": "Never", "nodeSelector": OF_LINUX}),
                    ),
                    "IPPool another",
                    "spec.ipipMode",
                ),
                (
                    another_pool(json!({"vxlanMode": "Never", "nodeSelector": OF_LINUX})),
                    "IPPool another",
                    "spec.vxlanMode",
                ),
                (
                    of_type("CalicoBGP", another_pool(json!({"nodeSelector": OF_LINUX}))),
                    "IPPool another",
                    "spec.vxlanMode",
                ),
            ],
            vec![
                another_pool(json!({"nodeSelector": OF_LINUX})),
                another_pool(
                    json!({"vxlanMode": "Never", "nodeSelector": OF_LINUX, "allowedUses": ["LoadBalancer"]}),
                ),
                of_type(
                    "CalicoBGP",
                    another_pool(json!({"vxlanMode": "Never", "nodeSelector": OF_LINUX})),
                ),
                of_type(
                    "FlannelVXLAN",
                    another_pool(json!({"vxlanMode": "Never", "nodeSelector": OF_LINUX})),
                ),
            ],
        ),
        (
            "WN1023",
            vec![(
                windows_node_with(|n| n.max_pods = Some(110)),
                "IPPool default-ipv4-ippool",
                "spec.blockSize",
            )],
            vec![
                windows_node_with(|n| n.max_pods = Some(60)),
                quiet(),
                of_type("FlannelVXLAN", windows_node_with(|n| n.max_pods = Some(110))),
            ],
        ),
        (
            "WN1024",
            vec![(nat_change(50), "IPPool default-ipv4-ippool", "spec.natOutgoing")],
            vec![
                nat_change(150),
                block("win-0", |b| b.oldest = Some(at(50))),
                with(|c| {
                    *c = nat_change(50);
                    c.observed.nodes.clear();
                }),
            ],
        ),
        (
            "WN1025",
            vec![(
                another_pool(json!({"blockSize": 30})),
                "IPPool another",
                "spec.blockSize",
            )],
            vec![
                another_pool(json!({"blockSize": 29})),
                another_pool(json!({"blockSize": 30, "nodeSelector": OF_LINUX})),
            ],
        ),
        (
            "WN1026",
            vec![(
                another_pool(json!({"natOutgoing": false})),
                "IPPool another",
                "spec.natOutgoing",
            )],
            vec![
                another_pool(json!({})),
                another_pool(json!({"natOutgoing": false, "nodeSelector": OF_LINUX})),
            ],
        ),
    ]
}
