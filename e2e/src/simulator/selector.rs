//! The part of Calico's selector language that pools use to choose nodes
//! (`libcalico-go/lib/selector`): conjunctions of `all()`, `has(k)`, `k == "v"`, `k != "v"`, `!…`.

use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

/// Does `selector` choose a node with `labels`? An expression outside the known part chooses none.
pub fn matches(selector: &str, labels: &Labels) -> bool {
    let selector = selector.trim();
    selector.is_empty() || selector.split("&&").all(|term| term_matches(term.trim(), labels))
}

fn term_matches(term: &str, labels: &Labels) -> bool {
    if term == "all()" {
        return true;
    }
    if let Some((key, value)) = term.split_once("!=") {
        return labels.get(key.trim()).map(String::as_str) != Some(unquote(value));
    }
    if let Some((key, value)) = term.split_once("==") {
        return labels.get(key.trim()).map(String::as_str) == Some(unquote(value));
    }
    if let Some(inner) = term.strip_prefix('!') {
        return !term_matches(inner.trim(), labels);
    }
    let key = term.strip_prefix("has(").and_then(|rest| rest.strip_suffix(')'));
    key.is_some_and(|key| labels.contains_key(key.trim()))
}

fn unquote(value: &str) -> &str {
    value.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors() {
        let labels = Labels::from([("kubernetes.io/os".to_owned(), "windows".to_owned())]);
        for (selector, expected) in [
            ("", true),
            ("all()", true),
            ("!all()", false),
            ("has(kubernetes.io/os)", true),
            ("!has(kubernetes.io/os)", false),
            ("kubernetes.io/os == \"windows\"", true),
            ("kubernetes.io/os == 'linux'", false),
            ("kubernetes.io/os != 'linux'", true),
            ("all() && zone == 'a'", false),
            ("zone in {'a'}", false),
        ] {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
    }
}
