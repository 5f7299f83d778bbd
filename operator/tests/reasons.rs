//! `docs/reasons.md` is the table of reasons, as people read it. `UPDATE_DOCS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use wn_api::node_reasons::NodeReason;

const HEAD: &str = "# Why a Windows node does not work

<!-- Generated from operator/api/src/node_reasons.rs by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test reasons`. Do not edit. -->

The reasons of the Node condition `windowsnode.dev/WindowsNetworkReady`, of `status.nodes` of the `WindowsNodeConfig`, of Events on
Nodes and of the metric `windows_node_operator_nodes_by_reason`, in order of rank: when several are found on a node, the first is
the reason and the others are listed.

*Failing* and *Progressing* make a node not ready, the latter while it is within the time a stage usually takes. *Unknown* says that
something cannot be told, *Advice* what is worth knowing; neither makes a node not ready.

";

fn rendered() -> String {
    let mut text = HEAD.to_owned();
    for reason in NodeReason::ALL {
        let entry = reason.entry();
        let _ = writeln!(
            text,
            "## {reason}\n\n{} ({})\n\n- **How we know:** {}\n- **What to do:** {}\n- **Source:** {}\n",
            entry.meaning,
            entry.usually.as_str(),
            entry.evidence,
            entry.mend,
            entry.source
        );
    }
    text.trim_end().to_owned() + "\n"
}

#[test]
fn the_documentation_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reasons.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, rendered()).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).expect("docs/reasons.md is there");
    assert!(
        found == rendered(),
        "docs/reasons.md is old: run UPDATE_DOCS=1 cargo test -p windows-node-operator --test reasons"
    );
}
