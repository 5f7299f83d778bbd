//! Schema v1, which Calico's agent asks besides v2: a method, a path and a body (`internal/hns` of hcsshim). The
//! objects are those of v2, translated on the way in and out.

use serde_json::{Map, Value, json};

use super::calls::parse;
use super::errors::HnsError;
use super::modify::{ATTACHED, DETACHED, edit_policies, policies};
use super::objects::Kind;
use super::state::State;

/// `Output` of the answer.
pub fn request(state: &mut State, method: &str, path: &str, body: &str) -> Result<Value, HnsError> {
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    match (method, words.as_slice()) {
        ("GET", ["globals", "version"]) => Ok(state.build.hns_version()),
        ("GET", ["policylists"]) => {
            let lists = state.of(Kind::LoadBalancer);
            Ok(lists.map(|object| json!({"ID": object["ID"]})).collect())
        }
        ("POST", ["endpoints", id]) => replace_acls(state, id, &parse(body)?),
        ("POST", ["endpoints", id, "attach"]) => set_state(state, id, ATTACHED),
        ("POST", ["endpoints", id, "detach"]) => set_state(state, id, DETACHED),
        (method, [kind, rest @ ..]) => {
            let kind = match *kind {
                "networks" => Kind::Network,
                "endpoints" => Kind::Endpoint,
                _ => return Err(HnsError::RequestUnsupported),
            };
            objects(state, kind, method, rest, body)
        }
        _ => Err(HnsError::RequestUnsupported),
    }
}

fn objects(
    state: &mut State,
    kind: Kind,
    method: &str,
    rest: &[&str],
    body: &str,
) -> Result<Value, HnsError> {
    match (method, rest) {
        ("GET", []) => Ok(state.of(kind).map(|object| shown(state, kind, object)).collect()),
        ("GET", [id]) => show(state, kind, id),
        ("POST", []) => {
            let body = parse(body)?;
            let object = match kind {
                Kind::Network => network_of(&body),
                _ => endpoint_of(&body),
            };
            let id = state.create(kind, object)?;
            show(state, kind, &id)
        }
        ("DELETE", [id]) => state.delete(kind, id).map(|()| Value::Null),
        _ => Err(HnsError::RequestUnsupported),
    }
}

fn show(state: &State, kind: Kind, id: &str) -> Result<Value, HnsError> {
    let object = state.get(kind, id).ok_or(HnsError::ElementNotFound)?;
    Ok(shown(state, kind, object))
}

/// The whole list of ACLs is given each time (`ApplyACLPolicy`); other policies stay.
fn replace_acls(state: &mut State, id: &str, body: &Value) -> Result<Value, HnsError> {
    let endpoint = state.get_mut(Kind::Endpoint, id)?;
    let given = translated(&body["Policies"], into_v2);
    edit_policies(endpoint, |all| all.retain(|one| one["Type"] != "ACL"));
    let request = json!({"ResourceType": "Policy", "RequestType": "Update", "Settings": {"Policies": given}});
    policies(endpoint, &request)?;
    show(state, Kind::Endpoint, id)
}

fn set_state(state: &mut State, id: &str, to: u64) -> Result<Value, HnsError> {
    state.get_mut(Kind::Endpoint, id)?["State"] = json!(to);
    Ok(Value::Null)
}

fn network_of(v1: &Value) -> Value {
    let subnets = v1["Subnets"].as_array().into_iter().flatten().map(|subnet| {
        json!({
            "IpAddressPrefix": subnet["AddressPrefix"],
            "Routes": [{"NextHop": subnet["GatewayAddress"], "DestinationPrefix": "0.0.0.0/0"}],
            "Policies": translated(&subnet["Policies"], into_v2),
        })
    });
    json!({
        "Name": v1["Name"],
        "Type": v1["Type"],
        "Ipams": [{"Type": "Static", "Subnets": subnets.collect::<Vec<_>>()}],
        "Policies": translated(&v1["Policies"], into_v2),
        "SchemaVersion": {"Major": 2, "Minor": 0},
    })
}

fn endpoint_of(v1: &Value) -> Value {
    json!({
        "Name": v1["Name"],
        "HostComputeNetwork": v1["VirtualNetwork"],
        "IpConfigurations": [{"IpAddress": v1["IPAddress"]}],
        "MacAddress": v1["MacAddress"].as_str().unwrap_or_default(),
        "Flags": u32::from(v1["IsRemoteEndpoint"] == true),
        "Policies": translated(&v1["Policies"], into_v2),
        "SchemaVersion": {"Major": 2, "Minor": 0},
    })
}

