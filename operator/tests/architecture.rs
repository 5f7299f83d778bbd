//! The table "A new network type" of docs/architecture.md names every file that knows a type by its name.

use std::fs;
use std::path::{Path, PathBuf};

use wn_api::spec::NetworkType;

/// By hand, a new type should touch no more files than this.
const MOST: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// First column of the table.
fn documented() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page is there");
    let (_, section) = page
        .split_once("### A new network type")
        .expect("the section is there");
    let (section, _) = section.split_once("\n### ").expect("another section follows");
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| Some(line.split_once("` |")?.0.to_owned()))
        .collect()
}

/// Sources of a crate, as paths from the root.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Files of the operator whose code names a variant.
fn naming() -> Vec<String> {
    let mut all = Vec::new();
    for krate in ["api", "plan", "runtime", "."] {
        sources(&root().join("operator").join(krate).join("src"), &mut all);
    }
    let variants = NetworkType::ALL.map(|type_| format!("{type_:?}"));
    let names_one = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("sources can be read");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let mut words =
            code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != ':' && c != '_'));
        words.any(|word| {
            let mut path = word.rsplit("::");
            let variant = path.next().is_some_and(|last| variants.iter().any(|v| v == last));
            variant
                && path
                    .next()
                    .is_some_and(|of| ["NetworkType", "Self"].contains(&of))
        })
    };
    let base = root();
    let named = all.into_iter().filter(names_one);
    let mut paths: Vec<_> = named
        .map(|path| path.strip_prefix(&base).unwrap_or(&path).display().to_string())
        .map(|path| path.replace("/./", "/"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn a_network_type_is_named_only_where_the_table_says() {
    let documented = documented();
    assert!(
        documented.len() <= MOST,
        "{} files: {documented:?}",
        documented.len()
    );
    let naming = naming();
    assert_eq!(
        naming,
        [
            "operator/api/src/spec/network.rs",
            "operator/plan/src/network/mod.rs"
        ],
        "ask the profile of a network type instead of comparing with one"
    );
    for file in &naming {
        assert!(documented.contains(file), "{file} is not in the table");
    }
    for file in documented.iter().filter(|file| !file.contains('<')) {
        assert!(root().join(file).exists(), "{file} is in the table and not there");
    }
}
