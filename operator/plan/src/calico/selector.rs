//! Calico's selector language (libcalico-go `lib/selector`), which `nodeSelector` of a pool is written in:
//! `all()`, `global()`, `has(k)`, `k == 'v'`, `k != 'v'`, `k in {…}`, `k not in {…}`, `k contains 'v'`,
//! `k starts with 'v'`, `k ends with 'v'`, `!`, `&&`, `||` and parentheses.

use crate::observed::Labels;

/// Parentheses in parentheses; nobody writes more than a few. Calico has no limit of its own, and the text comes from
/// the cluster, so that the depth of the recursion must not.
const DEEPEST: u32 = 64;

/// Does `selector` match `labels`? `None` when it cannot be read.
pub fn matches(selector: &str, labels: &Labels) -> Option<bool> {
    let mut parser = Parser {
        rest: selector,
        labels,
        depth: 0,
    };
    if parser.is_at_end() {
        return Some(true);
    }
    let value = parser.or()?;
    parser.is_at_end().then_some(value)
}

/// Reads and evaluates at once. Both sides of an operator are read in any case, so that a broken one is noticed.
struct Parser<'a> {
    rest: &'a str,
    labels: &'a Labels,
    depth: u32,
}

impl<'a> Parser<'a> {
    /// Calico skips spaces and tabs; a line break is an error there.
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

    fn or(&mut self) -> Option<bool> {
        let mut value = self.and()?;
        while self.take("||") {
            value |= self.and()?;
        }
        Some(value)
    }

    fn and(&mut self) -> Option<bool> {
        let mut value = self.unary()?;
        while self.take("&&") {
            value &= self.unary()?;
        }
        Some(value)
    }

    fn unary(&mut self) -> Option<bool> {
        let mut negated = false;
        while self.take("!") {
            negated = !negated;
        }
        let value = if self.take("(") {
            self.nested()?
        } else {
            self.term()?
        };
        Some(value != negated)
    }

    fn nested(&mut self) -> Option<bool> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = self.or()?;
        self.depth -= 1;
        self.take(")").then_some(value)
    }

    fn term(&mut self) -> Option<bool> {
        if self.take("all(") || self.take("global(") {
            return self.take(")").then_some(true);
        }
        if self.take("has(") {
            let label = self.label()?;
            return self.take(")").then(|| self.labels.get(label).is_some());
        }
        let label = self.label()?;
        self.comparison(self.labels.get(label))
    }

    /// An absent label is unequal to everything, in no set and contains nothing.
    fn comparison(&mut self, label: Option<&str>) -> Option<bool> {
        let is = |test: fn(&str, &str) -> bool, text: &str| label.is_some_and(|l| test(l, text));
        if self.take("==") {
            return Some(is(|l, t| l == t, self.text()?));
        }
        if self.take("!=") {
            return Some(!is(|l, t| l == t, self.text()?));
        }
        if self.take("contains") {
            return Some(is(|l, t| l.contains(t), self.text()?));
        }
        if self.take("starts") {
            return Some(is(|l, t| l.starts_with(t), self.after("with")?));
        }
        if self.take("ends") {
            return Some(is(|l, t| l.ends_with(t), self.after("with")?));
        }
        let negated = self.take("not");
        if !self.take("in") {
            return None;
        }
        let set = self.set()?;
        Some(label.is_some_and(|l| set.contains(&l)) != negated)
    }

    fn label(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let of_label = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
        let end = self.rest.find(|c| !of_label(c)).unwrap_or(self.rest.len());
        let (label, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!label.is_empty()).then_some(label)
    }

    /// In either kind of quotes; there are no escapes. Takes nothing when there is none.
    fn text(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    fn after(&mut self, word: &str) -> Option<&'a str> {
        if self.take(word) { self.text() } else { None }
    }

    fn set(&mut self) -> Option<Vec<&'a str>> {
        let mut found = Vec::new();
        if !self.take("{") {
            return None;
        }
        while let Some(text) = self.text() {
            found.push(text);
            if !self.take(",") {
                break;
            }
        }
        self.take("}").then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
        let labels = [("kubernetes.io/os", "windows"), ("zone", "a")];
        let labels = labels.into();
        assert_eq!(matches(selector, &labels), expected);
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        let labels = Labels::default();
        let nested = |n: usize| format!("{}all(){}", "(".repeat(n), ")".repeat(n));
        assert_eq!(matches(&nested(64), &labels), Some(true));
        assert_eq!(matches(&nested(65), &labels), None);
        assert_eq!(matches(&nested(500_000), &labels), None);
        assert_eq!(matches(&"(".repeat(500_000), &labels), None);
        let negated = format!("{}all()", "!".repeat(500_001));
        assert_eq!(matches(&negated, &labels), Some(false));
        let long = vec!["(all())"; 100_000].join(" && ");
        assert_eq!(matches(&long, &labels), Some(true));
    }
}
