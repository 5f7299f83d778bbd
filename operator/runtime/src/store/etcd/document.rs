//! A JSON object whose members keep their order and their text: one is changed, the rest stays byte for byte as
//! Calico wrote it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Default)]
pub struct Document(Vec<(String, Box<RawValue>)>);

impl Document {
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.get())
    }

    /// Sets a member, or removes it. A new one goes where Go's encoder would put it: before the first of those that
    /// come after it in `order`, the fields of Calico's type.
    pub fn set(&mut self, name: &str, value: Option<&Value>, order: &str) -> serde_json::Result<()> {
        let text = value.map(|v| RawValue::from_string(v.to_string())).transpose()?;
        self.put(name, text, order);
        Ok(())
    }

    /// Sets a member that is a document itself.
    pub fn nest(&mut self, name: &str, inner: &Self) -> serde_json::Result<()> {
        let text = RawValue::from_string(inner.to_string())?;
        self.put(name, Some(text), "");
        Ok(())
    }

    fn put(&mut self, name: &str, text: Option<Box<RawValue>>, order: &str) {
        let place = self.0.iter().position(|(known, _)| known == name);
        match (place, text) {
            (Some(at), Some(text)) => self.0[at].1 = text,
            (Some(at), None) => drop(self.0.remove(at)),
            (None, Some(text)) => self.0.insert(self.place(name, order), (name.to_owned(), text)),
            (None, None) => {}
        }
    }

    fn place(&self, name: &str, order: &str) -> usize {
        let later: Vec<_> = order
            .split_whitespace()
            .skip_while(|field| *field != name)
            .skip(1)
            .collect();
        let next = self
            .0
            .iter()
            .position(|(known, _)| later.contains(&known.as_str()));
        next.unwrap_or(self.0.len())
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, (name, value)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{}:{value}", Value::from(name.as_str()))?;
        }
        f.write_str("}")
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Document(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_one_member_and_no_other_byte() {
        let text = r#"{"b":"\u003c 1.50","a":[1, 2],"z":1e3}"#;
        let mut document = Document::parse(text).unwrap();
        assert_eq!(document.to_string(), text);
        document.set("a", Some(&json!("x")), "").unwrap();
        assert_eq!(document.to_string(), r#"{"b":"\u003c 1.50","a":"x","z":1e3}"#);
        document.set("b", None, "").unwrap();
        document.set("missing", None, "").unwrap();
        assert_eq!(document.to_string(), r#"{"a":"x","z":1e3}"#);
    }

    #[test]
    fn puts_a_new_member_where_go_would() {
        let order = "first second third fourth";
        let mut document = Document::parse(r#"{"first":1,"fourth":4}"#).unwrap();
        document.set("third", Some(&json!(3)), order).unwrap();
        document.set("second", Some(&json!(2)), order).unwrap();
        document.set("other", Some(&json!(5)), order).unwrap();
        assert_eq!(
            document.to_string(),
            r#"{"first":1,"second":2,"third":3,"fourth":4,"other":5}"#
        );
    }
}
