//! Image and chart go to a registry as the workflow sends them, and come back whole.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use wn_e2e::control_plane::{Cluster, ClusterOptions, find_program, release_tools};
use wn_e2e::registry::Registry;
use wn_e2e::skip;
use wn_release::platform::Platform;

use crate::{NAME, VERSION, folder, image, output};

/// The layout in the folder.
fn layout(folder: &Path) -> Result<String> {
    let layout = folder.join("layout");
    image()?.write_layout(&layout)?;
    Ok(layout.display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn chart_and_image_are_installed_from_a_registry() -> Result<()> {
    let folder = folder("dry-run")?;
    let registry = Registry::start(&folder).await?;
    let crane = tokio::task::spawn_blocking(release_tools::crane).await??;
    let repository = format!("{}/team/{NAME}", registry.address());
    let reference = format!("{repository}:{VERSION}");
    output(&crane, &["push", &layout(&folder)?, &reference])?;
    output(&crane, &["validate", "--remote", &reference])?;

    let cluster = Cluster::start(ClusterOptions::default()).await?;
    let folder = folder.display().to_string();
    cluster
        .helm(&["package", &format!("charts/{NAME}"), "--destination", &folder])
        .await?;
    let chart = format!("{folder}/{NAME}-{VERSION}.tgz");
    let charts = format!("oci://{}/team/charts", registry.address());
    cluster.helm(&["push", &chart, &charts, "--plain-http"]).await?;
    fs::remove_file(&chart)?;
    let team = format!("image.registry={}/team", registry.address());
    let from = format!("{charts}/{NAME}");
    let mut install = vec!["install", NAME, &from, "--version", VERSION, "--plain-http"];
    install.extend(["--namespace", NAME, "--create-namespace", "--set", &team]);
    cluster.helm(&install).await?;

    let rollout = format!("rollout status deployment/{NAME} -n {NAME} --timeout=60s");
    cluster.kubectl(&rollout.split(' ').collect::<Vec<_>>()).await?;
    let path = "jsonpath={.spec.template.spec.containers[0].image}";
    let pulled = cluster
        .kubectl(&["get", "deployment", NAME, "-n", NAME, "-o", path])
        .await?;
    assert_eq!(
        output(&crane, &["digest", &pulled])?.trim(),
        image()?.index.digest()
    );
    for platform in Platform::ALL {
        let config = output(&crane, &["config", "--platform", &platform.to_string(), &pulled])?;
        let config: Value = serde_json::from_str(&config)?;
        assert_eq!(config["architecture"], platform.architecture());
        assert_eq!(config["config"]["User"], "65532:65532");
    }
    Ok(())
}

/// What Podman, Buildah and CRI-O read images with.
#[tokio::test(flavor = "multi_thread")]
async fn skopeo_reads_every_form_of_the_image() -> Result<()> {
    let skopeo = find_program("skopeo");
    if !skip::unless(
        skopeo.is_some(),
        "skopeo_reads_every_form_of_the_image",
        "skopeo is not installed",
    )? {
        return Ok(());
    }
    let skopeo = skopeo.context("it was found")?;
    let (folder, image) = (folder("skopeo")?, image()?);
    let layout = layout(&folder)?;
    let archive = folder.join("image.tar");
    fs::write(&archive, image.archive()?)?;
    for platform in &image.platforms {
        let one = folder.join(format!("{}.tar", platform.platform.architecture()));
        fs::write(&one, image.platform_archive(platform)?)?;
        let forms = [
            format!("oci:{layout}:{VERSION}"),
            format!("oci-archive:{}", archive.display()),
            format!("oci-archive:{}", one.display()),
            format!("docker-archive:{}", one.display()),
        ];
        for form in forms {
            let architecture = platform.platform.architecture();
            let args = [
                "--override-os",
                "linux",
                "--override-arch",
                architecture,
                "inspect",
                &form,
            ];
            let found: Value = serde_json::from_str(&output(&skopeo, &args)?)?;
            assert_eq!(found["Architecture"], architecture, "{form}");
            assert_eq!(
                found["Labels"]["org.opencontainers.image.version"], VERSION,
                "{form}"
            );
        }
    }
    let registry = Registry::start(&folder).await?;
    let to = format!("docker://{}/{NAME}:{VERSION}", registry.address());
    let from = format!("oci:{layout}:{VERSION}");
    output(
        &skopeo,
        &[
            "--insecure-policy",
            "copy",
            "--all",
            "--preserve-digests",
            "--dest-tls-verify=false",
            &from,
            &to,
        ],
    )?;
    let index = output(&skopeo, &["inspect", "--raw", "--tls-verify=false", &to])?;
    assert_eq!(
        index.as_bytes(),
        image.index.bytes,
        "the workflow signs this digest"
    );
    Ok(())
}
