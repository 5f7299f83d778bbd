//! `HcnEnumerate…`: which objects a query means.

use serde_json::Value;

use super::errors::HnsError;

/// Whether an object is meant. The filter is JSON inside of the query's JSON.
pub fn matches(query: &str, object: &Value) -> Result<bool, HnsError> {
    let query: Value = serde_json::from_str(query).map_err(|_| HnsError::InvalidJson)?;
    let filter = query["Filter"].as_str().unwrap_or_default();
    if filter.is_empty() {
        return Ok(true);
    }
    let filter: Value = serde_json::from_str(filter).map_err(|_| HnsError::InvalidJson)?;
    let wanted = filter.as_object().ok_or(HnsError::InvalidJson)?;
    let mut all = true;
    for (name, value) in wanted {
        let field = match name.as_str() {
            "ID" | "Name" => name,
            // A name of schema v1, which queries still have.
            "VirtualNetwork" => "HostComputeNetwork",
            _ => return Err(HnsError::RequestUnsupported),
        };
        let found = object[field].as_str().unwrap_or_default();
        all &= value
            .as_str()
            .is_some_and(|value| value.eq_ignore_ascii_case(found));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn filters() {
        let object = json!({"ID": "0000-A", "Name": "Calico_ep", "HostComputeNetwork": "0000-B"});
        for (filter, expected) in [
            ("", Ok(true)),
            (r#"{"Name":"Calico_ep"}"#, Ok(true)),
            (r#"{"Name":"Calico"}"#, Ok(false)),
            (r#"{"ID":"0000-a","VirtualNetwork":"0000-b"}"#, Ok(true)),
            (r#"{"ID":"0000-a","VirtualNetwork":"0000-c"}"#, Ok(false)),
            (r#"{"Colour":"green"}"#, Err(HnsError::RequestUnsupported)),
            ("{", Err(HnsError::InvalidJson)),
        ] {
            let query = json!({"SchemaVersion": {"Major": 2, "Minor": 0}, "Flags": 0, "Filter": filter});
            assert_eq!(matches(&query.to_string(), &object), expected, "{filter}");
        }
    }
}
