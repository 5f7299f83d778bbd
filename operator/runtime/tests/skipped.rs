//! The end of `cargo test --workspace`: what could not run here, and why. Cargo runs the packages by name, and this is the last
//! one's last test.

#![allow(clippy::print_stdout, reason = "a test without a harness reports on stdout")]

use std::fs;
use std::path::Path;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/skipped");
    let mut tests: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    tests.sort_by_key(fs::DirEntry::file_name);
    println!("\n{} tests were skipped", tests.len());
    for test in tests {
        let why = fs::read_to_string(test.path()).unwrap_or_default();
        println!("skipped {}: {why}", test.file_name().to_string_lossy());
    }
}
