//! A quantity of a compute resource: an integer or text, as in a Pod.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A Kubernetes quantity that is not negative. `cpu: 1` is read as `cpu: "1"`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "IntegerOrText")]
pub struct Quantity(String);

impl Quantity {
    /// As Kubernetes writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum IntegerOrText {
    Integer(i64),
    Text(String),
}

impl From<IntegerOrText> for Quantity {
    fn from(value: IntegerOrText) -> Self {
        Self(match value {
            IntegerOrText::Integer(number) => number.to_string(),
            IntegerOrText::Text(text) => text,
        })
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// The pattern is what `wn_plan::quantity` reads: at most three decimals, no sign, no suffix below `m`.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "minimum": 0,
            "minLength": 1,
            "maxLength": 32,
            "pattern": "^[0-9]{1,18}([.][0-9]{0,3})?(m|[kMGTPE]|[KMGTPE]i|[eE](1[0-8]|[0-9]))?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_integer_is_read_as_text() {
        // More than 32 bits, too.
        let cases = [
            (json!(1), "1"),
            (json!("1"), "1"),
            (json!("500Mi"), "500Mi"),
            (json!(8_589_934_592_i64), "8589934592"),
        ];
        for (written, expected) in cases {
            let quantity: Quantity = serde_json::from_value(written).unwrap();
            assert_eq!(quantity.as_str(), expected);
            assert_eq!(serde_json::to_value(&quantity).unwrap(), json!(expected));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for written in [json!(0.5), json!(true), json!(null), json!(["1"])] {
            serde_json::from_value::<Quantity>(written).unwrap_err();
        }
    }
}
