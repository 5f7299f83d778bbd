//! The command `diagnose`: one Windows node with every check of its verdict, the facts that the checks read, and Events.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};
use wn_api::component::Component;
use wn_api::names::OPERATOR;
use wn_plan::node::{State, View, chain, verdict};
use wn_plan::observed::{NodeFacts, Observed};

use super::block_on;
use super::connection::Connection;
use super::decided::{Decided, unread};
use super::print::{self, line};
use crate::survey::survey;

pub const EXAMPLES: &str = "Examples:
  diagnose windows-0
  kubectl get node -l kubernetes.io/os=windows -o name | cut -d/ -f2 | xargs -n1 windows-node-operator diagnose

Only GET requests are sent. Needs list on the kinds that the operator reads (see its ClusterRole), and on events.

Exit codes: 0 if the node works, 1 if it does not, 3 if that cannot be decided.";

#[derive(Args)]
pub struct Arguments {
    /// Name of the Node.
    #[arg(value_name = "NODE")]
    node: String,
    /// Namespace of the operator.
    #[arg(short, long, default_value = OPERATOR)]
    namespace: String,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (world, events) = block_on(async {
        let client = arguments.connection.client().await?;
        let world = survey(client.clone(), &arguments.namespace, None).await?;
        Ok((world, events(client, &arguments.node).await))
    })?;
    let (text, state) = world.read(|observed| page(observed, &arguments.node, Timestamp::now()))?;
    print::text(&format!("{text}{events}"))?;
    Ok(ExitCode::from(u8::from(!state.works())))
}

/// The verdict, the checks and the facts.
fn page(observed: &Observed, name: &str, now: Timestamp) -> anyhow::Result<(String, State)> {
    let Some(node) = observed.nodes.get(name) else {
        let names: Vec<_> = observed.nodes.keys().take(10).map(String::as_str).collect();
        bail!(
            "Node {name}: is no Windows node; the first Windows nodes are: {}",
            names.join(", ")
        );
    };
    let decided = Decided::new(observed, now)?;
    let before = decided
        .nodes
        .get(name)
        .and_then(|entry| Some((entry.reason?, entry.since)));
    let view = View::of(name, node, observed, &decided.cluster, before, now);
    let verdict = verdict(&view);
    let mut text = format!("Node {name}: {}\n", verdict.state.as_str());
    if let Some(cause) = verdict.cause() {
        let _ = writeln!(text, "{}: {}", cause.reason.as_str(), line(&cause.message));
    }
    text.push_str("\nChecks, in order of rank\n");
    for (reason, findings) in chain(&view) {
        if findings.is_empty() {
            let _ = writeln!(text, "  {:26} nothing found", reason.as_str());
        }
        for finding in findings {
            let weight = finding.weight.as_str();
            let _ = writeln!(
                text,
                "  {:26} {weight}: {}",
                finding.reason.as_str(),
                line(&finding.message)
            );
            let _ = writeln!(
                text,
                "  {:26} how we know: {}",
                "",
                finding.reason.entry().evidence
            );
        }
    }
    text.push_str(&rows("Node", &facts(node)));
    text.push_str(&rows("Pods", &pods(&view, now)));
    text.push_str(&rows("Addresses", &addresses(&view)));
    let failures = view.failures.iter();
    let failures = failures.map(|failure| (format!("pod {}", failure.pod), failure.message.clone()));
    text.push_str(&rows(
        "Sandboxes that could not be created",
        &failures.collect::<Vec<_>>(),
    ));
    let lacking = observed
        .unread
        .iter()
        .map(|lacking| ("not read".to_owned(), unread(lacking)));
    text.push_str(&rows("What could not be read", &lacking.collect::<Vec<_>>()));
    Ok((text, verdict.state))
}

