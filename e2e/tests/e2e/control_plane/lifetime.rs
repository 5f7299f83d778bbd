//! Nothing outlives the one who started it, however that one ends.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use wn_e2e::control_plane::process::Program;
use wn_e2e::control_plane::{CalicoApi, Cluster, ClusterOptions};

use super::support::{eventually, is_alive, processes_about};

const PARENT: &str = "WN_TEST_BE_A_PARENT";

#[tokio::test]
async fn a_dropped_cluster_leaves_nothing_behind() -> Result<()> {
    let options = ClusterOptions {
        calico_api: CalicoApi::None,
        kubeadm: false,
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await?;
    let state = cluster.state_dir().to_owned();
    let text = state.to_str().unwrap().to_owned();
    // Five programs, each with its supervisor and the supervisor's waiting half.
    assert_eq!(
        processes_about(&text).len(),
        15,
        "is this still the way to find them?"
    );
    drop(cluster);
    assert_eq!(processes_about(&text), Vec::<u32>::new());
    let kept = std::env::var_os("WN_KEEP_CLUSTER").is_some();
    assert_eq!(state.exists(), kept);
    Ok(())
}

#[tokio::test]
async fn a_program_dies_with_a_killed_parent() -> Result<()> {
    // A test is named by its modules, without the crate.
    let (_, module) = module_path!().split_once("::").context("this is a module")?;
    let mut parent = Command::new(std::env::current_exe()?)
        .args([
            "--exact",
            &format!("{module}::parent_to_be_killed"),
            "--nocapture",
        ])
        .env(PARENT, "1")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(parent.stdout.take().context("stdout is piped")?).lines();
    let pid = lines.find_map(|line| line.ok()?.split("child=").nth(1)?.parse::<u32>().ok());
    let pid = pid.context("the parent names its child")?;
    assert!(is_alive(pid));
    parent.kill()?;
    parent.wait()?;
    eventually("the child is gone", async || Ok(!is_alive(pid))).await
}

/// Not a test of its own: the process that the test above kills.
#[test]
fn parent_to_be_killed() -> Result<()> {
    if std::env::var_os(PARENT).is_none() {
        return Ok(());
    }
    let sleep = Program::new("sleep", "/bin/sleep".as_ref(), &scratch()?)
        .arg("600")
        .start()?;
    println!("child={}", sleep.pid());
    std::thread::sleep(std::time::Duration::from_secs(600));
    Ok(())
}

#[test]
fn a_program_is_asked_to_end_or_killed() -> Result<()> {
    let scratch = scratch()?;
    let script = "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 0.05; done";
    let start = || {
        Program::new("asked", "/bin/sh".as_ref(), &scratch)
            .args(["-c", script])
            .start()
    };
    let mut asked = start()?;
    while !asked.log().contains("up") {
        asked.require_running()?;
    }
    assert_eq!(asked.terminate()?.code(), Some(7));
    assert!(asked.log().contains("asked"));
    assert!(format!("{:#}", asked.require_running().unwrap_err()).contains("asked"));

    let mut killed = start()?;
    killed.kill();
    assert!(!is_alive(killed.pid()));
    assert!(
        Program::new("missing", "/nowhere/missing".as_ref(), &scratch)
            .start()?
            .wait()?
            .code()
            == Some(127)
    );
    Ok(())
}

fn scratch() -> Result<PathBuf> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lifetime-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}
