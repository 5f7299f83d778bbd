//! Reads objects from text, with several documents and lists. Errors name the file, the line and the field.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::calico::{CalicoPolicy, PolicyKind};
use super::documents::{documents, is_blank};
use super::kubernetes::NetworkPolicySpec;
use super::pod::Pod;
use super::problem::{InputError, Invalid, Problem, Where};
use super::slice::{EndpointSlice, share};
use super::workload::WorkloadKind;
use super::{Key, Objects};
use crate::kinds::Kind;

/// Maximum number of values in one document: a list of 20,000 pods has fewer.
const MOST_NODES: usize = 20_000_000;

/// What identifies an object of a kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
}

/// A text with objects, and its name in errors.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// YAML or JSON, of one or more documents.
    pub text: &'a str,
}

impl Objects {
    /// Reads the objects of all texts. A later object replaces an earlier one of the same kind and name.
    ///
    /// # Errors
    /// A document is not YAML, or a field has an invalid value.
    pub fn read<'a>(manifests: impl IntoIterator<Item = Manifest<'a>>) -> Result<Self, InputError> {
        let mut objects = Self::default();
        for manifest in manifests {
            for document in documents(manifest.text) {
                objects.document(&document.text).map_err(|problem| {
                    let (line, column) = problem.position(&document.text);
                    InputError {
                        file: manifest.name.to_owned(),
                        line: document.line + line - 1,
                        column,
                        problem: problem.message,
                    }
                })?;
            }
        }
        Ok(objects)
    }

    /// Adds an object, or the objects of a list. It replaces an earlier one of the same kind and name.
    ///
    /// # Errors
    /// A field has an invalid value; the error names the object and the field.
    pub fn add_value(&mut self, value: Value) -> Result<(), String> {
        self.add(without_nulls(value))
            .map_err(|problem| match problem.place {
                Where::Field { object, .. } => format!("{object}: {}", problem.message),
                Where::Document | Where::At(..) => problem.message,
            })
    }

    /// Adds the object of a kind, which replaces the one with the same key.
    ///
    /// # Errors
    /// A field has an invalid value; the error names the field.
    pub(crate) fn put(&mut self, kind: &Kind, key: Key, value: Value) -> Result<(), String> {
        self.insert(kind.group, kind.kind, key, without_nulls(value))
            .map_err(|invalid| invalid.message())
    }

    fn document(&mut self, text: &str) -> Result<(), Problem> {
        if is_blank(text) {
            return Ok(());
        }
        let value = if text.trim_start().starts_with('{') && text.trim_end().ends_with('}') {
            // The JSON parser is much faster. The YAML parser reads what is not JSON, such as YAML's flow
            // mappings.
            serde_json::from_str(text).or_else(|_| yaml(text))?
        } else {
            yaml(text)?
        };
        self.add(without_nulls(value))
    }

    fn add(&mut self, value: Value) -> Result<(), Problem> {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
        if kind.ends_with("List") && value.get("items").is_some() {
            let Some(Value::Array(items)) = value.get("items").cloned() else {
                return Err("items: must be a list".to_owned().into());
            };
            return items.into_iter().try_for_each(|item| self.add(item));
        }
        let metadata: Metadata = field(&value, "metadata").map_err(|invalid| invalid.message())?;
        if kind.is_empty() || metadata.name.is_empty() {
            return Err("an object needs apiVersion, kind and metadata.name"
                .to_owned()
                .into());
        }
        let key = key(&metadata);
        let object = described(&kind, &key);
        let group = api.split_once('/').map_or("", |(group, _)| group);
        self.insert(group, &kind, key, value).map_err(|invalid| Problem {
            message: invalid.message(),
            place: Where::Field {
                object,
                field: invalid.field,
            },
        })
    }

    fn insert(&mut self, group: &str, kind: &str, mut key: Key, value: Value) -> Result<(), Invalid> {
        share(&mut key.0, &mut self.shared.names);
        let cluster_key = || (Arc::default(), key.1.clone());
        match (group, kind) {
            ("", "Node") => insert(&mut self.nodes, cluster_key(), value)?,
            ("", "Namespace") => insert(&mut self.namespaces, cluster_key(), value)?,
            ("", "ServiceAccount") => insert(&mut self.service_accounts, key, value)?,
            ("", "Pod") => self.insert_pod(key, value)?,
            ("", "Service") => insert(&mut self.services, key, value)?,
            ("discovery.k8s.io", "EndpointSlice") => self.insert_slice(key, value)?,
            ("networking.k8s.io", "NetworkPolicy") => {
                self.network_policies.insert(key, Arc::new(object(value)?));
            }
            ("policy.networking.k8s.io", "ClusterNetworkPolicy") => {
                let policy = Arc::new(object(value)?);
                self.cluster_network_policies.insert(cluster_key(), policy);
            }
            ("projectcalico.org" | "crd.projectcalico.org", _) => {
                self.insert_calico(group, kind, key, value)?
            }
            ("policy", "PodDisruptionBudget") => insert(&mut self.disruption_budgets, key, value)?,
            ("node.k8s.io", "RuntimeClass") => insert(&mut self.runtime_classes, cluster_key(), value)?,
            _ => {
                let mut kinds = WorkloadKind::ALL.into_iter();
                match kinds.find(|k| (k.group(), k.as_str()) == (group, kind)) {
                    Some(kind) => insert(&mut self.workloads, (kind, key), value)?,
                    None => self.ignored.push(described(kind, &key)),
                }
            }
        }
        Ok(())
    }

    fn insert_pod(&mut self, key: Key, value: Value) -> Result<(), Invalid> {
        let mut pod: Pod = object(value)?;
        share(&mut pod.node, &mut self.shared.names);
        match self.shared.pod_classes.get(&pod.class) {
            Some(known) => pod.class = known.clone(),
            None => {
                self.shared.pod_classes.insert(pod.class.clone());
            }
        }
        self.pods.insert(key, pod);
        Ok(())
    }

    fn insert_slice(&mut self, key: Key, value: Value) -> Result<(), Invalid> {
        let mut slice: Box<EndpointSlice> = object(value)?;
        slice.share(&mut self.shared.names);
        self.endpoint_slices.insert(key, slice);
        Ok(())
    }

    fn insert_calico(&mut self, group: &str, kind: &str, key: Key, value: Value) -> Result<(), Invalid> {
        let cluster_key = || (Arc::default(), key.1.clone());
        match kind {
            "Tier" => insert(&mut self.tiers, cluster_key(), value),
            "NetworkSet" => insert(&mut self.network_sets, key, value),
            "GlobalNetworkSet" => insert(&mut self.network_sets, cluster_key(), value),
            "HostEndpoint" => insert(&mut self.host_endpoints, cluster_key(), value),
            "IPPool" => insert(&mut self.ip_pools, cluster_key(), value),
            "BGPConfiguration" => insert(&mut self.bgp_configurations, cluster_key(), value),
            _ => {
                let Some(kind) = PolicyKind::ALL.into_iter().find(|k| k.as_str() == kind) else {
                    self.ignored.push(described(kind, &key));
                    return Ok(());
                };
                let policy = calico_policy(kind, group == "crd.projectcalico.org", &value)?;
                let key = if kind.is_global() { cluster_key() } else { key };
                self.calico_policies.insert((kind, key), Arc::new(policy));
                Ok(())
            }
        }
    }
}

