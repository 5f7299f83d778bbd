//! `docs/findings.md` is the table of findings, as people read it. `UPDATE_DOCS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use wn_workloads::findings::Code;

const HEAD: &str = "# What Windows does with your policies

<!-- Generated from operator/workloads/src/findings/table.rs by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test findings`. Do not edit. -->

Felix on Windows nodes translates network policies into ACLs of HNS, which cannot express every policy. The command `lint -f FILE…`
compares what the policies mean with what the ACLs do, and reports each difference with an example packet. `acls -f FILE…` shows the ACLs.
Policies that select no pod of a Windows node have no findings.

*Error*: traffic that should be denied is allowed, a pod has no traffic in a direction, or Felix does not work. *Warning*: traffic that
should be allowed is denied, or may become denied. *Info*: useful to know. The exit code of `lint` is 2 with an error, 1 with a warning,
otherwise 0. A code is never used for another finding.

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
