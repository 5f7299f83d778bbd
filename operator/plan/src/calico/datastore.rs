//! Whether the datastore that the spec names can be used now. The rest of the plan reads and sets fields, and does not know which
//! datastore holds them.

use wn_api::calico::CalicoApi;
use wn_api::names::etcd::{CA, CERT, KEY, PREFIX};
use wn_api::reasons::Reason;
use wn_api::spec::{Datastore, DatastoreType, Etcd, EtcdSecret};

use crate::finding::Finding;
use crate::observed::{EtcdTrouble, Observed};

/// The datastore that the originals belong to, if the spec names another kind now. Restored into the new datastore they would be
/// wrong, and in the old one they would be lost.
pub fn of_another(spec: &Datastore, observed: &Observed) -> Option<CalicoApi> {
    let calico = observed.readable()?.status.as_ref()?.calico.as_ref()?;
    let api = calico.api.filter(|_| !calico.originals.is_empty())?;
    let in_etcd = spec.type_ == DatastoreType::Etcd;
    ((api == CalicoApi::Etcd) != in_etcd).then_some(api)
}

/// Why nothing can be decided on Calico now; `None` when it can.
pub fn finding(spec: &Datastore, observed: &Observed) -> Option<Finding> {
    if let Some(api) = of_another(spec, observed) {
        let before = if api == CalicoApi::Etcd {
            "Etcd"
        } else {
            "Kubernetes"
        };
        return Some(Finding {
            reason: Reason::InputInvalid,
            message: format!(
                "spec.calico.datastore was changed, but status.calico.originals belong to the earlier datastore: set its type back to {before}, \
                 delete the WindowsNodeConfig, and create it again with the new type"
            ),
        });
    }
    match (spec.type_, &spec.etcd, &observed.calico.etcd) {
        (DatastoreType::Kubernetes, _, None) => None,
        (DatastoreType::Etcd, Some(etcd), Some(facts)) => match &facts.trouble {
            Some(trouble) => Some(describe(trouble, etcd, &observed.namespace)),
            None => is_empty(observed).then(|| empty(etcd)),
        },
        // What is known is of the datastore that was named before.
        _ => Some(Finding {
            reason: Reason::Progressing,
            message: "spec.calico.datastore was changed: its contents are being read".to_owned(),
        }),
    }
}

fn is_empty(observed: &Observed) -> bool {
    observed.calico.objects.is_empty() && observed.calico.cluster_information.is_none()
}

/// Nothing is written into an etcd that may be somebody else's.
fn empty(etcd: &Etcd) -> Finding {
    Finding {
        reason: Reason::CalicoNotInstalled,
        message: format!(
            "etcd at {} has none of Calico's keys below {}/: check endpoints and prefix of spec.calico.datastore.etcd, or install Calico; \
             the operator continues by itself",
            etcd.endpoints.join(", "),
            prefix(etcd)
        ),
    }
}

/// First path element of Calico's keys, `/calico` by default.
pub fn prefix(etcd: &Etcd) -> &str {
    etcd.prefix.as_deref().unwrap_or(PREFIX)
}

/// Keys of the Secret: authority, client certificate, private key.
pub fn secret_keys(secret: &EtcdSecret) -> [&str; 3] {
    [
        secret.ca.as_deref().unwrap_or(CA),
        secret.cert.as_deref().unwrap_or(CERT),
        secret.key.as_deref().unwrap_or(KEY),
    ]
}

fn describe(trouble: &EtcdTrouble, etcd: &Etcd, namespace: &str) -> Finding {
    let name = etcd.secret_ref.as_ref().map_or("", |s| s.name.as_str());
    let secret = format!("Secret {namespace}/{name} of spec.calico.datastore.etcd.secretRef");
    let (reason, message) = match trouble {
        EtcdTrouble::SecretMissing => (
            Reason::InputMissing,
            format!("{secret} does not exist: create it with Calico's certificates for etcd"),
        ),
        EtcdTrouble::SecretForbidden => (
            Reason::InputMissing,
            format!(
                "{secret} may not be read: set the chart value etcd.secretName to {name}, or apply \
                 manifests/components/etcd with that name"
            ),
        ),
        EtcdTrouble::SecretKeyMissing { key } => (
            Reason::InputMissing,
            format!("{secret} has no key {key}: add it, or name the key it has in secretRef"),
        ),
        EtcdTrouble::CertificateInvalid { error } => (
            Reason::InputInvalid,
            format!(
                "{secret} has no usable certificates ({error}): store authority, certificate and key as PEM"
            ),
        ),
        EtcdTrouble::Unreachable { endpoint, error } => (
            Reason::DatastoreUnreachable,
            format!(
                "etcd at {endpoint} cannot be used ({error}): check that it runs, that its address is right, and that it accepts the client \
                 certificate; the operator keeps trying"
            ),
        ),
    };
    Finding { reason, message }
}
