//! `tigera-windows-controller` (`windows_controller.go`): one precondition after the other, and the first that is not met
//! is what it says.

use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::core::windows_on;
use super::objects::{World, create, get, merge_status};
use super::render;
use crate::objects::text;

/// Reason and message of `Degraded`.
type Refusal = (&'static str, String);

const NAME: &str = "calico-windows";

pub async fn reconcile(world: &World) -> Result<()> {
    // Switched off it returns early: neither the DaemonSet nor the TigeraStatus is removed (`:215-218`).
    if !windows_on(&world.installation) {
        return Ok(());
    }
    match check(world) {
        Ok(()) => {
            render::apply(world).await?;
            // Rendered, that is: it asks no DaemonSet how its pods are (`:404`).
            say(world, "Available", "AllObjectsAvailable", "All objects available").await
        }
        Err((reason, message)) => say(world, "Degraded", reason, &message).await,
    }
}

fn check(world: &World) -> Result<(), Refusal> {
    let refuse = |wrong: bool, reason: &'static str, message: &str| {
        if wrong {
            Err((reason, message.to_owned()))
        } else {
            Ok(())
        }
    };
    let spec = &world.installation["spec"];
    let endpoint = |key: &str| !text(&world.endpoint["data"][key], "").is_empty();
    // `:230-241` and `validation.go:406`.
    refuse(
        !endpoint("KUBERNETES_SERVICE_HOST") || !endpoint("KUBERNETES_SERVICE_PORT"),
        "ResourceReadError",
        "services endpoint configmap 'kubernetes-services-endpoint' does not have all required information for Calico Windows daemonset configuration",
    )?;
    // `:243-248`.
    refuse(
        world.installation["status"].is_null(),
        "ResourceNotReady",
        "InstallationStatus is empty",
    )?;
    validate(spec)?;
    // `:274`.
    refuse(
        spec["windowsNodes"].is_null(),
        "ResourceNotReady",
        "Installation.Spec.WindowsNodes is nil",
    )?;
    // `:297-318`; an object that is not there has the zero value.
    let calico_ipam = spec["cni"]["ipam"]["type"] == "Calico";
    refuse(
        calico_ipam && world.ipam["spec"]["strictAffinity"] != true,
        "ResourceReadError",
        "Invalid StrictAffinity, it must be set to 'true' when using Calico IPAM on Windows",
    )?;
    // `:322-340`.
    refuse(
        world.dns.is_null(),
        "ResourceNotFound",
        "kube-dns service not found",
    )?;
    refuse(
        world.felix["spec"]["vxlanVNI"].is_null(),
        "ResourceReadError",
        "VXLANVNI not specified in FelixConfigurationSpec",
    )
}

/// `validation.go:405-424`.
fn validate(spec: &Value) -> Result<(), Refusal> {
    let invalid = |message: String| {
        Err((
            "InvalidConfigurationError",
            format!("Invalid Installation provided: {message}"),
        ))
    };
    if spec["serviceCIDRs"].as_array().is_none_or(Vec::is_empty) {
        return invalid(
            "installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows".to_owned(),
        );
    }
    let pools = spec["calicoNetwork"]["ipPools"].as_array();
    let mut v4 = pools
        .into_iter()
        .flatten()
        .filter(|p| !text(p, "/cidr").contains(':'));
    let encapsulation = v4.next().map_or("", |p| text(p, "/encapsulation"));
    if !matches!(encapsulation, "VXLAN" | "None") {
        return invalid(format!(
            "IPv4 IPPool encapsulation {encapsulation} is not supported by Calico for Windows"
        ));
    }
    Ok(())
}

/// Writes the TigeraStatus when it says something new.
async fn say(world: &World, type_: &str, reason: &str, message: &str) -> Result<()> {
    let api = world.statuses();
    let found = get(&api, NAME).await?;
    if found.is_null() {
        let object = json!({"apiVersion": "operator.tigera.io/v1", "kind": "TigeraStatus", "metadata": {"name": NAME}});
        create(&api, object).await?;
    }
    let known = found["status"]["conditions"].as_array();
    let mut told = known.into_iter().flatten().filter(|c| c["status"] == "True");
    if told.any(|c| c["type"] == type_ && c["message"] == message) {
        return Ok(());
    }
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |of: &str| {
        let on = of == type_;
        json!({
            "type": of, "status": if on { "True" } else { "False" }, "lastTransitionTime": now,
            "reason": if on { reason } else { "NotApplicable" }, "message": if on { message } else { "" },
        })
    };
    let all = ["Available", "Progressing", "Degraded"].map(condition);
    merge_status(&api, NAME, json!({ "conditions": all })).await
}
