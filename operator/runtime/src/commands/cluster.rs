//! Reads the objects that findings are about from the cluster, with the rights of the user.

use std::str::FromStr;

use anyhow::Context as _;
use kube::Client;
use kube::api::DynamicObject;
use serde_json::Value;
use wn_api::calico::DEFAULT;
use wn_workloads::input::Objects;
use wn_workloads::kinds;
use wn_workloads::release::Release;

use super::listing::{Listed, is_forbidden};
use crate::kind::Kind;

/// What was read.
#[derive(Default)]
pub struct Cluster {
    pub objects: Objects,
    /// Calico's release, if the cluster says it.
    pub release: Option<Release>,
    /// Kinds that exist and that the user may not list, as `plural.group`.
    pub forbidden: Vec<String>,
}

/// Both forms of Calico's API. The first one that has ClusterInformation is in use: where `projectcalico.org/v3` is served
/// beside a used `crd.projectcalico.org/v1`, it is the aggregated API server over the same objects.
static FORMS: [&[kinds::Kind]; 2] = [&kinds::CALICO_V1, &kinds::CALICO_V3];

/// Lists every kind. A kind that is not served has no objects.
///
/// # Errors
/// The API server does not answer, or an object cannot be read.
pub async fn read(client: &Client) -> anyhow::Result<Cluster> {
    let mut cluster = Cluster::default();
    for kind in &kinds::KUBERNETES {
        cluster.list(client, kind.into()).await?;
    }
    for form in FORMS {
        let information = information(client, &form[0]).await?;
        let Some(information) = information else { continue };
        cluster.release = Release::from_str(&information).ok();
        for kind in form {
            cluster.list(client, kind.into()).await?;
        }
        break;
    }
    Ok(cluster)
}

/// Version of Calico in ClusterInformation `default`; `None` if the form of the API that has this kind is not served or not used.
async fn information(client: &Client, of: &'static kinds::Kind) -> anyhow::Result<Option<String>> {
    let kind = Kind::new(of.group, of.version, "ClusterInformation", "clusterinformations");
    let found = match kind.api(client, None).get_opt(DEFAULT).await {
        // The rest of the API may be readable.
        Err(error) if is_forbidden(&error) => return Ok(Some(String::new())),
        found => found.context("ClusterInformation default")?,
    };
    let version = |object: DynamicObject| {
        let text = object.data.pointer("/spec/calicoVersion").and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    Ok(found.map(version))
}

impl Cluster {
    async fn list(&mut self, client: &Client, kind: Kind) -> anyhow::Result<()> {
        let add = |object: Value| {
            self.objects.add_value(object).map_err(anyhow::Error::msg)?;
            Ok(true)
        };
        match kind.list(&kind.api(client, None), add).await? {
            Listed::Complete | Listed::NotServed => {}
            Listed::Forbidden => self.forbidden.push(kind.name()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, Call};
    use serde_json::json;

    fn list(items: &Value) -> (u16, Value) {
        (
            200,
            json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}),
        )
    }

    /// v3 is served beside v1, tiers are not served, and pods may not be listed.
    fn answer(call: &Call) -> (u16, Value) {
        let named = |name: &str| json!([{"metadata": {"name": name, "namespace": "n"}, "spec": {}}]);
        match call.line.as_str() {
            line if line.contains("/projectcalico.org/v3/") => (500, json!({})),
            line if line.ends_with("/clusterinformations/default") => (
                200,
                json!({"metadata": {"name": "default"}, "spec": {"calicoVersion": "v3.30.2"}}),
            ),
            line if line.ends_with("/tiers") => (404, json!({})),
            line if line.ends_with("/pods") => (403, json!({})),
            line if line.ends_with("/networkpolicies") => list(&named("p")),
            _ => list(&json!([])),
        }
    }

    #[tokio::test]
    async fn reads_what_it_may() {
        let (client, calls) = fake::client(answer);
        let cluster = read(&client).await.unwrap();
        assert_eq!(cluster.forbidden, ["pods"]);
        assert_eq!(cluster.release, Some(Release::V3_30));
        assert!(cluster.objects.ignored.is_empty());
        let all = calls.all();
        let lists = |plural: &str| all.iter().filter(|call| call.line.ends_with(plural)).count();
        assert_eq!(lists("/networkpolicies"), 2, "of Kubernetes and of Calico");
        assert!(all.iter().all(|call| !call.is_write()));
    }
}
