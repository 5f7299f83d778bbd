//! `docs/findings.md` is the table of findings, as people read it. `UPDATE_DOCS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use wn_policy::findings::Code;

const HEAD: &str = "# What Windows does with your policies

<!-- Generated from operator/policy/src/findings/table.rs by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test findings`. Do not edit. -->

Felix on Windows nodes turns network policies into ACLs of HNS, which can do less than policies say. The command `lint -f FILE…` computes
both, what the policies mean and what the ACLs do, and tells each difference with a packet that shows it; `acls -f FILE…` shows the ACLs.
Policies that select no pod of a Windows node are silent.

*Error*: something is open that should be closed, a pod is cut off, or Felix does not work. *Warning*: something is closed that should be
open, or may become so. *Info*: worth knowing. The exit code of `lint` is 2, 1 and 0. Codes are never given twice.

";

fn rendered() -> String {
    let mut text = HEAD.to_owned();
    for entry in Code::ALL.map(Code::entry) {
        let _ = writeln!(
            text,
            "## {}: {}\n\n{}\n\n- **Severity:** {}\n- **Releases of Calico:** {}\n- **What to do:** {}\n- **Source:** {}\n",
            entry.code, entry.title, entry.what, entry.severity, entry.releases, entry.fix, entry.source
        );
    }
    text.trim_end().to_owned() + "\n"
}

#[test]
fn the_documentation_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/findings.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, rendered()).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).expect("docs/findings.md is there");
    assert!(
        found == rendered(),
        "docs/findings.md is old: run UPDATE_DOCS=1 cargo test -p windows-node-operator --test findings"
    );
}

#[test]
fn codes_are_given_once() {
    let codes = Code::ALL.map(|code| code.entry().code);
    assert!(codes.is_sorted(), "{codes:?}");
    let distinct: std::collections::BTreeSet<_> = codes.iter().collect();
    assert_eq!(distinct.len(), codes.len());
}
