//! Calico's selector language (libcalico-go `lib/selector`): `all()`, `global()`, `has(k)`, `k == 'v'`, `k != 'v'`,
//! `k in {…}`, `k not in {…}`, `k contains 'v'`, `k starts with 'v'`, `k ends with 'v'`, `!`, `&&`, `||` and
//! parentheses.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Maximum depth of nested parentheses. Calico has no limit, but the text comes from the cluster, so the
/// depth of the recursion must be limited.
const DEEPEST: u32 = 64;

/// Maximum length of a label's name in bytes, as in Calico's tokenizer.
const LONGEST_LABEL: usize = 512;

/// A parsed selector. Its text form is Calico's normal form: Felix uses one IP set for equal texts.
#[derive(Clone, Debug)]
pub struct Selector(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    node: Node,
    /// The text form, once it was asked for.
    text: OnceLock<Box<str>>,
}

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.node() == other.node()
    }
}

impl Eq for Selector {}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Node {
    All,
    Global,
    Has(String),
    Compare(String, Operator, String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Not(Selector),
    And(Vec<Selector>),
    Or(Vec<Selector>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    Equal,
    Unequal,
    Contains,
    StartsWith,
    EndsWith,
}

impl From<Node> for Selector {
    fn from(node: Node) -> Self {
        Self(Arc::new(Parsed {
            node,
            text: OnceLock::new(),
        }))
    }
}

impl Selector {
    /// Parses a selector; `None` if the text is invalid. A text without a term selects everything.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text, depth: 0 };
        if parser.is_at_end() {
            return Some(Self::all());
        }
        let selector = parser.or()?;
        parser.is_at_end().then_some(selector)
    }

    fn node(&self) -> &Node {
        &self.0.node
    }

    /// The text form.
    pub fn text(&self) -> &str {
        self.0.text.get_or_init(|| self.to_string().into())
    }

    /// The selector of everything.
    pub fn all() -> Self {
        Node::All.into()
    }

    /// `label == 'value'`.
    pub fn equal(label: &str, value: &str) -> Self {
        Node::Compare(label.to_owned(), Operator::Equal, value.to_owned()).into()
    }

    /// `has(label)`.
    pub fn has(label: &str) -> Self {
        Node::Has(label.to_owned()).into()
    }

    /// `label in {values}`.
    pub fn among(label: &str, values: impl IntoIterator<Item = String>) -> Self {
        Node::In(label.to_owned(), sorted(values.into_iter().collect())).into()
    }

    /// Selects what both selectors select.
    pub fn and(self, other: Self) -> Self {
        Node::And(vec![self, other]).into()
    }

    /// Selects what `self` does not select.
    pub fn negated(self) -> Self {
        Node::Not(self).into()
    }

    /// The same selector with `prefix` in front of the name of every label.
    pub fn prefixed(&self, prefix: &str) -> Self {
        let named = |label: &str| format!("{prefix}{label}");
        match self.node() {
            Node::All | Node::Global => self.clone(),
            Node::Has(label) => Node::Has(named(label)).into(),
            Node::Compare(label, operator, value) => {
                Node::Compare(named(label), *operator, value.clone()).into()
            }
            Node::In(label, values) => Node::In(named(label), values.clone()).into(),
            Node::NotIn(label, values) => Node::NotIn(named(label), values.clone()).into(),
            Node::Not(inner) => inner.prefixed(prefix).negated(),
            Node::And(parts) => Node::And(parts.iter().map(|p| p.prefixed(prefix)).collect()).into(),
            Node::Or(parts) => Node::Or(parts.iter().map(|p| p.prefixed(prefix)).collect()).into(),
        }
    }

    /// Replaces `all()` and `global()` in the selector, as Calico does where they would select too much.
    pub fn with_all_as(&self, all: &Self, global: Option<&Self>) -> Self {
        let inner = |s: &Self| s.with_all_as(all, global);
        match self.node() {
            Node::All => all.clone(),
            Node::Global => global.unwrap_or(self).clone(),
            Node::Not(part) => inner(part).negated(),
            Node::And(parts) => Node::And(parts.iter().map(inner).collect()).into(),
            Node::Or(parts) => Node::Or(parts.iter().map(inner).collect()).into(),
            _ => self.clone(),
        }
    }

    /// Whether the selector is exactly `global()`.
    pub fn is_global(&self) -> bool {
        matches!(self.node(), Node::Global)
    }

    /// Whether the selector matches an object; `label` looks up the object's labels.
    pub fn matches<'l>(&self, label: &impl Fn(&str) -> Option<&'l str>) -> bool {
        match self.node() {
            Node::All | Node::Global => true,
            Node::Has(name) => label(name).is_some(),
            Node::Compare(name, operator, value) => compare(label(name), *operator, value),
            Node::In(name, values) => label(name).is_some_and(|v| contains(values, v)),
            Node::NotIn(name, values) => !label(name).is_some_and(|v| contains(values, v)),
            Node::Not(inner) => !inner.matches(label),
            Node::And(parts) => parts.iter().all(|p| p.matches(label)),
            Node::Or(parts) => parts.iter().any(|p| p.matches(label)),
        }
    }