fn shown(state: &State, kind: Kind, object: &Value) -> Value {
    if kind == Kind::Network {
        let subnets = object["Ipams"][0]["Subnets"].as_array().into_iter().flatten();
        let subnets = subnets.map(|subnet| {
            json!({
                "AddressPrefix": subnet["IpAddressPrefix"],
                "GatewayAddress": subnet["Routes"][0]["NextHop"],
                "Policies": translated(&subnet["Policies"], into_v1),
            })
        });
        return json!({
            "ID": object["ID"],
            "Name": object["Name"],
            "Type": object["Type"],
            "ManagementIP": object["ManagementIP"],
            "Subnets": subnets.collect::<Vec<_>>(),
            "Policies": translated(&object["Policies"], into_v1),
        });
    }
    let network = object["HostComputeNetwork"].as_str().unwrap_or_default();
    let network = state.get(Kind::Network, network);
    json!({
        "ID": object["ID"],
        "Name": object["Name"],
        "VirtualNetwork": object["HostComputeNetwork"],
        "VirtualNetworkName": network.map(|network| &network["Name"]),
        "IPAddress": object["IpConfigurations"][0]["IpAddress"],
        "MacAddress": object["MacAddress"],
        "IsRemoteEndpoint": object["Flags"].as_u64().is_some_and(|flags| flags & 1 != 0),
        "State": object["State"].as_u64().unwrap_or(1),
        "Policies": translated(&object["Policies"], into_v1),
    })
}

fn translated(policies: &Value, into: fn(&Value) -> Value) -> Vec<Value> {
    policies.as_array().into_iter().flatten().map(into).collect()
}

/// Types of policies whose name differs: in v1, in v2.
const TYPES: &[(&str, &str)] = &[("PA", "ProviderAddress"), ("ROUTE", "SDNRoute")];
/// Fields whose name differs: type in v2, in v1, in v2.
const FIELDS: &[(&str, &str, &str)] = &[
    ("ProviderAddress", "PA", "ProviderAddress"),
    ("VSID", "VSID", "IsolationId"),
    ("ACL", "Protocol", "Protocols"),
    ("ACL", "LocalPort", "LocalPorts"),
    ("ACL", "RemotePort", "RemotePorts"),
    ("OutBoundNAT", "ExceptionList", "Exceptions"),
];

/// `{"Type": …, field: …}` to `{"Type": …, "Settings": {field: …}}`.
fn into_v2(policy: &Value) -> Value {
    let type_ = policy["Type"].as_str().unwrap_or_default();
    let type_ = TYPES
        .iter()
        .find(|(v1, _)| *v1 == type_)
        .map_or(type_, |(_, v2)| *v2);
    let mut settings = Map::new();
    for (name, value) in policy.as_object().into_iter().flatten() {
        let field = FIELDS.iter().find(|(of, v1, _)| *of == type_ && v1 == name);
        let value = match value {
            // ACLs of v2 have lists where v1 has one number.
            Value::Number(number) if type_ == "ACL" && field.is_some() => json!(number.to_string()),
            value => value.clone(),
        };
        settings.insert(field.map_or(name.as_str(), |(_, _, v2)| *v2).to_owned(), value);
    }
    settings.remove("Type");
    json!({"Type": type_, "Settings": settings})
}

fn into_v1(policy: &Value) -> Value {
    let type_ = policy["Type"].as_str().unwrap_or_default();
    let name = TYPES
        .iter()
        .find(|(_, v2)| *v2 == type_)
        .map_or(type_, |(v1, _)| *v1);
    let mut all = Map::new();
    for (name, value) in policy["Settings"].as_object().into_iter().flatten() {
        let field = FIELDS.iter().find(|(of, _, v2)| *of == type_ && v2 == name);
        let number = (type_ == "ACL")
            .then(|| value.as_str()?.parse::<u16>().ok())
            .flatten();
        match (field, number) {
            (Some((_, v1, _)), Some(number)) => all.insert((*v1).to_owned(), json!(number)),
            // A list, which v1 knows under the same name.
            (Some(_), None) if type_ == "ACL" => all.insert(name.clone(), value.clone()),
            (field, _) => all.insert(
                field.map_or(name.as_str(), |(_, v1, _)| *v1).to_owned(),
                value.clone(),
            ),
        };
    }
    all.insert("Type".to_owned(), json!(name));
    Value::Object(all)
}

#[cfg(test)]
#[path = "v1_tests.rs"]
mod tests;
