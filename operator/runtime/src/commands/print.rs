//! Standard output, whose reader may leave early.

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use annotate_snippets::normalize_untrusted_str;
use serde::Serialize;

/// The text, and no error when nobody reads it to the end. Styles reach terminals only, and none with `NO_COLOR`.
pub fn text(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// The value as JSON.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// A warning on standard error, which may be closed.
pub fn warning(text: &str) {
    let _ = writeln!(std::io::stderr(), "warning: {text}");
}

/// A step of longer work on standard error, if that is a terminal.
pub fn progress(text: &str) {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        let _ = writeln!(error, "{}", line(text));
    }
}

/// Text of the input or of the cluster in one line, without what a terminal would interpret.
pub fn line(text: &str) -> String {
    normalize_untrusted_str(text).replace(char::is_control, " ")
}
