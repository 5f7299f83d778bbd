//! Wording that must be read twice does not come back. CONTRIBUTING.md has the rules; this is what a test can check of them.

use std::fs;
use std::path::{Path, PathBuf};

/// A phrase, and what to write instead.
const INSTEAD: &[(&str, &str)] = &[
    ("told", "configured, set, reported"),
    ("tells of", "reports"),
    ("anew", "again"),
    ("gave it away", "how it was detected"),
    ("bear it out", "confirm it"),
    ("bears it out", "confirms it"),
    ("bore it out", "confirmed it"),
    ("bears on", "affects"),
    ("amiss", "a problem"),
    ("since-when", "start time"),
    ("of late", "recently"),
    ("ever more rarely", "with growing pauses"),
    ("speaks of", "describes"),
    ("spoken of", "named"),
    ("written down", "stored"),
    ("for want of", "without"),
    ("taken off", "removed"),
    ("give back", "restore"),
    ("gives back", "restores"),
    ("given back", "restored"),
    ("put right", "repaired"),
    ("wish", "desired value, request"),
    ("mend", "fix, repair"),
    ("mended", "fixed, repaired"),
    ("befall", "inject, happen to"),
    ("ends again and again", "is crash-looping"),
];

const FOLDERS: [&str; 9] = [
    "e2e/src",
    "e2e/tests",
    "operator/api",
    "operator/plan",
    "operator/runtime/src",
    "operator/src",
    "charts",
    "docs",
    "manifests",
];
const FILES: [&str; 3] = ["README.md", "CHANGELOG.md", "SECURITY.md"];
const EXTENSIONS: [&str; 7] = ["md", "rs", "ps1", "yaml", "yml", "txt", "tpl"];

fn texts(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("the folder can be read") {
            texts(&entry.expect("the entry can be read").path(), found);
        }
    } else if path
        .extension()
        .is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known))
    {
        found.push(path.to_owned());
    }
}

/// Is the phrase in the text, as whole words?
fn contains(text: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        !is_word(before.chars().next_back()) && !is_word(after.chars().next())
    })
}

/// Phrases of the table in a text; what stands between backticks is a name and not prose.
fn phrases(text: &str) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        let prose: Vec<_> = line
            .to_lowercase()
            .split('`')
            .step_by(2)
            .map(str::to_owned)
            .collect();
        let found = INSTEAD
            .iter()
            .filter(move |(phrase, _)| prose.iter().any(|part| contains(part, phrase)));
        found.map(move |(phrase, instead)| (number + 1, *phrase, *instead))
    })
}

#[test]
fn texts_use_plain_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for path in FOLDERS.iter().chain(&FILES) {
        texts(&root.join(path), &mut paths);
    }
    assert!(paths.len() > 200, "the texts are found");
    let found: Vec<_> = paths
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).expect("texts are UTF-8");
            let lines: Vec<_> = phrases(&text).collect();
            lines.into_iter().map(move |(line, phrase, instead)| {
                format!("{}:{line}: {phrase:?}, write: {instead}", path.display())
            })
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn phrases_are_whole_words_outside_of_names() {
    let found = |text| {
        phrases(text)
            .map(|(line, phrase, _)| (line, phrase))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("fine\nIt is Told anew."), [(2, "told"), (2, "anew")]);
    assert!(found("the field `mend`, amendments, wishlist, told_by").is_empty());
}
