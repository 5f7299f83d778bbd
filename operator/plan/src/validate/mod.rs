//! What of a spec is refused, beyond what the schema already refuses: each violation names the field, what
//! is wrong, and what to write instead. A spec with violations changes nothing anywhere.

mod datastore;
mod images;
mod kube_proxy;
mod network;
mod node_agent;
mod nodes;
mod pods;

use std::fmt;

use wn_api::spec::WindowsNodeConfigSpec;

use crate::observed::Observed;

/// Why a spec is refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// Path of the field, e.g. `spec.network.serviceCIDRs[1]`.
    pub path: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl Violation {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A spec without violations. Only `validate` makes one, so planning cannot forget to ask.
#[derive(Clone, Copy, Debug)]
pub struct Valid<'a>(&'a WindowsNodeConfigSpec);

impl<'a> Valid<'a> {
    /// The spec.
    pub const fn spec(self) -> &'a WindowsNodeConfigSpec {
        self.0
    }
}

/// Checks a spec. `observed` is read for what the schema cannot know, such as versions.
///
/// # Errors
/// Every violation, not only the first.
pub fn validate<'a>(
    spec: &'a WindowsNodeConfigSpec,
    observed: &Observed,
) -> Result<Valid<'a>, Vec<Violation>> {
    let mut found = network::violations(spec, observed);
    found.extend(datastore::violations(spec));
    found.extend(kube_proxy::violations(&spec.kube_proxy, observed));
    found.extend(node_agent::violations(&spec.node_agent));
    found.extend(images::violations(spec));
    found.extend(pods::violations(spec));
    found.extend(nodes::violations(spec));
    if found.is_empty() {
        Ok(Valid(spec))
    } else {
        Err(found)
    }
}
