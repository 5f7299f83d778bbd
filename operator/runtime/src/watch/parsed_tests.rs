//! What is read of an object while it is parsed is what is read of the whole object.

use std::fmt::Debug;

use serde_json::{Value, json};

use super::*;

/// Names that objects of the API have; every one of them may be the name of a label or an annotation, too.
const NAMES: [&str; 14] = [
    "affinity",
    "args",
    "command",
    "containers",
    "env",
    "image",
    "images",
    "labels",
    "managedFields",
    "metadata",
    "spec",
    "volumeMounts",
    "volumes",
    "volumesAttached",
];

fn parsed<N: Numerous>(object: &Value) -> Parsed<N> {
    serde_json::from_str(&object.to_string()).unwrap()
}

#[track_caller]
fn same<N: Numerous>(object: &Value) {
    let text = |fact: &dyn Debug| format!("{fact:?}");
    assert_eq!(
        text(&parsed::<N>(object).fact),
        text(&N::fact(object)),
        "{object:#}"
    );
}

fn node() -> Value {
    let named: serde_json::Map<_, _> = NAMES.iter().map(|n| ((*n).to_owned(), json!("x"))).collect();
    let mut node = json!({
        "metadata": {
            "name": "win-0", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": named, "annotations": named,
            "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {
            "providerID": "aws:///a/i-1", "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"], "unschedulable": true,
            "taints": [{"key": "os", "effect": "NoSchedule"}, {"key": "readiness.k8s.io/windows-network", "effect": "NoSchedule"}],
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": "192.168.0.5"}],
            "allocatable": {"pods": "110", "vpc.amazonaws.com/PrivateIPv4Address": "14"},
            "conditions": [
                {"type": "Ready", "status": "Unknown", "message": "silent"},
                {"type": "NetworkUnavailable", "status": "True"},
                {"type": "windowsnode.dev/WindowsNetworkReady", "status": "False", "reason": "NotRecovered", "message": "m",
                 "lastTransitionTime": "2026-01-01T00:00:09Z"},
            ],
            "images": [{"names": ["x"], "sizeBytes": 1}],
            "nodeInfo": {
                "bootID": "b", "kernelVersion": "10.0.20348.1", "kubeletVersion": "v1.36.0", "containerRuntimeVersion": "containerd://2.1.0",
            },
            "volumesAttached": [{"name": "v", "devicePath": ""}],
        },
    });
    let calico = [
        ("IPv4VXLANTunnelAddr", "10.0.0.1"),
        ("VXLANTunnelMACAddr", "00:15:5d:00:00:01"),
        ("IPv4Address", "192.168.0.5/24"),
        ("ASNumber", "64512"),
        ("RouteReflectorClusterID", "244.0.0.1"),
        ("WireguardPublicKey", "k"),
    ];
    for (name, value) in calico {
        node["metadata"]["annotations"][format!("projectcalico.org/{name}")] = json!(value);
    }
    node["metadata"]["annotations"]["windowsnode.dev/tainted"] = json!("true");
    node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = json!("");
    node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("a");
    node
}

fn pod(spec: Value) -> Value {
    json!({
        "metadata": {
            "namespace": "ns", "name": "p", "uid": "u", "labels": {"k8s-app": "kube-proxy-windows", "env": "prod"},
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:05Z",
        },
        "spec": spec,
        "status": {
            "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:03Z"},
                {"type": "PodScheduled", "status": "False", "message": "no node"},
            ],
            "initContainerStatuses": [{"name": "i", "state": {"terminated": {}}, "lastState": {}}],
            "containerStatuses": [{
                "name": "kube-proxy", "restartCount": 5,
                "state": {"running": {"startedAt": "2026-01-01T00:00:02Z"}},
                "lastState": {"terminated": {"reason": "Error", "message": "m", "finishedAt": "2026-01-01T00:00:01Z"}},
            }],
        },
    })
}

#[test]
fn names_of_fields_are_names_of_labels_too() {
    let Fact::Node(Some(facts)) = parsed::<Nodes>(&node()).fact else {
        unreachable!()
    };
    for name in NAMES {
        assert_eq!(facts.labels.get(name), Some("x"), "{name}");
    }
}

#[test]
fn nodes_are_read_as_a_whole_one_is() {
    same::<Nodes>(&node());
    same::<LinuxNodes>(&node());
    same::<Nodes>(&json!({"metadata": {"name": "n"}, "spec": null, "status": {"conditions": null}}));
    let parsed = parsed::<Nodes>(&node());
    assert_eq!(parsed.meta().name.as_deref(), Some("win-0"));
    assert_eq!(parsed.meta().resource_version.as_deref(), Some("7"));
}

#[test]
fn pods_are_read_as_a_whole_one_is() {
    let containers = json!([{"name": "c", "image": "x/kube-proxy:v1.33.4", "args": ["--v=4"], "env": [{"name": "a", "value": "b"}]}]);
    same::<Pods>(&pod(json!({"nodeName": "win-0", "containers": containers})));
    let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["win-1"]}]}]);
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    same::<Pods>(&pod(json!({"affinity": affinity, "containers": containers})));
    let containers = json!([{"name": "node", "env": [{"name": "VXLAN_VNI", "value": "4097"}]}]);
    let mut agent = pod(json!({"nodeName": "win-0", "containers": containers}));
    agent["metadata"]["labels"]["k8s-app"] = json!("calico-node-windows");
    let fact = parsed::<Pods>(&agent).fact;
    assert!(matches!(fact, Fact::Pod(Some(pod)) if pod.vni == Some(4097)));
}

#[test]
fn events_are_read_as_a_whole_one_is() {
    let event = |more: Value| {
        let mut event = json!({
            "metadata": {"namespace": "ns", "name": "e", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "reason": "FailedCreatePodSandBox", "message": "m", "involvedObject": {"namespace": "ns", "name": "p", "uid": "u"},
        });
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        event
    };
    let host = json!({"component": "kubelet", "host": "win-0"});
    same::<Failures>(&event(
        json!({"source": host, "lastTimestamp": "2026-01-01T00:00:07Z"}),
    ));
    same::<Failures>(&event(
        json!({"reportingInstance": "win-0", "reportingComponent": "kubelet", "eventTime": "2026-01-01T00:00:07.000000Z"}),
    ));
    same::<Failures>(&event(
        json!({"source": host, "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:08.000000Z"}}),
    ));
}

#[test]
fn addresses_are_read_as_a_whole_object_is() {
    let attributes = json!([
        {"handle_id": "windows-reserved-ipam-handle"},
        {"handle_id": "a", "secondary": {"node": "win-1", "timestamp": "2026-05-01 10:00:00.1 +0000 UTC", "env": "x"}},
    ]);
    same::<Blocks>(&json!({"metadata": {"name": "b"}, "spec": {
        "affinity": "host:win-0", "cidr": "10.0.0.0/29", "attributes": attributes, "allocations": [0, 0, 0, 1, null, null, null, 0],
        "unallocated": [4, 5, 6],
    }}));
    same::<Affinities>(&json!({"metadata": {"name": "a"}, "spec": {
        "node": "win-0", "cidr": "10.0.0.0/29", "state": "confirmed", "type": "host", "deleted": "false",
    }}));
}
