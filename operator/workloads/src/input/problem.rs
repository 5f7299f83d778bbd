//! Why a text could not be read, and where.

use super::position::{self, Place};

/// Why a text could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct InputError {
    /// Name of the manifest.
    pub file: String,
    /// Line, from 1: of the error if it is known, otherwise the first line of the document.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The error, with the field if one is invalid.
    pub problem: String,
}

/// Why an object could not be read, and where it is in its document.
pub struct Problem {
    pub message: String,
    pub place: Where,
}

pub enum Where {
    /// Not known.
    Document,
    /// Line and column, from 1.
    At(usize, usize),
    /// A field of an object.
    Field { object: String, field: String },
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        let place = Where::Document;
        Self { message, place }
    }
}

impl Problem {
    /// Line and column in the document, from 1.
    pub fn position(&self, document: &str) -> (usize, usize) {
        match &self.place {
            Where::Document => (1, 1),
            Where::At(line, column) => (*line, *column),
            Where::Field { object, field } => {
                let field = Some(field.as_str());
                let found = position::find(document, &[Place { object, field }])
                    .pop()
                    .flatten();
                found.map_or((1, 1), |found| (found.line, found.column))
            }
        }
    }
}

/// A field with an invalid value.
pub struct Invalid {
    pub field: String,
    pub error: String,
}

impl Invalid {
    pub fn message(&self) -> String {
        format!("{}: {}", self.field, self.error)
    }
}
