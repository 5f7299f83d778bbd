//! Findings as workflow commands of GitHub Actions
//! (docs.github.com/actions/reference/workflows-and-actions/workflow-commands).

use std::fmt::Write as _;

use wn_workloads::findings::Severity;

use super::Located;

pub fn text(located: &[Located<'_>]) -> String {
    let mut text = String::new();
    for one in located {
        let command = match one.finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let place = one.in_file().map(|(file, position)| {
            let file = property(&file.display().to_string());
            format!("file={file},line={},col={},", position.line, position.column)
        });
        let entry = one.finding.code.entry();
        let title = property(&format!("{}: {}", entry.code, entry.title));
        let lines = [one.sentence()]
            .into_iter()
            .chain(one.details())
            .chain([one.fix()]);
        let message = data(&lines.collect::<Vec<_>>().join("\n"));
        let _ = writeln!(
            text,
            "::{command} {}title={title}::{message}",
            place.unwrap_or_default()
        );
    }
    text
}

/// As `escapeData` of actions/toolkit, packages/core/src/command.ts.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As `escapeProperty` there.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
