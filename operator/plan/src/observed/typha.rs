//! Facts of Typha, which stands between Felix and the API server in larger clusters.

use serde_json::Value;

use super::daemon_sets::{of_enterprise, version};
use super::{items, text};
use crate::version::Version;

/// A Deployment `calico-typha`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TyphaFacts {
    /// `spec.replicas`.
    pub replicas: usize,
    /// Clients need a certificate of its CA (`TYPHA_CAFILE` is set).
    pub tls: bool,
    /// Read from the tag of its image.
    pub version: Option<Version>,
}

impl TyphaFacts {
    /// The facts of a Deployment; `None` when it has no replicas, as `calico.yaml` installs it.
    pub fn read(deployment: &Value) -> Option<Self> {
        let replicas = deployment.pointer("/spec/replicas").and_then(Value::as_u64);
        let replicas = usize::try_from(replicas.unwrap_or(1)).unwrap_or(usize::MAX);
        let authority = items(deployment, "/spec/template/spec/containers")
            .flat_map(|container| items(container, "/env"))
            .any(|variable| text(variable, "/name") == "TYPHA_CAFILE");
        (replicas > 0).then_some(Self {
            replicas,
            tls: authority,
            version: items(deployment, "/spec/template/spec/containers")
                .map(|container| text(container, "/image"))
                .filter(|image| image.contains("typha") && !of_enterprise(image))
                .find_map(version),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn read_from_a_deployment() {
        let typha = |replicas: Value, variable: &str| {
            let containers = json!([{"env": [{"name": "TYPHA_LOGSEVERITYSCREEN"}, {"name": variable}]}]);
            TyphaFacts::read(
                &json!({"spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}}}),
            )
        };
        assert_eq!(typha(json!(0), "x"), None);
        assert_eq!(
            typha(Value::Null, "x"),
            Some(TyphaFacts {
                replicas: 1,
                ..TyphaFacts::default()
            })
        );
        assert_eq!(
            typha(json!(3), "TYPHA_CAFILE"),
            Some(TyphaFacts {
                replicas: 3,
                tls: true,
                version: None
            })
        );
    }
}
