//! Our CRDs against Calico's real ones, where those are at hand.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use wn_e2e::control_plane::{CalicoApi, CalicoCrds, Cluster, ClusterOptions, paths, shared_crds};
use wn_e2e::skip;

/// The release ours are written after.
const RELEASE: &str = "v3.32.1";

/// The real CRDs, or none, where the test is skipped.
fn real_crds(test: &str) -> Result<Vec<(String, CalicoApi, std::path::PathBuf)>> {
    let real = shared_crds();
    skip::unless(
        !real.is_empty(),
        test,
        "Calico's CRDs are absent (set WINDOWS_NODE_SHARED)",
    )?;
    Ok(real)
}

#[tokio::test]
async fn every_release_of_calico_can_be_installed_and_seeded() -> Result<()> {
    let real = real_crds("every_release_of_calico_can_be_installed_and_seeded")?;
    if real.is_empty() {
        return Ok(());
    }
    let options = ClusterOptions {
        calico_api: CalicoApi::None,
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await?;
    for (release, calico_api, folder) in real {
        let crds = CalicoCrds::Dir(folder);
        cluster
            .install_calico(calico_api, &crds)
            .await
            .with_context(|| format!("{release} {calico_api:?}"))?;
        cluster
            .seed_calico_release(&release)
            .await
            .with_context(|| format!("{release} {calico_api:?}"))?;
        let information = cluster
            .kubectl(&["get", "clusterinformation", "default", "-ojsonpath={.spec}"])
            .await?;
        ensure!(
            information.contains(&release),
            "{release} {calico_api:?}: {information}"
        );
        cluster.remove_calico().await?;
        ensure!(
            cluster.seed_calico().await.is_err(),
            "{release} {calico_api:?}: its API is still there"
        );
    }
    Ok(())
}

#[test]
fn ours_agree_with_the_real_ones() -> Result<()> {
    let (mut compared, mut written) = (0, 0);
    for (release, calico_api, folder) in real_crds("ours_agree_with_the_real_ones")? {
        if release != RELEASE {
            continue;
        }
        let ours = paths::modules()
            .join("calico")
            .join(if calico_api == CalicoApi::V1 { "v1" } else { "v3" });
        let real = load(&folder)?;
        let master = folder.parent().map_or_else(|| Ok(BTreeMap::new()), load)?;
        let ours = load(&ours)?;
        written += ours.len();
        for (name, crd) in ours {
            // Of kinds kept for the development branch only, that one stands for the release.
            let real = real
                .get(&name)
                .or_else(|| master.get(&name))
                .with_context(|| format!("Calico {RELEASE} has no {name}"))?;
            agree(&name, &crd["spec"]["scope"], &real["spec"]["scope"])?;
            agree(&name, &crd["spec"]["names"], &real["spec"]["names"])?;
            let version = |crd: &Value| crd["spec"]["versions"][0].clone();
            agree(&name, &version(&crd)["name"], &version(real)["name"])?;
            agree(
                &name,
                &version(&crd)["subresources"]["status"],
                &version(real)["subresources"]["status"],
            )?;
            let schema =
                |crd: &Value| version(crd)["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
            same_rules(&name, &schema(&crd), &schema(real))?;
            compared += 1;
        }
    }
    ensure!(compared == written, "compared {compared} CRDs of {written}");
    Ok(())
}

/// Each rule for each property we write down is Calico's, and none is missing.
fn same_rules(at: &str, ours: &Value, real: &Value) -> Result<()> {
    ensure!(real.is_object(), "{at}: unknown to Calico");
    let rules = [
        "type", "enum", "format", "nullable", "default", "minimum", "maximum", "maxItems", "required",
    ];
    for rule in rules.into_iter().chain(["x-kubernetes-list-type"]) {
        agree(&format!("{at}.{rule}"), &ours[rule], &real[rule])?;
    }
    let count = |schema: &Value| schema["x-kubernetes-validations"].as_array().map_or(0, Vec::len);
    let partial = ours["x-kubernetes-preserve-unknown-fields"] == true;
    ensure!(
        partial || count(ours) == count(real),
        "{at}: another number of CEL rules"
    );
    for inner in ["items", "additionalProperties"] {
        if ours[inner].is_object() {
            same_rules(&format!("{at}.{inner}"), &ours[inner], &real[inner])?;
        }
    }
    let properties = |schema: &Value| schema["properties"].as_object().cloned().unwrap_or_default();
    let real_properties = properties(real);
    for (name, schema) in properties(ours) {
        let real = real_properties.get(&name).unwrap_or(&Value::Null);
        same_rules(&format!("{at}.{name}"), &schema, real)?;
    }
    let missing = real_properties
        .keys()
        .find(|name| !properties(ours).contains_key(*name));
    ensure!(partial || missing.is_none(), "{at}: we lack {missing:?}");
    Ok(())
}

fn agree(at: &str, ours: &Value, real: &Value) -> Result<()> {
    ensure!(ours == real, "{at}: ours is {ours}, Calico's {real}");
    Ok(())
}

fn load(folder: &Path) -> Result<BTreeMap<String, Value>> {
    let mut crds = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(path)?;
        let crd: Value = serde_saphyr::from_str(&text)?;
        crds.insert(
            crd["metadata"]["name"].as_str().context("a name")?.to_owned(),
            crd,
        );
    }
    Ok(crds)
}
