//! `lab down`: end the background process, and with it the lab.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::{pid_file, try_own};

const LIMIT: Duration = Duration::from_secs(30);

/// Ends the lab and waits until it is gone. `false` where there was none.
pub fn down() -> Result<bool> {
    // The pid is read only while the lock is held by another: then it is the holder's, not a recycled one.
    if try_own()?.is_some() {
        return Ok(false);
    }
    let pid = fs::read_to_string(pid_file()?).context("read the lab's pid")?;
    let sent = Command::new("sh")
        .args(["-c", "kill -s TERM \"$1\"", "lab-down", pid.trim()])
        .status()?;
    if !sent.success() {
        bail!("cannot end the lab's process {pid}");
    }
    let deadline = Instant::now() + LIMIT;
    while try_own()?.is_none() {
        if Instant::now() > deadline {
            bail!("the lab's process {pid} does not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(true)
}
