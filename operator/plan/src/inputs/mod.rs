//! Addresses that Windows nodes use: from the most reliable source that has them, each
//! with its source.

mod endpoint;
mod found;
mod sources;

use wn_api::reasons::Reason;
use wn_api::spec::Network;
use wn_api::status::{Input, InputList, InputsStatus};

pub use endpoint::Endpoint;
pub use found::{Found, is_cidr_v4, is_domain, is_ip};
pub use sources::service_cidrs;

use crate::finding::Finding;
use crate::observed::{Observed, Source};

/// What was found; a missing value has a finding that says what to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The API server as a Windows node reaches it before kube-proxy runs.
    pub api_server: Option<Found<Endpoint>>,
    /// Service CIDRs of IPv4.
    pub service_cidrs: Option<Found<Vec<String>>>,
    /// Addresses of the cluster's DNS servers.
    pub dns_servers: Option<Found<Vec<String>>>,
    /// Never missing.
    pub dns_search: Option<Found<Vec<String>>>,
    /// What is missing or cannot be right, and what to do.
    pub findings: Vec<Finding>,
}

/// Finds each input: the spec's value if there is one, else the best source that was observed.
pub fn discover(network: &Network, observed: &Observed) -> Inputs {
    let mut inputs = Inputs {
        api_server: sources::api_server(network, observed),
        service_cidrs: sources::service_cidrs(network, observed),
        dns_servers: sources::dns_servers(network, observed),
        dns_search: Some(sources::dns_search(network, observed)),
        findings: Vec::new(),
    };
    let missing = [
        (inputs.api_server.is_none(), MISSING_API_SERVER),
        (inputs.service_cidrs.is_none(), MISSING_SERVICE_CIDRS),
        (inputs.dns_servers.is_none(), MISSING_DNS),
    ];
    for (_, message) in missing.into_iter().filter(|(missing, _)| *missing) {
        inputs.findings.push(Finding {
            reason: Reason::InputMissing,
            message: message.to_owned(),
        });
    }
    if let Some(message) = cluster_ip_problem(&inputs, observed) {
        inputs.findings.push(Finding {
            reason: Reason::InputInvalid,
            message,
        });
    }
    inputs
}

const MISSING_API_SERVER: &str = "the API server's address was found neither in ConfigMap tigera-operator/kubernetes-services-endpoint, \
     kube-system/kube-proxy, kube-system/kubeadm-config or kube-public/cluster-info nor in EndpointSlice default/kubernetes: set \
     spec.network.apiServer";
const MISSING_SERVICE_CIDRS: &str = "the Service CIDRs were found neither in ServiceCIDR objects nor in ConfigMap \
     kube-system/kubeadm-config nor in Installation default: set spec.network.serviceCIDRs";
const MISSING_DNS: &str = "no DNS Service was found (kube-system/kube-dns, openshift-dns/dns-default, \
     kube-system/rke2-coredns-rke2-coredns): set spec.network.clusterDNS.servers";

/// A ClusterIP works only where kube-proxy runs, and on Windows kube-proxy starts after the agent.
fn cluster_ip_problem(inputs: &Inputs, observed: &Observed) -> Option<String> {
    let found = inputs.api_server.as_ref()?;
    let cluster_ip = cluster_ip(observed)?;
    (found.value.host == cluster_ip).then(|| {
        format!(
            "{} from {} is the ClusterIP of Service default/kubernetes, which Windows nodes cannot reach before kube-proxy runs: set \
             spec.network.apiServer.host to the API server's real address",
            found.value, found.source
        )
    })
}

/// ClusterIP of the API server's own Service.
pub fn cluster_ip(observed: &Observed) -> Option<&str> {
    observed
        .sources
        .get(&Source::KubernetesService)?
        .get("clusterIP")
        .map(String::as_str)
}

impl Inputs {
    /// `status.inputs`.
    pub fn status(&self) -> InputsStatus {
        let list = |found: &Option<Found<Vec<String>>>| {
            let Found { value, source } = found.clone()?;
            Some(InputList {
                values: value,
                source,
            })
        };
        InputsStatus {
            api_server: self.api_server.as_ref().map(|found| Input {
                value: found.value.to_string(),
                source: found.source.clone(),
            }),
            service_cidrs: list(&self.service_cidrs),
            cluster_dns: list(&self.dns_servers),
            dns_search: list(&self.dns_search),
        }
    }

    /// Everything a DaemonSet needs is there and believable.
    pub fn complete(&self) -> bool {
        self.findings.is_empty()
    }
}
