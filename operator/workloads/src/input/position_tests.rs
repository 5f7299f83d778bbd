use super::*;
use rstest::rstest;

const POLICY: &str = "\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: web # the web
  namespace: shop
spec:
  ingress:
  - from:
    - podSelector: {}
    - ipBlock:
        cidr: 10.0.0.0/8
        except: [10.1.0.0/16]
  - ports: [{port: http}]
";

/// Line, column and text of the part.
fn found(text: &str, object: &str, field: Option<&str>) -> Option<(usize, usize, String)> {
    let position = find(text, &[Place { object, field }]).remove(0)?;
    let part = text.get(position.bytes)?;
    Some((position.line, position.column, part.to_owned()))
}

#[rstest]
#[case::name(None, 4, 3, "name: web")]
#[case::field(Some("spec"), 6, 1, "spec")]
#[case::item(Some("spec.ingress[1]"), 13, 5, "ports: [{port: http}]")]
#[case::any_item(Some("spec.ingress[0].from[].ipBlock.except"), 12, 9, "except")]
#[case::scalar(Some("spec.ingress[1].ports[0].port"), 13, 14, "port: http")]
#[case::deepest(Some("spec.ingress[0].from[].ipBlock.cidr.none"), 11, 9, "cidr: 10.0.0.0/8")]
#[case::no_such_item(Some("spec.ingress[7].from"), 7, 3, "ingress")]
fn finds_fields(#[case] field: Option<&str>, #[case] line: usize, #[case] column: usize, #[case] part: &str) {
    let found = found(POLICY, "NetworkPolicy.networking.k8s.io shop/web", field);
    assert_eq!(found, Some((line, column, part.to_owned())));
}

fn in_list() -> String {
    let items = POLICY.trim_end().replace('\n', "\n  ");
    format!("apiVersion: v1\nkind: List\nitems:\n- kind: Other\n- {items}\n")
}

#[rstest]
#[case::second_document(format!("kind: Other\n---\n{POLICY}"), 8)]
#[case::windows_line_ends(POLICY.replace('\n', "\r\n"), 6)]
#[case::byte_order_mark(format!("\u{feff}{POLICY}"), 6)]
#[case::list(in_list(), 10)]
#[case::json(r#"{"kind":"NetworkPolicy","metadata":{"name":"web","namespace":"shop"},
"spec":{}}"#.to_owned(), 2)]
#[case::the_last_one_counts(format!("{POLICY}---\n{POLICY}"), 20)]
#[case::before_invalid_yaml(format!("{POLICY}---\na: [\n"), 6)]
fn finds_objects(#[case] text: String, #[case] line: usize) {
    let found = found(&text, "NetworkPolicy shop/web", Some("spec"));
    let (at, _, part) = found.unwrap();
    assert_eq!((at, part.trim_matches('"')), (line, "spec"));
}

#[rstest]
#[case::other_namespace("NetworkPolicy default/web")]
#[case::other_group("NetworkPolicy.projectcalico.org shop/web")]
#[case::other_kind("Pod shop/web")]
#[case::no_name("Calico v3.32")]
fn does_not_find(#[case] object: &str) {
    assert_eq!(found(POLICY, object, None), None);
}

#[rstest]
#[case::anchors("a: &a {b: 1}\nkind: K\nmetadata: {name: n}\nspec: *a\n")]
#[case::deep_nesting(&"[".repeat(100_000))]
#[case::key_is_a_map("? {a: b}\n: c\n")]
#[case::ends_too_often("]}]}")]
fn survives(#[case] text: &str) {
    find(
        text,
        &[Place {
            object: "K n",
            field: Some("spec.b"),
        }],
    );
}
