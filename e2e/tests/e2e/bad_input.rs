//! Every entry of the table of bad input, on a real API server and with a running operator: refused by the
//! one or by the other, in words that help, and nothing is written anywhere.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde::Deserialize;
use serde_json::{Value, json};
use wn_api::names;
use wn_e2e::control_plane::{ClusterOptions, paths};
use wn_e2e::objects;
use wn_e2e::test_cluster::{TestCluster, condition};

/// Shared with the pure test of the operator's part.
const TABLE: &str = "operator/plan/tests/plan/data/bad-input.yaml";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    spec: Option<Value>,
    object: Option<Value>,
    refused_by: Option<Who>,
    contains: Option<String>,
    #[serde(default)]
    accepted: bool,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Who {
    ApiServer,
    Operator,
}

impl Case {
    fn object(&self) -> Value {
        self.object.clone().unwrap_or_else(|| {
            json!({
                "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
                "kind": names::KIND,
                "metadata": {"name": names::SINGLETON},
                "spec": self.spec,
            })
        })
    }

    fn contains(&self) -> &str {
        self.contains.as_deref().unwrap_or_default()
    }
}

fn table() -> Result<Vec<Case>> {
    let path = paths::workspace().join(TABLE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(serde_saphyr::from_str(&text)?)
}

/// As `kubectl create` does, which asks for unknown fields to be refused.
async fn create(test: &TestCluster, case: &Case) -> kube::Result<Value> {
    let path = format!(
        "/apis/{}/{}/windowsnodeconfigs?fieldValidation=Strict",
        names::GROUP,
        names::VERSION
    );
    let body = case.object().to_string().into_bytes();
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(body);
    test.client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}

/// Replaces the spec, whatever it was.
async fn apply(configs: &Api<DynamicObject>, case: &Case) -> kube::Result<DynamicObject> {
    let object = case.object();
    let name = objects::text(&object, "/metadata/name").to_owned();
    let params = PatchParams::apply("kubectl").force().validation_strict();
    configs.patch(&name, &params, &Patch::Apply(&object)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_and_changes_nothing() -> Result<()> {
    let cases = table()?;
    let refused = cases.iter().filter(|c| c.refused_by.is_some()).count();
    ensure!(refused >= 60, "only {refused} cases");
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    let configs = objects::configs(&test.client);
    let mut wrong = Vec::new();

    // Nothing is stored, so the operator has nothing to look at: these need no order.
    for case in cases.iter().filter(|c| c.refused_by == Some(Who::ApiServer)) {
        match create(&test, case).await {
            Err(kube::Error::Api(status)) if status.message.contains(case.contains()) => {}
            Err(kube::Error::Api(status)) => wrong.push(format!(
                "{}: {:?} says {}",
                case.name,
                case.contains(),
                status.message
            )),
            Err(error) => bail!("{}: {error}", case.name),
            Ok(_) => {
                wrong.push(format!("{}: stored", case.name));
                test.delete_and_wait().await?;
            }
        }
    }
    ensure!(
        test.writes_since(Timestamp::MIN)?.is_empty(),
        "the operator wrote without a config"
    );

    let before = test.calico_specs().await?;
    let began = Timestamp::now();
    for case in cases.iter().filter(|c| c.refused_by == Some(Who::Operator)) {
        if let Err(error) = apply(&configs, case).await {
            wrong.push(format!("{}: not stored: {error}", case.name));
            continue;
        }
        match tokio::time::timeout(
            Duration::from_secs(20),
            test.condition("Stalled", "True", "InvalidSpec"),
        )
        .await
        {
            Ok(message) => {
                let message = message?;
                if !message.contains(case.contains()) {
                    wrong.push(format!(
                        "{}: {:?} is not in {message:?}",
                        case.name,
                        case.contains()
                    ));
                }
                let config = test.config().await?;
                let ready = condition(&config, "Ready").cloned().unwrap_or_default();
                ensure!(
                    ready["status"] == "False" && ready["reason"] == "InvalidSpec",
                    "{}: {ready}",
                    case.name
                );
            }
            Err(_) => wrong.push(format!("{}: not Stalled", case.name)),
        }
    }
    let ours = |w: &wn_e2e::control_plane::AuditEvent| w.subresource == "status" || w.resource == "events";
    let written: Vec<_> = test
        .writes_since(began)?
        .into_iter()
        .filter(|w| !ours(w))
        .collect();
    wrong.extend(
        written
            .iter()
            .map(|w| format!("written: {} {}/{}", w.verb, w.resource, w.name)),
    );
    ensure!(test.calico_specs().await? == before, "Calico was changed");
    let event = test.event("InvalidSpec", "").await?;
    ensure!(event.contains("spec."), "{event}");

    // What is close to a refusal and fine: Observe, so that the next one finds the cluster as it was.
    for case in cases.iter().filter(|c| c.accepted) {
        if let Err(error) = apply(&configs, case).await {
            wrong.push(format!("{}: {error}", case.name));
            continue;
        }
        let accepted = test.condition("InputsDiscovered", "True", "AsExpected");
        if tokio::time::timeout(Duration::from_secs(20), accepted)
            .await
            .is_err()
        {
            let config = test.config().await?;
            wrong.push(format!("{}: {:?}", case.name, condition(&config, "Stalled")));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    Ok(())
}
