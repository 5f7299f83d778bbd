//! A container as the kernel sees it.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::cgroup::{Cgroup, Memory};
use crate::objects::text;

/// A container that runs.
pub struct Container {
    /// Its only process.
    pid: u32,
    memory: Memory,
}

impl Container {
    pub(super) fn of(pod: &Value, cgroup: &Cgroup) -> Result<Self> {
        let uid = text(pod, "/metadata/uid");
        let id = text(pod, "/status/containerStatuses/0/containerID").trim_start_matches("containerd://");
        let processes = cgroup.processes(uid, id)?;
        ensure!(processes.len() == 1, "the container has processes {processes:?}");
        Ok(Self {
            pid: processes[0],
            memory: cgroup.memory(uid, id)?,
        })
    }

    /// What its cgroup says.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Resident memory of its process, in bytes. The program's own pages are in it, which the node's tmpfs keeps out of the cgroup: on a
    /// disk, the cgroup counts them.
    pub fn resident(&self) -> Result<u64> {
        let resident = self.status("VmRSS")?;
        let kibibytes = resident.trim_end_matches(" kB").parse::<u64>();
        Ok(kibibytes.with_context(|| format!("VmRSS is {resident}"))? * 1024)
    }

    /// A line of `/proc/<pid>/status`.
    pub fn status(&self, field: &str) -> Result<String> {
        let status = self.read("status")?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{field}:")));
        let value = line.with_context(|| format!("no {field} in the status of process {}", self.pid))?;
        Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Options of the mount that is the root file system.
    pub fn root_options(&self) -> Result<String> {
        let mounts = self.read("mountinfo")?;
        // man 5 proc_pid_mountinfo: the fifth field is the mount point, the sixth its options.
        let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let root = lines.find(|fields| fields.get(4) == Some(&"/"));
        let root = root.context("the container has no root")?;
        Ok(root.get(5).context("the root has no options")?.to_string())
    }

    /// SIGKILL.
    pub fn kill(&self) -> Result<()> {
        let status = Command::new("sh")
            .args(["-c", "kill -9 \"$1\"", "kill", &self.pid.to_string()])
            .status()?;
        ensure!(status.success(), "cannot kill process {}: {status}", self.pid);
        Ok(())
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = format!("/proc/{}/{file}", self.pid);
        fs::read_to_string(&path).with_context(|| format!("read {path}"))
    }
}
