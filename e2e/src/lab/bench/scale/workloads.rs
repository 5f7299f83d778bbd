//! The workloads of a large cluster: what the operator's check of policies, Services and pods costs.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::super::table::Figures;
use super::super::{milliseconds, quantile};
use super::field::{Field, is_status, together};
use super::{population, process};
use crate::control_plane::AuditEvent;
use crate::objects;

const NAMESPACES: usize = 100;
const POLICIES: usize = 2000;
const SERVICES: usize = 5000;
/// Of each Service: 100,000 in all.
const ENDPOINTS: usize = 20;
const PODS: usize = 20_000;
const ROUNDS: usize = 10;
const LIMIT: Duration = Duration::from_mins(2);
const SETTLE: Duration = Duration::from_mins(10);
/// The operator writes the status once a second at most.
const PAUSE: Duration = Duration::from_millis(1500);

pub async fn workloads(field: &mut Field, figures: &mut Figures) -> Result<()> {
    let before = process::rss(field.pid()?)?;
    together((0..NAMESPACES).map(|number| namespace(field, number))).await?;
    together((0..PODS).map(|number| pod(field, number))).await?;
    together((0..SERVICES).map(|number| service(field, number))).await?;
    together((0..POLICIES).map(|number| policy(field, number))).await?;
    field.rest(SETTLE).await?;
    let followed = process::rss(field.pid()?)?;
    field.kill();
    field.mark()?;
    field.start()?;
    field.rest(SETTLE).await?;
    let pid = field.pid()?;
    let (rss, peak) = (process::rss(pid)?, process::peak(pid)?);
    let sizes = format!(
        "{POLICIES} policies, {SERVICES} Services, {} endpoints, {PODS} pods",
        SERVICES * ENDPOINTS
    );
    figures.value(&sizes, "-", "in 100 namespaces".to_owned());
    figures.value("  RSS before", "-", format!("{before:.1} MB"));
    figures.value("  RSS after they were created", "-", format!("{followed:.1} MB"));
    figures.value(
        "  RSS more, after a restart",
        "≤ 10 MB",
        format!("{:.1} MB", rss - before),
    );
    figures.value("  peak RSS from the start", "-", format!("{peak:.1} MB"));
    changes(field, figures).await
}

/// A policy gets a fault, and loses it.
async fn changes(field: &mut Field, figures: &mut Figures) -> Result<()> {
    let mut reported = Vec::new();
    for round in 0..ROUNDS {
        for port in [json!("web"), json!(8080)] {
            tokio::time::sleep(PAUSE).await;
            field.mark()?;
            edit(field, round, port).await?;
            let changed = |e: &&AuditEvent| e.verb == "patch" && e.resource == "networkpolicies";
            let cause = field
                .until("the policy's change", LIMIT, |all| {
                    all.iter().find(changed).cloned()
                })
                .await?;
            let is_reported = |e: &&AuditEvent| is_status(e) && e.stage_timestamp > cause.stage_timestamp;
            let status = field
                .until("the findings in the status", LIMIT, |all| {
                    all.iter().find(is_reported).cloned()
                })
                .await?;
            reported.push(milliseconds(cause.stage_timestamp, status.stage_timestamp));
        }
    }
    let text = |share: f64| format!("{:.0} ms", quantile(&reported, share));
    figures.value("  one policy changes → status, median", "-", text(0.5));
    figures.value(
        "  95th percentile (200 ms are the wait for further changes)",
        "-",
        text(0.95),
    );
    Ok(())
}

fn place(number: usize) -> String {
    format!("team-{}", number % NAMESPACES)
}

async fn create(field: &Field, plural: &str, object: Value) -> Result<()> {
    api(field, plural, &object)
        .create(&PostParams::default(), &serde_json::from_value(object.clone())?)
        .await
        .with_context(|| format!("create an object of {plural}"))?;
    Ok(())
}

fn api(field: &Field, plural: &str, object: &Value) -> Api<DynamicObject> {
    let api_version = objects::text(object, "/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = objects::resource(group, version, objects::text(object, "/kind"), plural);
    match objects::text(object, "/metadata/namespace") {
        "" => Api::all_with(field.client.clone(), &resource),
        namespace => Api::namespaced_with(field.client.clone(), namespace, &resource),
    }
}

/// With its ServiceAccount, which no controller makes here.
async fn namespace(field: &Field, number: usize) -> Result<()> {
    let name = place(number);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    create(field, "namespaces", namespace).await?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}});
    create(field, "serviceaccounts", account).await
}

fn address(number: usize) -> String {
    format!(
        "10.{}.{}.{}",
        64 + number / 65_536,
        number / 256 % 256,
        number % 256
    )
}

/// A running pod of the Service that its number leads to.
async fn pod(field: &Field, number: usize) -> Result<()> {
    let name = format!("pod-{number}");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": place(number), "labels": {"app": app(number)}},
        "spec": {
            "nodeName": population::name(number % field.nodes), "os": {"name": "windows"},
            "nodeSelector": {"kubernetes.io/os": "windows"}, "automountServiceAccountToken": false,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "app", "image": "registry.example.com/app:1", "ports": [{"name": "web", "containerPort": 8080}]}],
        },
    });
    let api = api(field, "pods", &pod);
    create(field, "pods", pod).await?;
    let ip = address(number);
    let status = json!({"status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}});
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

/// The application of a pod or a Service: of 50 in each namespace.
fn app(number: usize) -> String {
    format!("app-{}", number / NAMESPACES % (SERVICES / NAMESPACES))
}

async fn service(field: &Field, number: usize) -> Result<()> {
    let (name, namespace, app) = (format!("service-{number}"), place(number), app(number));
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": app}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    create(field, "services", service).await?;
    let endpoints = (0..ENDPOINTS).map(|n| {
        let pod = (number * ENDPOINTS + n) % PODS;
        json!({
            "addresses": [address(pod)], "nodeName": population::name(pod % field.nodes), "conditions": {"ready": true},
            "targetRef": {"kind": "Pod", "namespace": namespace, "name": format!("pod-{pod}")},
        })
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
        "ports": [{"port": 8080}], "endpoints": endpoints.collect::<Vec<_>>(),
    });
    create(field, "endpointslices", slice).await
}

fn policy_of(number: usize, port: &Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": format!("policy-{number}"), "namespace": place(number)},
        "spec": {
            "podSelector": {"matchLabels": {"app": app(number)}}, "policyTypes": ["Ingress"],
            "ingress": [{
                "from": [{"podSelector": {"matchLabels": {"app": app(number + NAMESPACES)}}}],
                "ports": [{"protocol": "TCP", "port": port}],
            }],
        },
    })
}

async fn policy(field: &Field, number: usize) -> Result<()> {
    create(field, "networkpolicies", policy_of(number, &json!(8080))).await
}

/// Felix on Windows skips a rule with a named port.
async fn edit(field: &Field, number: usize, port: Value) -> Result<()> {
    let policy = policy_of(number, &port);
    let patch = json!({"spec": policy["spec"]});
    api(field, "networkpolicies", &policy)
        .patch(
            &format!("policy-{number}"),
            &PatchParams::default(),
            &Patch::Merge(patch),
        )
        .await?;
    Ok(())
}
