//! Calico's API in a cluster: the CRDs of v1 or v3, ours or those of a release.
//!
//! Ours (`e2e/control-plane/calico`) hold the names, types and rules of the fields that matter here,
//! written from facts; a test over the real ones, where those are at hand, shows whether they agree.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::components::POLL;
use super::paths;

const ESTABLISH_LIMIT: Duration = Duration::from_secs(60);
const GROUPS: [&str; 2] = ["crd.projectcalico.org", "projectcalico.org"];
const NUDGE_INTERVAL: Duration = Duration::from_millis(250);

/// The APIs in which Calico keeps its objects in Kubernetes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CalicoApi {
    /// CRDs of `crd.projectcalico.org/v1`, where IPAM's settings are an `IPAMConfig`.
    V1,
    /// CRDs of `projectcalico.org/v3`, where they are an `IPAMConfiguration`.
    V3,
    /// No Calico.
    None,
}

/// Whose CRDs.
#[derive(Clone, Debug)]
pub enum CalicoCrds {
    Builtin,
    /// Every CRD in the YAML files of this folder (not of folders below).
    Dir(PathBuf),
}

/// CRDs that a cluster with Calico may or may not have beside Calico's own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Neighbour {
    /// `clusternetworkpolicies.policy.networking.k8s.io`.
    ClusterNetworkPolicy,
    /// `datastoremigrations.migration.projectcalico.org`.
    DatastoreMigration,
    /// `installations.operator.tigera.io`.
    Installation,
    /// `tigerastatuses.operator.tigera.io`.
    TigeraStatus,
}

impl Neighbour {
    fn file(self) -> PathBuf {
        builtin().join("neighbours").join(match self {
            Self::ClusterNetworkPolicy => "clusternetworkpolicies.yaml",
            Self::DatastoreMigration => "datastoremigrations.yaml",
            Self::Installation => "installations.yaml",
            Self::TigeraStatus => "tigerastatuses.yaml",
        })
    }
}

/// Calico's real CRDs among the shared fixtures: release, API and folder. Empty where there are none.
pub fn shared_crds() -> Vec<(String, CalicoApi, PathBuf)> {
    let Some(crds) = paths::shared().map(|shared| shared.join("calico-crds")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (calico_api, folder) in [(CalicoApi::V1, crds.join("v1")), (CalicoApi::V3, crds.join("v3"))] {
        // The folder itself holds the development branch, its folders the releases.
        if folder.is_dir() {
            found.push(("master".to_owned(), calico_api, folder.clone()));
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(release) = name.strip_prefix("release-") {
                found.push((release.to_owned(), calico_api, entry.path()));
            }
        }
    }
    found.sort_by(|a, b| a.2.cmp(&b.2));
    found
}

impl Cluster {
    /// Installs the CRDs of one API and waits until they are served. Creates no objects.
    pub async fn install_calico(&self, calico_api: CalicoApi, crds: &CalicoCrds) -> Result<()> {
        let folder = match (crds, calico_api) {
            (_, CalicoApi::None) => return Ok(()),
            (CalicoCrds::Dir(folder), _) => folder.clone(),
            (CalicoCrds::Builtin, CalicoApi::V1) => builtin().join("v1"),
            (CalicoCrds::Builtin, CalicoApi::V3) => builtin().join("v3"),
        };
        install(&self.client(), crds_in_folder(&folder)?).await
    }

    /// Installs what Calico's agent asks for besides the kinds above, without a schema.
    pub async fn install_calico_policy(&self, calico_api: CalicoApi) -> Result<()> {
        let (group, version) = match calico_api {
            CalicoApi::V1 => (GROUPS[0], "v1"),
            CalicoApi::V3 => (GROUPS[1], "v3"),
            CalicoApi::None => return Ok(()),
        };
        let crds = POLICY_KINDS
            .iter()
            .map(|(kind, scope)| open_crd(group, version, kind, scope));
        install(&self.client(), crds.collect()).await
    }

    /// Installs one more CRD and waits until it is served.
    pub async fn install_neighbour(&self, neighbour: Neighbour) -> Result<()> {
        install(&self.client(), crds_in_file(&neighbour.file())?).await
    }

    /// Removes Calico's CRDs of both APIs, and with them its objects, and waits until they are gone.
    pub async fn remove_calico(&self) -> Result<()> {
        let api = Api::<CustomResourceDefinition>::all(self.client());
        for crd in calico_crds(&api).await? {
            api.delete(&crd.name_any(), &DeleteParams::default()).await?;
        }
        let deadline = Instant::now() + ESTABLISH_LIMIT;
        loop {
            let left = calico_crds(&api).await?;
            // What the API lists as served follows a moment later.
            let groups = api.clone().into_client().list_api_groups().await?.groups;
            if left.is_empty() && !groups.iter().any(|group| GROUPS.contains(&group.name.as_str())) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let names: Vec<_> = left.iter().map(ResourceExt::name_any).collect();
                bail!("CRDs do not go away: {}", names.join(", "));
            }
            tokio::time::sleep(NUDGE_INTERVAL).await;
            for crd in left {
                nudge(&api, &crd.name_any()).await?;
            }
        }
    }
}

