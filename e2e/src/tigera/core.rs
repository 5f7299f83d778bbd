//! The controllers that serve all nodes: defaults, status, Felix (`core_controller.go`), pools (`pkg/controller/ippool`).

use anyhow::Result;
use serde_json::{Value, json};
use wn_api::calico::{ConfigKind, DEFAULT};

use super::objects::{World, create, get, merge, merge_status};
use crate::objects::text;

pub async fn reconcile(world: &World) -> Result<()> {
    if world.installation.is_null() {
        return Ok(());
    }
    // `validation.go:405-424`: refused as a whole, and nothing is done for anybody.
    let spec = &world.installation["spec"];
    if !windows_on(&world.installation) && !spec["windowsNodes"].is_null() {
        return Ok(());
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
    felix(world).await?;
    for pool in pools(&world.installation) {
        reconcile_pool(world, pool).await?;
    }
    Ok(())
}

pub fn windows_on(installation: &Value) -> bool {
    installation["spec"]["calicoNetwork"]["windowsDataplane"] == "HNS"
}

fn pools(installation: &Value) -> impl Iterator<Item = &Value> {
    let list = installation["spec"]["calicoNetwork"]["ipPools"].as_array();
    list.into_iter().flatten()
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
            "apiVersion": format!("{}/{}", world.form.group(), world.form.version()), "kind": "IPPool",
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
