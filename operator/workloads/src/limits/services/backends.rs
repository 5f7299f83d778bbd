//! The endpoints of a Service: their number, ports and state.

use std::collections::{BTreeMap, BTreeSet};

use super::super::hit::Hit;
use super::super::units::Unit;
use super::view::View;
use crate::findings::Code;
use crate::input::NumberOrText;
use crate::input::service::ServicePort;
use crate::input::slice::{Address, SliceEndpoint};
use crate::windows::WindowsBuild;

/// More endpoints than HNS supports.
pub fn too_many(view: &View<'_>) -> Vec<Hit> {
    if !view.is_balanced() {
        return Vec::new();
    }
    let (number, field) = number(view);
    let of_builds = view.cluster.builds.iter().map(|(source, build)| {
        let name = format!("Windows {build} ({source})");
        (build.most_backends(), name)
    });
    let of_all = (WindowsBuild::MOST_BACKENDS, "Windows".to_owned());
    let least = of_builds.chain([of_all]).min_by_key(|(most, _)| *most);
    let hit = least.filter(|(most, _)| number > *most).map(|(most, build)| {
        let message = format!("has {number} endpoints, and {build} supports {most} in a load balancer");
        Hit::error(Code::TooManyBackends, field, message)
    });
    hit.into_iter().collect()
}

/// Number of endpoints: those of the slices, or those that the templates ask for.
fn number(view: &View<'_>) -> (usize, &'static str) {
    let ready = view.endpoints().filter(|endpoint| is_ready(endpoint));
    let addresses: BTreeSet<Address<'_>> = ready.flat_map(SliceEndpoint::addresses).collect();
    let planned: usize = view.units.iter().map(|unit| unit.size()).sum();
    (addresses.len().max(planned), "spec.selector")
}

fn is_ready(endpoint: &SliceEndpoint<'_>) -> bool {
    endpoint.conditions.ready.unwrap_or(true)
}

/// A named port that is another number in another pod.
pub fn named_port(view: &View<'_>) -> Vec<Hit> {
    if !view.is_balanced() {
        return Vec::new();
    }
    let ports = view.spec().ports.iter().enumerate();
    ports.filter_map(|(i, port)| differing(view, i, port)).collect()
}

fn differing(view: &View<'_>, index: usize, port: &ServicePort) -> Option<Hit> {
    let Some(NumberOrText::Text(name)) = &port.target_port else {
        return None;
    };
    let mut numbers: BTreeMap<u16, String> = BTreeMap::new();
    for unit in &view.units {
        if let Some(number) = number_of(unit, name, &port.protocol) {
            numbers.entry(number).or_insert_with(|| unit.object.to_string());
        }
    }
    let slices = view.slices.iter().filter(|(_, slice)| !slice.is_empty());
    for (slice_name, slice) in slices {
        let named = slice
            .ports
            .iter()
            .filter(|p| p.name == port.name && is_protocol(p.protocol.as_deref(), port));
        for number in named.filter_map(|p| p.port) {
            let object = || format!("EndpointSlice {slice_name}");
            numbers.entry(number).or_insert_with(object);
        }
    }
    if numbers.len() < 2 {
        return None;
    }
    let listed = numbers
        .iter()
        .take(3)
        .map(|(number, object)| format!("{number} in {object}"));
    let message = format!(
        "port {name} is {}: kube-proxy on Windows nodes sends all traffic to one of the numbers",
        listed.collect::<Vec<_>>().join(", ")
    );
    Some(Hit::error(
        Code::NamedTargetPort,
        format!("spec.ports[{index}].targetPort"),
        message,
    ))
}

/// The number of a named port in the pods of a unit.
fn number_of(unit: &Unit<'_>, name: &str, protocol: &str) -> Option<u16> {
    let ports = unit.spec.containers.iter().flat_map(|container| &container.ports);
    let wanted = protocol_or_default(Some(protocol));
    let mut named = ports.filter(|p| p.name == name && protocol_or_default(p.protocol.as_deref()) == wanted);
    named.next().map(|port| port.container_port)
}

fn is_protocol(protocol: Option<&str>, port: &ServicePort) -> bool {
    protocol_or_default(protocol) == protocol_or_default(Some(&port.protocol))
}

fn protocol_or_default(protocol: Option<&str>) -> &str {
    protocol.filter(|text| !text.is_empty()).unwrap_or("TCP")
}

/// Endpoints that all terminate, of a Service without the address of a load balancer.
pub fn terminating(view: &View<'_>) -> Vec<Hit> {
    let is_last = |endpoint: SliceEndpoint<'_>| {
        let conditions = &endpoint.conditions;
        conditions.terminating == Some(true) && conditions.serving.unwrap_or(true)
    };
    let has_ready = view.endpoints().any(|endpoint| is_ready(&endpoint));
    let has_last = view.endpoints().any(is_last);
    let has_address = !view.service.status.load_balancer.ingress.is_empty();
    let hit = || {
        let message =
            "no endpoint is ready, and Windows nodes do not use those that terminate and still serve";
        Hit::warning(Code::TerminatingEndpoints, "", message)
    };
    let is_hit = view.is_balanced() && has_last && !has_ready && !has_address;
    is_hit.then(hit).into_iter().collect()
}
