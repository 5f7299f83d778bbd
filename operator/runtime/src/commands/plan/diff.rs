//! Each object of a plan before and after, as YAML of the fields that would be written.

use std::fmt;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};
use wn_api::names::tigera;
use wn_plan::calico::Write;
use wn_plan::decide::Plan;
use wn_plan::drift;
use wn_plan::observed::Observed;

/// An object before and after the write. Null is an object that does not exist.
#[derive(Debug, Serialize)]
pub struct Object {
    pub object: String,
    pub before: Value,
    pub after: Value,
}

/// Lines around a change.
const CONTEXT: usize = 3;

pub fn objects(plan: &Plan, observed: &Observed) -> Vec<Object> {
    let ours = plan.objects.iter().map(|write| Object {
        object: write.object.to_string(),
        before: observed
            .ours
            .get(&write.object)
            .map_or(Value::Null, |stored| drift::part(stored, &write.body)),
        after: write.body.clone(),
    });
    let endpoint = plan.services_endpoint.iter().map(|after| Object {
        object: format!("ConfigMap {}/{}", tigera::NAMESPACE, tigera::SERVICES_ENDPOINT),
        before: Value::Null,
        after: after.clone(),
    });
    let deleted = plan.deletions.iter().map(|(_, object)| Object {
        object: object.to_string(),
        before: observed.ours.get(object).cloned().unwrap_or_default(),
        after: Value::Null,
    });
    let of_calico = plan.calico.writes.iter().map(of_calico);
    of_calico.chain(ours).chain(endpoint).chain(deleted).collect()
}

fn of_calico(write: &Write) -> Object {
    let side = |value: fn(&wn_plan::field::Change) -> Option<&Value>| {
        let fields = write
            .changes
            .iter()
            .filter_map(|change| Some((change.id.field.clone(), value(change)?.clone())));
        let fields: Map<_, _> = fields.collect();
        serde_json::json!({"spec": fields})
    };
    Object {
        object: format!("{} {}", write.kind.as_str(), write.name),
        before: side(|change| change.from.as_ref()),
        after: side(|change| change.to.as_ref()),
    }
}

fn yaml(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// A unified diff, with colours.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |value: &Value| {
            if value.is_null() {
                "/dev/null"
            } else {
                self.object.as_str()
            }
        };
        writeln!(f, "--- {}\n+++ {}", name(&self.before), name(&self.after))?;
        let (before, after) = (yaml(&self.before), yaml(&self.after));
        let diff = TextDiff::from_lines(&before, &after);
        for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
            writeln!(f, "{}", hunk.header())?;
            for change in hunk.iter_changes() {
                let (sign, style) = match change.tag() {
                    ChangeTag::Equal => (' ', Style::new()),
                    ChangeTag::Delete => ('-', AnsiColor::Red.on_default()),
                    ChangeTag::Insert => ('+', AnsiColor::Green.on_default()),
                };
                let line = change.value().trim_end_matches('\n');
                writeln!(f, "{style}{sign}{line}{style:#}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::changed(json!({"spec": {"ipipMode": "Always"}}), json!({"spec": {"ipipMode": "Never"}}), "--- IPPool p\n+++ IPPool p\n@@ -1,2 +1,2 @@\n spec:\n-  ipipMode: Always\n+  ipipMode: Never\n")]
    #[case::created(json!(null), json!({"a": 1}), "--- /dev/null\n+++ IPPool p\n@@ -0,0 +1 @@\n+a: 1\n")]
    #[case::deleted(json!({"a": 1}), json!(null), "--- IPPool p\n+++ /dev/null\n@@ -1 +0,0 @@\n-a: 1\n")]
    fn shows_what_differs(#[case] before: Value, #[case] after: Value, #[case] expected: &str) {
        let object = Object {
            object: "IPPool p".to_owned(),
            before,
            after,
        };
        assert_eq!(
            anstream::adapter::strip_str(&object.to_string()).to_string(),
            expected
        );
    }
}
