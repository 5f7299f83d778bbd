use super::super::version::WindowsBuild;
use super::*;

/// What Calico's agent makes at its start (`SetupVxlanNetwork`).
fn overlay(state: &mut State) -> Value {
    let subnet = json!({
        "AddressPrefix": "10.244.1.0/26", "GatewayAddress": "10.244.1.1",
        "Policies": [{"Type": "VSID", "VSID": 4096}],
    });
    let body = json!({"Name": "Calico", "Type": "Overlay", "Subnets": [subnet]});
    request(state, "POST", "/networks/", &body.to_string()).unwrap()
}

fn endpoint(state: &mut State, network: &Value, address: &str, remote: bool) -> Value {
    let body = json!({
        "Name": format!("ep-{address}"), "VirtualNetwork": network["ID"], "IPAddress": address,
        "IsRemoteEndpoint": remote, "Policies": [{"Type": "PA", "PA": "192.0.2.10"}],
    });
    request(state, "POST", "/endpoints/", &body.to_string()).unwrap()
}

fn on_adapter() -> State {
    let mut state = State::new(WindowsBuild::Server2022);
    state.adapter = Some([192, 0, 2, 10].into());
    state
}

fn path(kind: &str, object: &Value) -> String {
    format!("/{kind}/{}", object["ID"].as_str().unwrap())
}

