//! Changes single fields in a text of JSON and leaves every other byte as it is: the text is the user's, and is given
//! back to them.

use serde_json::Value;

/// The text with the field at `path` set, or without it; `None` when the text has no such place.
pub fn with(text: &str, path: &str, value: Option<&Value>) -> Option<String> {
    serde_json::from_str::<Value>(text).ok()?;
    let mut names: Vec<_> = path.split('.').collect();
    let last = names.pop()?;
    let root = skip_space(text, 0);
    let object = names
        .into_iter()
        .try_fold(root, |at, name| Some(find(text, at, name)?.value.0))?;
    match (find(text, object, last), value) {
        (Some(member), Some(value)) => Some(splice(text, member.value, &value.to_string())),
        (Some(member), None) => Some(splice(text, removal(text, object, &member), "")),
        (None, Some(value)) => insert(text, object, last, value),
        (None, None) => Some(text.to_owned()),
    }
}

/// Where a member of an object is: from its name to the end of its value, and the value.
struct Member {
    start: usize,
    value: (usize, usize),
}

/// The members of the object that begins at `at`, in the order of the text.
fn members(text: &str, at: usize) -> Vec<(String, Member)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    if bytes.get(at) != Some(&b'{') {
        return found;
    }
    let mut at = skip_space(text, at + 1);
    while bytes.get(at) == Some(&b'"') {
        let start = at;
        let name_end = end_of_value(text, at);
        let name = serde_json::from_str(&text[start..name_end]).unwrap_or_default();
        let from = skip_space(text, skip_space(text, name_end) + 1);
        let end = end_of_value(text, from);
        found.push((
            name,
            Member {
                start,
                value: (from, end),
            },
        ));
        at = skip_space(text, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
    }
    found
}

fn find(text: &str, object: usize, name: &str) -> Option<Member> {
    // As Go does: the last of several of one name counts.
    let same = |(known, _): &(String, Member)| known.eq_ignore_ascii_case(name);
    members(text, object).into_iter().rfind(same).map(|(_, m)| m)
}

fn skip_space(text: &str, from: usize) -> usize {
    let rest = &text[from.min(text.len())..];
    text.len() - rest.trim_start().len()
}

/// End of the value that begins at `from`, in a text that is known to be JSON.
fn end_of_value(text: &str, from: usize) -> usize {
    let mut stream = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    stream.next();
    from + stream.byte_offset()
}

fn splice(text: &str, (start, end): (usize, usize), with: &str) -> String {
    format!("{}{with}{}", &text[..start], &text[end..])
}

/// With the comma that is too many then: the one before, as `insert` puts it, or else the one after.
fn removal(text: &str, object: usize, member: &Member) -> (usize, usize) {
    let all = members(text, object);
    let place = all.iter().position(|(_, m)| m.start == member.start).unwrap_or(0);
    match place.checked_sub(1).and_then(|before| all.get(before)) {
        Some((_, before)) => (before.value.1, member.value.1),
        None => (
            member.start,
            all.get(1).map_or(member.value.1, |(_, next)| next.start),
        ),
    }
}

/// Behind the last member, on a line of its own if that has one.
fn insert(text: &str, object: usize, name: &str, value: &Value) -> Option<String> {
    (text.as_bytes().get(object) == Some(&b'{')).then_some(())?;
    let all = members(text, object);
    Some(match all.last() {
        Some((_, last)) => {
            let before = text[..last.start].trim_end().len();
            let space = &text[before..last.start];
            let end = last.value.1;
            splice(text, (end, end), &format!(",{space}\"{name}\": {value}"))
        }
        None => splice(text, (object + 1, object + 1), &format!("\"{name}\": {value}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    /// As `kube-flannel.yml` has it.
    const STOCK: &str = "{\n  \"Network\": \"10.244.0.0/16\",\n  \"EnableNFTables\": false,\n  \"Backend\": {\n    \"Type\": \"vxlan\"\n  }\n}\n";

    #[test]
    fn a_field_comes_on_a_line_of_its_own_and_goes_without_a_trace() {
        let set = with(STOCK, "Backend.VNI", Some(&json!(4096))).unwrap();
        let expected = STOCK.replace("\"vxlan\"", "\"vxlan\",\n    \"VNI\": 4096");
        assert_eq!(set, expected);
        assert_eq!(with(&set, "Backend.VNI", None).unwrap(), STOCK);
        let both = with(&set, "Backend.Port", Some(&json!(4789))).unwrap();
        let back = with(&with(&both, "Backend.VNI", None).unwrap(), "Backend.Port", None).unwrap();
        assert_eq!(back, STOCK);
    }

    #[rstest]
    #[case::replaced(
        r#"{"Backend":{"VNI":1,"Type":"vxlan"}}"#,
        Some(4096),
        Some(r#"{"Backend":{"VNI":4096,"Type":"vxlan"}}"#)
    )]
    #[case::any_case(
        r#"{"backend": {"vni": 1}}"#,
        Some(4096),
        Some(r#"{"backend": {"vni": 4096}}"#)
    )]
    #[case::first_of_two(
        r#"{"Backend":{"VNI":1, "Type":"vxlan"}}"#,
        None,
        Some(r#"{"Backend":{"Type":"vxlan"}}"#)
    )]
    #[case::only_one(r#"{"Backend":{"VNI":1}}"#, None, Some(r#"{"Backend":{}}"#))]
    #[case::into_nothing(r#"{"Backend":{}}"#, Some(4096), Some(r#"{"Backend":{"VNI": 4096}}"#))]
    #[case::braces_in_texts(
        r#"{"a":"}\"{","Backend":{"b":"},"}}"#,
        Some(5),
        Some(r#"{"a":"}\"{","Backend":{"b":"},","VNI": 5}}"#)
    )]
    #[case::absent_already(
        r#"{"Backend":{"Type":"vxlan"}}"#,
        None,
        Some(r#"{"Backend":{"Type":"vxlan"}}"#)
    )]
    #[case::no_backend("{}", Some(4096), None)]
    #[case::no_object(r#"{"Backend":1}"#, Some(4096), None)]
    #[case::no_json("{", Some(4096), None)]
    fn changes_one_field(#[case] text: &str, #[case] vni: Option<i32>, #[case] expected: Option<&str>) {
        let value = vni.map(|v| json!(v));
        assert_eq!(with(text, "Backend.VNI", value.as_ref()).as_deref(), expected);
    }
}
