//! The controllers that serve all nodes: defaults, status, Felix (`core_controller.go`), pools (`pkg/controller/ippool`).

use anyhow::Result;
use serde_json::{Value, json};
use wn_api::calico::{ConfigKind, DEFAULT};

use super::objects::{World, create, get, merge, merge_status};
use super::status::say;
use super::validation::{self, windows_on};
use crate::objects::text;

const NAME: &str = "calico";

pub async fn reconcile(world: &World) -> Result<()> {
    if world.installation.is_null() {
        return Ok(());
    }
    // Nothing is done for anybody while it is refused, or while Typha has too few nodes to run on (`core_controller.go:790`,
    // `:931`). The pools have a controller of their own, which waits until this one got past that once.
    if let Err((reason, message)) = validation::validate(world) {
        if !world.installation["status"].is_null() {
            reconcile_pools(world).await?;
        }
        return say(world, NAME, "Degraded", reason, &message).await;
    }
    let defaults = defaults(&world.installation["spec"]);
    if !defaults.is_null() {
        merge(&world.installations(), DEFAULT, defaults).await?;
    }
    if world.installation["status"].is_null() {
        merge_status(
            &world.installations(),
            DEFAULT,
            json!({"variant": "Calico", "mtu": 1450}),
        )
        .await?;
    }
    reconcile_pools(world).await?;
    if let Err(message) = typha(world) {
        return say(world, NAME, "Degraded", "ResourceScalingError", &message).await;
    }
    felix(world).await?;
    say(
        world,
        NAME,
        "Available",
        "AllObjectsAvailable",
        "All objects available",
    )
    .await
}

/// `pkg/controller/typhaautoscaler`, `pkg/common/autoscale.go`.
fn typha(world: &World) -> Result<(), String> {
    let takes_pods = |node: &&Value| {
        let label = |name: &str| &node["metadata"]["labels"][name];
        let virtual_node =
            label("type") == "virtual-kubelet" && !label("kubernetes.azure.com/cluster").is_null();
        node["spec"]["unschedulable"] != true && !virtual_node
    };
    let nodes: Vec<_> = world.nodes.iter().filter(takes_pods).collect();
    let linux = nodes
        .iter()
        .filter(|n| n["metadata"]["labels"]["kubernetes.io/os"] == "linux");
    let (require, have) = (
        match nodes.len() {
            0..=2 => 1,
            3..=4 => 2,
            all => (all / 200 + 2).max(3),
        },
        linux.count(),
    );
    if have < require {
        return Err(format!(
            "Failed to autoscale typha - not enough linux nodes to schedule typha pods on, require {require} and have {have}"
        ));
    }
    Ok(())
}

async fn reconcile_pools(world: &World) -> Result<()> {
    let list = world.installation["spec"]["calicoNetwork"]["ipPools"].as_array();
    for pool in list.into_iter().flatten() {
        reconcile_pool(world, pool).await?;
    }
    Ok(())
}

/// What is empty is filled in, and written back; null when nothing is. Encapsulation of pools is defaulted to IPIP
/// (`pkg/controller/ippool/defaults.go`), BGP to Enabled with Calico's CNI (`core_controller.go:514-531`), Windows to
/// Disabled (`:483-490`) and, once it is on, its folders (`:500-512`).
fn defaults(spec: &Value) -> Value {
    let mut fill = json!({});
    let network = &spec["calicoNetwork"];
    for (field, value) in [("bgp", "Enabled"), ("windowsDataplane", "Disabled")] {
        if network[field].is_null() {
            fill["calicoNetwork"][field] = json!(value);
        }
    }
    if spec["cni"].is_null() {
        fill["cni"] = json!({"type": "Calico", "ipam": {"type": "Calico"}});
    }
    if network["windowsDataplane"] == "HNS" && spec["windowsNodes"].is_null() {
        fill["windowsNodes"] = json!({
            "cniBinDir": "/opt/cni/bin", "cniConfigDir": "/etc/cni/net.d", "cniLogDir": "/var/log/calico/cni",
        });
    }
    if fill == json!({}) { Value::Null } else { fill }
}

/// `core_controller.go:1722-1755`.
async fn felix(world: &World) -> Result<()> {
    if !windows_on(&world.installation) || world.felix.is_null() {
        return Ok(());
    }
    let mut fill = json!({});
    for (field, value) in [("vxlanVNI", 4096), ("vxlanPort", 4789)] {
        if world.felix["spec"][field].is_null() {
            fill[field] = json!(value);
        }
    }
    if fill != json!({}) {
        merge(&world.calico(ConfigKind::FelixConfiguration), DEFAULT, fill).await?;
    }
    Ok(())
}

/// Pools with its label are as the Installation says, whoever edits them (`pool_controller.go:135-141,299`).
async fn reconcile_pool(world: &World, pool: &Value) -> Result<()> {
    let (ipip, vxlan) = match text(pool, "/encapsulation") {
        "" | "IPIP" => ("Always", "Never"),
        "IPIPCrossSubnet" => ("CrossSubnet", "Never"),
        "VXLAN" => ("Never", "Always"),
        "VXLANCrossSubnet" => ("Never", "CrossSubnet"),
        _ => ("Never", "Never"),
    };
    let (name, api) = (text(pool, "/name"), world.calico(ConfigKind::IpPool));
    let found = get(&api, name).await?;
    if found.is_null() {
        let object = json!({
            "apiVersion": format!("{}/{}", world.calico_api.group(), world.calico_api.version()), "kind": "IPPool",
            "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "tigera-operator"}},
            "spec": {
                "cidr": pool["cidr"], "blockSize": 26, "natOutgoing": true, "nodeSelector": "all()",
                "allowedUses": ["Workload", "Tunnel"], "assignmentMode": "Automatic",
                "ipipMode": ipip, "vxlanMode": vxlan,
            },
        });
        return create(&api, object).await;
    }
    let ours = found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "tigera-operator";
    let spec = &found["spec"];
    if ours && (spec["ipipMode"] != ipip || spec["vxlanMode"] != vxlan) {
        merge(&api, name, json!({"ipipMode": ipip, "vxlanMode": vxlan})).await?;
    }
    Ok(())
}