fn yaml(text: &str) -> Result<Value, Problem> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MOST_NODES, max_events: 2 * MOST_NODES },
        // `n` and `on` are texts, because labels have such values.
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let plain = error
            .without_snippet()
            .render_with_formatter(&serde_saphyr::UserMessageFormatter);
        // The position comes before the message, with the line in the file.
        let message = plain.split(" at line ").next().unwrap_or(&plain).to_owned();
        let place = error.location().map_or(Where::Document, |location| {
            let number = |of: u64| usize::try_from(of).unwrap_or(usize::MAX).max(1);
            Where::At(number(location.line()), number(location.column()))
        });
        Problem { message, place }
    })
}

fn calico_policy(kind: PolicyKind, stored: bool, value: &Value) -> Result<CalicoPolicy, Invalid> {
    let kubernetes = match kind {
        PolicyKind::StagedKubernetesNetworkPolicy => field(value, "spec")?,
        _ => NetworkPolicySpec::default(),
    };
    let spec = match kind {
        PolicyKind::StagedKubernetesNetworkPolicy => super::calico::PolicySpec {
            staged_action: field(value.get("spec").unwrap_or(&Value::Null), "stagedAction")?,
            ..Default::default()
        },
        _ => field(value, "spec")?,
    };
    Ok(CalicoPolicy {
        kind,
        stored,
        spec,
        kubernetes,
    })
}

