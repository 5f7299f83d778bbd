//! Does Felix on Windows nodes watch through Typha, as it does on Linux nodes?

use wn_api::names::tigera;

use crate::observed::{Observed, Source, TyphaFacts};

/// Namespace of a Typha that takes clients without a certificate. One with TLS is left alone: its client certificates
/// are Secrets of its own namespace, which pods of ours cannot mount, and copies of which would be ours to renew.
pub fn usable(observed: &Observed) -> Option<&str> {
    let (namespace, _) = found(observed).find(|(_, t)| !t.tls)?;
    Some(namespace)
}

/// The note when there is a Typha that Felix does not use.
pub fn note(observed: &Observed) -> Option<String> {
    if usable(observed).is_some() {
        return None;
    }
    let (namespace, _) = found(observed).next()?;
    Some(format!(
        "Felix on Windows nodes connects to the API server directly, because Typha in namespace {namespace} requires client certificates, \
         which pods in other namespaces cannot mount"
    ))
}

/// Typhas that Linux nodes use: `calico.yaml` brings one that `typha_service_name` switches on.
fn found(observed: &Observed) -> impl Iterator<Item = (&str, &TyphaFacts)> {
    let config = observed.sources.get(&Source::CalicoConfig);
    let off = config
        .and_then(|c| c.get("typha_service_name"))
        .is_some_and(|name| name == "none");
    observed
        .typha
        .iter()
        .map(|(namespace, typha)| (namespace.as_str(), typha))
        .filter(move |(namespace, _)| match *namespace {
            tigera::CALICO_NAMESPACE => true,
            "kube-system" => !off,
            _ => false,
        })
}