/// A section; none without rows.
fn rows(heading: &str, rows: &[(String, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows = rows
        .iter()
        .map(|(label, value)| format!("  {:26} {}\n", line(label), line(value)));
    format!("\n{heading}\n{}", rows.collect::<String>())
}

fn row(label: &str, value: impl Into<String>) -> (String, String) {
    (label.to_owned(), value.into())
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn facts(node: &NodeFacts) -> Vec<(String, String)> {
    let ready = match (node.ready, node.silent) {
        (true, _) => "True".to_owned(),
        (false, true) => format!("Unknown: {}", node.ready_message),
        (false, false) => format!("False: {}", node.ready_message),
    };
    vec![
        row("Windows", node.kernel_version.clone()),
        row("kubelet", node.kubelet_version.clone()),
        row("container runtime", node.container_runtime.clone()),
        row("condition Ready", ready),
        row(
            "NetworkUnavailable",
            if node.network_unavailable {
                "True"
            } else {
                "False or absent"
            },
        ),
        row("Calico's startup ended", shown(node.network_up)),
        row("created", shown(node.created)),
        row("internal address", shown(node.internal_ip)),
        row("spec.podCIDR", shown(node.pod_cidr)),
        row("pods at most", shown(node.max_pods)),
    ]
}

fn pods(view: &View, now: Timestamp) -> Vec<(String, String)> {
    let of_component = |component: Component| {
        let label = component.names().label;
        let Some(pod) = view.pods[component] else {
            return row(label, "no pod");
        };
        let mut parts = vec![if pod.ready {
            "ready".to_owned()
        } else {
            "not ready".to_owned()
        }];
        parts.extend(
            pod.turned
                .map(|at| format!("for {} s", now.duration_since(at).as_secs())),
        );
        parts.extend(pod.deleting.then(|| "is being deleted".to_owned()));
        parts.extend(
            pod.unscheduled
                .as_ref()
                .map(|why| format!("not scheduled: {why}")),
        );
        parts.extend(pod.trouble.as_ref().map(ToString::to_string));
        parts.extend(pod.version.as_ref().map(|version| format!("version {version}")));
        row(label, parts.join(", "))
    };
    Component::ALL.map(of_component).into()
}

fn addresses(view: &View) -> Vec<(String, String)> {
    let blocks = view.blocks.iter().map(|block| {
        let mut parts = vec![shown(block.cidr)];
        parts.push(
            if block.reserved {
                "addresses reserved for Windows"
            } else {
                "no addresses reserved for Windows"
            }
            .to_owned(),
        );
        parts.extend(block.exhausted.then(|| "no address left".to_owned()));
        parts.extend(
            block
                .foreign
                .then(|| "pods of other nodes have addresses of it".to_owned()),
        );
        row("block", parts.join(", "))
    });
    let affinities = view.affinities.iter().map(|affinity| {
        let state = if affinity.confirmed {
            "confirmed"
        } else {
            "pending"
        };
        row("block affinity", format!("{}, {state}", affinity.cidr))
    });
    let announced = [
        ("VXLAN tunnel", &view.announced.tunnel_address),
        ("VXLAN tunnel's MAC", &view.announced.tunnel_mac),
        ("BGP address", &view.announced.bgp_address),
    ];
    let announced = announced.into_iter().filter(|(_, value)| !value.is_empty());
    let announced = announced.map(|(label, value)| row(label, value.clone()));
    blocks.chain(affinities).chain(announced).collect()
}

/// Events of the Node that are shown.
const EVENTS: usize = 20;

/// The newest Events of the Node, which may be unreadable.
async fn events(client: Client, node: &str) -> String {
    let api: Api<Event> = Api::all(client);
    let selector = format!("involvedObject.kind=Node,involvedObject.name={node}");
    let found = match api
        .list(&ListParams::default().fields(&selector).limit(500))
        .await
    {
        Ok(found) => found.items,
        Err(error) => return rows("Events of the Node", &[row("not read", error.to_string())]),
    };
    let time = |event: &Event| {
        let series = event
            .series
            .as_ref()
            .and_then(|series| series.last_observed_time.as_ref().map(|time| time.0));
        let core = event.last_timestamp.as_ref().map(|time| time.0);
        series.or(core).or(event.event_time.as_ref().map(|time| time.0))
    };
    let mut found: Vec<_> = found.iter().map(|event| (time(event), event)).collect();
    found.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let newest = found.into_iter().take(EVENTS).map(|(time, event)| {
        let reason = event.reason.as_deref().unwrap_or_default();
        let message = event.message.as_deref().unwrap_or_default();
        (shown(time), format!("{reason}: {message}"))
    });
    rows("Events of the Node, newest first", &newest.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use crate::world::World;
    use serde_json::{Value, json};
    use wn_plan::observed::Topic;

    fn world() -> World {
        let world = World::new("ours");
        let spec = json!({"network": {"type": "CalicoVXLAN"}});
        world.put(Topic::Config, &fake::config(&json!({}), &spec, &json!({})));
        let node = json!({
            "metadata": {"name": "win-0", "labels": {"kubernetes.io/os": "windows"}, "annotations": {"projectcalico.org/IPv4VXLANTunnelAddr": "10.244.1.1"}},
            "status": {
                "nodeInfo": {"kernelVersion": "10.0.20348.3207", "kubeletVersion": "v1.33.1", "containerRuntimeVersion": "containerd://1.7.1"},
                "conditions": [{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped\u{9b}31m posting"}],
            },
        });
        world.put(Topic::Nodes, &node);
        world
    }

    #[test]
    fn every_check_is_shown() {
        let (text, state) = world()
            .read(|observed| page(observed, "win-0", Timestamp::UNIX_EPOCH))
            .unwrap();
        assert!(!state.works());
        for part in [
            "Node win-0: Failing\nKubeletNotReporting: ",
            "\n  KubeletNotReporting        Failing: ",
            "how we know: Node condition Ready is Unknown",
            "\n  OSBuildUnsupported         nothing found",
            "\n  Windows                    10.0.20348.3207",
            "\n  kube-proxy                 no pod",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        assert!(!text.contains('\u{9b}'), "a terminal would interpret it");
    }

    #[test]
    fn other_nodes_are_no_windows_nodes() {
        let error = world().read(|observed| page(observed, "linux-0", Timestamp::UNIX_EPOCH).err());
        let expected = "Node linux-0: is no Windows node; the first Windows nodes are: win-0";
        assert_eq!(error.map(|e| e.to_string()).as_deref(), Some(expected));
    }

    #[tokio::test]
    async fn events_are_sorted_and_may_be_forbidden() {
        let event = |reason: &str, time: &str| json!({"metadata": {"name": reason}, "involvedObject": {}, "reason": reason, "lastTimestamp": time});
        let list: Value = json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": [
            event("Older", "2026-01-01T00:00:00Z"), event("Newer", "2026-01-02T00:00:00Z"),
        ]});
        let (client, _) = fake::client(move |_| (200, list.clone()));
        let text = events(client, "win-0").await;
        assert!(text.find("Newer") < text.find("Older"), "{text}");
        let (client, _) = fake::client(|_| (403, json!({})));
        assert!(events(client, "win-0").await.contains("not read"));
    }
}
