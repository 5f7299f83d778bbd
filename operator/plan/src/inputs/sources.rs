//! Where each input is looked for, best source first (the order tigera/operator, kubeadm and the
//! clusters themselves make likely to be right and highly available).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wn_api::names::tigera;
use wn_api::spec::Network;

use super::endpoint::Endpoint;
use super::found::{Found, is_cidr_v4, is_domain, is_ip};
use crate::observed::{Observed, Source};

pub fn api_server(network: &Network, observed: &Observed) -> Option<Found<Endpoint>> {
    if let Some(given) = &network.api_server {
        return Some(Found::new(
            Endpoint {
                host: given.host.clone(),
                port: given.port,
            },
            "spec.network.apiServer",
        ));
    }
    services_endpoint(observed)
        .or_else(|| from_kubeconfig(observed, Source::KubeProxyConfig, "kubeconfig.conf"))
        .or_else(|| {
            let endpoint = kubeadm(observed)?.control_plane_endpoint?;
            Some(Found::new(
                Endpoint::parse(&endpoint, 6443)?,
                describe(Source::KubeadmConfig),
            ))
        })
        .or_else(|| from_kubeconfig(observed, Source::ClusterInfo, "kubeconfig"))
        .or_else(|| endpoint_slice(observed))
}

fn services_endpoint(observed: &Observed) -> Option<Found<Endpoint>> {
    let data = observed.sources.get(&Source::ServicesEndpoint)?;
    let host = data.get(tigera::ENDPOINT_HOST).filter(|h| !h.is_empty())?;
    let port = data.get(tigera::ENDPOINT_PORT)?;
    Some(Found::new(
        Endpoint::parse(&format!("{host}:{port}"), 443)?,
        describe(Source::ServicesEndpoint),
    ))
}

#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<NamedCluster>,
}

/// By way of JSON: code that reads YAML into each type would be a tenth of the program.
fn yaml<T: DeserializeOwned>(text: &str) -> Option<T> {
    let value: Value = serde_saphyr::from_str(text).ok()?;
    serde_json::from_value(value).ok()
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: Cluster,
}

#[derive(Deserialize)]
struct Cluster {
    server: String,
}

fn from_kubeconfig(observed: &Observed, source: Source, key: &str) -> Option<Found<Endpoint>> {
    let text = observed.sources.get(&source)?.get(key)?;
    let config: Kubeconfig = yaml(text)?;
    Some(Found::new(
        Endpoint::parse(&config.clusters.first()?.cluster.server, 443)?,
        describe(source),
    ))
}

