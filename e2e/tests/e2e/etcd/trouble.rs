//! What is reported when etcd cannot be used, and that the operator recovers by itself.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use wn_e2e::operator::USER;

use wn_e2e::etcd_fixture::{Fixture, SECRET};

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_missing_or_wrong_is_named_until_it_is_right() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.test.apply(fixture.spec()).await?;
    let says = async |reason: &str, parts: &[&str]| {
        fixture
            .test
            .condition_says("CalicoConfigured", "False", reason, parts)
            .await
    };
    let secret = format!("Secret windows-node-operator/{SECRET}");
    says("InputMissing", &[&secret, "does not exist"]).await?;
    fixture.test.condition("Stalled", "True", "InputMissing").await?;
    let before = fixture.contents().await?;

    fixture.secret(["etcd-ca", "etcd-cert", "other"]).await?;
    says("InputMissing", &[&secret, "has no key etcd-key"]).await?;
    let namespace = wn_e2e::operator::NAME;
    let delete = ["delete", "secret", SECRET, "-n", namespace];
    fixture.test.cluster.kubectl(&delete).await?;

    // Authority and certificate swapped: the server is not what it should be.
    fixture.secret(["etcd-cert", "etcd-ca", "etcd-key"]).await?;
    fixture
        .test
        .until("the problem of the certificates is reported", async || {
            let config = fixture.test.config().await?;
            let calico = wn_e2e::test_cluster::condition(&config, "CalicoConfigured")
                .cloned()
                .unwrap_or_default();
            let reasons = ["DatastoreUnreachable", "InputInvalid"];
            Ok(reasons.iter().any(|r| calico["reason"] == *r).then_some(()))
        })
        .await?;
    ensure!(
        fixture.contents().await? == before,
        "nothing may be written before it is right"
    );
    fixture.test.cluster.kubectl(&delete).await?;

    fixture.own_secret().await?;
    fixture.is_set().await?;
    fixture
        .test
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;

    // It is read by name, and nothing else of the kind.
    let log = fixture.test.cluster.audit_log()?;
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

    // Nothing of the Secret is published.
    let key = String::from_utf8(fixture.etcd.secret("calico")?[2].0.clone())?;
    let line = key.lines().nth(1).unwrap_or_default();
    let log = fixture
        .test
        .operator
        .as_ref()
        .map(|o| o.log())
        .unwrap_or_default();
    ensure!(line.len() > 20 && !log.contains(line) && !log.contains("PRIVATE KEY"));
    ensure!(!fixture.test.config().await?.to_string().contains(line));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_of_somebody_else_is_not_written_to() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.own_secret().await?;
    let before = fixture.contents().await?;
    let mut spec = fixture.spec();
    spec["calico"]["datastore"]["etcd"]["prefix"] = "/other".into();
    spec["nodeAgent"]["management"] = "External".into();
    fixture.test.apply(spec).await?;
    fixture
        .test
        .condition_says(
            "CalicoConfigured",
            "False",
            "CalicoNotInstalled",
            &[&fixture.etcd.url(), "none of Calico's keys below /other/"],
        )
        .await?;
    ensure!(fixture.contents().await? == before);
    // The right one, without a restart.
    fixture.test.apply(fixture.spec()).await?;
    fixture.is_set().await
}
