//! `spec.calico.datastore`.

use wn_api::names::etcd::PREFIX;
use wn_api::spec::{DatastoreType, Etcd, Management, WindowsNodeConfigSpec};

use super::Violation;
use crate::network;

const ETCD: &str = "spec.calico.datastore.etcd";

pub fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    let datastore = &spec.calico.datastore;
    let mut found = Vec::new();
    match (datastore.type_, &datastore.etcd) {
        (DatastoreType::Kubernetes, None) => return found,
        (DatastoreType::Etcd, None) => found.push(Violation::new(
            ETCD,
            "is required when type is Etcd: give endpoints and secretRef",
        )),
        (DatastoreType::Kubernetes, Some(_)) => found.push(Violation::new(
            ETCD,
            "is for type Etcd: remove it, or set type to Etcd",
        )),
        (DatastoreType::Etcd, Some(etcd)) => found.extend(etcd_violations(etcd)),
    }
    found.extend(prefix(spec));
    let networks = network::of(spec.network.type_).calico.backend().is_some();
    if datastore.type_ == DatastoreType::Etcd && !networks {
        found.push(Violation::new(
            "spec.calico.datastore.type",
            "Etcd is for network types CalicoVXLAN and CalicoBGP: remove it, or change spec.network.type",
        ));
    }
    found
}

fn etcd_violations(etcd: &Etcd) -> Vec<Violation> {
    let path = |i: usize| format!("{ETCD}.endpoints[{i}]");
    let mut found = Vec::new();
    for (i, url) in etcd.endpoints.iter().enumerate() {
        if let Some(earlier) = etcd.endpoints[..i].iter().position(|other| other == url) {
            found.push(Violation::new(
                path(i),
                format!("{url} is also {}: remove it", path(earlier)),
            ));
        }
        if let Some(message) = wrong(url) {
            found.push(Violation::new(path(i), message));
        }
    }
    let tls = |url: &&String| url.starts_with("https://");
    let (with, without): (Vec<_>, Vec<_>) = etcd.endpoints.iter().partition(tls);
    if !with.is_empty() && !without.is_empty() {
        found.push(Violation::new(
            format!("{ETCD}.endpoints"),
            "some are https and some http: use one of them for all members",
        ));
    } else if !with.is_empty() && etcd.secret_ref.is_none() {
        found.push(Violation::new(
            format!("{ETCD}.secretRef"),
            "is required with https endpoints: name the Secret with Calico's certificates for etcd",
        ));
    } else if with.is_empty() && etcd.secret_ref.is_some() {
        found.push(Violation::new(
            format!("{ETCD}.secretRef"),
            "is for https endpoints: remove it, or write https in endpoints",
        ));
    }
    found
}

/// Calico's own programs take none but one: keys under another are for a Calico that reaches etcd through a proxy with
/// a namespace, and so would its agent have to.
fn prefix(spec: &WindowsNodeConfigSpec) -> Option<Violation> {
    let prefix = spec.calico.datastore.etcd.as_ref()?.prefix.as_deref()?;
    let ours = spec.node_agent.management != Management::External;
    (ours && prefix != PREFIX).then(|| {
        Violation::new(
            format!("{ETCD}.prefix"),
            format!(
                "Calico's agent supports no prefix but {PREFIX}: remove it, or run the agent yourself and set spec.nodeAgent.management \
                 to External"
            ),
        )
    })
}

/// What is wrong with one endpoint.
fn wrong(url: &str) -> Option<String> {
    let Some((_, authority)) = url
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
    else {
        return Some(format!("{url:?} is not a URL such as https://10.0.0.10:2379"));
    };
    // An IPv6 address has colons of its own and stands in brackets.
    let port = authority
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty() && (!host.contains(':') || host.ends_with(']')))
        .and_then(|(host, port)| Some((host, port.parse::<u16>().ok().filter(|p| *p > 0)?)));
    let Some((host, _)) = port else {
        return Some(format!("{url} has no port: write it, e.g. {url}:2379"));
    };
    if authority.contains(['/', '@', '?', '#']) || authority.contains(char::is_whitespace) {
        return Some(format!(
            "{url:?} has more than host and port: write only those, e.g. https://10.0.0.10:2379"
        ));
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let service = host.ends_with(".svc") || host.contains(".svc.");
    service.then(|| {
        format!(
            "{host} is the name of a Service, which Windows nodes cannot reach before kube-proxy runs: give the members' own addresses"
        )
    })
}
