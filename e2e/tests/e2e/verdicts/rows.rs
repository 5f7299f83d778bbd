//! Every reason of the table, made to happen on one node of many: reported everywhere, and gone when repaired.

use anyhow::{Context as _, Result};
use jiff::SignedDuration;
use serde_json::{Value, json};
use wn_api::node_reasons::NodeReason as Reason;
use wn_e2e::objects::text;
use wn_e2e::simulator::NodeFault;
use wn_e2e::test_cluster::{TestCluster, condition as of_config, minimal};

use super::support::{
    Complaints, all_ready, count, eventually, line, metric, network_condition, node, node_events, nodes_of,
    ready_crowd,
};
use super::table::{ELSEWHERE, Expect, Row, rows};

use Expect::{Advice, Due, Failing, Progressing, Unknown};

const NODES: usize = 20;

#[test]
fn every_reason_is_made_to_happen() {
    let rows = rows();
    let missing: Vec<_> = Reason::ALL
        .iter()
        .filter(|r| !rows.iter().any(|row| row.0 == **r) && !ELSEWHERE.iter().any(|e| e.0 == **r))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The tests that the table names exist.
#[test]
fn what_is_tested_elsewhere_is() {
    let tests = wn_e2e::control_plane::paths::workspace().join("e2e/tests/e2e");
    let folders: Vec<_> = std::fs::read_dir(&tests)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    for (reason, test) in ELSEWHERE {
        let (file, name) = test.split_once("::").unwrap();
        let there = folders.iter().any(|folder| {
            let source = std::fs::read_to_string(folder.join(format!("{file}.rs")));
            source.is_ok_and(|source| source.contains(&format!("async fn {name}(")))
        });
        assert!(there, "{reason}: there is no test {test}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_on_one_node_of_twenty() -> Result<()> {
    let test = ready_crowd(NODES, minimal("CalicoVXLAN")).await?;
    // Otherwise what is under way would be no failure yet.
    for number in 0..NODES {
        test.simulator
            .age(&node(number), SignedDuration::from_hours(1))
            .await?;
    }
    let mut wrong = Vec::new();
    for (number, row) in rows().iter().enumerate() {
        let name = node(number % NODES);
        if let Err(error) = happens(&test, &name, row, NODES).await {
            wrong.push(format!("{} by {:?} on {name}: {error:#}", row.0, row.1));
        }
    }
    assert!(wrong.is_empty(), "{} rows\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Makes a row happen on a node and repairs it, with everything else ready before and after.
async fn happens(test: &TestCluster, name: &str, row: &Row, nodes: usize) -> Result<()> {
    let (ready_before, _) = node_events(test, name, "WindowsNetworkReady", "Normal").await?;
    let repair = test.simulator.break_node(name, &row.1).await?;
    let there = eventually("is reported", || look(test, name, row, nodes)).await;
    repair.run().await.context("repairing")?;
    let back = eventually("is repaired", || repaired(test, name, row, nodes, ready_before)).await;
    there.and(back)
}

/// What is wrong with the places that report the row.
async fn look(test: &TestCluster, name: &str, row: &Row, nodes: usize) -> Result<Vec<String>> {
    let (reason, _, expect, word) = row;
    let mut wrong = Complaints::default();
    let config = test.config().await?;
    let works = matches!(expect, Unknown | Advice);
    let ready = nodes - usize::from(!works);
    wrong.equal(
        "summary",
        &nodes_of(&config)["summary"],
        format!("{ready}/{nodes}"),
    );
    let counted = count(&config, reason.as_str());
    wrong.equal(
        "count",
        counted,
        json!({"reason": reason.as_str(), "nodes": 1, "names": [name]}),
    );
    let of_nodes = of_config(&config, "NodesReady").unwrap_or(&Value::Null);
    let of_all = of_config(&config, "Ready").unwrap_or(&Value::Null);
    let status = if works { "True" } else { "False" };
    wrong.equal("NodesReady", &of_nodes["status"], status);
    if !works {
        wrong.equal("Ready", &of_all["status"], status);
        wrong.equal("NodesReady", &of_nodes["reason"], "NodesNotReady");
        let cause = format!("1 node: {reason} ({name})");
        wrong.contains("NodesReady", text(of_nodes, "/message"), &cause);
    }
    let line = line(&config, name);
    wrong.equal("ready", &line["ready"], works);
    let condition = network_condition(&test.node(name).await?).clone();
    if *expect == Advice {
        advised(&mut wrong, line, row);
        wrong.equal("condition", &condition["status"], "True");
        wrong.equal("condition", &condition["reason"], "AsExpected");
    } else {
        condemned(&mut wrong, line, row);
        wrong.equal(
            "condition",
            &condition["status"],
            if works { "Unknown" } else { "False" },
        );
        wrong.equal("condition", &condition["reason"], reason.as_str());
        // The condition has no state to say so with.
        let under_way = if line["state"] == "Progressing" {
            "within its usual time: "
        } else {
            ""
        };
        let message = format!("{under_way}{}", text(line, "/message"));
        wrong.equal("condition's message", &condition["message"], message);
        let (times, note) = node_events(test, name, reason.as_str(), "Warning").await?;
        // Coming up is no event.
        if matches!(expect, Failing | Unknown) {
            wrong.holds(|| format!("{times} Events {reason} on the Node"), times > 0);
            wrong.contains("Event", &note, word);
        }
    }
    let value = metric(test, reason.as_str()).await?;
    wrong.holds(|| format!("metric is {value:?}"), value == Some(1.0));
    Ok(wrong.0)
}

fn condemned(wrong: &mut Complaints, line: &Value, (reason, _, expect, word): &Row) {
    wrong.equal("reason", &line["reason"], reason.as_str());
    let state = text(line, "/state");
    let expected: &[&str] = match expect {
        Failing => &["Failing"],
        Progressing => &["Progressing"],
        Due => &["Failing", "Progressing"],
        Unknown => &["Unknown"],
        Advice => &["Ready"],
    };
    wrong.holds(|| format!("state is {state}"), expected.contains(&state));
    let message = text(line, "/message");
    wrong.contains("message", message, word);
    wrong.holds(
        || format!("{message:?} does not say how to repair it"),
        message.ends_with(reason.entry().fix),
    );
}

fn advised(wrong: &mut Complaints, line: &Value, (reason, _, _, word): &Row) {
    wrong.equal("state", &line["state"], "Ready");
    wrong.equal("reason", &line["reason"], Value::Null);
    let advice = line["advice"].to_string();
    for part in [reason.as_str(), word] {
        wrong.contains("advice", &advice, part);
    }
}

/// What is left of the row.
async fn repaired(
    test: &TestCluster,
    name: &str,
    row: &Row,
    nodes: usize,
    before: i64,
) -> Result<Vec<String>> {
    let (reason, _, expect, _) = row;
    let mut wrong = Complaints::default();
    let config = test.config().await?;
    wrong.equal(
        "summary",
        &nodes_of(&config)["summary"],
        format!("{nodes}/{nodes}"),
    );
    wrong.equal("reasons", &nodes_of(&config)["reasons"], Value::Null);
    for type_ in ["Ready", "NodesReady"] {
        let condition = of_config(&config, type_).unwrap_or(&Value::Null);
        wrong.equal(type_, &condition["status"], "True");
    }
    let condition = network_condition(&test.node(name).await?).clone();
    wrong.equal("condition", &condition["status"], "True");
    wrong.equal("condition", &condition["reason"], "AsExpected");
    let (times, _) = node_events(test, name, "WindowsNetworkReady", "Normal").await?;
    let news = *expect != Advice;
    wrong.holds(
        || format!("{times} Events WindowsNetworkReady"),
        (times > before) == news,
    );
    let value = metric(test, reason.as_str()).await?;
    wrong.holds(|| format!("metric is {value:?}"), value.is_none_or(|v| v == 0.0));
    Ok(wrong.0)
}

/// BGP: what nodes announce is another thing there.
#[tokio::test(flavor = "multi_thread")]
async fn announcements_of_bgp() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoBGP")).await?;
    let annotation = |name, value| NodeFault::Annotation(name, value);
    let rows: [Row; 3] = [
        (
            Reason::BGPAddressMissing,
            annotation("IPv4Address", None),
            Due,
            "projectcalico.org/IPv4Address",
        ),
        (
            Reason::BGPASNumberInvalid,
            annotation("ASNumber", Some("65536.1")),
            Failing,
            "65536.1",
        ),
        (
            Reason::BGPASNumberInvalid,
            annotation("ASNumber", Some("AS64512")),
            Failing,
            "AS64512",
        ),
    ];
    for row in &rows {
        happens(&test, "win-1", row, 2)
            .await
            .with_context(|| format!("{:?}", row.1))?;
    }
    // Two forms of a number are both right, and a tunnel is nobody's business here.
    for fine in [
        annotation("ASNumber", Some("64512")),
        annotation("ASNumber", Some("1.10")),
        annotation("IPv4VXLANTunnelAddr", Some("10.0.0.1")),
    ] {
        let repair = test.simulator.break_node("win-1", &fine).await?;
        test.quiet().await?;
        let config = test.config().await?;
        assert_eq!(nodes_of(&config)["reasons"], Value::Null, "{fine:?}");
        repair.run().await?;
    }
    Ok(())
}

/// A build that cannot do DSR: advice while DSR is off, because of it or by the user's will; a failure when the
/// user insists.
#[tokio::test(flavor = "multi_thread")]
async fn dsr_by_the_spec() -> Result<()> {
    let dsr = |dsr: &str| json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"dsr": dsr}});
    let test = ready_crowd(2, dsr("Disabled")).await?;
    let repair = test
        .simulator
        .break_node("win-0", &NodeFault::Kernel("10.0.17763.1000"))
        .await?;
    let advice = async || {
        let config = test.config().await?;
        let mut wrong = Complaints::default();
        wrong.equal("summary", &nodes_of(&config)["summary"], "2/2");
        let advice = line(&config, "win-0")["advice"].to_string();
        wrong.contains("advice", &advice, "OSBuildTooOldForDSR");
        wrong.contains("advice", &advice, "KB4571748");
        wrong.contains("advice", &advice, "ClusterIPPolicyNotEnforced");
        Ok(wrong.0)
    };
    eventually("advice while DSR is off", advice).await?;
    test.apply(dsr("Auto")).await?;
    test.ready().await?;
    eventually("advice while the operator keeps DSR off on the node", advice).await?;

    test.apply(dsr("Enabled")).await?;
    test.condition("KubeProxyAvailable", "False", "DSRUnsupported")
        .await?;
    eventually("a failure when the user insists", async || {
        let config = test.config().await?;
        let line = line(&config, "win-0");
        let mut wrong = Complaints::default();
        wrong.equal("summary", &nodes_of(&config)["summary"], "1/2");
        wrong.equal("reason", &line["reason"], "OSBuildTooOldForDSR");
        wrong.equal("state", &line["state"], "Failing");
        Ok(wrong.0)
    })
    .await?;
    repair.run().await?;
    all_ready(&test, 2).await?;
    test.ready().await
}
