//! The cloud's own CNI plugin: nothing of it is ours. Calico enforces policy on top, where it is.

use jiff::Timestamp;
use wn_api::names::eks;
use wn_api::reasons::Reason;
use wn_api::spec::{Platform, WindowsNodeConfigSpec};

use super::profile::NetworkChecks;
use super::reach;
use crate::finding::Finding;
use crate::observed::{Observed, Source};
use crate::platform::detect;
use crate::selection;

pub struct CloudProvider;

impl NetworkChecks for CloudProvider {
    fn cni_plugin(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<&'static str> {
        match running_on(spec, observed)? {
            Platform::Eks | Platform::Aws => Some("AmazonVPC"),
            Platform::Aks | Platform::Azure => Some("AzureVNET"),
            _ => None,
        }
    }

    /// Where the platform's own images have them (tigera/operator `pkg/controller/installation`, defaults of `windowsNodes`).
    fn cni_dirs(
        &self,
        spec: &WindowsNodeConfigSpec,
        observed: &Observed,
    ) -> Option<(&'static str, &'static str)> {
        match running_on(spec, observed)? {
            Platform::Eks => Some((
                "/Program Files/Amazon/EKS/cni",
                "/Program Files/Amazon/EKS/cni/config",
            )),
            Platform::Aks => Some(("/k/azurecni/bin", "/k/azurecni/netconf")),
            _ => None,
        }
    }

    fn findings(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        match running_on(spec, observed) {
            Some(Platform::Eks) => windows_ipam(observed).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn overdue(
        &self,
        spec: &WindowsNodeConfigSpec,
        observed: &Observed,
        now: Timestamp,
    ) -> (Option<Finding>, Option<Timestamp>) {
        match running_on(spec, observed) {
            Some(Platform::Eks) => addresses(spec, observed, now),
            _ => (None, None),
        }
    }

    fn notes(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<String> {
        let note = match running_on(spec, observed) {
            Some(Platform::Eks) => {
                "kube-proxy of EKS may run without DSR, and network policy on ClusterIPs is not enforced then: see \
                 -KubeProxyExtraArgs of the nodes' bootstrap script"
            }
            Some(Platform::Aks) => {
                "AKS decides by the version of the node image whether kube-proxy uses DSR; where it does not, network policy on \
                 ClusterIPs is not enforced"
            }
            _ => {
                "the API does not show whether the platform's kube-proxy uses DSR; where it does not, network policy on ClusterIPs is \
                 not enforced"
            }
        };
        vec![note.to_owned()]
    }
}

/// What the user says, or else what the nodes say.
fn running_on(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Platform> {
    detect::of(spec, observed).map(|found| found.platform)
}

/// Without it the resource controller in EKS' control plane gives Windows pods no addresses
/// (aws/amazon-vpc-resource-controller-k8s).
fn windows_ipam(observed: &Observed) -> Option<Finding> {
    let config = observed.sources.get(&Source::AmazonVpcCni);
    let state = match config.map(|c| c.get(eks::WINDOWS_IPAM).map(String::as_str)) {
        Some(Some("true")) => return None,
        Some(Some(other)) => format!("is {other:?}"),
        Some(None) => "is not set".to_owned(),
        None => "is missing, because the ConfigMap does not exist".to_owned(),
    };
    Some(Finding {
        reason: Reason::PrerequisiteMissing,
        message: format!(
            "ConfigMap kube-system/{} key {} {state}: set it to \"true\" (amazon-vpc-cni chart: enableWindowsIpam), or Windows pods get no \
             addresses",
            eks::CONFIG_MAP,
            eks::WINDOWS_IPAM
        ),
    })
}

/// The resource controller announces what it has for pods of a node.
fn addresses(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    now: Timestamp,
) -> (Option<Finding>, Option<Timestamp>) {
    let without = selection::nodes(&spec.node_selector, observed).filter(|(_, n)| !n.vpc_addresses);
    let (nodes, next) = reach::overdue(without.map(|(name, n)| (name, n.created)), now);
    let finding = (!nodes.is_empty()).then(|| Finding {
        reason: Reason::PrerequisiteMissing,
        message: format!(
            "Node {nodes} has no allocatable {}: the VPC resource controller does not serve it; the cluster's role needs policy \
             AmazonEKSVPCResourceController, and the node's subnet free addresses",
            eks::ADDRESSES
        ),
    });
    (finding, next)
}
