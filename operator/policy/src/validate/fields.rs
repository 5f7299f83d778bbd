//! Errors by field, in the words of Calico.

use std::fmt::Display;

/// Fields that are wrong.
#[derive(Debug, Default)]
pub struct Fields(Vec<String>);

impl Fields {
    /// A field that breaks a rule with a text of its own.
    pub fn reason(&mut self, name: &str, value: impl Display, reason: &str) {
        self.0.push(format!("{name} = '{value}' ({reason})"));
    }

    /// A field that breaks a rule known by a word.
    pub fn tag(&mut self, name: &str, value: impl Display, tag: &str) {
        let reason = format!("Reason: failed to validate Field: {name} because of Tag: {tag} ");
        self.reason(name, value, &reason);
    }

    /// A field that breaks a rule of the CRD.
    pub fn of_crd(&mut self, name: &str, reason: &str) {
        self.0.push(format!("{name} ({reason})"));
    }

    /// `None` where nothing is wrong.
    pub fn error(&self) -> Option<String> {
        match self.0.as_slice() {
            [] => None,
            [field] => Some(format!("error with field {field}")),
            fields => {
                let lines: String = fields.iter().map(|field| format!("-  {field}\n")).collect();
                Some(format!("error with the following fields:\n{lines}"))
            }
        }
    }
}

/// As Go prints a list.
pub fn list<T: Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(" "))
}
