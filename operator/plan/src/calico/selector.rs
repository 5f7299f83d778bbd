//! Calico's selector language (libcalico-go `lib/selector`), as far as `nodeSelector` of a pool uses it:
//! `all()`, `global()`, `has(k)`, `k == 'v'`, `k != 'v'`, `k in {…}`, `k not in {…}`, `k contains 'v'`,
//! `k starts with 'v'`, `k ends with 'v'`, `!`, `&&`, `||` and parentheses.

use crate::observed::Labels;

/// Does `selector` match `labels`? `None` when it cannot be read.
pub fn matches(selector: &str, labels: &Labels) -> Option<bool> {
    let tokens = tokens(selector)?;
    if tokens.is_empty() {
        return Some(true);
    }
    let mut parser = Parser {
        tokens: &tokens,
        labels,
    };
    let value = parser.or()?;
    parser.tokens.is_empty().then_some(value)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// `&&`, `||`, `==`, `!=`, `!`, `(`, `)`, `{`, `}`, `,`.
    Symbol(&'static str),
    /// A label name or a word such as `in`.
    Word(String),
    Text(String),
}

const SYMBOLS: &[&str] = &["&&", "||", "==", "!=", "!", "(", ")", "{", "}", ","];

fn tokens(selector: &str) -> Option<Vec<Token>> {
    let mut rest = selector.trim_start();
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (Token::Symbol(symbol), symbol.len())
        } else if first == '\'' || first == '"' {
            let end = rest[1..].find(first)?;
            (Token::Text(rest[1..=end].to_owned()), end + 2)
        } else {
            let word = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            (
                Token::Word(rest[..end].to_owned()),
                if end == 0 { return None } else { end },
            )
        };
        found.push(token);
        rest = rest[length..].trim_start();
    }
    Some(found)
}

struct Parser<'a> {
    tokens: &'a [Token],
    labels: &'a Labels,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first.clone())
    }

    fn take(&mut self, symbol: &str) -> bool {
        let hit = matches!(self.tokens.first(), Some(Token::Symbol(s)) if *s == symbol);
        if hit {
            self.tokens = &self.tokens[1..];
        }
        hit
    }

    fn take_word(&mut self, word: &str) -> bool {
        let hit = matches!(self.tokens.first(), Some(Token::Word(w)) if w == word);
        if hit {
            self.tokens = &self.tokens[1..];
        }
        hit
    }

    fn or(&mut self) -> Option<bool> {
        let mut value = self.and()?;
        while self.take("||") {
            // Both sides are parsed in any case, so that a broken one is noticed.
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
        if self.take("!") {
            return self.unary().map(|v| !v);
        }
        if self.take("(") {
            let value = self.or()?;
            return self.take(")").then_some(value);
        }
        self.term()
    }

    fn term(&mut self) -> Option<bool> {
        let Token::Word(name) = self.next()? else {
            return None;
        };
        if self.take("(") {
            return self.call(&name);
        }
        let label = self.labels.get(&name).map(str::to_owned);
        if self.take("==") {
            let text = self.text()?;
            return Some(label.is_some_and(|l| l == text));
        }
        self.comparison(label)
    }

    fn call(&mut self, name: &str) -> Option<bool> {
        let value = match name {
            "all" | "global" => true,
            "has" => {
                let Token::Word(label) = self.next()? else {
                    return None;
                };
                self.labels.get(&label).is_some()
            }
            _ => return None,
        };
        self.take(")").then_some(value)
    }

    /// An absent label is unequal to everything and in no set.
    fn comparison(&mut self, label: Option<String>) -> Option<bool> {
        if self.take("!=") {
            let text = self.text()?;
            return Some(label.is_none_or(|l| l != text));
        }
        if self.take_word("in") {
            let set = self.set()?;
            return Some(label.is_some_and(|l| set.contains(&l)));
        }
        if self.take_word("not") {
            let set = if self.take_word("in") {
                self.set()?
            } else {
                return None;
            };
            return Some(label.is_none_or(|l| !set.contains(&l)));
        }
        let Token::Word(operator) = self.next()? else {
            return None;
        };
        let with = operator == "contains" || self.take_word("with");
        let text = self.text()?;
        let test: fn(&str, &str) -> bool = match (operator.as_str(), with) {
            ("contains", _) => |l, t| l.contains(t),
            ("starts", true) => |l, t| l.starts_with(t),
            ("ends", true) => |l, t| l.ends_with(t),
            _ => return None,
        };
        Some(label.is_some_and(|l| test(&l, &text)))
    }

    fn text(&mut self) -> Option<String> {
        match self.next()? {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    fn set(&mut self) -> Option<Vec<String>> {
        let mut found = Vec::new();
        if !self.take("{") {
            return None;
        }
        while !self.take("}") {
            found.push(self.text()?);
            self.take(",");
        }
        Some(found)
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
    fn evaluates(#[case] selector: &str, #[case] expected: Option<bool>) {
        let labels = [("kubernetes.io/os", "windows"), ("zone", "a")];
        let labels = labels.into();
        assert_eq!(matches(selector, &labels), expected);
    }
}
