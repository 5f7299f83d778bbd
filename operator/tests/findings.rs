//! `docs/findings.md` is the table of findings, as people read it. `UPDATE_DOCS=1` regenerates it.

use std::fmt::Write as _;
use std::path::Path;

use wn_workloads::findings::Code;

const HEAD: &str = "# What Windows does with your policies, Services and pods

<!-- Generated from operator/workloads/src/findings/table by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test findings`. Do not edit. -->

The command `lint -f FILE…` reports what Windows does differently with the objects in the files. The operator reports the same about the cluster
([workloads.md](workloads.md)).

*Error*: traffic that should be denied is allowed, a pod has no traffic in a direction, or something does not work. *Warning*: traffic that
should be allowed is denied, or may become denied; something works partly, or is a risk. *Info*: useful to know. The exit code of `lint` is 2
with an error, 1 with a warning, otherwise 0. A code is never used for another finding.
";

const POLICIES: &str = "
## Policies

Felix on Windows nodes translates network policies into ACLs of HNS, which cannot express every policy. `lint` compares what the policies mean
with what the ACLs do, and reports each difference with an example packet. `acls -f FILE…` shows the ACLs. Policies that select no pod of a
Windows node have no findings.
";

const SERVICES: &str = "
## Services

`lint` judges a Service if one of its endpoints is on a Windows node: by its EndpointSlices, by its pods, or by the Deployments and other
templates that it selects. It also judges a Service that pods on Windows nodes name in their environment, command or arguments, because
kube-proxy on Windows programs the Services of the whole cluster.

`--node-build 10.0.20348.2227` and `--kube-proxy v1.33.1` say what files without Nodes and without kube-proxy's DaemonSet do not. A limit of
some builds or versions is reported only if one of them is known.
";

const PODS: &str = "
## Pods

`lint` judges pods, and the templates of Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs and CronJobs, that are for Windows nodes. The
first of these that says something decides: `nodeName`, the label `kubernetes.io/os` in `nodeSelector`, also that of the RuntimeClass, the label
`node.kubernetes.io/windows-build`, required node affinity, `os.name`, `windowsOptions`, a toleration of the taint `os=windows`, and the nodes
that other labels select. A template with a pod on a Windows node is judged, too. A Deployment and its pods have one finding together.
";

fn rendered() -> String {
    let mut text = HEAD.to_owned();
    let mut last = "";
    for entry in Code::ALL.map(Code::entry) {
        let (head, subject) = match &entry.code[..3] {
            "WN2" => (POLICIES, "Releases of Calico"),
            "WN3" => (SERVICES, "Builds and versions"),
            _ => (PODS, "Builds and versions"),
        };
        if last != head {
            let _ = writeln!(text, "{head}");
            last = head;
        }
        let _ = writeln!(
            text,
            "### {}: {}\n\n{}\n\n- **Severity:** {}\n- **{subject}:** {}\n- **What to do:** {}\n- **Source:** {}\n",
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
