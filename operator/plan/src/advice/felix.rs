//! Felix' settings that Windows nodes cannot follow.

use wn_api::names::VXLAN_PORT;
use wn_api::status::Severity;

use super::felix_env::METRICS_PORT;
use super::{Cluster, Hit, Rule};
use crate::network::role::Backend;
use crate::observed::ConfigObject;

const FELIX: &str = "FelixConfiguration default";
const INSTALLATION: &str = "Installation default";
const LIMITATIONS: &str = "tigera/docs windows-calico/limitations.mdx";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1001",
        severity: Severity::Warning,
        title: "No WireGuard on Windows nodes",
        limit: "Calico for Windows has no WireGuard, so traffic between Linux and Windows nodes stays unencrypted.",
        reads: "FelixConfiguration `default` spec.wireguardEnabled, spec.wireguardEnabledV6",
        fix: "encrypt confidential traffic between Linux and Windows nodes in the application",
        source: LIMITATIONS,
        check: wireguard,
    },
    Rule {
        code: "WN1002",
        severity: Severity::Warning,
        title: "eBPF is for Linux nodes only",
        limit: "Windows nodes keep kube-proxy and HNS policies. They lack what the eBPF dataplane adds: client source addresses, its own \
                DSR, Services without kube-proxy.",
        reads: "FelixConfiguration `default` spec.bpfEnabled; Installation `default` spec.calicoNetwork.linuxDataplane",
        fix: "keep kube-proxy on the Windows nodes, and expect the eBPF dataplane's features on Linux nodes only",
        source: LIMITATIONS,
        check: bpf,
    },
    Rule {
        code: "WN1003",
        severity: Severity::Error,
        title: "eBPF with another VXLAN port",
        limit: "Windows HNS encapsulates on UDP port 4789 only. Linux nodes with eBPF listen on the port of FelixConfiguration, so with \
                another port no traffic passes between the two.",
        reads: "FelixConfiguration `default` spec.bpfEnabled with spec.vxlanPort",
        fix: "set spec.vxlanPort to 4789, or set spec.calico.encapsulation.policy of the WindowsNodeConfig to Enforce",
        source: "Calico felix/dataplane/windows (vxlan manager); tigera/operator sets 8472 with BPF on MKE",
        check: bpf_port,
    },
    Rule {
        code: "WN1004",
        severity: Severity::Info,
        title: "No IPv6 on Windows nodes",
        limit: "The agent's environment turns IPv6 off on Windows nodes, whatever FelixConfiguration has.",
        reads: "FelixConfiguration `default` spec.ipv6Support",
        fix: "run pods that need IPv6 on Linux nodes",
        source: LIMITATIONS,
        check: ipv6,
    },
    Rule {
        code: "WN1005",
        severity: Severity::Warning,
        title: "Windows nodes ignore the MTU of VXLAN",
        limit: "Only Linux nodes use a VXLAN MTU that is set in Calico; Windows uses the MTU of its network adapter.",
        reads: "FelixConfiguration `default` spec.vxlanMTU, spec.vxlanMTUV6; Installation `default` spec.calicoNetwork.mtu",
        fix: "set the MTU of the Windows nodes' network adapters to fit, or let Calico detect the MTU (0)",
        source: LIMITATIONS,
        check: mtu,
    },
    Rule {
        code: "WN1006",
        severity: Severity::Warning,
        title: "The firewall of Windows may close the port of Felix' metrics",
        limit: "Felix serves metrics on Windows nodes, too, but the nodes' firewall blocks the port unless there is a rule for it.",
        reads: "FelixConfiguration `default` spec.prometheusMetricsEnabled with spec.windowsManageFirewallRules",
        fix: "set spec.windowsManageFirewallRules to Enabled, or create the firewall rule on each Windows node",
        source: "projectcalico/calico FelixConfiguration windowsManageFirewallRules (v3.27)",
        check: metrics,
    },
    Rule {
        code: "WN1007",
        severity: Severity::Warning,
        title: "Application layer policy is for Linux nodes only",
        limit: "Rules on HTTP methods and paths are enforced by Istio's Envoy through Calico's Dikastes, which Windows nodes do not \
                have: they do not protect pods there.",
        reads: "FelixConfiguration `default` spec.policySyncPathPrefix",
        fix: "protect pods on Windows nodes with rules on addresses and ports",
        source: LIMITATIONS,
        check: application_layer,
    },
];