#[test]
fn networks_read_as_they_were_made() {
    let mut state = on_adapter();
    let made = overlay(&mut state);
    assert_eq!(made["ManagementIP"], "192.0.2.10");
    let listed = request(&mut state, "GET", "/networks/", "").unwrap();
    assert_eq!(listed, json!([made]));
    let subnet = &listed[0]["Subnets"][0];
    assert_eq!(subnet["GatewayAddress"], "10.244.1.1");
    assert_eq!(subnet["Policies"], json!([{"Type": "VSID", "VSID": 4096}]));
    let v2 = state.of(Kind::Network).next().unwrap();
    let policy = &v2["Ipams"][0]["Subnets"][0]["Policies"][0];
    assert_eq!(
        *policy,
        json!({"Type": "VSID", "Settings": {"IsolationId": 4096}})
    );
    // What `EnsureVXLANTunnelAddr` reads the node's tunnel MAC address from.
    let types: Vec<_> = v2["Policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["Type"])
        .collect();
    assert_eq!(types, ["ProviderAddress", "DrMacAddress"]);
    assert_eq!(
        request(&mut state, "DELETE", &path("networks", &made), ""),
        Ok(Value::Null)
    );
    let gone = request(&mut state, "GET", &path("networks", &made), "");
    assert_eq!(gone, Err(HnsError::ElementNotFound));
}

#[test]
fn without_an_adapter_a_network_has_no_management_address() {
    let made = overlay(&mut State::new(WindowsBuild::Server2022));
    assert_eq!(
        (&made["ManagementIP"], &made["Policies"]),
        (&Value::Null, &json!([]))
    );
}

#[test]
fn endpoints_are_attached_and_detached() {
    let mut state = on_adapter();
    let network = overlay(&mut state);
    let made = endpoint(&mut state, &network, "10.244.1.2", true);
    assert_eq!(made["VirtualNetworkName"], "Calico");
    assert_eq!(made["IsRemoteEndpoint"], true);
    assert_eq!(made["Policies"], json!([{"Type": "PA", "PA": "192.0.2.10"}]));
    let at = path("endpoints", &made);
    for (word, expected) in [("", 1), ("/attach", 2), ("/detach", 4)] {
        if !word.is_empty() {
            let body = json!({"SystemType": "Host", "CompartmentId": 1}).to_string();
            request(&mut state, "POST", &format!("{at}{word}"), &body).unwrap();
        }
        assert_eq!(request(&mut state, "GET", &at, "").unwrap()["State"], expected);
    }
    request(&mut state, "DELETE", &at, "").unwrap();
    assert_eq!(request(&mut state, "GET", "/endpoints/", ""), Ok(json!([])));
}

#[test]
fn a_pod_is_attached_through_its_namespace() {
    let mut state = on_adapter();
    let network = overlay(&mut state);
    let pod = endpoint(&mut state, &network, "10.244.1.10", false);
    let namespace = state
        .create(Kind::Namespace, json!({"Type": "HostDefault"}))
        .unwrap();
    for (verb, attached, resources) in [("Add", 2, 1), ("Remove", 4, 0)] {
        let settings = json!({"EndpointId": pod["ID"]});
        let request_ = json!({"ResourceType": "Endpoint", "RequestType": verb, "Settings": settings});
        state.modify(Kind::Namespace, &namespace, request_).unwrap();
        let seen = request(&mut state, "GET", &path("endpoints", &pod), "").unwrap();
        assert_eq!(seen["State"], attached);
        let held = &state.get(Kind::Namespace, &namespace).unwrap()["Resources"];
        assert_eq!(held.as_array().unwrap().len(), resources);
    }
}

#[test]
fn felix_replaces_the_rules_and_nothing_else() {
    let mut state = on_adapter();
    let network = overlay(&mut state);
    let pod = endpoint(&mut state, &network, "10.244.1.10", false);
    let rule = |id: &str| {
        json!({"Type": "ACL", "Id": id, "Protocol": 6, "Action": "Allow", "Direction": "In",
            "RemoteAddresses": "10.244.0.0/16", "LocalPorts": "80-81", "RuleType": "Switch", "Priority": 1000})
    };
    for ids in [vec!["a", "b"], vec!["c"]] {
        let given: Vec<_> = ids.iter().map(|id| rule(id)).collect();
        let body = json!({"ID": pod["ID"], "Policies": given}).to_string();
        let seen = request(&mut state, "POST", &path("endpoints", &pod), &body).unwrap();
        let mut expected = vec![json!({"Type": "PA", "PA": "192.0.2.10"})];
        expected.extend(given);
        assert_eq!(seen["Policies"], json!(expected));
    }
    let held: Vec<crate::hns::Endpoint> = state.read(Kind::Endpoint);
    let acls = held[0].acls();
    assert_eq!(acls.len(), 1);
    assert_eq!(
        (acls[0].protocols.as_str(), acls[0].local_ports.as_str()),
        ("6", "80-81")
    );
}

#[test]
fn remote_subnets_come_and_go() {
    let mut state = on_adapter();
    let network = overlay(&mut state);
    let id = network["ID"].as_str().unwrap().to_owned();
    let route = json!({"Type": "RemoteSubnetRoute", "Settings": {
        "DestinationPrefix": "10.244.2.0/26", "IsolationId": 4096, "ProviderAddress": "192.0.2.20",
        "DistributedRouterMacAddress": "0e-2a-0a-f4-02-01"}});
    let change =
        |verb| json!({"ResourceType": "Policy", "RequestType": verb, "Settings": {"Policies": [route]}});
    state.modify(Kind::Network, &id, change("Add")).unwrap();
    let networks: Vec<crate::hns::Network> = state.read(Kind::Network);
    let routes = networks[0].remote_subnets();
    assert_eq!(routes.len(), 1);
    assert_eq!(
        (routes[0].destination_prefix.as_str(), routes[0].isolation_id),
        ("10.244.2.0/26", 4096)
    );
    assert_eq!(state.modify(Kind::Network, &id, change("Remove")), Ok(()));
    assert_eq!(
        state.modify(Kind::Network, &id, change("Remove")),
        Err(HnsError::ElementNotFound)
    );
    assert_eq!(
        state.modify(Kind::Network, &id, change("Shrink")),
        Err(HnsError::RequestUnsupported)
    );
}

#[test]
fn what_is_not_known_is_refused() {
    let mut state = on_adapter();
    for (method, path, body, expected) in [
        ("GET", "/ponies/", "", HnsError::RequestUnsupported),
        ("PUT", "/networks/", "", HnsError::RequestUnsupported),
        ("POST", "/networks/", "{", HnsError::InvalidJson),
        ("DELETE", "/endpoints/0", "", HnsError::ElementNotFound),
        ("POST", "/endpoints/0/attach", "{}", HnsError::ElementNotFound),
    ] {
        assert_eq!(
            request(&mut state, method, path, body),
            Err(expected),
            "{method} {path}"
        );
    }
}
