//! Windows' own kube-proxy with what the operator renders. CI asks two minors, the oldest whose gate needs no naming
//! and the newest, what kube-proxy's periods do not make long: three minutes after a first build, which takes
//! six. `cargo windows-proof` asks every minor everything, about five minutes each.

use anyhow::{Context as _, Result, ensure};
use wn_api::names::NODE_CONDITION;
use wn_e2e::objects::text;
use wn_e2e::proof::{CASES, Condition, NODE, Network, Outcome, Suite, build, termination_message};
use wn_e2e::simulator::Fault;
use wn_e2e::stage::Stage;
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
        verdicts(&suite.scene(Network::Vxlan).stage, &outcomes)
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
async fn verdicts(stage: &Stage, outcomes: &[(&Condition, Outcome)]) -> Result<()> {
    for (condition, outcome) in outcomes {
        let Outcome::Exits { words, log } = outcome else {
            continue;
        };
        // A fault is a constant everywhere else.
        let message: &'static str = termination_message(log).leak();
        stage.simulator.clear(NODE);
        stage.simulator.inject(NODE, Fault::KubeProxyCrash(message));
        // Told by its words, because the one before may have had the same reason.
        let why = words
            .trim_start_matches("command failed: ")
            .chars()
            .take(48)
            .collect::<String>();
        said(stage, condition.reason, &why)
            .await
            .with_context(|| format!("{}: {message}", condition.name))?;
    }
    stage.simulator.clear(NODE);
    Ok(())
}

async fn said(stage: &Stage, reason: &str, why: &str) -> Result<()> {
    stage
        .until(&format!("{NODE} is {reason}: {why}"), async || {
            let node = stage.node(NODE).await?;
            let conditions = node.pointer("/status/conditions").and_then(|all| all.as_array());
            let ours = conditions
                .into_iter()
                .flatten()
                .find(|one| one["type"] == NODE_CONDITION);
            Ok(ours.filter(|one| text(one, "/reason") == reason).map(drop))
        })
        .await
}