/// `FelixConfiguration` `default`, when this field of it is true.
fn with<'a>(cluster: &Cluster<'a>, field: &str) -> Option<&'a ConfigObject> {
    cluster.felix().filter(|felix| felix.is_true(field))
}

fn wireguard(cluster: &Cluster) -> Vec<Hit> {
    let fields = [
        ("wireguardEnabled", "spec.wireguardEnabled"),
        ("wireguardEnabledV6", "spec.wireguardEnabledV6"),
    ];
    let on = fields
        .into_iter()
        .filter(|(name, _)| with(cluster, name).is_some());
    on.map(|(name, path)| {
        let message = format!("{name} is true, but traffic between Linux and Windows nodes is not encrypted");
        Hit::new(FELIX, path, message)
    })
    .collect()
}

fn bpf(cluster: &Cluster) -> Vec<Hit> {
    let felix = with(cluster, "bpfEnabled").map(|_| {
        let message = "bpfEnabled is true, which has no effect on Windows nodes";
        Hit::new(FELIX, "spec.bpfEnabled", message)
    });
    let asked = cluster.observed.installation.as_ref().filter(|i| i.linux_bpf);
    let installation = asked.map(|_| {
        let message = "linuxDataplane is BPF, which has no effect on Windows nodes";
        Hit::new(INSTALLATION, "spec.calicoNetwork.linuxDataplane", message)
    });
    // tigera/operator sets the one from the other.
    installation.or(felix).into_iter().collect()
}

fn bpf_port(cluster: &Cluster) -> Vec<Hit> {
    let felix = with(cluster, "bpfEnabled").filter(|_| cluster.backend == Some(Backend::Vxlan));
    let port = felix
        .and_then(|f| f.number("vxlanPort"))
        .filter(|p| *p != i64::from(VXLAN_PORT));
    port.map(|port| {
        let message =
            format!("vxlanPort is {port} with bpfEnabled, but Windows nodes use port {VXLAN_PORT} only");
        Hit::new(FELIX, "spec.vxlanPort", message)
    })
    .into_iter()
    .collect()
}

fn ipv6(cluster: &Cluster) -> Vec<Hit> {
    let message = "ipv6Support is true, but Windows nodes support IPv4 only";
    with(cluster, "ipv6Support")
        .map(|_| Hit::new(FELIX, "spec.ipv6Support", message))
        .into_iter()
        .collect()
}

fn mtu(cluster: &Cluster) -> Vec<Hit> {
    if cluster.backend != Some(Backend::Vxlan) {
        return Vec::new();
    }
    let fields = [("vxlanMTU", "spec.vxlanMTU"), ("vxlanMTUV6", "spec.vxlanMTUV6")];
    let felix = fields.into_iter().filter_map(|(name, path)| {
        let mtu = cluster.felix()?.number(name).filter(|mtu| *mtu != 0)?;
        let message = format!("{name} is {mtu}, which has no effect on Windows nodes");
        Some(Hit::new(FELIX, path, message))
    });
    let installation = cluster.observed.installation.as_ref().and_then(|i| i.mtu);
    let installation = installation.map(|mtu| {
        let message = format!("mtu is {mtu}, which has no effect on Windows nodes");
        Hit::new(INSTALLATION, "spec.calicoNetwork.mtu", message)
    });
    felix.chain(installation).collect()
}

fn metrics(cluster: &Cluster) -> Vec<Hit> {
    let closed = with(cluster, "prometheusMetricsEnabled")
        .filter(|felix| felix.text("windowsManageFirewallRules") != "Enabled");
    let hit = closed.map(|felix| {
        let port = felix.number("prometheusMetricsPort").unwrap_or(METRICS_PORT);
        let message = format!(
            "prometheusMetricsEnabled is true, but no rule opens port {port} in the firewall of Windows nodes"
        );
        Hit::new(FELIX, "spec.windowsManageFirewallRules", message)
    });
    hit.into_iter().collect()
}

fn application_layer(cluster: &Cluster) -> Vec<Hit> {
    let prefix = cluster
        .felix()
        .map(|f| f.text("policySyncPathPrefix"))
        .filter(|p| !p.is_empty());
    let hit = prefix.map(|prefix| {
        let message = format!(
            "policySyncPathPrefix is {prefix}: rules on HTTP may be in use, and they do not protect pods on Windows nodes"
        );
        Hit::new(FELIX, "spec.policySyncPathPrefix", message)
    });
    hit.into_iter().collect()
}
