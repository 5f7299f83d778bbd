//! What it renders for Windows nodes: ConfigMap `cni-config-windows` and DaemonSet `calico-node-windows`
//! (`pkg/render/windows.go`), as far as the agent's start depends on it.

use anyhow::Result;
use serde_json::{Value, json};

use super::objects::{World, create, get};

const NAME: &str = "calico-node-windows";
const IMAGE: &str = "quay.io/calico/node-windows:v3.32.1";
const CNI_IMAGE: &str = "quay.io/calico/cni-windows:v3.32.1";

pub async fn apply(world: &World) -> Result<()> {
    if !get(&world.daemon_sets(), NAME).await?.is_null() {
        return Ok(());
    }
    create(&world.config_maps(), config_map(world)).await?;
    create(&world.daemon_sets(), daemon_set(world)).await
}

/// The Installation owns all that is rendered.
fn metadata(world: &World, name: &str) -> Value {
    json!({
        "name": name,
        "namespace": "calico-system",
        "ownerReferences": [{
            "apiVersion": "operator.tigera.io/v1", "kind": "Installation", "name": "default",
            "uid": world.installation["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
        }],
    })
}

/// BGP decides, whatever the pools say (`windows.go:807`).
fn backend(world: &World) -> &'static str {
    if world.installation["spec"]["calicoNetwork"]["bgp"] == "Enabled" {
        "windows-bgp"
    } else {
        "vxlan"
    }
}

fn config_map(world: &World) -> Value {
    let config = json!({"name": "Calico", "cniVersion": "0.3.1", "plugins": [{
        "type": "calico", "mode": backend(world), "windows_use_single_network": true,
        "ipam": {"type": "calico-ipam"},
        "DNS": {"Nameservers": [world.dns["spec"]["clusterIP"]], "Search": ["svc.cluster.local"]},
        "policies": [{"Name": "EndpointPolicy", "Value": {
            "Type": "OutBoundNAT", "ExceptionList": world.installation["spec"]["serviceCIDRs"],
        }}],
    }]});
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(world, "cni-config-windows"),
        "data": {"config": config.to_string()},
    })
}

fn daemon_set(world: &World) -> Value {
    let labels = json!({"k8s-app": NAME});
    let data = &world.endpoint["data"];
    let field =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let mut shared = vec![
        json!({"name": "KUBERNETES_SERVICE_HOST", "value": data["KUBERNETES_SERVICE_HOST"]}),
        json!({"name": "KUBERNETES_SERVICE_PORT", "value": data["KUBERNETES_SERVICE_PORT"]}),
        json!({"name": "VXLAN_VNI", "value": world.felix["spec"]["vxlanVNI"].to_string()}),
        json!({"name": "CALICO_NETWORKING_BACKEND", "value": backend(world)}),
        json!({"name": "CNI_PLUGIN_TYPE", "value": "Calico"}),
        field("NODENAME", "spec.nodeName"),
        field("KUBERNETES_NODE_NAME", "spec.nodeName"),
    ];
    // Injected in native-v3 mode.
    if world.calico_api == wn_api::calico::CalicoApi::V3 {
        shared.push(json!({"name": "CALICO_API_GROUP", "value": "projectcalico.org/v3"}));
    }
    let mut install = shared.clone();
    install.push(json!({"name": "CNI_NETWORK_CONFIG", "valueFrom": {
        "configMapKeyRef": {"name": "cni-config-windows", "key": "config"},
    }}));
    let windows = json!({"windowsOptions": {"hostProcess": true, "runAsUserName": "NT AUTHORITY\\system"}});
    let container = |name: &str, image: &str, env: &[Value]| json!({"name": name, "image": image, "env": env, "securityContext": windows});
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata(world, NAME),
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": {
                "hostNetwork": true,
                "nodeSelector": {"kubernetes.io/os": "windows"},
                "tolerations": [{"operator": "Exists"}],
                "priorityClassName": "system-node-critical",
                "terminationGracePeriodSeconds": 5,
                "initContainers": [
                    container("uninstall-calico", IMAGE, &shared),
                    container("install-cni", CNI_IMAGE, &install),
                ],
                "containers": [container("felix", IMAGE, &shared), container("node", IMAGE, &shared)],
            }},
        },
    })
}
