//! `docs/reasons.md` is the table of reasons, as people read it. `UPDATE_DOCS=1` regenerates it.

use std::fmt::Write as _;
use std::path::Path;

use wn_api::node_reasons::NodeReason;

const HEAD: &str = "# Why a Windows node does not work

<!-- Generated from operator/api/src/node_reasons.rs by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test reasons`. Do not edit. -->

The reasons of the Node condition `windowsnode.dev/WindowsNetworkReady`, of `status.nodes` of the `WindowsNodeConfig`, of Events on
Nodes and of the metric `windows_node_operator_nodes_by_reason`, in order of rank: when several are found on a node, the first is
the reason and the others are listed.

*Failing* and *Progressing* make a node not ready, the latter while it is within the time a stage usually takes. *Unknown* says that
the health of a node is only partly known, *Advice* is a recommendation; neither makes a node not ready.

The condition's `lastHeartbeatTime` is when it was written last, not a beat: nothing is written while nothing changes.

## What True does not say

Everything is judged from the API, and some of what happens on a node leaves no trace there:

- **The HNS network.** Felix is ready as soon as it has read the datastore, also without a network. That there is one is concluded from
  Calico's startup, which creates it and then writes `NetworkUnavailable` again (`StartupNotFinished`, `NodeRebuildRequired`). A network that is
  removed or broken after that is noticed when a pod is created (`HNS…` reasons), or when the agent's pod starts again.
- **Policy only.** Where Calico does not network the node, its startup writes no condition: `True` then says that the pods run and are ready,
  not that startup succeeded. Nor is the condition judged where somebody else, a cloud's route controller for one, has it.
- **Agents that are no pods**, services of Windows, are judged by what they leave on the Node and in Calico's IPAM alone.
- **The VNI of a network** is the one the agent's pod had when the network was seen first. One that was changed before the operator came is
  not known, and a network that was created again by hand with the same block and the same MAC address looks like the old one: then remove
  annotation `windowsnode.dev/hns-network` from the Node, and the operator writes it again.
- **Traffic**: firewalls, routes and switches between the nodes, and rules in HNS that are there and do not work.

## What an Event proves

An Event `FailedCreatePodSandBox` counts only if it has the form the kubelet gives it (`source.component`, `reportingComponent` and
the two names of the node agree), and the API server confirms it: there is a pod of that uid, bound to that node, neither finished nor
being deleted, and without a sandbox. It is over ten seconds after the pod runs, and ten minutes after the last such Event. The API
server does not say who wrote an Event, so this trust is left: whoever may create Events, and has a pod on the node that waits for
something else than its network (a volume, say), can make the node *Failing*; with `spec.readiness.taint: Continuous` that keeps other
pods off it. Where tenants are not to be trusted with that, take `create` on `events` from their roles, or use `Startup`.

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
            entry.fix,
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
