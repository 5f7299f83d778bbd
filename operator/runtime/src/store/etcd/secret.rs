//! The Secret with the certificates for etcd. Its content stays in this module and in the TLS client: it is in no fact,
//! no log and no status.

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use kube_runtime::utils::StreamBackoff;
use kube_runtime::watcher::{self, Event, watcher};
use tokio::sync::watch;
use tracing::warn;
use wn_api::spec::EtcdSecret;
use wn_plan::calico::datastore::secret_keys;
use wn_plan::checksum;
use wn_plan::observed::EtcdTrouble;

/// CA certificate, client certificate and key, as PEM. Has no `Debug`, so that it cannot be logged.
#[derive(Clone, Eq, PartialEq)]
pub struct Certificates {
    /// CA certificate.
    pub authority: Vec<u8>,
    /// Client certificate.
    pub certificate: Vec<u8>,
    /// Private key of the client certificate.
    pub key: Vec<u8>,
}

impl Certificates {
    /// Checksum of CA and client certificate, to detect new ones; never of the key.
    pub fn checksum(&self) -> String {
        let text = [&self.authority, &self.certificate].map(|pem| String::from_utf8_lossy(pem));
        checksum::of(text.iter().map(AsRef::as_ref))
    }
}

/// State of the Secret.
#[derive(Clone, Eq, PartialEq)]
pub enum State {
    /// Not read yet.
    Unknown,
    /// The spec names no Secret.
    NotNeeded,
    /// It has every key.
    Found(Certificates),
    /// It cannot be used.
    Trouble(EtcdTrouble),
}

/// Follows the Secret for ever.
pub async fn follow(client: Client, namespace: String, spec: EtcdSecret, to: watch::Sender<State>) {
    let api = Api::<Secret>::namespaced(client, &namespace);
    let one = watcher::Config::default().fields(&format!("metadata.name={}", spec.name));
    let events = StreamBackoff::new(watcher(api, one), watcher::DefaultBackoff::default());
    let mut events = std::pin::pin!(events);
    let publish = |state: State| {
        to.send_if_modified(|known| {
            let news = *known != state;
            *known = state;
            news
        });
    };
    let mut listed = false;
    loop {
        match events.try_next().await {
            Ok(Some(Event::Init)) => listed = false,
            Ok(Some(Event::InitApply(secret))) => {
                listed = true;
                publish(read(&spec, &secret));
            }
            Ok(Some(Event::Apply(secret))) => publish(read(&spec, &secret)),
            Ok(Some(Event::InitDone)) if !listed => publish(State::Trouble(EtcdTrouble::SecretMissing)),
            Ok(Some(Event::InitDone)) => {}
            Ok(Some(Event::Delete(_))) => publish(State::Trouble(EtcdTrouble::SecretMissing)),
            Ok(None) => return,
            Err(error) if is_forbidden(&error) => publish(State::Trouble(EtcdTrouble::SecretForbidden)),
            Err(error) => warn!(%error, "watch of the Secret for etcd failed, trying again"),
        }
    }
}

fn read(spec: &EtcdSecret, secret: &Secret) -> State {
    let [ca, cert, key] = secret_keys(spec);
    let get = |name: &str| {
        let found = secret.data.as_ref().and_then(|data| data.get(name));
        found
            .map(|bytes| bytes.0.clone())
            .filter(|bytes| !bytes.is_empty())
            .ok_or_else(|| EtcdTrouble::SecretKeyMissing { key: name.to_owned() })
    };
    let all = || {
        Ok(Certificates {
            authority: get(ca)?,
            certificate: get(cert)?,
            key: get(key)?,
        })
    };
    all().map_or_else(State::Trouble, State::Found)
}

fn is_forbidden(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(kube::Error::Api(status))
    | watcher::Error::WatchStartFailed(kube::Error::Api(status))) = error
    else {
        return false;
    };
    status.code == 403
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;

    #[test]
    fn names_the_key_that_is_missing() {
        let spec = EtcdSecret {
            name: "s".into(),
            ca: Some("ca.crt".into()),
            cert: None,
            key: None,
        };
        let secret = |keys: &[&str]| Secret {
            data: Some(
                keys.iter()
                    .map(|k| ((*k).to_owned(), ByteString(b"pem".to_vec())))
                    .collect(),
            ),
            ..Secret::default()
        };
        let missing = |keys: &[&str], key: &str| {
            read(&spec, &secret(keys)) == State::Trouble(EtcdTrouble::SecretKeyMissing { key: key.into() })
        };
        assert!(missing(&[], "ca.crt"));
        assert!(missing(&["ca.crt", "etcd-cert"], "etcd-key"));
        assert!(matches!(
            read(&spec, &secret(&["ca.crt", "etcd-cert", "etcd-key"])),
            State::Found(_)
        ));
    }
}
