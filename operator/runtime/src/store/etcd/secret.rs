//! The Secret with the certificates for etcd. Its content stays in this module and in the TLS client: it is in no fact,
//! no log and no status.

use std::time::Duration;

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

/// A watch that cannot be resumed lists again after this time. The list tells whether the Secret may be read: an API server that was
/// just started refuses everything for a moment, and a watch that is resumed after that says nothing of an unchanged Secret.
const RELIST: Duration = Duration::from_secs(1);

/// Follows the Secret for ever.
pub async fn follow(client: Client, namespace: String, spec: EtcdSecret, to: watch::Sender<State>) {
    let api = Api::<Secret>::namespaced(client, &namespace);
    let one = watcher::Config::default().fields(&format!("metadata.name={}", spec.name));
    let start = || {
        StreamBackoff::new(
            watcher(api.clone(), one.clone()),
            watcher::DefaultBackoff::default(),
        )
    };
    let mut events = std::pin::pin!(start());
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
            Err(error) => {
                warn!(%error, "watch of the Secret for etcd failed, trying again");
                if matches!(error, watcher::Error::WatchStartFailed(_)) {
                    tokio::time::sleep(RELIST).await;
                    events.set(start());
                }
            }
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
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 403)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use axum::http::{Request, Response};
    use k8s_openapi::ByteString;
    use kube::client::Body;
    use serde_json::json;

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

    /// An API server that was just started knows no roles yet. It refuses the watch once, and then resumes it.
    #[tokio::test]
    async fn a_watch_that_is_refused_once_leaves_no_trouble() {
        let spec = EtcdSecret {
            name: "s".into(),
            ca: None,
            cert: None,
            key: None,
        };
        let [ca, cert, key] = secret_keys(&spec);
        let list = json!({
            "kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "s"}, "data": {ca: "cGVt", cert: "cGVt", key: "cGVt"}}],
        });
        let refused = json!({"kind": "Status", "status": "Failure", "message": "no", "code": 403});
        let watches = Arc::new(AtomicU32::new(0));
        let lists = Arc::new(AtomicU32::new(0));
        let (watched, listed) = (watches.clone(), lists.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
            let count = if is_watch { &watched } else { &listed };
            let earlier = count.fetch_add(1, Ordering::Relaxed);
            let (code, text) = match is_watch {
                true => (403, refused.to_string()),
                false => (200, list.to_string()),
            };
            async move {
                if is_watch && earlier > 0 {
                    // Goes on, and has nothing to say.
                    std::future::pending::<()>().await;
                }
                let body = Body::from(text.into_bytes());
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        });
        let (sender, state) = watch::channel(State::Unknown);
        let resumed = async {
            while watches.load(Ordering::Relaxed) < 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = follow(Client::new(service, "default"), "default".into(), spec, sender) => {}
            () = resumed => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
        }
        assert_eq!(lists.load(Ordering::Relaxed), 2, "it lists again");
        assert!(matches!(*state.borrow(), State::Found(_)));
    }
}
