//! Does a stored object still have everything that was applied? The API server adds defaults, other managers their
//! own fields: only what we set counts.

use serde_json::Value;

use crate::quantity;

/// Is everything in `desired` in `stored`?
pub fn covers(stored: &Value, desired: &Value) -> bool {
    match (stored, desired) {
        (Value::Object(stored), Value::Object(desired)) => desired.iter().all(|(key, want)| {
            stored
                .get(key)
                .map_or_else(|| is_empty(want), |have| covers(have, want))
        }),
        (Value::Array(stored), Value::Array(desired)) => covers_list(stored, desired),
        (Value::String(have), Value::String(want)) => have == want || same_quantity(have, want),
        // The API server stores quantities as strings, however they were written.
        (Value::String(have), Value::Number(want)) => same_quantity(have, &want.to_string()),
        (have, want) => have == want,
    }
}

/// The part of `stored` that `desired` sets, in the order of `desired`, so that a comparison of both shows what differs.
pub fn part(stored: &Value, desired: &Value) -> Value {
    match (stored, desired) {
        (Value::Object(stored), Value::Object(desired)) => {
            let fields = desired.iter().filter_map(|(key, want)| match stored.get(key) {
                Some(have) => Some((key.clone(), part(have, want))),
                None => is_empty(want).then(|| (key.clone(), want.clone())),
            });
            Value::Object(fields.collect())
        }
        (Value::Array(stored), Value::Array(desired)) => Value::Array(part_of_list(stored, desired)),
        (have, want) if covers(have, want) => want.clone(),
        (have, _) => have.clone(),
    }
}

fn part_of_list(stored: &[Value], desired: &[Value]) -> Vec<Value> {
    let Some(key) = merge_key(desired) else {
        let also = stored.iter().skip(desired.len()).cloned();
        let both = stored.iter().zip(desired).map(|(have, want)| part(have, want));
        return both.chain(also).collect();
    };
    let both = desired.iter().filter_map(|want| {
        let have = stored.iter().find(|have| have.get(key) == want.get(key))?;
        Some(part(have, want))
    });
    both.collect()
}

/// The API server does not store what is empty (an `env` value `""`, say).
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn same_quantity(have: &str, want: &str) -> bool {
    quantity::parse(have).is_some_and(|have| quantity::parse(want) == Some(have))
}

/// Lists that server-side apply merges by key may hold more items than ours; others are all ours.
fn covers_list(stored: &[Value], desired: &[Value]) -> bool {
    let Some(key) = merge_key(desired) else {
        return stored.len() == desired.len()
            && stored.iter().zip(desired).all(|(have, want)| covers(have, want));
    };
    desired.iter().all(|want| {
        let have = stored.iter().find(|have| have.get(key) == want.get(key));
        have.is_some_and(|have| covers(have, want))
    })
}

/// Key of the list-maps a pod template has: containers, env, volumes and references by name, mounts by path.
fn merge_key(items: &[Value]) -> Option<&'static str> {
    ["mountPath", "name"]
        .into_iter()
        .find(|key| !items.is_empty() && items.iter().all(|i| i.get(key).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"a": 1, "b": 2}), json!({"a": 1}), true)]
    #[case(json!({"a": 2}), json!({"a": 1}), false)]
    #[case(json!({}), json!({"a": 1}), false)]
    #[case(json!({"name": "x"}), json!({"name": "x", "value": ""}), true)]
    #[case(json!(["x", "y"]), json!(["x"]), false)]
    #[case(json!(["x"]), json!(["x", "y"]), false)]
    #[case(json!([{"name": "other"}, {"name": "a", "image": "1", "x": 1}]), json!([{"name": "a", "image": "1"}]), true)]
    #[case(json!([{"name": "a", "image": "2"}]), json!([{"name": "a", "image": "1"}]), false)]
    #[case(json!({"cpu": "1"}), json!({"cpu": "1000m"}), true)]
    #[case(json!({"cpu": "2"}), json!({"cpu": "1000m"}), false)]
    #[case(json!([{"operator": "Exists"}, {"operator": "Exists"}]), json!([{"operator": "Exists"}]), false)]
    fn compares(#[case] stored: Value, #[case] desired: Value, #[case] expected: bool) {
        assert_eq!(covers(&stored, &desired), expected);
        // A part that is covered is shown as equal, any other as different.
        assert_eq!(part(&stored, &desired) == desired, expected);
    }

    #[test]
    fn defaults_and_fields_of_others_are_no_part() {
        let stored = json!({"a": 2, "default": true, "list": [{"name": "other"}, {"name": "mine", "image": "2", "pull": "Always"}], "ports": [1, 2]});
        let desired = json!({"a": 1, "list": [{"name": "mine", "image": "1"}, {"name": "new"}], "ports": [1], "b": 1, "empty": ""});
        let expected =
            json!({"a": 2, "list": [{"name": "mine", "image": "2"}], "ports": [1, 2], "empty": ""});
        assert_eq!(part(&stored, &desired), expected);
    }
}
