//! `lab up`: start the background process and wait until the lab is ready.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::{LabOptions, kubeconfig, log_file, pid_file, try_own};

/// Starts a lab and returns the path of its kubeconfig. What happens meanwhile goes to `progress`.
pub fn up(options: &LabOptions, progress: &dyn Fn(&str)) -> Result<PathBuf> {
    let kubeconfig = kubeconfig()?;
    let Some(lock) = try_own()? else {
        bail!(
            "a lab is up already, its KUBECONFIG is {}; `cargo lab down` ends it",
            kubeconfig.display()
        );
    };
    // Left by a lab that was killed; a stale pid could be anybody's by now.
    let _ = fs::remove_file(&kubeconfig);
    let _ = fs::remove_file(pid_file()?);
    drop(lock);
    let mut holder = start(options)?;
    let mut printed = 0;
    while !kubeconfig.exists() {
        if let Some(status) = holder.try_wait()? {
            print_new_lines(&mut printed, progress)?;
            bail!("the lab did not start ({status})");
        }
        print_new_lines(&mut printed, progress)?;
        std::thread::sleep(Duration::from_millis(100));
    }
    print_new_lines(&mut printed, progress)?;
    Ok(kubeconfig)
}

/// In a process group of its own: Ctrl-C in this terminal, or its end, is not the end of the lab.
fn start(options: &LabOptions) -> Result<Child> {
    let log = File::create(log_file()?)?;
    Command::new(std::env::current_exe()?)
        .arg("hold")
        .args(options.words())
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .spawn()
        .context("start the lab's background process")
}

/// Prints the lines that were added to the log after the first `printed` ones.
fn print_new_lines(printed: &mut usize, progress: &dyn Fn(&str)) -> Result<()> {
    let log = fs::read_to_string(log_file()?)?;
    let lines = log.lines().count();
    log.lines().skip(*printed).for_each(progress);
    *printed = lines;
    Ok(())
}
