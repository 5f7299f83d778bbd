//! What a check reports about its object.

use std::sync::Arc;

use crate::findings::{Code, Finding, ObjectName, Severity};

/// A finding without its object.
#[derive(Debug)]
pub struct Hit {
    code: Code,
    severity: Severity,
    field: String,
    message: String,
}

impl Hit {
    /// An error at a field.
    pub fn error(code: Code, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, field, message)
    }

    /// A warning at a field.
    pub fn warning(code: Code, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, field, message)
    }

    /// A note at a field.
    pub fn info(code: Code, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Info, field, message)
    }

    /// A hit of any severity.
    pub fn new(code: Code, severity: Severity, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            field: field.into(),
            message: message.into(),
        }
    }

    /// The hit, with the object that uses the Service in its message.
    pub fn used_by(mut self, user: &str) -> Self {
        self.message.push_str("; ");
        self.message.push_str(user);
        self.message.push_str(" uses it");
        self
    }

    /// The finding of an object. `path` is put before the field; `pods` are the affected pods.
    pub fn of(self, object: &ObjectName, path: &str, pods: Arc<[String]>) -> Finding {
        let entry = self.code.entry();
        let field = match (path, self.field.as_str()) {
            ("", "") => None,
            ("", field) => Some(field.to_owned()),
            (path, "") => Some(path.to_owned()),
            (path, field) => Some(format!("{path}.{field}")),
        };
        Finding {
            code: self.code,
            severity: self.severity,
            object: object.clone(),
            field,
            message: self.message,
            flow: None,
            fix: entry.fix,
            source: entry.source,
            pods,
        }
    }
}
