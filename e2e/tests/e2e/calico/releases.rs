//! The core of all this over Calico's real CRDs, every release at hand, in one cluster with one operator:
//! Calico comes and goes beneath it.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wn_e2e::control_plane::{CalicoApi, CalicoCrds, shared_crds};
use wn_e2e::objects;
use wn_e2e::skip;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_release_of_calico() -> Result<()> {
    let releases = shared_crds();
    let missing = "Calico's CRDs are absent (set WINDOWS_NODE_SHARED)";
    if !skip::unless(!releases.is_empty(), "every_release_of_calico", missing)? {
        return Ok(());
    }
    let mut test = TestCluster::with_operator(options(CalicoApi::None)).await?;
    for (release, calico_api, folder) in releases {
        let crds = CalicoCrds::Dir(folder);
        // The development branch reports the version it will become.
        let version = if release == "master" { "v3.33.0" } else { &release };
        round(&mut test, calico_api, &crds, version)
            .await
            .with_context(|| format!("{release} {calico_api:?}"))?;
    }
    Ok(())
}

async fn round(
    test: &mut TestCluster,
    calico_api: CalicoApi,
    crds: &CalicoCrds,
    version: &str,
) -> Result<()> {
    test.cluster.install_calico(calico_api, crds).await?;
    test.cluster.seed_calico_release(version).await?;
    test.calico_api = objects::calico_api(&test.client)
        .await?
        .context("Calico is installed")?;
    let before = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    specs_are(test, "configured", &vxlan(&before, 4096)).await?;
    let config = test.config().await?;
    same("version", &config["status"]["calico"]["version"], &json!(version))?;
    test.edit(IPAM, DEFAULT, json!({"strictAffinity": false}), PERSON)
        .await?;
    test.field(IPAM, DEFAULT, "strictAffinity", json!(true)).await?;
    test.edit(FELIX, DEFAULT, json!({"vxlanVNI": 5000}), PERSON)
        .await?;
    test.field(FELIX, DEFAULT, "vxlanVNI", json!(4096)).await?;
    test.ready().await?;
    test.delete_and_wait().await?;
    specs_are(test, "restored", &before).await?;

    // Without Felix and IPAM objects: both are made as this release's schema wants them, and removed.
    for kind in [IPAM, FELIX] {
        test.calico(kind).delete(DEFAULT, &Default::default()).await?;
    }
    test.apply(minimal("CalicoBGP")).await?;
    test.ready().await?;
    same(
        "vxlanEnabled",
        &test.spec(FELIX, DEFAULT).await?["vxlanEnabled"],
        &json!(false),
    )?;
    test.delete_and_wait().await?;
    for kind in [IPAM, FELIX] {
        ensure!(
            test.spec(kind, DEFAULT).await?.is_null(),
            "{} is left",
            kind.as_str()
        );
    }
    test.cluster.remove_calico().await
}
