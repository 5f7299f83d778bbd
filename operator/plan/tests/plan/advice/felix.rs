//! FelixConfiguration, and what overrides it.

use super::*;

pub(super) fn table() -> Vec<Case> {
    vec![
        (
            "WN1001",
            vec![
                (
                    felix(json!({"wireguardEnabled": true})),
                    DEFAULT_FELIX,
                    "spec.wireguardEnabled",
                ),
                (
                    felix(json!({"wireguardEnabledV6": true})),
                    DEFAULT_FELIX,
                    "spec.wireguardEnabledV6",
                ),
            ],
            vec![felix(json!({"wireguardEnabled": false}))],
        ),
        (
            "WN1002",
            vec![
                (
                    felix(json!({"bpfEnabled": true})),
                    DEFAULT_FELIX,
                    "spec.bpfEnabled",
                ),
                (
                    installation(json!({"linuxDataplane": "BPF"})),
                    "Installation default",
                    "spec.calicoNetwork.linuxDataplane",
                ),
            ],
            vec![
                felix(json!({"bpfEnabled": false})),
                installation(json!({"linuxDataplane": "Iptables"})),
            ],
        ),
        (
            "WN1003",
            vec![(
                felix(json!({"bpfEnabled": true, "vxlanPort": 8472})),
                DEFAULT_FELIX,
                "spec.vxlanPort",
            )],
            vec![
                felix(json!({"bpfEnabled": true, "vxlanPort": 4789})),
                felix(json!({"bpfEnabled": true})),
                felix(json!({"vxlanPort": 8472})),
                of_type("CalicoBGP", felix(json!({"bpfEnabled": true, "vxlanPort": 8472}))),
            ],
        ),
        (
            "WN1004",
            vec![(
                felix(json!({"ipv6Support": true})),
                DEFAULT_FELIX,
                "spec.ipv6Support",
            )],
            vec![felix(json!({"ipv6Support": false}))],
        ),
        (
            "WN1005",
            vec![
                (felix(json!({"vxlanMTU": 1400})), DEFAULT_FELIX, "spec.vxlanMTU"),
                (
                    felix(json!({"vxlanMTUV6": 1400})),
                    DEFAULT_FELIX,
                    "spec.vxlanMTUV6",
                ),
                (
                    installation(json!({"mtu": 1400})),
                    "Installation default",
                    "spec.calicoNetwork.mtu",
                ),
            ],
            vec![
                felix(json!({"vxlanMTU": 0})),
                installation(json!({})),
                of_type("CalicoBGP", felix(json!({"vxlanMTU": 1400}))),
            ],
        ),
        (
            "WN1006",
            vec![
                (
                    felix(json!({"prometheusMetricsEnabled": true})),
                    DEFAULT_FELIX,
                    "spec.windowsManageFirewallRules",
                ),
                (
                    felix(
                        json!({"prometheusMetricsEnabled": true, "windowsManageFirewallRules": "Disabled"}),
                    ),
                    DEFAULT_FELIX,
                    "spec.windowsManageFirewallRules",
                ),
            ],
            vec![
                felix(json!({"prometheusMetricsEnabled": true, "windowsManageFirewallRules": "Enabled"})),
                felix(json!({"windowsManageFirewallRules": "Disabled"})),
            ],
        ),
        (
            "WN1007",
            vec![(
                felix(json!({"policySyncPathPrefix": "/var/run/nodeagent"})),
                DEFAULT_FELIX,
                "spec.policySyncPathPrefix",
            )],
            vec![felix(json!({"policySyncPathPrefix": ""}))],
        ),
        (
            "WN1010",
            vec![
                (
                    felix(json!({"healthEnabled": false})),
                    DEFAULT_FELIX,
                    "spec.healthEnabled",
                ),
                (
                    felix(json!({"defaultEndpointToHostAction": "Return"})),
                    DEFAULT_FELIX,
                    "spec.defaultEndpointToHostAction",
                ),
            ],
            vec![felix(
                json!({"healthEnabled": true, "defaultEndpointToHostAction": "accept"}),
            )],
        ),
        (
            "WN1011",
            vec![
                (
                    with(|c| c.update(FELIX, "node.win-0", CALICO, json!({"ipv6Support": true}))),
                    "FelixConfiguration node.win-0",
                    "spec.ipv6Support",
                ),
                (
                    with(|c| c.update(FELIX, "node.win-0", CALICO, json!({"healthEnabled": false}))),
                    "FelixConfiguration node.win-0",
                    "spec.healthEnabled",
                ),
            ],
            vec![with(|c| {
                c.update(FELIX, "node.linux-0", CALICO, json!({"healthEnabled": false}));
                c.update(FELIX, "node.win-0", CALICO, json!({"healthEnabled": true}));
            })],
        ),
        (
            "WN1012",
            vec![(
                felix(json!({"healthPort": 9199})),
                DEFAULT_FELIX,
                "spec.healthPort",
            )],
            vec![
                felix(json!({"healthPort": 9099})),
                Cluster::with_spec(
                    felix(json!({"healthPort": 9199})),
                    "nodeAgent: {management: External}",
                ),
            ],
        ),
        (
            "WN1013",
            vec![
                (
                    felix(json!({"healthPort": 10256})),
                    DEFAULT_FELIX,
                    "spec.healthPort",
                ),
                (
                    felix(json!({"prometheusMetricsEnabled": true, "prometheusMetricsPort": 10249})),
                    DEFAULT_FELIX,
                    "spec.prometheusMetricsPort",
                ),
                (
                    felix(json!({"prometheusMetricsEnabled": true, "prometheusMetricsPort": 9099})),
                    DEFAULT_FELIX,
                    "spec.prometheusMetricsPort",
                ),
            ],
            vec![
                felix(json!({"prometheusMetricsPort": 10249})),
                felix(json!({"prometheusMetricsEnabled": true})),
            ],
        ),
    ]
}
