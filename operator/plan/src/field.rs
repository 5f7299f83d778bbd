//! A field that the operator sets, its value, and its name in messages.

use serde_json::Value;
use wn_api::calico::ConfigKind;
use wn_api::names::flannel;
use wn_api::status::Original;

/// A field below `spec` of a Calico object.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FieldId {
    /// Kind of the object.
    pub kind: ConfigKind,
    /// Name of the object.
    pub name: String,
    /// Path below `spec`; a dot leads into an object.
    pub field: String,
}

impl FieldId {
    /// The field of an original.
    pub fn of(original: &Original) -> Self {
        Self {
            kind: original.kind,
            name: original.name.clone(),
            field: original.field.clone(),
        }
    }

    /// Is this the field of the original?
    pub fn is_of(&self, original: &Original) -> bool {
        original.kind == self.kind && original.name == self.name && original.field == self.field
    }
}

impl std::fmt::Display for FieldId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            ConfigKind::FlannelConfiguration => write!(
                f,
                "ConfigMap {}/{} {} {}",
                flannel::NAMESPACE,
                self.name,
                flannel::NET_CONF_KEY,
                self.field
            ),
            _ => write!(f, "{} {} spec.{}", self.kind.as_str(), self.name, self.field),
        }
    }
}

/// A change of one field, for Events and for `Observe`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The field.
    pub id: FieldId,
    /// The stored value; `None` when the field is absent.
    pub from: Option<Value>,
    /// The new value; `None` removes the field.
    pub to: Option<Value>,
    /// The field had our value before: who changed it. `None` for the first write.
    pub drifted_by: Option<String>,
}

/// A field manager, and whom it most likely stands for where its name does not say. libcalico's clients of Calico's
/// CRDs give no user agent, and then the API server takes the name of Go's HTTP library.
pub fn who(manager: &str) -> &str {
    match manager {
        "Go-http-client" => {
            "Go-http-client (a program without a name of its own, most likely calicoctl or a component of Calico)"
        }
        named => named,
    }
}

/// A field and what it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The field.
    pub id: FieldId,
    /// The value that Windows nodes need.
    pub value: Value,
}

/// Has the field the value? An absent or empty pool mode means `Never` to Calico.
pub fn is_met(desired: &Desired, current: Option<&Value>) -> bool {
    let empty = current.is_none_or(|v| v == "");
    current == Some(&desired.value) || (empty && desired.value == "Never")
}

/// A value for messages; `absent` for `None`.
pub fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), plain)
}

/// Strings without quotes: these are read by people.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
