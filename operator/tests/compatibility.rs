//! The table "Compatibility" of the README is what the code does. `UPDATE_DOCS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use wn_plan::compatibility::table;

const BEGIN: &str = "<!-- Generated from operator/plan/src/compatibility.rs by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test compatibility`. -->\n";
const END: &str = "<!-- End of what is generated. -->\n";

fn rendered() -> String {
    let mut text = "| | state | how |\n|---|---|---|\n".to_owned();
    for row in table() {
        let _ = writeln!(text, "| {} | {} | {} |", row.what, row.state, row.how);
    }
    text
}

#[test]
fn the_readme_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md is there");
    let (before, rest) = readme.split_once(BEGIN).expect("the beginning is marked");
    let (found, after) = rest.split_once(END).expect("the end is marked");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text = format!("{before}{BEGIN}{}{END}{after}", rendered());
        std::fs::write(&path, text).expect("README.md can be written");
        return;
    }
    assert!(
        found == rendered(),
        "the table is old: run UPDATE_DOCS=1 cargo test -p windows-node-operator --test compatibility"
    );
}

/// A row that is twice there, or says nothing, would mislead.
#[test]
fn every_row_says_something_once() {
    let rows = table();
    assert!(rows.len() > 30, "{} rows", rows.len());
    for (i, row) in rows.iter().enumerate() {
        assert!(!row.how.is_empty() && !row.how.contains('|'), "{row:?}");
        assert!(rows[..i].iter().all(|other| other.what != row.what), "{row:?}");
    }
}
