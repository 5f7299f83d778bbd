//! Errors by field, with Calico's texts.

use std::fmt::Display;

/// Errors of invalid fields.
#[derive(Debug, Default)]
pub struct Fields(Vec<String>);

impl Fields {
    /// Adds an error with its own text.
    pub fn reason(&mut self, name: &str, value: impl Display, reason: &str) {
        self.0.push(format!("{name} = '{value}' ({reason})"));
    }

    /// Adds an error with the tag of a validation rule.
    pub fn tag(&mut self, name: &str, value: impl Display, tag: &str) {
        let reason = format!("Reason: failed to validate Field: {name} because of Tag: {tag} ");
        self.reason(name, value, &reason);
    }

    /// Adds an error of a rule of the CRD.
    pub fn of_crd(&mut self, name: &str, reason: &str) {
        self.0.push(format!("{name} ({reason})"));
    }

    /// All errors as one text; `None` without errors.
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

/// Prints a list as Go does.
pub fn list<T: Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(" "))
}
