//! Paged lists of a kind, with the rights of the user.

use anyhow::Context as _;
use kube::Error;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;

use crate::kind::Kind;

/// Objects in one answer.
const PAGE: u32 = 500;

/// What came of a list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Listed {
    Complete,
    NotServed,
    Forbidden,
}

impl Kind {
    /// Hands over each object, one page after the other; `take` says whether it wants more.
    ///
    /// # Errors
    /// The API server does not answer, or `take` fails.
    pub async fn list(
        &self,
        api: &Api<DynamicObject>,
        mut take: impl FnMut(Value) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Listed> {
        let mut page = ListParams::default().limit(PAGE);
        loop {
            let list = match api.list(&page).await {
                Ok(list) => list,
                Err(error) if code(&error) == 404 => return Ok(Listed::NotServed),
                Err(error) if is_forbidden(&error) => return Ok(Listed::Forbidden),
                Err(error) => return Err(error).with_context(|| format!("list {}", self.name())),
            };
            for object in list.items {
                if !take(self.named(serde_json::to_value(object)?))? {
                    return Ok(Listed::Complete);
                }
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page.continue_token = Some(token),
                None => return Ok(Listed::Complete),
            }
        }
    }

    /// The object with its kind, which items of a list do not have.
    fn named(&self, mut object: Value) -> Value {
        let slash = if self.group.is_empty() { "" } else { "/" };
        object["apiVersion"] = format!("{}{slash}{}", self.group, self.version).into();
        object["kind"] = self.kind.into();
        object
    }
}

const fn code(error: &Error) -> u16 {
    match error {
        Error::Api(status) => status.code,
        _ => 0,
    }
}

pub fn is_forbidden(error: &Error) -> bool {
    code(error) == 403
}