    /// Labels and values that an object must have for a match, for use with an index.
    pub fn required(&self) -> Vec<(&str, &str)> {
        match self.node() {
            Node::Compare(label, Operator::Equal, value) => vec![(label, value)],
            Node::And(parts) => parts.iter().flat_map(Self::required).collect(),
            _ => Vec::new(),
        }
    }
}

/// Compares the value of a label. An absent label differs from every value and contains none.
fn compare(label: Option<&str>, operator: Operator, value: &str) -> bool {
    match (label, operator) {
        (None, _) => operator == Operator::Unequal,
        (Some(label), Operator::Equal) => label == value,
        (Some(label), Operator::Unequal) => label != value,
        (Some(label), Operator::Contains) => label.contains(value),
        (Some(label), Operator::StartsWith) => label.starts_with(value),
        (Some(label), Operator::EndsWith) => label.ends_with(value),
    }
}

fn contains(sorted: &[String], value: &str) -> bool {
    sorted.binary_search_by(|v| v.as_str().cmp(value)).is_ok()
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::All => f.write_str("all()"),
            Node::Global => f.write_str("global()"),
            Node::Has(label) => write!(f, "has({label})"),
            Node::Compare(label, operator, value) => write!(f, "{label} {operator} {}", Quoted(value)),
            Node::In(label, values) => write!(f, "{label} in {}", Set(values)),
            Node::NotIn(label, values) => write!(f, "{label} not in {}", Set(values)),
            Node::Not(inner) => write!(f, "!{inner}"),
            Node::And(parts) => joined(f, parts, " && "),
            Node::Or(parts) => joined(f, parts, " || "),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Selector], by: &str) -> fmt::Result {
    f.write_str("(")?;
    for (i, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if i == 0 { "" } else { by })?;
    }
    f.write_str(")")
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Contains => "contains",
            Self::StartsWith => "starts with",
            Self::EndsWith => "ends with",
        })
    }
}

/// Prints a text in quotes. The language has no escapes: a text with one kind of quotes is put in the other
/// kind.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('"') { '\'' } else { '"' };
        write!(f, "{quote}{}{quote}", self.0)
    }
}

struct Set<'a>(&'a [String]);

impl fmt::Display for Set<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, value) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, Quoted(value))?;
        }
        f.write_str("}")
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl<'a> Parser<'a> {
    /// Skips spaces and tabs. A line break is an error, as in Calico.
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest.is_empty()
    }

    fn take(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn or(&mut self) -> Option<Selector> {
        let mut parts = vec![self.and()?];
        while self.take("||") {
            parts.push(self.and()?);
        }
        Some(one_or(parts, Node::Or))
    }

    fn and(&mut self) -> Option<Selector> {
        let mut parts = vec![self.unary()?];
        while self.take("&&") {
            parts.push(self.unary()?);
        }
        Some(one_or(parts, Node::And))
    }

    fn unary(&mut self) -> Option<Selector> {
        let mut negated = false;
        while self.take("!") {
            negated = !negated;
        }
        let selector = if self.take("(") {
            self.nested()?
        } else {
            self.term()?
        };
        Some(if negated { selector.negated() } else { selector })
    }

    fn nested(&mut self) -> Option<Selector> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let selector = self.or()?;
        self.depth -= 1;
        self.take(")").then_some(selector)
    }

    fn term(&mut self) -> Option<Selector> {
        if self.take("all(") {
            return self.take(")").then(Selector::all);
        }
        if self.take("global(") {
            return self.take(")").then(|| Node::Global.into());
        }
        if self.take("has(") {
            let label = self.label()?;
            return self.take(")").then(|| Selector::has(label));
        }
        let label = self.label()?.to_owned();
        self.comparison(label)
    }

    fn comparison(&mut self, label: String) -> Option<Selector> {
        let operators = [
            ("==", None, Operator::Equal),
            ("!=", None, Operator::Unequal),
            ("contains", None, Operator::Contains),
            ("starts", Some("with"), Operator::StartsWith),
            ("ends", Some("with"), Operator::EndsWith),
        ];
        for (word, second, operator) in operators {
            if self.take(word) {
                if second.is_some_and(|second| !self.take(second)) {
                    return None;
                }
                let value = self.text()?.to_owned();
                return Some(Node::Compare(label, operator, value).into());
            }
        }
        let negated = self.take("not");
        if !self.take("in") {
            return None;
        }
        let values = sorted(self.set()?);
        let node = if negated { Node::NotIn } else { Node::In };
        Some(node(label, values).into())
    }

    fn label(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let of_label = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
        let end = self.rest.find(|c| !of_label(c)).unwrap_or(self.rest.len());
        let (label, rest) = self.rest.split_at(end);
        self.rest = rest;
        (1..=LONGEST_LABEL).contains(&label.len()).then_some(label)
    }

    /// Reads a text in either kind of quotes, without escapes. Consumes nothing if there is none.
    fn text(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    fn set(&mut self) -> Option<Vec<String>> {
        let mut found = Vec::new();
        if !self.take("{") {
            return None;
        }
        while let Some(text) = self.text() {
            found.push(text.to_owned());
            if !self.take(",") {
                break;
            }
        }
        self.take("}").then_some(found)
    }
}

