//! The CustomResourceDefinition as it is shipped.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::WindowsNodeConfig;

/// What `crds/` holds and `windows-node-operator crd` prints, as YAML.
pub fn custom_resource_definition() -> Value {
    let crd: CustomResourceDefinition = WindowsNodeConfig::crd();
    let mut value = serde_json::to_value(crd).unwrap_or(Value::Null);
    tidy(&mut value);
    if let Some(status) = value.pointer_mut(STATUS) {
        // An object nobody has looked at is InProgress to kstatus, by which Flux, Argo CD and Helm wait; without a status it
        // would be Current.
        status["default"] = json!({ "observedGeneration": -1 });
    }
    value
}

const STATUS: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/status";

/// Makes the derived schema what an API server takes without a warning: it knows `int32` and `int64`
/// only, and a property that may be left out need not be nullable too, or `null` would be stored.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let unknown = |f: &Value| f.as_str().is_some_and(|f| f.starts_with("uint") || f == "double");
            if map.get("format").is_some_and(unknown) {
                map.remove("format");
            }
            if map.get("nullable") == Some(&Value::Bool(true)) {
                map.remove("nullable");
            }
            if let Some(Value::Array(values)) = map.get_mut("enum") {
                values.retain(|v| !v.is_null());
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
