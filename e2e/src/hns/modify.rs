//! Requests that change a part of an object (`ModifyNetworkSettingRequest` and its like in hcsshim's `hcn`): policies
//! of networks and endpoints, endpoints of namespaces.

use serde_json::{Value, json};

use super::errors::HnsError;
use super::objects::Kind;
use super::state::State;

/// `HNSEndpoint.State` of schema v1; v2 does not show it.
pub const ATTACHED: u64 = 2;
pub const DETACHED: u64 = 4;

/// Adds, removes or updates policies. An update replaces all policies of the types it names.
pub fn policies(object: &mut Value, request: &Value) -> Result<(), HnsError> {
    let given = request["Settings"]["Policies"].as_array();
    let given = given.cloned().ok_or(HnsError::InvalidJson)?;
    let verb = match (request["ResourceType"].as_str(), request["RequestType"].as_str()) {
        (Some("Policy"), Some(verb @ ("Add" | "Update" | "Remove"))) => verb,
        _ => return Err(HnsError::RequestUnsupported),
    };
    edit_policies(object, |held| {
        if verb == "Remove" {
            for gone in given {
                let at = held.iter().position(|one| *one == gone);
                held.remove(at.ok_or(HnsError::ElementNotFound)?);
            }
            return Ok(());
        }
        if verb == "Update" {
            held.retain(|one| given.iter().all(|new| new["Type"] != one["Type"]));
        }
        held.extend(given);
        Ok(())
    })
}

/// Changes the list of an object's policies, also where it has none.
pub fn edit_policies<T>(object: &mut Value, edit: impl FnOnce(&mut Vec<Value>) -> T) -> T {
    let mut all = object["Policies"].as_array().cloned().unwrap_or_default();
    let outcome = edit(&mut all);
    object["Policies"] = json!(all);
    outcome
}

/// Puts an endpoint into a namespace, or takes it out: the pod has it from then on.
pub fn namespace(state: &mut State, id: &str, request: &Value) -> Result<(), HnsError> {
    let endpoint = request["Settings"]["EndpointId"].as_str();
    let endpoint = endpoint.ok_or(HnsError::InvalidJson)?.to_owned();
    let adds = match (request["ResourceType"].as_str(), request["RequestType"].as_str()) {
        (Some("Endpoint"), Some("Add")) => true,
        (Some("Endpoint"), Some("Remove")) => false,
        _ => return Err(HnsError::RequestUnsupported),
    };
    let object = state.get_mut(Kind::Endpoint, &endpoint)?;
    object["State"] = json!(if adds { ATTACHED } else { DETACHED });
    object["HostComputeNamespace"] = json!(if adds { id } else { "" });
    let resources = &mut state.get_mut(Kind::Namespace, id)?["Resources"];
    let resource = json!({"Type": "Endpoint", "Data": {"Id": endpoint}});
    let mut all = resources.as_array().cloned().unwrap_or_default();
    all.retain(|one| *one != resource);
    if adds {
        all.push(resource);
    }
    *resources = json!(all);
    Ok(())
}
