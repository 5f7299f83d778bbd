//! `spec.network`, `spec.calico.vxlan` and what only one network type has.

use ipnet::Ipv4Net;
use wn_api::names::{MAX_VXLAN_VNI, MIN_VXLAN_VNI};
use wn_api::spec::{ApiServer, ClusterDns, Ipam, Management, NodeAgent, Vxlan, WindowsNodeConfigSpec};

use super::Violation;
use crate::inputs::{cluster_ip, is_cidr_v4, is_domain, is_ip};
use crate::network;
use crate::network::role::Backend;
use crate::observed::Observed;

pub fn violations(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Violation> {
    let settings = &spec.network;
    let mut found = Vec::new();
    found.extend(settings.api_server.iter().flat_map(|a| api_server(a, observed)));
    found.extend(service_cidrs(&settings.service_cidrs));
    found.extend(settings.cluster_dns.iter().flat_map(cluster_dns));
    found.extend(spec.calico.vxlan.iter().filter_map(vxlan));
    let profile = network::of(settings.type_);
    let backend = profile.calico.backend();
    if backend != Some(Backend::Vxlan) {
        found.extend(no_vxlan(spec.calico.vxlan.is_some(), &spec.node_agent));
    }
    if backend.is_none() {
        found.extend(no_cni_plugin(&spec.node_agent));
    }
    if settings.ipam == Ipam::HostLocal && !profile.takes_host_local_ipam {
        found.push(Violation::new(
            "spec.network.ipam",
            format!(
                "HostLocal is for network type CalicoBGP, not {}: remove it",
                settings.type_.as_str()
            ),
        ));
    }
    found.extend(folders(&spec.node_agent));
    found.extend(kube_proxy(spec));
    found
}

/// There is no HNS network of a known name that kube-proxy could program.
fn kube_proxy(spec: &WindowsNodeConfigSpec) -> Option<Violation> {
    let wanted = spec.kube_proxy.management == Management::Managed;
    (wanted && network::of(spec.network.type_).is_of_platform()).then(|| {
        Violation::new(
            "spec.kubeProxy.management",
            format!(
                "Managed is not for network type {}, whose platform runs kube-proxy: remove it",
                spec.network.type_.as_str()
            ),
        )
    })
}

fn api_server(given: &ApiServer, observed: &Observed) -> Vec<Violation> {
    const HOST: &str = "spec.network.apiServer.host";
    let host = given.host.as_str();
    let mut found = Vec::new();
    if host.trim().is_empty() {
        found.push(Violation::new(
            HOST,
            "is empty: give the host name or IP address of the API server, or remove apiServer",
        ));
    } else if host.contains("://") {
        let bare = host.rsplit("://").next().unwrap_or_default();
        found.push(Violation::new(
            HOST,
            format!("{host:?} has a scheme: write only the host, e.g. {bare:?}"),
        ));
    } else if host.contains('/') || host.contains(char::is_whitespace) {
        found.push(Violation::new(
            HOST,
            format!("{host:?} is not a host name or an IP address"),
        ));
    } else if host.contains(':') && !is_ip(host) {
        found.push(Violation::new(
            HOST,
            format!("{host:?} has a port: write the port in spec.network.apiServer.port"),
        ));
    } else if !is_ip(host) && !is_host(host) {
        found.push(Violation::new(
            HOST,
            format!("{host:?} is not a host name or an IP address"),
        ));
    } else if cluster_ip(observed) == Some(host) || is_service_name(host) {
        found.push(Violation::new(
            HOST,
            format!(
                "{host} is Service default/kubernetes, a ClusterIP, which Windows nodes cannot reach before kube-proxy runs: give the \
                 API server's real address"
            ),
        ));
    }
    if !(1..=65535).contains(&given.port) {
        found.push(Violation::new(
            "spec.network.apiServer.port",
            format!("{} is not a TCP port: 1 to 65535", given.port),
        ));
    }
    found
}

/// A DNS name. One that ends in a number is a mistyped IP address: no top-level domain does.
fn is_host(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= 253 && is_domain(&text.to_ascii_lowercase()) && !last.bytes().all(|b| b.is_ascii_digit())
}

fn is_service_name(host: &str) -> bool {
    host == "kubernetes.default"
        || host == "kubernetes.default.svc"
        || host.starts_with("kubernetes.default.svc.")
}

fn service_cidrs(cidrs: &[String]) -> Vec<Violation> {
    let path = |i: usize| format!("spec.network.serviceCIDRs[{i}]");
    let mut found = Vec::new();
    let mut seen: Vec<(usize, Ipv4Net)> = Vec::new();
    for (i, text) in cidrs.iter().enumerate() {
        let Ok(net) = text.parse::<Ipv4Net>() else {
            found.push(Violation::new(
                path(i),
                format!("{text:?} is not an IPv4 CIDR such as 10.96.0.0/12"),
            ));
            continue;
        };
        if net.prefix_len() == 0 {
            found.push(Violation::new(
                path(i),
                format!("{text} is every address: write the range of Services"),
            ));
        } else if !is_cidr_v4(text) {
            found.push(Violation::new(
                path(i),
                format!("{text} has host bits set: write {}", net.trunc()),
            ));
        }
        let overlaps = |other: &Ipv4Net| net.contains(other) || other.contains(&net);
        if let Some((j, other)) = seen.iter().find(|(_, other)| overlaps(other)) {
            found.push(Violation::new(
                path(i),
                format!("{net} overlaps {other} of {}: keep one of them", path(*j)),
            ));
        }
        seen.push((i, net));
    }
    found
}

fn cluster_dns(dns: &ClusterDns) -> Vec<Violation> {
    let bad = dns.servers.iter().enumerate().filter(|(_, s)| !is_ip(s));
    let servers = bad.map(|(i, s)| {
        Violation::new(
            format!("spec.network.clusterDNS.servers[{i}]"),
            format!("{s:?} is not an IP address"),
        )
    });
    let bad = dns.search.iter().enumerate().filter(|(_, s)| !is_domain(s));
    let search = bad.map(|(i, s)| {
        Violation::new(
            format!("spec.network.clusterDNS.search[{i}]"),
            format!("{s:?} is not a DNS domain such as svc.cluster.local"),
        )
    });
    servers.chain(search).collect()
}

fn vxlan(vxlan: &Vxlan) -> Option<Violation> {
    let vni = vxlan
        .vni
        .filter(|v| !(MIN_VXLAN_VNI..=MAX_VXLAN_VNI).contains(v))?;
    Some(Violation::new(
        "spec.calico.vxlan.vni",
        format!(
            "{vni} is out of range: Windows HNS refuses a VNI below {MIN_VXLAN_VNI}, and Felix for Windows cuts one above \
             {MAX_VXLAN_VNI} to 16 bits; set {MIN_VXLAN_VNI} to {MAX_VXLAN_VNI}, or remove the field"
        ),
    ))
}

fn no_vxlan(settings: bool, agent: &NodeAgent) -> Vec<Violation> {
    let fields = [
        (settings, "spec.calico.vxlan"),
        (agent.vxlan_adapter.is_some(), "spec.nodeAgent.vxlanAdapter"),
        (agent.vxlan_mac_prefix.is_some(), "spec.nodeAgent.vxlanMACPrefix"),
    ];
    let set = fields.into_iter().filter(|(set, _)| *set);
    set.map(|(_, path)| {
        Violation::new(
            path,
            "is for network type CalicoVXLAN: remove it, or set spec.network.type to CalicoVXLAN",
        )
    })
    .collect()
}

/// Settings of Calico's CNI plugin, which only networks where Calico does.
fn no_cni_plugin(agent: &NodeAgent) -> Vec<Violation> {
    let fields = [
        (agent.use_single_network, "spec.nodeAgent.useSingleNetwork"),
        (
            agent.disable_host_subnet_nat_exclusion,
            "spec.nodeAgent.disableHostSubnetNATExclusion",
        ),
    ];
    let set = fields.into_iter().filter(|(value, _)| value.is_some());
    set.map(|(_, path)| {
        Violation::new(
            path,
            "is for network types CalicoVXLAN and CalicoBGP, with which Calico's CNI plugin makes pods' networks: remove it",
        )
    })
    .collect()
}

/// containerd takes absolute folders on drive C: with or without the drive letter.
fn folders(agent: &NodeAgent) -> Vec<Violation> {
    let fields = [
        ("cniBinDir", &agent.cni_bin_dir),
        ("cniConfDir", &agent.cni_conf_dir),
    ];
    let bad = |dir: &str| {
        let rest = dir
            .strip_prefix("c:")
            .or_else(|| dir.strip_prefix("C:"))
            .unwrap_or(dir);
        !rest.starts_with(['/', '\\']) || rest.contains("..") || rest.contains(['"', '*', '?', '<', '>', '|'])
    };
    let found = fields
        .into_iter()
        .filter_map(|(name, dir)| Some((name, dir.as_deref().filter(|d| bad(d))?)));
    found
        .map(|(name, dir)| {
            Violation::new(
                format!("spec.nodeAgent.{name}"),
                format!("{dir:?} is not an absolute folder on drive C, such as /opt/cni/bin"),
            )
        })
        .collect()
}
