//! What several tests use: random clusters, and the folder of shared cases, which a fresh checkout does not have.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod policies;
pub mod workloads;

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use wn_workloads::input::{Manifest, Objects};

/// If this variable is set, a test that cannot run must fail.
const TEST_ALL: &str = "WINDOWS_NODE_TEST_ALL";

/// The folder of cases; `None` if `test` must be skipped, which is recorded for the last test of the
/// workspace.
pub fn cases(test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = env::var_os("WINDOWS_NODE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let folder = folder.join("calico-policies");
    let notes = root.join("target/skipped");
    if folder.is_dir() {
        let _ = fs::remove_file(notes.join(test));
        return Some(folder);
    }
    let missing = "needs ../shared/calico-policies";
    assert!(env::var_os(TEST_ALL).is_none(), "{test} {missing}");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join(test), missing).unwrap();
    None
}

/// The objects of a file.
pub fn objects(file: &Path) -> Objects {
    let text = fs::read_to_string(file).unwrap();
    let name = &file.display().to_string();
    Objects::read([Manifest { name, text: &text }]).unwrap()
}

/// A file of JSON.
pub fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The folders in a folder, by name.
pub fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The last part of a path.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