fn one_or(mut parts: Vec<Selector>, node: fn(Vec<Selector>) -> Node) -> Selector {
    match parts.len() {
        1 => parts.remove(0),
        _ => node(parts).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn evaluated(selector: &str) -> Option<bool> {
        let label = |name: &str| match name {
            "kubernetes.io/os" => Some("windows"),
            "zone" => Some("a"),
            _ => None,
        };
        Some(Selector::parse(selector)?.matches(&label))
    }

    #[rstest]
    #[case("", Some(true))]
    #[case("all()", Some(true))]
    #[case("!all()", Some(false))]
    #[case("kubernetes.io/os == 'windows'", Some(true))]
    #[case("kubernetes.io/os == \"linux\"", Some(false))]
    #[case("missing == 'x'", Some(false))]
    #[case("missing != 'x'", Some(true))]
    #[case("kubernetes.io/os != 'windows'", Some(false))]
    #[case("has(zone)", Some(true))]
    #[case("!has(missing)", Some(true))]
    #[case("zone in {'a', 'b'}", Some(true))]
    #[case("zone not in {'a'}", Some(false))]
    #[case("zone in {}", Some(false))]
    #[case("kubernetes.io/os starts with 'win'", Some(true))]
    #[case("kubernetes.io/os ends with 'win'", Some(false))]
    #[case("kubernetes.io/os contains 'indo'", Some(true))]
    #[case("(zone == 'x' || has(zone)) && kubernetes.io/os == 'windows'", Some(true))]
    #[case("zone == 'x' || has(zone) && zone == 'a'", Some(true))]
    #[case("missing == 'x' && nonsense ~ 3", None)]
    #[case("zone ==", None)]
    #[case("zone == 'open", None)]
    #[case("(all()", None)]
    #[case("all() all()", None)]
    #[case("zone notin {'b',}", Some(true))]
    #[case("zone startswith'a'", Some(true))]
    #[case("!!has( zone )", Some(true))]
    #[case("all == 'x' || in != 'x'", Some(true))]
    #[case("zone in {'a' 'b'}", None)]
    #[case("has (zone)", None)]
    #[case("all() ||\nall()", None)]
    fn evaluates(#[case] selector: &str, #[case] expected: Option<bool>) {
        assert_eq!(evaluated(selector), expected);
    }

    #[rstest]
    #[case("a=='b'&&has(c)", "(a == \"b\" && has(c))")]
    #[case(
        "!(a in {'y','x','x'}||!b not in{'\"'})",
        "!(a in {\"x\", \"y\"} || !b not in {'\"'})"
    )]
    fn has_one_text(#[case] selector: &str, #[case] expected: &str) {
        let text = Selector::parse(selector).unwrap().to_string();
        assert_eq!(text, expected);
        assert_eq!(Selector::parse(&text).unwrap().to_string(), expected);
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        let nested = |n: usize| format!("{}all(){}", "(".repeat(n), ")".repeat(n));
        assert_eq!(evaluated(&nested(64)), Some(true));
        assert_eq!(evaluated(&nested(65)), None);
        assert_eq!(evaluated(&nested(500_000)), None);
        assert_eq!(evaluated(&"(".repeat(500_000)), None);
        let negated = format!("{}all()", "!".repeat(500_001));
        assert_eq!(evaluated(&negated), Some(false));
        let long = vec!["(all())"; 100_000].join(" && ");
        assert_eq!(evaluated(&long), Some(true));
    }
}
