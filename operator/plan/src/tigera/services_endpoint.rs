//! The ConfigMap `kubernetes-services-endpoint`, without which tigera/operator does nothing for Windows nodes
//! (`windows_controller.go`; calico#13702 asks for this).

use serde_json::{Value, json};
use wn_api::names::{OPERATOR, labels, tigera};

use super::agent_owner::AgentOwner;
use crate::inputs::Inputs;
use crate::observed::{Observed, Source};

/// The ConfigMap, when tigera/operator runs or is to run the agent and it is missing.
pub fn services_endpoint(owner: AgentOwner, observed: &Observed, inputs: &Inputs) -> Option<Value> {
    let wanted = owner == AgentOwner::Theirs;
    let missing = !observed.sources.contains_key(&Source::ServicesEndpoint);
    let endpoint = &inputs.api_server.as_ref().filter(|_| wanted && missing)?.value;
    Some(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": tigera::SERVICES_ENDPOINT,
            "namespace": tigera::NAMESPACE,
            "labels": { (labels::MANAGED_BY): OPERATOR },
        },
        "data": { (tigera::ENDPOINT_HOST): endpoint.host, (tigera::ENDPOINT_PORT): endpoint.port.to_string() },
    }))
}
