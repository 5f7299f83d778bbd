//! The agents, kube-proxy and other DaemonSets.

use super::*;

pub(super) fn table() -> Vec<Case> {
    vec![
        (
            "WN1070",
            vec![(
                calico("v3.30.4"),
                "ClusterInformation default",
                "spec.calicoVersion",
            )],
            vec![calico("v3.31.0"), calico("?")],
        ),
        (
            "WN1072",
            vec![(
                of_type("FlannelVXLAN", quiet()),
                "WindowsNodeConfig default",
                "spec.network.type",
            )],
            vec![of_type("CloudProvider", quiet()), quiet()],
        ),
        (
            "WN1073",
            vec![(
                single_network(false),
                "WindowsNodeConfig default",
                "spec.nodeAgent.useSingleNetwork",
            )],
            vec![single_network(true), quiet()],
        ),
        (
            "WN1090",
            vec![
                (
                    foreign_proxy("v1.36.3", &["--proxy-mode=kernelspace"]),
                    "DaemonSet kube-system/theirs",
                    "spec.template.spec.containers.args",
                ),
                (
                    rke2(
                        "[\"agent\",\"--kube-proxy-arg\",\"enable-dsr=false\"]",
                        "10.0.20348.3207",
                    ),
                    "Windows nodes",
                    "metadata.annotations[rke2.io/node-args]",
                ),
                (
                    rke2("[\"agent\"]", "10.0.17763.1000"),
                    "Windows nodes",
                    "metadata.annotations[rke2.io/node-args]",
                ),
            ],
            vec![
                foreign_proxy("v1.36.3", &["--proxy-mode=kernelspace", "--enable-dsr=true"]),
                foreign_proxy("v1.36.3", &["C:/kube-proxy/start.ps1"]),
                foreign_proxy("v1.36.3", &["--enable-dsr=false"])
                    .with_spec("kubeProxy: {management: Managed}"),
                rke2("[\"agent\"]", "10.0.20348.3207"),
            ],
        ),
        (
            "WN1091",
            vec![
                (
                    foreign_proxy("v1.37.0", &["--enable-dsr=true"]),
                    "DaemonSet kube-system/theirs",
                    "spec.template.spec.containers.image",
                ),
                (
                    foreign_proxy("v1.32.9", &["--enable-dsr=true"]),
                    "DaemonSet kube-system/theirs",
                    "spec.template.spec.containers.image",
                ),
            ],
            vec![
                foreign_proxy("v1.33.0", &["--enable-dsr=true"]),
                foreign_proxy("latest", &["--enable-dsr=true"]),
            ],
        ),
        (
            "WN1080",
            vec![
                (
                    spread(false, false),
                    "DaemonSets",
                    "spec.template.spec.nodeSelector",
                ),
                (
                    spread(true, true),
                    "DaemonSets",
                    "spec.template.spec.nodeSelector",
                ),
            ],
            vec![spread(false, true), quiet(), {
                let mut c = spread(true, false);
                c.observed.nodes.clear();
                c
            }],
        ),
        (
            "WN1071",
            vec![
                (
                    agent("v3.31.9"),
                    "DaemonSet calico-system/calico-node-windows",
                    "spec.template.spec.containers",
                ),
                (
                    quiet().with_spec("nodeAgent: {image: {tag: v3.30.1}}"),
                    "WindowsNodeConfig default",
                    "spec.nodeAgent.image.tag",
                ),
            ],
            vec![
                agent("v3.32.9"),
                agent("?"),
                quiet().with_spec("nodeAgent: {image: {tag: v3.32.0}}"),
                quiet().with_spec("nodeAgent: {image: {tag: mine}}"),
            ],
        ),
    ]
}
