use serde_json::{Value, json};

use super::*;

fn bridge() -> (State, String) {
    let mut state = State::new(WindowsBuild::Server2022);
    let ipams = json!([{"Subnets": [{"IpAddressPrefix": "10.244.1.0/26"}]}]);
    let network = json!({"Name": "Calico", "Type": "L2Bridge", "Ipams": ipams});
    let id = state.create(Kind::Network, network).unwrap();
    (state, id)
}

fn endpoint(network: &str, address: &str, flags: u32) -> Value {
    json!({"HostComputeNetwork": network, "IpConfigurations": [{"IpAddress": address}], "Flags": flags})
}

fn load_balancer(endpoint: &str, vip: &[&str], port: u16) -> Value {
    json!({
        "HostComputeEndpoints": [endpoint], "FrontendVIPs": vip, "Flags": 1,
        "PortMappings": [{"Protocol": 6, "InternalPort": 80, "ExternalPort": port}],
    })
}

#[test]
fn local_endpoints_take_a_free_address_of_the_network() {
    let (mut state, network) = bridge();
    let mut create = |address, flags| state.create(Kind::Endpoint, endpoint(&network, address, flags));
    assert!(create("10.244.1.5", 0).is_ok());
    assert_eq!(create("10.244.1.5", 0), Err(HnsError::AddressInvalidOrReserved));
    assert_eq!(create("10.244.2.5", 0), Err(HnsError::AddressInvalidOrReserved));
    assert!(create("10.244.2.5", 1).is_ok());
    let homeless = state.create(Kind::Endpoint, endpoint("gone", "10.244.1.6", 0));
    assert_eq!(homeless, Err(HnsError::ElementNotFound));
}

#[test]
fn an_endpoint_without_a_mac_address_gets_one() {
    let (mut state, network) = bridge();
    let mut mac = |object: Value| {
        let id = state.create(Kind::Endpoint, object).unwrap();
        state.get(Kind::Endpoint, &id).unwrap()["MacAddress"].clone()
    };
    let given = mac(endpoint(&network, "10.244.1.5", 0));
    assert!(given.as_str().unwrap().starts_with("00-15-5D-"), "{given}");
    let mut own = endpoint(&network, "10.244.1.6", 0);
    own["MacAddress"] = json!("0E-2A-0a-f4-01-06");
    assert_eq!(mac(own), "0E-2A-0a-f4-01-06");
}

#[test]
fn no_two_load_balancers_with_one_frontend() {
    let (mut state, network) = bridge();
    let endpoint = state
        .create(Kind::Endpoint, endpoint(&network, "10.244.1.5", 0))
        .unwrap();
    let mut create =
        |vip: &[&str], port| state.create(Kind::LoadBalancer, load_balancer(&endpoint, vip, port));
    assert!(create(&["10.96.0.10"], 53).is_ok());
    assert_eq!(create(&["10.96.0.10"], 53), Err(HnsError::AlreadyExists));
    assert!(create(&["10.96.0.10"], 54).is_ok());
    assert!(create(&[], 30000).is_ok());
    assert_eq!(create(&[], 30000), Err(HnsError::PortAlreadyExists));
    let broken = state.create(Kind::LoadBalancer, load_balancer("gone", &["10.96.0.11"], 53));
    assert_eq!(broken, Err(HnsError::EndpointNotFound));
}

#[test]
fn a_network_takes_all_in_it_along_and_comes_back_as_another() {
    let (mut state, network) = bridge();
    let endpoint = state
        .create(Kind::Endpoint, endpoint(&network, "10.244.1.5", 0))
        .unwrap();
    state
        .create(Kind::LoadBalancer, load_balancer(&endpoint, &["10.96.0.10"], 53))
        .unwrap();
    state
        .delete(Kind::Network, &network.to_ascii_uppercase())
        .unwrap();
    assert_eq!(
        state.of(Kind::Endpoint).count() + state.of(Kind::LoadBalancer).count(),
        0
    );
    assert_eq!(
        state.delete(Kind::Network, &network),
        Err(HnsError::ElementNotFound)
    );
    assert_ne!(state.create(Kind::Network, json!({})).unwrap(), network);
}

#[test]
fn load_balancers_are_modified_where_the_build_can() {
    for (build, expected) in [
        (WindowsBuild::Server2022, Err(HnsError::NotImplemented)),
        (WindowsBuild::Server2025, Ok(())),
    ] {
        let (mut state, network) = bridge();
        state.build = build;
        let endpoint = state
            .create(Kind::Endpoint, endpoint(&network, "10.244.1.5", 0))
            .unwrap();
        let settings = load_balancer(&endpoint, &["10.96.0.10"], 53);
        let id = state.create(Kind::LoadBalancer, settings.clone()).unwrap();
        assert_eq!(state.modify(Kind::LoadBalancer, &id, settings), expected);
    }
}

#[test]
fn handles_are_of_a_kind_and_end() {
    let (mut state, network) = bridge();
    let handle = state.open(Kind::Network, &network).unwrap();
    assert_eq!(state.behind(Kind::Network, handle), Ok(network));
    assert_eq!(
        state.behind(Kind::Endpoint, handle),
        Err(HnsError::ElementNotFound)
    );
    assert_eq!(state.close(handle), Ok(()));
    assert_eq!(state.close(handle), Err(HnsError::ElementNotFound));
}
