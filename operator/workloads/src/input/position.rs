//! Finds where objects and their fields are in a text. Only one object at a time is in memory as a tree, so a list of many
//! objects costs as much memory as its largest object.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{Event, Marker, Parser, Span};

/// A part of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The part in bytes of the text.
    pub bytes: Range<usize>,
}

/// An object or one of its fields, as findings name them.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// `Kind name` or `Kind namespace/name`; the kind may be followed by a dot and its API group.
    pub object: &'a str,
    /// Path of a field, such as `spec.ingress[0].from[].ipBlock`; `[]` is the first item with the next field.
    pub field: Option<&'a str>,
}

/// Finds each place in the text: the field, or the deepest part of its path that exists, or the name of the object. `None` if
/// the object is not in the text. Of several objects with the same name the last one counts. What follows invalid YAML is not
/// searched.
pub fn find(text: &str, places: &[Place<'_>]) -> Vec<Option<Position>> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut search = Search {
        text: bare,
        skipped: text.len() - bare.len(),
        wanted: places.iter().map(Wanted::new).collect(),
        found: vec![None; places.len()],
        open: Vec::new(),
    };
    let mut events = Parser::new_from_str(bare);
    while let Some(Ok((event, span))) = events.next_event() {
        search.take(event, span);
    }
    search.found
}

/// A place, taken apart.
struct Wanted<'a> {
    kind: &'a str,
    group: Option<&'a str>,
    namespace: Option<&'a str>,
    name: &'a str,
    path: Vec<Step<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Item(usize),
    AnyItem,
}

impl<'a> Wanted<'a> {
    fn new(place: &Place<'a>) -> Self {
        let (kind, rest) = place.object.split_once(' ').unwrap_or((place.object, ""));
        let named = rest.split(' ').next().unwrap_or_default();
        let (kind, group) = match kind.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (kind, None),
        };
        let (namespace, name) = match named.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, named),
        };
        Self {
            kind,
            group,
            namespace,
            name,
            path: place.field.map(steps).unwrap_or_default(),
        }
    }

    fn is(&self, object: &Node<'_>) -> bool {
        let metadata = object.field("metadata");
        let of_metadata = |field: &str| metadata?.field(field)?.text();
        // The cheap comparisons first: there may be many objects and many places.
        object.field("kind").and_then(Node::text) == Some(self.kind)
            && of_metadata("name") == Some(self.name)
            && self.is_in(of_metadata("namespace"))
            && self.is_of(object.field("apiVersion").and_then(Node::text))
    }

    fn is_in(&self, namespace: Option<&str>) -> bool {
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        self.namespace
            .is_none_or(|wanted| namespace.unwrap_or("default") == wanted)
    }

    /// Is the API version of the group? `crd.projectcalico.org` is of `projectcalico.org`.
    fn is_of(&self, api_version: Option<&str>) -> bool {
        let group = api_version
            .and_then(|api| api.split_once('/'))
            .map_or("", |(group, _)| group);
        self.group.is_none_or(|wanted| {
            let before = group.strip_suffix(wanted);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
    }
}

/// `a.b[0].c[]` in steps.
fn steps(path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (field, items) = part.split_once('[').unwrap_or((part, ""));
        if !field.is_empty() {
            steps.push(Step::Field(field));
        }
        for item in items.split('[').filter(|item| !item.is_empty()) {
            steps.push(match item.trim_end_matches(']').parse() {
                Ok(index) => Step::Item(index),
                Err(_) => Step::AnyItem,
            });
        }
    }
    steps
}

/// A value of the text and where it begins and ends.
struct Node<'a> {
    value: Value<'a>,
    begin: Marker,
    end: Marker,
}

enum Value<'a> {
    Scalar(Cow<'a, str>),
    Map(Vec<Entry<'a>>),
    List(Vec<Node<'a>>),
    /// An alias of an anchor, whose fields are elsewhere.
    Alias,
}

struct Entry<'a> {
    key: Cow<'a, str>,
    span: Span,
    node: Node<'a>,
}

impl<'a> Node<'a> {
    fn entry(&self, key: &str) -> Option<&Entry<'a>> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            Value::Scalar(_) | Value::List(_) | Value::Alias => None,
        }
    }

    fn field(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            Value::Map(_) | Value::List(_) | Value::Alias => None,
        }
    }

    fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(_) | Value::Map(_) | Value::Alias => &[],
        }
    }

    /// The item that a step leads to; `[]` leads to the first one that has what follows.
    fn item(&self, step: Step<'_>, next: Option<&Step<'_>>) -> Option<&Self> {
        match (step, next) {
            (Step::Item(index), _) => self.items().get(index),
            (Step::AnyItem, Some(Step::Field(field))) => {
                let mut items = self.items().iter();
                items.find(|item| item.field(field).is_some())
            }
            (Step::AnyItem, _) => self.items().first(),
            (Step::Field(_), _) => None,
        }
    }
}

