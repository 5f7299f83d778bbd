//! What is said when etcd cannot be used, and that it mends by itself.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use wn_e2e::operator::USER;

use wn_e2e::etcd_scene::{SECRET, Scene};

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_missing_or_wrong_is_named_until_it_is_right() -> Result<()> {
    let scene = Scene::set().await?;
    scene.stage.apply(scene.spec()).await?;
    let says = async |reason: &str, parts: &[&str]| {
        scene
            .stage
            .condition_says("CalicoConfigured", "False", reason, parts)
            .await
    };
    let secret = format!("Secret windows-node-operator/{SECRET}");
    says("InputMissing", &[&secret, "does not exist"]).await?;
    scene.stage.condition("Stalled", "True", "InputMissing").await?;
    let before = scene.contents().await?;

    scene.secret(["etcd-ca", "etcd-cert", "other"]).await?;
    says("InputMissing", &[&secret, "has no key etcd-key"]).await?;
    let namespace = wn_e2e::operator::NAME;
    let delete = ["delete", "secret", SECRET, "-n", namespace];
    scene.stage.cluster.kubectl(&delete).await?;

    // Authority and certificate swapped: the server is not what it should be.
    scene.secret(["etcd-cert", "etcd-ca", "etcd-key"]).await?;
    scene
        .stage
        .until("what is wrong with the certificates is said", async || {
            let config = scene.stage.config().await?;
            let calico = wn_e2e::stage::condition(&config, "CalicoConfigured")
                .cloned()
                .unwrap_or_default();
            let reasons = ["DatastoreUnreachable", "InputInvalid"];
            Ok(reasons.iter().any(|r| calico["reason"] == *r).then_some(()))
        })
        .await?;
    ensure!(
        scene.contents().await? == before,
        "nothing may be written before it is right"
    );
    scene.stage.cluster.kubectl(&delete).await?;

    scene.own_secret().await?;
    scene.is_set().await?;
    scene
        .stage
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;

    // It is read by name, and nothing else of the kind.
    let log = scene.stage.cluster.audit_log()?;
    let asked: BTreeSet<_> = log
        .by(USER)
        .into_iter()
        .filter(|e| e.resource == "secrets")
        .map(|e| (e.verb.clone(), e.name.clone(), e.response_code < 400))
        .collect();
    let right = |verb: &str| (verb.to_owned(), SECRET.to_owned(), true);
    ensure!(
        asked == BTreeSet::from([right("list"), right("watch")]),
        "{asked:?}"
    );

    // Nothing of the Secret is told to anybody.
    let key = String::from_utf8(scene.etcd.secret("calico")?[2].0.clone())?;
    let line = key.lines().nth(1).unwrap_or_default();
    let log = scene.stage.operator.as_ref().map(|o| o.log()).unwrap_or_default();
    ensure!(line.len() > 20 && !log.contains(line) && !log.contains("PRIVATE KEY"));
    ensure!(!scene.stage.config().await?.to_string().contains(line));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_of_somebody_else_is_not_written_to() -> Result<()> {
    let scene = Scene::set().await?;
    scene.own_secret().await?;
    let before = scene.contents().await?;
    let mut spec = scene.spec();
    spec["calico"]["datastore"]["etcd"]["prefix"] = "/other".into();
    spec["nodeAgent"]["management"] = "External".into();
    scene.stage.apply(spec).await?;
    scene
        .stage
        .condition_says(
            "CalicoConfigured",
            "False",
            "CalicoNotInstalled",
            &[&scene.etcd.url(), "none of Calico's keys below /other/"],
        )
        .await?;
    ensure!(scene.contents().await? == before);
    // The right one, without a restart.
    scene.stage.apply(scene.spec()).await?;
    scene.is_set().await
}