/// Namespaced objects without a namespace are in `default`, as in `kubectl`.
fn key(metadata: &Metadata) -> Key {
    let namespace = match metadata.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    super::key(namespace, &metadata.name)
}

fn described(kind: &str, (namespace, name): &Key) -> String {
    format!("{kind} {namespace}/{name}")
}

fn insert<K: Ord, T: DeserializeOwned>(
    into: &mut BTreeMap<K, T>,
    key: K,
    value: Value,
) -> Result<(), Invalid> {
    into.insert(key, object(value)?);
    Ok(())
}

fn object<T: DeserializeOwned>(value: Value) -> Result<T, Invalid> {
    serde_path_to_error::deserialize(value).map_err(|e| Invalid {
        field: e.path().to_string(),
        error: e.inner().to_string(),
    })
}

fn field<T: DeserializeOwned + Default>(value: &Value, name: &str) -> Result<T, Invalid> {
    let Some(value) = value.get(name) else {
        return Ok(T::default());
    };
    serde_path_to_error::deserialize(value).map_err(|e| Invalid {
        field: format!("{name}.{}", e.path()),
        error: e.inner().to_string(),
    })
}

/// Removes fields that are null.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn read(text: &str) -> Result<Objects, String> {
        let manifest = Manifest { name: "f.yaml", text };
        Objects::read([manifest]).map_err(|e| e.to_string())
    }

    const TIER: &str = "apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {name: t}\n";

    #[rstest]
    #[case::plain(TIER.to_owned())]
    #[case::bom(format!("\u{feff}{TIER}"))]
    #[case::windows_line_ends(TIER.replace('\n', "\r\n"))]
    #[case::markers(format!("---\n# nothing\n---\n{TIER}...\n---\n"))]
    #[case::on_the_marker("--- {apiVersion: projectcalico.org/v3, kind: Tier, metadata: {name: t}}".to_owned())]
    #[case::list(format!("kind: List\nitems:\n- {}", TIER.replace('\n', "\n  ")))]
    #[case::null(format!("{TIER}spec: null\n"))]
    fn reads(#[case] text: String) {
        assert_eq!(read(&text).unwrap().tiers.len(), 1);
    }

    #[rstest]
    #[case("# first\na: [", "f.yaml:2:4: ")]
    #[case("kind: Tier\n  x: y\n", "f.yaml:2:4: ")]
    #[case(
        "---\n---\nkind: Tier\n",
        "f.yaml:2:1: an object needs apiVersion, kind and metadata.name"
    )]
    fn says_where(#[case] text: &str, #[case] begin: &str) {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(begin), "{error}");
    }

    #[test]
    fn says_which_field() {
        let rule = "spec: {ingress: [{action: Allow, destination: {ports: ['9:1']}}]}";
        let text = format!("{}{rule}", TIER.replace("Tier", "GlobalNetworkPolicy"));
        let error = read(&format!("---\n{text}")).unwrap_err();
        assert!(
            error.starts_with("f.yaml:5:56: spec.ingress[0].destination.ports[0]: "),
            "{error}"
        );
    }

    #[test]
    fn unknown_kinds_are_told() {
        let objects = read("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n}").unwrap();
        assert_eq!(objects.ignored, ["Secret n/s"]);
    }
}
