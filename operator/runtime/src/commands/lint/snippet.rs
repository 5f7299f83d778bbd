//! Findings for people: the line of the file with the finding below it, as compilers print it.

use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use wn_workloads::findings::Severity;
use wn_workloads::input::position::Position;

use super::Located;
use crate::commands::files::Source;
use crate::commands::print;

/// Bytes of a line that is still shown. JSON in one line is not.
const LONGEST_LINE: usize = 500;
/// Lines that are shown before the line of the finding.
const BEFORE: usize = 2;

pub fn text(located: &[Located<'_>]) -> String {
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii);
    let mut text = String::new();
    for one in located {
        let _ = writeln!(text, "{}\n", renderer.render(&[group(one)]));
    }
    let count = |severity| {
        located
            .iter()
            .filter(|one| one.finding.severity == severity)
            .count()
    };
    let _ = writeln!(
        text,
        "{} errors, {} warnings, {} notes",
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Info)
    );
    text
}

fn group<'a>(one: &'a Located<'_>) -> Group<'a> {
    let level = match one.finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::NOTE,
    };
    // Names come from the input.
    let title = level.primary_title(print::line(&one.sentence()));
    let mut group = Group::with_title(title.id(one.finding.code.entry().code));
    if let Some((source, position)) = &one.at {
        group = match window(&source.text, position) {
            Some(window) => group.element(snippet(source, position, window)),
            None => group.element(
                Origin::path(source.name.as_str())
                    .line(position.line)
                    .char_column(position.column),
            ),
        };
    }
    let details = one.details().map(|line| Level::NOTE.message(print::line(&line)));
    group.elements(details).element(Level::HELP.message(one.fix()))
}

/// The lines that are shown.
struct Window {
    /// Number of the first line, from 1.
    line: usize,
    begin: usize,
    end: usize,
}

fn snippet<'a>(
    source: &'a Source,
    position: &Position,
    window: Window,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let shown = source.text.get(window.begin..window.end).unwrap_or_default();
    let bytes = position.bytes.start - window.begin..position.bytes.end - window.begin;
    Snippet::source(shown)
        .path(source.name.as_str())
        .line_start(window.line)
        .fold(false)
        .annotation(AnnotationKind::Primary.span(bytes))
}

/// `None` if a line is too long to be shown.
fn window(text: &str, position: &Position) -> Option<Window> {
    let (before, after) = text.split_at_checked(position.bytes.start)?;
    let end = position.bytes.start + after.find('\n').unwrap_or(after.len());
    let end = end - usize::from(text.get(..end)?.ends_with('\r'));
    if position.bytes.end > end {
        return None;
    }
    let mut begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    let mut line = position.line;
    for _ in 0..BEFORE {
        let Some(earlier) = text.get(..begin.saturating_sub(1)).filter(|_| begin > 0) else {
            break;
        };
        let start = earlier.rfind('\n').map_or(0, |newline| newline + 1);
        // A marker of documents belongs to no object.
        if earlier.get(start..)?.starts_with("---") {
            break;
        }
        (begin, line) = (start, line - 1);
    }
    let is_short = text
        .get(begin..end)?
        .lines()
        .all(|line| line.len() <= LONGEST_LINE);
    is_short.then_some(Window { line, begin, end })
}
