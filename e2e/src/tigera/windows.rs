//! `tigera-windows-controller` (`windows_controller.go`): one precondition after the other, and the first that is not met
//! is what it says.

use anyhow::Result;

use super::objects::World;
use super::render;
use super::status::{Refusal, say};
use super::validation::{endpoint, validate, windows_on};

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
            say(
                world,
                NAME,
                "Available",
                "AllObjectsAvailable",
                "All objects available",
            )
            .await
        }
        Err((reason, message)) => say(world, NAME, "Degraded", reason, &message).await,
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
    // `:230-241`.
    refuse(
        !endpoint(world),
        "ResourceReadError",
        "Error reading services endpoint configmap: configmaps \"kubernetes-services-endpoint\" not found",
    )?;
    // `:243-248`.
    refuse(
        world.installation["status"].is_null(),
        "ResourceNotReady",
        "InstallationStatus is empty",
    )?;
    validate(world)?;
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