/// Last, because it names one API server, which is not highly available.
fn endpoint_slice(observed: &Observed) -> Option<Found<Endpoint>> {
    let facts = observed.sources.get(&Source::KubernetesEndpoints)?;
    let endpoint = Endpoint {
        host: facts.get("host")?.clone(),
        port: facts.get("port")?.parse().ok()?,
    };
    Some(Found::new(endpoint, describe(Source::KubernetesEndpoints)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterConfiguration {
    control_plane_endpoint: Option<String>,
    networking: Option<Networking>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Networking {
    service_subnet: Option<String>,
    dns_domain: Option<String>,
}

fn kubeadm(observed: &Observed) -> Option<ClusterConfiguration> {
    yaml(
        observed
            .sources
            .get(&Source::KubeadmConfig)?
            .get("ClusterConfiguration")?,
    )
}

/// Service CIDRs of IPv4: those of the spec, else those of the best source that has any.
pub fn service_cidrs(network: &Network, observed: &Observed) -> Option<Found<Vec<String>>> {
    if !network.service_cidrs.is_empty() {
        return Some(Found::new(
            network.service_cidrs.clone(),
            "spec.network.serviceCIDRs",
        ));
    }
    let service_cidr = || observed.sources.get(&Source::ServiceCidr)?.get("cidrs").cloned();
    let installation = || Some(observed.installation.as_ref()?.service_cidrs.join(","));
    let kubeadm = || kubeadm(observed)?.networking?.service_subnet;
    found_v4(service_cidr(), describe(Source::ServiceCidr))
        .or_else(|| found_v4(kubeadm(), describe(Source::KubeadmConfig)))
        .or_else(|| found_v4(installation(), "Installation default"))
}

/// The IPv4 ones of a comma-separated list: Windows with Calico has no use for the others.
fn found_v4(list: Option<String>, source: &str) -> Option<Found<Vec<String>>> {
    let cidrs: Vec<_> = list?
        .split(',')
        .map(str::trim)
        .filter(|c| is_cidr_v4(c))
        .map(str::to_owned)
        .collect();
    (!cidrs.is_empty()).then(|| Found::new(cidrs, source))
}

pub fn dns_servers(network: &Network, observed: &Observed) -> Option<Found<Vec<String>>> {
    let given = network
        .cluster_dns
        .as_ref()
        .map(|d| &d.servers)
        .filter(|s| !s.is_empty());
    if let Some(servers) = given {
        return Some(Found::new(servers.clone(), "spec.network.clusterDNS.servers"));
    }
    [Source::KubeDns, Source::OpenShiftDns, Source::Rke2Dns]
        .into_iter()
        .find_map(|source| {
            let ip = observed
                .sources
                .get(&source)?
                .get("clusterIP")
                .filter(|ip| is_ip(ip))?;
            Some(Found::new(vec![ip.clone()], describe(source)))
        })
}

/// Windows pods get one DNS suffix: that of Services.
pub fn dns_search(network: &Network, observed: &Observed) -> Found<Vec<String>> {
    let given = network.cluster_dns.as_ref().map(|d| d.search.clone());
    if let Some(search) = given.filter(|s| !s.is_empty()) {
        return Found::new(search, "spec.network.clusterDNS.search");
    }
    let kubeadm = || kubeadm(observed)?.networking?.dns_domain;
    let found = |domain: Option<String>, source| {
        let domain = domain?.trim_end_matches('.').to_ascii_lowercase();
        is_domain(&domain).then(|| Found::new(vec![format!("svc.{domain}")], describe(source)))
    };
    found(kubeadm(), Source::KubeadmConfig)
        .or_else(|| found(kubelet_domain(observed), Source::KubeletConfig))
        .or_else(|| found(corefile_domain(observed), Source::CoreDns))
        .unwrap_or_else(|| Found::new(vec!["svc.cluster.local".to_owned()], "Kubernetes' default"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KubeletConfiguration {
    cluster_domain: Option<String>,
}

fn kubelet_domain(observed: &Observed) -> Option<String> {
    let text = observed.sources.get(&Source::KubeletConfig)?.get("kubelet")?;
    let config: KubeletConfiguration = yaml(text)?;
    config.cluster_domain
}

/// The first zone of CoreDNS' plugin `kubernetes` that is none of addresses.
fn corefile_domain(observed: &Observed) -> Option<String> {
    let text = observed.sources.get(&Source::CoreDns)?.get("Corefile")?;
    let mut zones = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "kubernetes").then_some(words)
    });
    let mut zones = zones.next()?.take_while(|w| !w.starts_with(['{', '#']));
    zones.find(|z| !z.ends_with(".arpa")).map(str::to_owned)
}

/// Kind and name of a source, as a user would ask kubectl for it.
pub const fn describe(source: Source) -> &'static str {
    match source {
        Source::ServicesEndpoint => "ConfigMap tigera-operator/kubernetes-services-endpoint",
        Source::KubeProxyConfig => "ConfigMap kube-system/kube-proxy",
        Source::KubeadmConfig => "ConfigMap kube-system/kubeadm-config",
        Source::ClusterInfo => "ConfigMap kube-public/cluster-info",
        Source::KubernetesEndpoints => "EndpointSlice default/kubernetes",
        Source::KubernetesService => "Service default/kubernetes",
        Source::ServiceCidr => "ServiceCIDR kubernetes",
        Source::KubeDns => "Service kube-system/kube-dns",
        Source::OpenShiftDns => "Service openshift-dns/dns-default",
        Source::Rke2Dns => "Service kube-system/rke2-coredns-rke2-coredns",
        Source::CalicoConfig => "ConfigMap kube-system/calico-config",
        Source::AmazonVpcCni => "ConfigMap kube-system/amazon-vpc-cni",
        Source::KubeletConfig => "ConfigMap kube-system/kubelet-config",
        Source::CoreDns => "ConfigMap kube-system/coredns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::SourceFacts;
    use wn_api::spec::{ApiServer, NetworkType};

    fn network() -> Network {
        Network {
            type_: NetworkType::ALL[0],
            ipam: wn_api::spec::Ipam::default(),
            api_server: None,
            service_cidrs: vec![],
            cluster_dns: None,
        }
    }

    fn facts(pairs: &[(&str, &str)]) -> SourceFacts {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    /// Each source beats those after it.
    #[test]
    fn api_server_by_rank() {
        let kubeconfig = |host: &str| format!("clusters: [{{cluster: {{server: 'https://{host}:6443'}}}}]");
        let ranked = [
            (
                Source::KubernetesEndpoints,
                facts(&[("host", "192.0.2.1"), ("port", "6443")]),
                "192.0.2.1:6443",
            ),
            (
                Source::ClusterInfo,
                facts(&[("kubeconfig", &kubeconfig("info"))]),
                "info:6443",
            ),
            (
                Source::KubeadmConfig,
                facts(&[("ClusterConfiguration", "controlPlaneEndpoint: adm:7443")]),
                "adm:7443",
            ),
            (
                Source::KubeProxyConfig,
                facts(&[("kubeconfig.conf", &kubeconfig("proxy"))]),
                "proxy:6443",
            ),
            (
                Source::ServicesEndpoint,
                facts(&[(tigera::ENDPOINT_HOST, "svc"), (tigera::ENDPOINT_PORT, "443")]),
                "svc:443",
            ),
        ];
        let mut observed = Observed::default();
        assert_eq!(api_server(&network(), &observed), None);
        for (source, facts, expected) in ranked {
            observed.sources.insert(source, facts);
            let found = api_server(&network(), &observed).unwrap();
            assert_eq!(
                (found.value.to_string().as_str(), found.source.as_str()),
                (expected, describe(source))
            );
        }
        let given = Network {
            api_server: Some(ApiServer {
                host: "mine".into(),
                port: 1,
            }),
            ..network()
        };
        assert_eq!(api_server(&given, &observed).unwrap().value.to_string(), "mine:1");
    }

    #[test]
    fn service_cidrs_are_the_ipv4_ones() {
        let mut observed = Observed::default();
        let kubeadm = "networking: {serviceSubnet: '10.96.0.0/12,fd00::/108'}";
        observed
            .sources
            .insert(Source::KubeadmConfig, facts(&[("ClusterConfiguration", kubeadm)]));
        assert_eq!(
            service_cidrs(&network(), &observed).unwrap().value,
            ["10.96.0.0/12"]
        );
        observed
            .sources
            .insert(Source::ServiceCidr, facts(&[("cidrs", "10.97.0.0/16")]));
        assert_eq!(
            service_cidrs(&network(), &observed).unwrap().value,
            ["10.97.0.0/16"]
        );
    }

    /// Each source beats those after it; what cannot be a domain is not taken.
    #[test]
    fn dns_search_by_rank() {
        let ranked = [
            (
                Source::CoreDns,
                "Corefile",
                ".:53 {\n    errors\n    kubernetes Core.example. in-addr.arpa {\n    }\n}",
                "core.example",
            ),
            (
                Source::CoreDns,
                "Corefile",
                ".:53 {\n  kubernetes 10.in-addr.arpa c2.example in-addr.arpa\n}",
                "c2.example",
            ),
            (
                Source::CoreDns,
                "Corefile",
                ".:53 {\n  kubernetes {\n  }\n}",
                "cluster.local",
            ),
            (
                Source::CoreDns,
                "Corefile",
                ".:53 {\n  kubernetes a_b.example {\n  }\n}",
                "cluster.local",
            ),
            (
                Source::KubeletConfig,
                "kubelet",
                "kind: KubeletConfiguration\nclusterDomain: let.example",
                "let.example",
            ),
            (
                Source::KubeletConfig,
                "kubelet",
                "clusterDomain: ''",
                "cluster.local",
            ),
            (
                Source::KubeadmConfig,
                "ClusterConfiguration",
                "networking: {dnsDomain: adm.example}",
                "adm.example",
            ),
        ];
        let mut observed = Observed::default();
        let search = |observed: &Observed| dns_search(&network(), observed).value;
        assert_eq!(search(&observed), ["svc.cluster.local"]);
        for (source, key, text, domain) in ranked {
            observed.sources.insert(source, facts(&[(key, text)]));
            assert_eq!(search(&observed), [format!("svc.{domain}")], "{text}");
        }
        observed
            .sources
            .insert(Source::CoreDns, facts(&[("Corefile", "kubernetes core.example")]));
        observed.sources.insert(
            Source::KubeletConfig,
            facts(&[("kubelet", "clusterDomain: let.example")]),
        );
        assert_eq!(search(&observed), ["svc.adm.example"]);
    }

    #[test]
    fn headless_dns_does_not_count() {
        let mut observed = Observed::default();
        observed
            .sources
            .insert(Source::KubeDns, facts(&[("clusterIP", "None")]));
        assert_eq!(dns_servers(&network(), &observed), None);
        observed
            .sources
            .insert(Source::Rke2Dns, facts(&[("clusterIP", "10.43.0.10")]));
        assert_eq!(dns_servers(&network(), &observed).unwrap().value, ["10.43.0.10"]);
    }
}
