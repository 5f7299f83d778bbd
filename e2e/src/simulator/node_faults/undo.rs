//! Changes of objects that know how to be taken back.

use anyhow::{Context as _, Result};
use kube::Error;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use crate::objects;

type Objects = Api<DynamicObject>;

/// What takes one change back.
pub enum Undo {
    Patch {
        api: Objects,
        name: String,
        part: Part,
        patch: Patch<Value>,
    },
    Delete(Objects, String),
    Create(Objects, Box<DynamicObject>),
}

/// Which part of an object a patch goes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    Main,
    Status,
}

impl Undo {
    pub async fn run(self) -> Result<()> {
        match self {
            Self::Patch {
                api,
                name,
                part,
                patch,
            } => send(&api, &name, part, &patch).await,
            Self::Delete(api, name) => match api.delete(&name, &Default::default()).await {
                Err(Error::Api(status)) if status.code == 404 => Ok(()),
                result => Ok(result.map(drop)?),
            },
            Self::Create(api, object) => {
                api.create(&PostParams::default(), &object).await?;
                Ok(())
            }
        }
    }
}

/// Merges `patch` into an object.
pub async fn merge(api: &Objects, name: &str, part: Part, patch: Value) -> Result<Undo> {
    let before = objects::json(&api.get(name).await?)?;
    let back = inverse(&before, &patch);
    send(api, name, part, &Patch::Merge(patch)).await?;
    Ok(Undo::Patch {
        api: api.clone(),
        name: name.to_owned(),
        part,
        patch: Patch::Merge(back),
    })
}

/// Replaces the entry of a list that has the same `key` as `entry`, as `kubectl patch` does; the others may be
/// somebody else's and are let alone. `at` is the way to the list.
pub async fn entry(
    api: &Objects,
    name: &str,
    part: Part,
    at: [&str; 2],
    key: &str,
    entry: Value,
) -> Result<Undo> {
    let before = objects::json(&api.get(name).await?)?;
    let list = before[at[0]][at[1]].as_array();
    let known = list.into_iter().flatten().find(|one| one[key] == entry[key]);
    let back = known.map_or_else(|| json!({key: entry[key], "$patch": "delete"}), Value::clone);
    let patch = |entry: Value| Patch::Strategic(json!({at[0]: {at[1]: [entry]}}));
    send(api, name, part, &patch(entry)).await?;
    Ok(Undo::Patch {
        api: api.clone(),
        name: name.to_owned(),
        part,
        patch: patch(back),
    })
}

pub async fn create(api: &Objects, object: Value) -> Result<Undo> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let name = object.metadata.name.clone().context("an object without a name")?;
    api.create(&PostParams::default(), &object).await?;
    Ok(Undo::Delete(api.clone(), name))
}

pub async fn delete(api: &Objects, name: &str) -> Result<Undo> {
    let mut object = api.get(name).await?;
    api.delete(name, &Default::default()).await?;
    let metadata = &mut object.metadata;
    metadata.resource_version = None;
    metadata.uid = None;
    metadata.creation_timestamp = None;
    metadata.managed_fields = None;
    Ok(Undo::Create(api.clone(), Box::new(object)))
}

async fn send(api: &Objects, name: &str, part: Part, patch: &Patch<Value>) -> Result<()> {
    let params = PatchParams::default();
    match part {
        Part::Main => api.patch(name, &params, patch).await?,
        Part::Status => api.patch_status(name, &params, patch).await?,
    };
    Ok(())
}

/// The merge patch that takes `patch` back, given what it was applied to.
fn inverse(before: &Value, patch: &Value) -> Value {
    let Value::Object(fields) = patch else {
        return before.clone();
    };
    if !before.is_object() {
        return before.clone();
    }
    let back: Map<_, _> = fields
        .iter()
        .map(|(field, value)| (field.clone(), inverse(&before[field], value)))
        .collect();
    Value::Object(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_taken_back_field_by_field() {
        let before = json!({"a": 1, "b": {"c": [1, 2], "d": 3}, "e": null});
        let patch = json!({"a": 2, "b": {"c": [3], "new": 4}, "f": {"g": 1}, "e": null});
        let expected = json!({"a": 1, "b": {"c": [1, 2], "new": null}, "f": null, "e": null});
        assert_eq!(inverse(&before, &patch), expected);
    }
}
