//! The end of the demo: what was, what is.

use std::collections::BTreeMap;

use anyhow::Result;
use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use wn_api::calico::ConfigKind;

use crate::objects::{self, text};
use crate::operator::NAME;

const KINDS: [ConfigKind; 3] = [
    ConfigKind::IpamConfiguration,
    ConfigKind::IpPool,
    ConfigKind::FelixConfiguration,
];
/// Fields of `spec` that matter to Windows nodes.
const FIELDS: [&str; 7] = [
    "strictAffinity",
    "ipipMode",
    "vxlanMode",
    "ipipEnabled",
    "vxlanEnabled",
    "vxlanVNI",
    "vxlanPort",
];

type Fields = BTreeMap<String, String>;

/// Every such field of every object, as `Kind name spec.field`.
pub async fn calico_fields(client: &Client) -> Result<Fields> {
    let mut fields = Fields::new();
    let Some(calico_api) = objects::calico_api(client).await? else {
        return Ok(fields);
    };
    for kind in KINDS {
        for object in objects::list(&objects::calico(client, calico_api, kind)).await? {
            let spec = object["spec"].as_object();
            for (field, value) in spec
                .into_iter()
                .flatten()
                .filter(|(f, _)| FIELDS.contains(&f.as_str()))
            {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                fields.insert(
                    format!(
                        "{} {} spec.{field}",
                        kind.as_str(),
                        text(&object, "/metadata/name")
                    ),
                    value,
                );
            }
        }
    }
    Ok(fields)
}

pub async fn print(client: &Client, before: &Fields, say: &dyn Fn(&str)) -> Result<()> {
    let config = objects::config(client).await?;
    say("");
    rows(
        say,
        &["CALICO FIELD", "BEFORE", "AFTER"],
        calico_rows(before, &calico_fields(client).await?),
    );
    rows(
        say,
        &["DAEMONSET", "DESIRED", "UPDATED", "READY", "IMAGE"],
        daemon_sets(client).await?,
    );
    rows(
        say,
        &["WINDOWS NODE", "READY", "OS BUILD", "KUBELET", "WHY NOT"],
        nodes(&config),
    );
    rows(
        say,
        &["CONDITION", "STATUS", "REASON", "MESSAGE"],
        conditions(&config),
    );
    Ok(())
}

fn calico_rows(before: &Fields, after: &Fields) -> Vec<Vec<String>> {
    let mut names: Vec<_> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let value = |fields: &Fields, name: &str| fields.get(name).cloned().unwrap_or_else(|| "-".to_owned());
    names
        .into_iter()
        .map(|name| vec![name.clone(), value(before, name), value(after, name)])
        .collect()
}

async fn daemon_sets(client: &Client) -> Result<Vec<Vec<String>>> {
    let resource = objects::resource("apps", "v1", "DaemonSet", "daemonsets");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAME, &resource);
    let row = |d: Value| {
        let count = |field: &str| d["status"][field].as_i64().unwrap_or_default().to_string();
        let image = text(&d, "/spec/template/spec/containers/0/image").to_owned();
        let name = text(&d, "/metadata/name").to_owned();
        vec![
            name,
            count("desiredNumberScheduled"),
            count("updatedNumberScheduled"),
            count("numberReady"),
            image,
        ]
    };
    Ok(objects::list(&api).await?.into_iter().map(row).collect())
}

fn nodes(config: &Value) -> Vec<Vec<String>> {
    let list = config.pointer("/status/nodes/list").and_then(Value::as_array);
    let row = |n: &Value| {
        let cell = |p: &str| text(n, p).to_owned();
        let why = if n["ready"] == true {
            "-".to_owned()
        } else {
            format!("{}: {}", cell("/reason"), cell("/message"))
        };
        vec![
            cell("/name"),
            n["ready"].to_string(),
            cell("/osBuild"),
            cell("/kubelet"),
            why,
        ]
    };
    list.into_iter().flatten().map(row).collect()
}

fn conditions(config: &Value) -> Vec<Vec<String>> {
    let list = config.pointer("/status/conditions").and_then(Value::as_array);
    let row = |c: &Value| {
        ["/type", "/status", "/reason", "/message"]
            .map(|p| text(c, p).to_owned())
            .to_vec()
    };
    list.into_iter().flatten().map(row).collect()
}

/// Columns as wide as their widest cell; the last one is not padded.
fn rows(say: &dyn Fn(&str), head: &[&str], body: Vec<Vec<String>>) {
    let head: Vec<_> = head.iter().map(|h| (*h).to_owned()).collect();
    let all: Vec<_> = std::iter::once(head).chain(body).collect();
    let width = |i: usize| {
        all.iter()
            .filter_map(|r| r.get(i))
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0)
    };
    for row in &all {
        let cells: Vec<_> = row
            .iter()
            .enumerate()
            .map(|(i, cell)| format!("{cell:<w$}", w = width(i)))
            .collect();
        say(cells.join("   ").trim_end());
    }
    say("");
}
