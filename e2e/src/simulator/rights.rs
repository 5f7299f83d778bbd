//! What an agent may do: its requests are made as its ServiceAccount, so the API server refuses what RBAC does not
//! grant. Felix lists what the real one was recorded to list (`e2e/windows/calico-requests.tsv`).

use std::time::Instant;

use http::{HeaderValue, Request};
use k8s_openapi::api::core::v1::Pod;
use kube::client::Body;
use kube::{Client, Error, ResourceExt as _};
use serde_json::Value;
use tower::service_fn;
use wn_api::calico::CalicoApi;

use super::containers::Env;
use super::failure::{Kind, Verdict, refuse};
use super::feeds::RETRY;

const RECORD: &str = include_str!("../../windows/calico-requests.tsv");
/// Of Calico v3, the first minor whose Felix asks for a resource, where not every release does.
const SINCE: &[(&str, u32)] = &[
    ("clusternetworkpolicies", 32),
    ("virtualmachineinstancemigrations", 32),
];

/// A client with the rights of the pod's ServiceAccount. A pod without an account of its own is one of a stand-in
/// that creates no roles; it may do what `client` may.
pub fn client(client: &Client, pod: &Pod) -> Client {
    let account = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.service_account_name.as_deref());
    let namespace = pod.namespace().unwrap_or_default();
    let user = account
        .filter(|account| *account != "default")
        .and_then(|account| {
            HeaderValue::try_from(format!("system:serviceaccount:{namespace}:{account}")).ok()
        });
    let Some(user) = user else {
        return client.clone();
    };
    let client = client.clone();
    let impersonate = service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert("Impersonate-User", user.clone());
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(impersonate, namespace)
}

/// The last answer to Felix's lists: which API and minor asked, when, and what came of it.
pub type LastLists = Option<(CalicoApi, u32, Instant, Verdict)>;

/// Is Felix in sync? 403 is retried each second for ever; 404 counts as in sync (`felix`'s own words of it: "Backing API
/// not installed, marking as in-sync and retrying later."). Behind Typha, Felix lists nothing itself, and with an etcd nothing here.
///
/// All nodes share an answer for as long as Felix waits between two tries.
pub async fn felix(
    client: &Client,
    last: &tokio::sync::Mutex<LastLists>,
    env: &Env,
    api: CalicoApi,
    image: &str,
) -> Result<Verdict, Error> {
    let etcd = env.get("DATASTORE_TYPE").is_some_and(|store| store == "etcdv3");
    if etcd || env.contains_key("FELIX_TYPHAK8SSERVICENAME") {
        return Ok(Ok(()));
    }
    let minor = minor(image);
    let mut last = last.lock().await;
    if let Some((asked_by, asked, at, verdict)) = &*last
        && (*asked_by, *asked) == (api, minor)
        && at.elapsed() < RETRY
    {
        return Ok(verdict.clone());
    }
    let mut verdict = Ok(());
    for path in lists(api, minor) {
        verdict = list(client, &path).await?;
        if verdict.is_err() {
            break;
        }
    }
    *last = Some((api, minor, Instant::now(), verdict.clone()));
    Ok(verdict)
}

async fn list(client: &Client, path: &str) -> Result<Verdict, Error> {
    let request = Request::get(path)
        .body(Vec::new())
        .map_err(|error| Error::Service(error.into()))?;
    match client.request::<Value>(request).await {
        Err(Error::Api(status)) if status.code == 403 => Ok(refuse(
            true,
            Kind::Waits,
            format!(
                "Failed to perform list of current data during resync error={}",
                unauthorized(&status.message)
            ),
        )),
        Err(Error::Api(status)) if status.code == 404 => Ok(Ok(())),
        result => result.map(|_| Ok(())),
    }
}

/// libcalico's words for a 403.
pub fn unauthorized(message: &str) -> String {
    format!("connection is unauthorized: {message}")
}

/// Paths of what Felix lists, one object each.
fn lists(api: CalicoApi, minor: u32) -> impl Iterator<Item = String> {
    RECORD.lines().filter_map(move |line| {
        let [_, "felix", group, resource, verbs, ""] = line.split('\t').collect::<Vec<_>>()[..] else {
            return None;
        };
        let known = |(name, since): &(&str, u32)| *name != resource || minor >= *since;
        if !verbs.split(',').any(|verb| verb == "list") || !SINCE.iter().all(known) {
            return None;
        }
        let prefix = match group {
            "calico" => format!("/apis/{}/{}", api.group(), api.version()),
            version if version.contains('/') => format!("/apis/{version}"),
            version => format!("/api/{version}"),
        };
        Some(format!("{prefix}/{resource}?limit=1"))
    })
}

/// The version of Calico in an image, from its tag.
pub fn version(image: &str) -> Option<&str> {
    let (_, tag) = image.rsplit_once(':')?;
    tag.starts_with("v3.").then_some(tag)
}

/// Its minor; an image without such a tag counts as the newest.
fn minor(image: &str) -> u32 {
    version(image)
        .and_then(|version| version.split('.').nth(1)?.parse().ok())
        .unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn felix_lists_what_was_recorded() {
        let kubevirt = "/apis/kubevirt.io/v1/virtualmachineinstancemigrations?limit=1".to_owned();
        for (image, asks) in [
            ("node-windows:v3.31.7", false),
            ("node-windows:v3.32.0", true),
            ("node-windows@sha256:00", true),
        ] {
            let all: Vec<_> = lists(CalicoApi::V3, minor(image)).collect();
            assert_eq!(all.contains(&kubevirt), asks, "{image}");
            assert!(all.contains(&"/api/v1/pods?limit=1".to_owned()), "{all:?}");
            assert!(
                all.contains(&"/apis/projectcalico.org/v3/tiers?limit=1".to_owned()),
                "{all:?}"
            );
        }
    }
}
