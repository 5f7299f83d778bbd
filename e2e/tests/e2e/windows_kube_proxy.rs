//! Windows' own kube-proxy with what the operator renders. CI asks two minors, the oldest whose gate needs no naming
//! and the newest, what kube-proxy's periods do not make long: three minutes after a first build, which takes
//! six. `cargo windows-proof` asks every minor everything, about five minutes each.

use anyhow::{Context as _, Result, ensure};
use wn_api::names::NODE_CONDITION;
use wn_e2e::objects::text;
use wn_e2e::proof::{CASES, Condition, NODE, Network, Outcome, Suite, build, termination_message};
use wn_e2e::simulator::Fault;
use wn_e2e::test_cluster::TestCluster;
use wn_e2e::windows::record::{Record, Seen};
use wn_e2e::windows::{Release, WindowsHost};

const OLDEST: u32 = 33;

#[tokio::test(flavor = "multi_thread")]
async fn kube_proxy_does_what_we_say_it_does() -> Result<()> {
    let Some(host) = WindowsHost::prepare("windows_kube_proxy", &|line| eprintln!("{line}"))? else {
        return Ok(());
    };
    let mut suite = Suite::set(&host).await?;
    for release in [Release::of(OLDEST)?, Release::newest()?] {
        suite.enter(&release).await?;
        let program = build(&release).await?;
        for case in CASES.iter().filter(|case| !case.slow) {
            let found = suite.ask(&release, &program, case).await?;
            println!("{} {}: {found}", release.version, case.name);
        }
        let outcomes = suite.conditions(&release, &program).await?;
        as_recorded(&release, &outcomes)?;
        verdicts(&suite.fixture(Network::Vxlan).test, &outcomes)
            .await
            .with_context(|| format!("kube-proxy {}", release.version))?;
    }
    Ok(())
}

/// The simulator of kube-proxy takes its failures from the record, so the record has to be true.
fn as_recorded(release: &Release, outcomes: &[(&Condition, Outcome)]) -> Result<()> {
    let seen: Vec<Seen> = outcomes
        .iter()
        .map(|(condition, outcome)| Seen::new(&release.version, condition.name, outcome.words()))
        .collect();
    let recorded = Record::KubeProxy.of(&release.version)?;
    ensure!(
        seen == recorded,
        "seen {seen:#?}\nrecorded {recorded:#?}\ncargo windows-proof --record"
    );
    Ok(())
}

/// What the operator says of a node whose kube-proxy ended so, by what the kubelet has of its log.
async fn verdicts(test: &TestCluster, outcomes: &[(&Condition, Outcome)]) -> Result<()> {
    for (condition, outcome) in outcomes {
        let Outcome::Exits { words, log } = outcome else {
            continue;
        };
        // A fault is a constant everywhere else.
        let message: &'static str = termination_message(log).leak();
        test.simulator.clear(NODE);
        // The condition before may have had the same reason.
        recovered(test)
            .await
            .with_context(|| format!("before {}", condition.name))?;
        test.simulator.inject(NODE, Fault::KubeProxyCrash(message));
        let why = words
            .trim_start_matches("command failed: ")
            .chars()
            // As much as tells one feature gate from another, and without addresses of this machine.
            .take(80)
            .collect::<String>();
        expect_condition(test, condition.reason, &why)
            .await
            .with_context(|| format!("{}: {message}", condition.name))?;
    }
    test.simulator.clear(NODE);
    Ok(())
}

/// Reason and message of our condition on the node.
async fn stored_condition(test: &TestCluster) -> Result<(String, String)> {
    let node = test.node(NODE).await?;
    let conditions = node.pointer("/status/conditions").and_then(|all| all.as_array());
    let ours = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == NODE_CONDITION);
    let part = |pointer| ours.map_or("", |one| text(one, pointer)).to_owned();
    Ok((part("/reason"), part("/message")))
}

/// Waits until the node's condition no longer reports a crash of kube-proxy.
async fn recovered(test: &TestCluster) -> Result<()> {
    test.until(&format!("kube-proxy of {NODE} runs again"), async || {
        let (reason, message) = stored_condition(test).await?;
        let ended = message.contains("kube-proxy is crash-looping");
        Ok((!reason.is_empty() && !ended).then_some(()))
    })
    .await
}

async fn expect_condition(test: &TestCluster, reason: &str, why: &str) -> Result<()> {
    test.until(&format!("{NODE} is {reason}: {why}"), async || {
        let (found, message) = stored_condition(test).await?;
        // klog quotes the error, and the quotes in it.
        let message = message.replace("\\\"", "\"");
        Ok((found == reason && message.contains(why)).then_some(()))
    })
    .await
}
