//! IPAM, blocks and reservations.

use super::*;

pub(super) fn table() -> Vec<Case> {
    vec![
        (
            "WN1030",
            vec![(
                quiet().with_spec("calico: {strictAffinity: Report}"),
                "IPAMConfiguration default",
                "spec.strictAffinity",
            )],
            vec![
                quiet(),
                with(|c| c.update(IPAM, DEFAULT, CALICO, json!({"strictAffinity": true})))
                    .with_spec("calico: {strictAffinity: Report}"),
            ],
        ),
        (
            "WN1031",
            vec![(
                with(|c| {
                    c.update(IPAM, DEFAULT, CALICO, json!({"maxBlocksPerHost": 3}));
                    c.pass();
                }),
                "IPAMConfiguration default",
                "spec.maxBlocksPerHost",
            )],
            vec![
                with(|c| {
                    c.update(IPAM, DEFAULT, CALICO, json!({"maxBlocksPerHost": 0}));
                    c.pass();
                }),
                with(|c| {
                    c.update(
                        IPAM,
                        DEFAULT,
                        CALICO,
                        json!({"maxBlocksPerHost": 3, "strictAffinity": true}),
                    );
                    c.pass();
                }),
            ],
        ),
        (
            "WN1032",
            vec![(
                block("win-0", |b| b.foreign = true),
                "IPAMBlocks",
                "spec.attributes",
            )],
            vec![block("linux-0", |b| b.foreign = true), block("win-0", |_| {})],
        ),
        (
            "WN1035",
            // Two nodes have no block, and one may join.
            vec![(blocks_for(2), "IPPools", "spec.cidr")],
            vec![
                quiet(),
                blocks_for(4),
                blocks_for(2).with_spec("network: {type: CalicoBGP, ipam: HostLocal}"),
            ],
        ),
        (
            "WN1033",
            vec![(
                reserved("win-0", &["10.244.7.0/26"]),
                "IPReservation held",
                "spec.reservedCIDRs",
            )],
            vec![
                reserved("win-0", &["10.244.7.0/27"]),
                reserved("linux-0", &["10.244.7.0/26"]),
                reserved("win-0", &["10.245.0.0/16"]),
            ],
        ),
        (
            "WN1034",
            vec![
                (
                    reserved("win-0", &["10.244.7.32/27"]),
                    "IPReservation held",
                    "spec.reservedCIDRs",
                ),
                (
                    reserved("linux-0", &["10.244.9.0/32"]),
                    "IPReservation held",
                    "spec.reservedCIDRs",
                ),
            ],
            vec![
                reserved("win-0", &["10.244.7.0/31", "10.244.7.63/32"]),
                reserved("win-0", &["10.244.7.0/26"]),
                reserved("win-0", &["10.244.9.0/32"]),
                reserved("linux-0", &["10.9.0.0/32"]),
                of_type("FlannelVXLAN", reserved("win-0", &["10.244.7.32/27"])),
            ],
        ),
    ]
}
