//! What tigera/operator needs before it renders its Windows agent, in the order in which it looks
//! (`pkg/controller/installation/windows_controller.go:230-392`). tigera/operator reports one at a time; this lists all.

use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::names::tigera;
use wn_api::spec::WindowsNodeConfigSpec;

use super::agent_owner::installation_object;
use super::fields::{differing, prepared, switch};
use crate::inputs;
use crate::network;
use crate::network::role::Backend;
use crate::observed::{Observed, Source};

/// What tigera/operator needs before it renders its agent for Windows, one sentence each.
pub fn unmet(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<String> {
    let (Some(facts), Some(object)) = (&observed.installation, installation_object(observed)) else {
        return Vec::new();
    };
    let mut unmet = Vec::new();
    let mut need = |missing: bool, what: &str| {
        if missing {
            unmet.push(what.to_owned());
        }
    };
    need(!endpoint(observed), NO_ENDPOINT);
    need(!facts.accepted, NOT_ACCEPTED);
    let mut fields = vec![switch()];
    fields.extend(prepared(spec, observed, object));
    for field in differing(&fields, object) {
        need(true, &field);
    }
    need(
        inputs::service_cidrs(&spec.network, observed).is_none(),
        "no Service CIDRs were found for spec.serviceCIDRs",
    );
    need(!facts.windows_nodes, NO_WINDOWS_NODES);
    let calico_ipam = matches!(facts.cni.as_str(), "" | "Calico") && facts.ipam != "HostLocal";
    let of = |kind| observed.calico.objects.get(&(kind, DEFAULT.to_owned()));
    let strict = of(ConfigKind::IpamConfiguration).is_some_and(|o| o.is_true("strictAffinity"));
    need(calico_ipam && !strict, NOT_STRICT);
    let dns = [Source::KubeDns, Source::OpenShiftDns, Source::Rke2Dns];
    let dns = dns.iter().any(|s| observed.sources.contains_key(s));
    need(!dns, "no DNS Service was found");
    let overlay = network::of(spec.network.type_).calico.backend() == Some(Backend::Vxlan);
    let vni = of(ConfigKind::FelixConfiguration).is_some_and(|o| o.spec.contains_key("vxlanVNI"));
    need(overlay && !vni, "FelixConfiguration default has no vxlanVNI");
    unmet
}

fn endpoint(observed: &Observed) -> bool {
    let facts = observed.sources.get(&Source::ServicesEndpoint);
    let has = |key: &str| facts.and_then(|f| f.get(key)).is_some_and(|v| !v.is_empty());
    has(tigera::ENDPOINT_HOST) && has(tigera::ENDPOINT_PORT)
}

const NO_ENDPOINT: &str =
    "ConfigMap tigera-operator/kubernetes-services-endpoint does not name host and port of the API server";
const NOT_ACCEPTED: &str = "Installation default has no status: tigera/operator has not processed it";
const NO_WINDOWS_NODES: &str = "Installation default spec.windowsNodes is empty; tigera/operator fills it in once windowsDataplane is HNS";
const NOT_STRICT: &str = "IPAMConfiguration default spec.strictAffinity is not true";
