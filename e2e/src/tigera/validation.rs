//! `validation.go:405-424`: both controllers refuse an Installation as a whole.

use serde_json::Value;

use super::objects::World;
use super::status::Refusal;
use crate::objects::text;

pub fn windows_on(installation: &Value) -> bool {
    installation["spec"]["calicoNetwork"]["windowsDataplane"] == "HNS"
}

/// The address of the API server that pods on Windows nodes are given.
pub fn endpoint(world: &World) -> bool {
    let data = &world.endpoint["data"];
    let keys = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];
    keys.iter().all(|key| !text(&data[*key], "").is_empty())
}

pub fn validate(world: &World) -> Result<(), Refusal> {
    let invalid = |message: &str| {
        Err((
            "InvalidConfigurationError",
            format!("Invalid Installation provided: {message}"),
        ))
    };
    let spec = &world.installation["spec"];
    if !windows_on(&world.installation) {
        if !spec["windowsNodes"].is_null() {
            return invalid(
                "installation spec.WindowsNodes is not valid and should not be provided when Calico for Windows is disabled",
            );
        }
        return Ok(());
    }
    if !endpoint(world) {
        return invalid(
            "services endpoint configmap 'kubernetes-services-endpoint' does not have all required information for Calico Windows \
             daemonset configuration",
        );
    }
    if spec["serviceCIDRs"].as_array().is_none_or(Vec::is_empty) {
        return invalid("installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows");
    }
    let pools = spec["calicoNetwork"]["ipPools"].as_array();
    let mut v4 = pools
        .into_iter()
        .flatten()
        .filter(|p| !text(p, "/cidr").contains(':'));
    // The other controller's default for what is empty.
    let encapsulation = v4.next().map_or("IPIP", |p| match text(p, "/encapsulation") {
        "" => "IPIP",
        given => given,
    });
    if !matches!(encapsulation, "VXLAN" | "None") {
        return invalid(&format!(
            "IPv4 IPPool encapsulation {encapsulation} is not supported by Calico for Windows"
        ));
    }
    Ok(())
}