async fn calico_crds(api: &Api<CustomResourceDefinition>) -> Result<Vec<CustomResourceDefinition>> {
    let all = api.list(&ListParams::default()).await?.items;
    let groups = ["crd.projectcalico.org", "projectcalico.org"];
    Ok(all
        .into_iter()
        .filter(|crd| groups.contains(&crd.spec.group.as_str()))
        .collect())
}

/// The API server drops a CRD it could not finalize at once (its storage is still starting) until it
/// looks at all of them again, after five minutes; any update makes it look now.
async fn nudge(api: &Api<CustomResourceDefinition>, name: &str) -> Result<()> {
    let now = jiff::Timestamp::now().to_string();
    let patch = json!({"metadata": {"annotations": {"lab.example/nudged": now}}});
    match api
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
    {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => {
            other.with_context(|| format!("nudge CRD {name}"))?;
            Ok(())
        }
    }
}

fn builtin() -> PathBuf {
    paths::modules().join("calico")
}

fn crds_in_folder(folder: &Path) -> Result<Vec<Value>> {
    let mut crds = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            crds.extend(crds_in_file(&path)?);
        }
    }
    if crds.is_empty() {
        bail!("no CRDs in {}", folder.display());
    }
    Ok(crds)
}

fn crds_in_file(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| format!("parse {}", path.display()))?;
    Ok(documents
        .into_iter()
        .filter(|document| document["kind"] == "CustomResourceDefinition")
        .collect())
}

/// Kinds of policy: name, and scope.
const POLICY_KINDS: &[(&str, &str)] = &[
    ("Tier", "Cluster"),
    ("GlobalNetworkPolicy", "Cluster"),
    ("NetworkPolicy", "Namespaced"),
    ("StagedGlobalNetworkPolicy", "Cluster"),
    ("StagedNetworkPolicy", "Namespaced"),
    ("StagedKubernetesNetworkPolicy", "Namespaced"),
    ("GlobalNetworkSet", "Cluster"),
    ("NetworkSet", "Namespaced"),
];

fn open_crd(group: &str, version: &str, kind: &str, scope: &str) -> Value {
    let singular = kind.to_ascii_lowercase();
    let plural = singular
        .strip_suffix('y')
        .map_or_else(|| format!("{singular}s"), |stem| format!("{stem}ies"));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

async fn install(client: &Client, crds: Vec<Value>) -> Result<()> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let installed = try_join_all(crds.iter().map(|crd| apply(&api, crd))).await?;
    try_join_all(installed.iter().map(|name| established(&api, name))).await?;
    Ok(())
}

async fn apply(api: &Api<CustomResourceDefinition>, crd: &Value) -> Result<String> {
    let name = crd["metadata"]["name"].as_str().context("a CRD without a name")?;
    api.patch(
        name,
        &PatchParams::apply("calico-installer").force(),
        &Patch::Apply(crd),
    )
    .await
    .with_context(|| format!("apply CRD {name}"))?;
    Ok(name.to_owned())
}

async fn established(api: &Api<CustomResourceDefinition>, name: &str) -> Result<()> {
    let deadline = Instant::now() + ESTABLISH_LIMIT;
    loop {
        let crd = api.get(name).await?;
        let conditions = crd
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        if conditions
            .iter()
            .any(|c| c.type_ == "Established" && c.status == "True")
        {
            return Ok(());
        }
        if Instant::now() > deadline {
            let messages: Vec<_> = conditions.into_iter().filter_map(|c| c.message).collect();
            bail!("CRD {name} is not established: {}", messages.join("; "));
        }
        tokio::time::sleep(POLL).await;
    }
}