/// A collection whose end was not read yet.
enum Open<'a> {
    Map {
        begin: Marker,
        key: Option<(Cow<'a, str>, Span)>,
        entries: Vec<Entry<'a>>,
    },
    List {
        begin: Marker,
        items: Vec<Node<'a>>,
    },
}

struct Search<'a> {
    text: &'a str,
    /// Bytes before `text`: a byte order mark.
    skipped: usize,
    wanted: Vec<Wanted<'a>>,
    found: Vec<Option<Position>>,
    open: Vec<Open<'a>>,
}

impl<'a> Search<'a> {
    fn take(&mut self, event: Event<'a>, span: Span) {
        let begin = span.start;
        match event {
            Event::Scalar(text, ..) => self.value(Value::Scalar(text), span.start, span.end),
            Event::Alias(_) => self.value(Value::Alias, span.start, span.end),
            Event::MappingStart(..) => self.open.push(Open::Map {
                begin,
                key: None,
                entries: Vec::new(),
            }),
            Event::SequenceStart(..) => self.open.push(Open::List {
                begin,
                items: Vec::new(),
            }),
            Event::MappingEnd | Event::SequenceEnd => match self.open.pop() {
                Some(Open::Map { begin, entries, .. }) => self.value(Value::Map(entries), begin, span.end),
                Some(Open::List { begin, items }) => self.value(Value::List(items), begin, span.end),
                None => {}
            },
            Event::DocumentStart(..) | Event::DocumentEnd => self.open.clear(),
            // Comments and the marks of the stream.
            _ => {}
        }
    }

    fn value(&mut self, value: Value<'a>, begin: Marker, end: Marker) {
        let node = Node { value, begin, end };
        let is_item = self.is_in_items();
        match self.open.last_mut() {
            None => self.object(&node),
            Some(Open::List { .. }) if is_item => self.object(&node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { key, entries, .. }) => match key.take() {
                Some((key, span)) => entries.push(Entry { key, span, node }),
                None => {
                    let text = match node.value {
                        Value::Scalar(text) => text,
                        Value::Map(_) | Value::List(_) | Value::Alias => Cow::Borrowed(""),
                    };
                    *key = Some((text, Span::new(begin, end)));
                }
            },
        }
    }

    /// Is the next value an item of the `items` of a document, as of a `List`?
    fn is_in_items(&self) -> bool {
        match self.open.as_slice() {
            [
                Open::Map {
                    key: Some((key, _)), ..
                },
                Open::List { .. },
            ] => key == "items",
            _ => false,
        }
    }

    fn object(&mut self, node: &Node<'a>) {
        for (i, wanted) in self.wanted.iter().enumerate() {
            if wanted.is(node) {
                self.found[i] = self.locate(node, &wanted.path);
            }
        }
    }

    fn locate(&self, object: &Node<'a>, path: &[Step<'a>]) -> Option<Position> {
        let name = object
            .field("metadata")
            .and_then(|metadata| metadata.entry("name"));
        let mut position = name.and_then(|entry| self.of_entry(entry));
        let mut node = object;
        for (i, step) in path.iter().enumerate() {
            if let Step::Field(field) = step {
                let Some(entry) = node.entry(field) else { break };
                (position, node) = (self.of_entry(entry), &entry.node);
            } else {
                let Some(item) = node.item(*step, path.get(i + 1)) else {
                    break;
                };
                (position, node) = (self.position(item.begin, item), item);
            }
        }
        position
    }

    fn of_entry(&self, entry: &Entry<'a>) -> Option<Position> {
        match &entry.node.value {
            Value::Scalar(_) if entry.node.end.line() == entry.span.start.line() => {
                self.position(entry.span.start, &entry.node)
            }
            _ => self.between(entry.span.start, entry.span.end.byte_offset()?),
        }
    }

    /// From `begin` to the end of the node, or of the line where it begins.
    fn position(&self, begin: Marker, node: &Node<'a>) -> Option<Position> {
        let from = begin.byte_offset()?;
        let line = self.text.get(from..)?.lines().next().unwrap_or_default();
        let end_of_line = from + line.trim_end().len();
        self.between(begin, node.end.byte_offset()?.clamp(from, end_of_line.max(from)))
    }

    fn between(&self, begin: Marker, end: usize) -> Option<Position> {
        Some(Position {
            line: begin.line(),
            column: begin.col() + 1,
            bytes: begin.byte_offset()? + self.skipped..end + self.skipped,
        })
    }
}

#[cfg(test)]
#[path = "position_tests.rs"]
mod tests;
