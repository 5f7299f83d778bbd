//! Edits single members in a text of JSON and leaves every other byte as it is. The texts are flannel's configuration,
//! which users write, and the values of Calico's etcd.

use serde_json::Value;

/// The text with the member at `path` set, or without it; `None` when the text is no JSON or has no object there. A dot in
/// `path` leads into an object. `order` names members in the order in which their author writes them: a new member goes
/// before the first that follows it there, else behind the last one.
pub fn with(text: &str, path: &str, value: Option<&Value>, order: &str) -> Option<String> {
    serde_json::from_str::<Value>(text).ok()?;
    let (parents, name) = path.rsplit_once('.').map_or((None, path), |(p, n)| (Some(p), n));
    let mut parents = parents.into_iter().flat_map(|p| p.split('.'));
    let root = skip_space(text, 0);
    let object = parents.try_fold(root, |at, name| Some(find(text, at, name)?.value.0))?;
    match (find(text, object, name), value) {
        (Some(member), Some(value)) => Some(splice(text, member.value, &value.to_string())),
        (Some(member), None) => Some(splice(text, removal(text, object, &member), "")),
        (None, Some(value)) => insert(text, object, name, value, order),
        (None, None) => Some(text.to_owned()),
    }
}

/// Where a member of an object is: its name and its value.
struct Member {
    name: (usize, usize),
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
                name: (start, name_end),
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
    // As Go does: names match in any case, and the last of several counts.
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

/// With the comma before the member, or the one after the first member.
fn removal(text: &str, object: usize, member: &Member) -> (usize, usize) {
    let all = members(text, object);
    let place = all.iter().position(|(_, m)| m.name == member.name).unwrap_or(0);
    match place.checked_sub(1).and_then(|before| all.get(before)) {
        Some((_, before)) => (before.value.1, member.value.1),
        None => (
            member.name.0,
            all.get(1).map_or(member.value.1, |(_, next)| next.name.0),
        ),
    }
}

/// With space and colon as the neighbour has them.
fn insert(text: &str, object: usize, name: &str, value: &Value, order: &str) -> Option<String> {
    (text.as_bytes().get(object) == Some(&b'{')).then_some(())?;
    let all = members(text, object);
    let later = order
        .split_whitespace()
        .skip_while(|other| *other != name)
        .skip(1);
    let later: Vec<_> = later.collect();
    let next = all.iter().find(|(known, _)| later.contains(&known.as_str()));
    let name = Value::from(name);
    Some(match (next, all.last()) {
        (Some((_, next)), _) => {
            let (space, colon) = style(text, next);
            let at = (next.name.0, next.name.0);
            splice(text, at, &format!("{name}{colon}{value},{space}"))
        }
        (None, Some((_, last))) => {
            let (space, colon) = style(text, last);
            let at = (last.value.1, last.value.1);
            splice(text, at, &format!(",{space}{name}{colon}{value}"))
        }
        (None, None) => splice(text, (object + 1, object + 1), &format!("{name}:{value}")),
    })
}

/// The space before a member, and what is between its name and its value.
fn style<'a>(text: &'a str, member: &Member) -> (&'a str, &'a str) {
    let before = text[..member.name.0].trim_end().len();
    (&text[before..member.name.0], &text[member.name.1..member.value.0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    /// As `kube-flannel.yml` has it.
    const STOCK: &str = "{\n  \"Network\": \"10.244.0.0/16\",\n  \"EnableNFTables\": false,\n  \"Backend\": {\n    \"Type\": \"vxlan\"\n  }\n}\n";

    fn set(text: &str, path: &str, value: Option<i32>) -> Option<String> {
        with(text, path, value.map(|v| json!(v)).as_ref(), "")
    }

    #[test]
    fn a_field_comes_on_a_line_of_its_own_and_goes_without_a_trace() {
        let once = set(STOCK, "Backend.VNI", Some(4096)).unwrap();
        let expected = STOCK.replace("\"vxlan\"", "\"vxlan\",\n    \"VNI\": 4096");
        assert_eq!(once, expected);
        assert_eq!(set(&once, "Backend.VNI", None).unwrap(), STOCK);
        let both = set(&once, "Backend.Port", Some(4789)).unwrap();
        let back = set(&set(&both, "Backend.VNI", None).unwrap(), "Backend.Port", None).unwrap();
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
    #[case::into_nothing(r#"{"Backend":{}}"#, Some(4096), Some(r#"{"Backend":{"VNI":4096}}"#))]
    #[case::braces_in_texts(
        r#"{"a":"}\"{","Backend":{"b":"},"}}"#,
        Some(5),
        Some(r#"{"a":"}\"{","Backend":{"b":"},","VNI":5}}"#)
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
        assert_eq!(set(text, "Backend.VNI", vni).as_deref(), expected);
    }

    /// As Go's encoder writes the fields of a type.
    #[rstest]
    #[case::between(r#"{"first":1,"fourth":4}"#, "third", r#"{"first":1,"third":0,"fourth":4}"#)]
    #[case::before_the_first(r#"{ "fourth": 4}"#, "third", r#"{ "third": 0, "fourth": 4}"#)]
    #[case::last(r#"{"first":1}"#, "fourth", r#"{"first":1,"fourth":0}"#)]
    #[case::not_in_the_order(r#"{"first":1}"#, "a\"b", r#"{"first":1,"a\"b":0}"#)]
    fn a_new_member_goes_where_its_author_writes_it(
        #[case] text: &str,
        #[case] name: &str,
        #[case] expected: &str,
    ) {
        let order = "first second third fourth";
        assert_eq!(
            with(text, name, Some(&json!(0)), order).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn values_keep_their_spelling() {
        let text = r#"{"b":"\u003c 1.50","a":[1, 2],"z":1e3}"#;
        let changed = r#"{"b":"\u003c 1.50","a":5,"z":1e3}"#;
        assert_eq!(set(text, "a", Some(5)).unwrap(), changed);
        assert_eq!(set(changed, "b", None).unwrap(), r#"{"a":5,"z":1e3}"#);
    }
}
