//! The core of all this over Calico's real CRDs, every release at hand, in one cluster with one operator:
//! Calico comes and goes beneath it.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wn_e2e::control_plane::{CalicoApi, CalicoCrds, shared_crds};
use wn_e2e::objects;
use wn_e2e::skip;
use wn_e2e::stage::{Stage, minimal};

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_release_of_calico() -> Result<()> {
    let releases = shared_crds();
    let missing = "Calico's CRDs are absent (set WINDOWS_NODE_SHARED)";
    if !skip::unless(!releases.is_empty(), "every_release_of_calico", missing)? {
        return Ok(());
    }
    let mut stage = Stage::play(options(CalicoApi::None)).await?;
    for (release, form, folder) in releases {
        let crds = CalicoCrds::Dir(folder);
        // The development branch reports the version it will become.
        let version = if release == "master" { "v3.33.0" } else { &release };
        round(&mut stage, form, &crds, version)
            .await
            .with_context(|| format!("{release} {form:?}"))?;
    }
    Ok(())
}

async fn round(stage: &mut Stage, form: CalicoApi, crds: &CalicoCrds, version: &str) -> Result<()> {
    stage.cluster.install_calico(form, crds).await?;
    stage.cluster.seed_calico_release(version).await?;
    stage.form = objects::calico_form(&stage.client)
        .await?
        .context("Calico is installed")?;
    let before = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    specs_are(stage, "configured", &vxlan(&before, 4096)).await?;
    let config = stage.config().await?;
    same("version", &config["status"]["calico"]["version"], &json!(version))?;
    stage
        .edit(IPAM, DEFAULT, json!({"strictAffinity": false}), PERSON)
        .await?;
    stage.field(IPAM, DEFAULT, "strictAffinity", json!(true)).await?;
    stage
        .edit(FELIX, DEFAULT, json!({"vxlanVNI": 5000}), PERSON)
        .await?;
    stage.field(FELIX, DEFAULT, "vxlanVNI", json!(4096)).await?;
    stage.ready().await?;
    stage.delete_and_wait().await?;
    specs_are(stage, "given back", &before).await?;

    // Without Felix and IPAM objects: both are made as this release's schema wants them, and removed.
    for kind in [IPAM, FELIX] {
        stage.calico(kind).delete(DEFAULT, &Default::default()).await?;
    }
    stage.apply(minimal("CalicoBGP")).await?;
    stage.ready().await?;
    same(
        "vxlanEnabled",
        &stage.spec(FELIX, DEFAULT).await?["vxlanEnabled"],
        &json!(false),
    )?;
    stage.delete_and_wait().await?;
    for kind in [IPAM, FELIX] {
        ensure!(
            stage.spec(kind, DEFAULT).await?.is_null(),
            "{} is left",
            kind.as_str()
        );
    }
    stage.cluster.remove_calico().await
}
