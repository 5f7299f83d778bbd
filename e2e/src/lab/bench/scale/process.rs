//! What a process costs, from `/proc`.

use std::fs;

use anyhow::{Context as _, Result};

/// `USER_HZ`: what the kernel counts processor time in for programs, whatever its own clock does.
const TICKS_A_SECOND: f64 = 100.0;

/// Processor time until now, of all threads, in seconds.
pub fn cpu(pid: u32) -> Result<f64> {
    let stat = read(pid, "stat")?;
    // The name in parentheses may hold spaces; user and system time are fields 14 and 15 of all.
    let rest = stat.rsplit_once(')').context("no name in stat")?.1;
    let ticks: Vec<f64> = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .flat_map(str::parse)
        .collect();
    Ok(ticks.iter().sum::<f64>() / TICKS_A_SECOND)
}

/// Resident memory in MB.
pub fn rss(pid: u32) -> Result<f64> {
    field(pid, "VmRSS:")
}

/// The most it was since the start or the last `forget_peak`, in MB.
pub fn peak(pid: u32) -> Result<f64> {
    field(pid, "VmHWM:")
}

pub fn forget_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").context("reset the peak of the resident memory")
}

fn field(pid: u32, name: &str) -> Result<f64> {
    let status = read(pid, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line
        .and_then(|line| line.split_whitespace().next())
        .with_context(|| format!("no {name}"))?;
    Ok(number.parse::<f64>()? / 1024.0)
}

fn read(pid: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).with_context(|| format!("read {path}"))
}

/// Where this runs, in one line.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let gib = kib / (1024.0 * 1024.0);
    format!("{cores} cores, {gib:.0} GiB of memory, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_cost_something_ourselves() {
        let me = std::process::id();
        assert!(rss(me).unwrap() > 0.1 && peak(me).unwrap() >= rss(me).unwrap() * 0.5);
        let began = std::time::Instant::now();
        let before = cpu(me).unwrap();
        while cpu(me).unwrap() <= before {
            assert!(began.elapsed().as_secs() < 30, "no processor time is counted");
        }
    }
}
