//! Services that pods on Windows nodes name in their environment and their arguments.

use super::units::Unit;
use crate::input::pod::PodSpec;
use crate::input::{Key, Objects, key};

/// Longest name that is looked up: that of a host in DNS.
const LONGEST: usize = 253;
/// Words of one unit that are looked at.
const MOST_WORDS: usize = 10_000;

/// How a Service is named.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// `name`, in its own namespace.
    Short,
    /// `name.namespace` or `name.namespace.svc`, which needs a search domain.
    Partial,
    /// With the domain of the cluster.
    Full,
}

/// A name of a Service.
#[derive(Debug)]
pub struct Reference<'a> {
    /// Position of the unit.
    pub unit: usize,
    /// Path of the field in the spec of the pods.
    pub field: String,
    /// The name as it is written.
    pub host: &'a str,
    /// Namespace and name of the Service.
    pub service: &'a Key,
    /// How it is named.
    pub form: Form,
}

/// Every reference of units on Windows nodes to a Service among the objects.
pub fn all<'a>(objects: &'a Objects, units: &[Unit<'a>]) -> Vec<Reference<'a>> {
    let windows = units.iter().enumerate().filter(|(_, unit)| unit.is_on_windows);
    windows
        .flat_map(|(position, unit)| of_unit(objects, position, unit))
        .collect()
}

fn of_unit<'a>(objects: &'a Objects, position: usize, unit: &Unit<'a>) -> Vec<Reference<'a>> {
    let texts = texts(unit.spec);
    let words = texts
        .iter()
        .flat_map(|&(ref field, text)| words(text).map(move |word| (field, word)));
    let found = words.take(MOST_WORDS).filter_map(|(field, word)| {
        let (host, is_address) = host(word)?;
        let (name, namespace, form) = parts(host, unit.namespace)?;
        if form == Form::Short && !is_address && !field.ends_with("HOST") {
            return None;
        }
        let (service, _) = objects.services.get_key_value(&key(namespace, name))?;
        let (field, _) = field.split_once('#').unwrap_or((field.as_str(), ""));
        Some(Reference {
            unit: position,
            field: field.to_owned(),
            host,
            service,
            form,
        })
    });
    found.collect()
}

/// Texts of the environment and of the commands, each with its field, which ends with `#` and the name of a variable.
fn texts(spec: &PodSpec) -> Vec<(String, &str)> {
    let mut texts = Vec::new();
    for (i, container) in spec.containers.iter().enumerate() {
        let lists = [("command", &container.command), ("args", &container.args)];
        for (name, list) in lists {
            let fields = list.iter().enumerate();
            texts.extend(fields.map(|(j, text)| (format!("containers[{i}].{name}[{j}]"), text.as_str())));
        }
        let variables = container.env.iter().enumerate();
        texts.extend(variables.map(|(j, variable)| {
            let field = format!("containers[{i}].env[{j}].value#{}", variable.name);
            (field, variable.value.as_str())
        }));
    }
    texts
}

/// The words of a text that may be hosts.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "=,;'\"".contains(c));
    words.filter(|word| !word.is_empty())
}

/// The host in a word such as `http://db.data:80/path`, and whether the word is an address.
fn host(word: &str) -> Option<(&str, bool)> {
    let (has_scheme, rest) = match word.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, word),
    };
    let authority = rest.split(['/', '?']).next()?;
    let authority = authority.rsplit('@').next()?;
    let (host, has_port) = match authority.split_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => (host, true),
        Some(_) => return None,
        None => (authority, false),
    };
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
    let is_host = !host.is_empty() && host.len() <= LONGEST && host.bytes().all(is_name);
    is_host.then_some((host, has_scheme || has_port))
}

/// Name and namespace of the Service that a host may be.
fn parts<'h>(host: &'h str, own: &'h str) -> Option<(&'h str, &'h str, Form)> {
    let (host, is_absolute) = match host.strip_suffix('.') {
        Some(host) => (host, true),
        None => (host, false),
    };
    let labels: Vec<&str> = host.splitn(5, '.').collect();
    match labels.as_slice() {
        [_] | [_, _] | [_, _, "svc"] if is_absolute => None,
        [name] => Some((*name, own, Form::Short)),
        [name, namespace] | [name, namespace, "svc"] => Some((*name, *namespace, Form::Partial)),
        [name, namespace, "svc", ..] => Some((*name, *namespace, Form::Full)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("db", Some(("db", false)))]
    #[case("db:5432", Some(("db", true)))]
    #[case("http://db.data/path:1", Some(("db.data", true)))]
    #[case("postgres://user:secret@db.data.svc:5432/app?x=1", Some(("db.data.svc", true)))]
    #[case("C:\\app", None)]
    #[case("[::1]:80", None)]
    #[case("Server", None)]
    #[case("://", None)]
    #[case("", None)]
    fn hosts(#[case] word: &str, #[case] expected: Option<(&str, bool)>) {
        assert_eq!(host(word), expected);
    }

    #[rstest]
    #[case("db", Some(("db", "own", Form::Short)))]
    #[case("db.data", Some(("db", "data", Form::Partial)))]
    #[case("db.data.svc", Some(("db", "data", Form::Partial)))]
    #[case("db.data.svc.cluster.local", Some(("db", "data", Form::Full)))]
    #[case("db.data.svc.cluster.local.", Some(("db", "data", Form::Full)))]
    #[case("www.example.com", None)]
    #[case("db.data.", None)]
    fn forms(#[case] host: &str, #[case] expected: Option<(&str, &str, Form)>) {
        assert_eq!(parts(host, "own"), expected);
    }
}
