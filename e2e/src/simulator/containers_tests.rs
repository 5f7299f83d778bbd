use super::*;
use serde_json::{Value, json};

fn resolve_with(container: Value, volumes: Value) -> Result<Vec<Resolved>, Unresolved> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "ns", "labels": {"a/b": "c"}},
        "spec": {"nodeName": "win-0", "containers": [container], "volumes": volumes},
    }))
    .unwrap();
    let config_maps = ConfigMaps::from([(
        ("ns".to_owned(), "cm".to_owned()),
        Files::from([("key".to_owned(), "value".to_owned())]),
    )]);
    let context = PodContext {
        config_maps: &config_maps,
        cluster_ip: Some("10.96.0.1"),
        node_ip: "172.20.0.5",
    };
    resolve(&pod, &context)
}

fn env_of(env: Value) -> Result<Env, Unresolved> {
    resolve_with(json!({"name": "c", "image": "i", "env": env}), json!([])).map(|mut all| all.remove(0).env)
}

#[test]
fn environment_comes_from_fields_and_config_maps() {
    let env = env_of(json!([
        {"name": "NODENAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}},
        {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "key"}}},
        {"name": "GONE", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "no", "optional": true}}},
        {"name": "BOTH", "value": "$(NODENAME)/$(KEY)/$(UNKNOWN)/$$(KEY)"},
    ]))
    .unwrap();
    for (name, value) in [
        ("NODENAME", Some("win-0")),
        ("POD_IP", Some("172.20.0.5")),
        ("LABEL", Some("c")),
        ("KEY", Some("value")),
        ("GONE", None),
        ("BOTH", Some("win-0/value/$(UNKNOWN)/$(KEY)")),
        ("KUBERNETES_SERVICE_HOST", Some("10.96.0.1")),
    ] {
        assert_eq!(env.get(name).map(String::as_str), value, "{name}");
    }
    let own = env_of(json!([{"name": "KUBERNETES_SERVICE_HOST", "value": "api.example.com"}])).unwrap();
    assert_eq!(own["KUBERNETES_SERVICE_HOST"], "api.example.com");
}

#[test]
fn what_is_missing_keeps_a_container_from_starting() {
    for (reference, message) in [
        (
            json!({"name": "cm", "key": "no"}),
            "couldn't find key no in ConfigMap ns/cm",
        ),
        (json!({"name": "no", "key": "key"}), "configmap \"no\" not found"),
    ] {
        let env = env_of(json!([{"name": "X", "valueFrom": {"configMapKeyRef": reference}}]));
        let expected = Unresolved::Container {
            name: "c".to_owned(),
            message: message.to_owned(),
        };
        assert_eq!(env.unwrap_err(), expected);
    }
}

#[test]
fn volumes_hold_the_files_of_a_config_map() {
    let mounted = |volume: Value, mount: Value| {
        resolve_with(
            json!({"name": "c", "image": "i", "volumeMounts": [mount]}),
            json!([volume]),
        )
    };
    let files = mounted(
        json!({"name": "v", "configMap": {"name": "cm"}}),
        json!({"name": "v", "mountPath": "/scripts"}),
    )
    .unwrap();
    assert_eq!(files[0].mounts["/scripts"]["key"], "value");
    let one = mounted(
        json!({"name": "v", "configMap": {"name": "cm", "items": [{"key": "key", "path": "start.ps1"}]}}),
        json!({"name": "v", "mountPath": "/kube-proxy/start.ps1", "subPath": "start.ps1"}),
    )
    .unwrap();
    assert_eq!(one[0].mounts["/kube-proxy"]["start.ps1"], "value");
    for config_map in [
        json!({"name": "no"}),
        json!({"name": "cm", "items": [{"key": "no", "path": "x"}]}),
    ] {
        let gone = mounted(
            json!({"name": "v", "configMap": config_map}),
            json!({"name": "v", "mountPath": "/s"}),
        );
        assert!(matches!(gone, Err(Unresolved::Volume(_))));
    }
}
