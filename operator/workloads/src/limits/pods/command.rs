//! Commands of containers, probes and hooks.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::units::Unit;
use crate::findings::Code;
use crate::input::pod::Container;

/// Folders of programs on Linux.
const FOLDERS: [&str; 5] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/"];
/// Shells of Linux.
const SHELLS: [&str; 5] = ["sh", "bash", "ash", "dash", "zsh"];
/// Programs that send ICMP.
const PINGS: [&str; 5] = ["ping", "ping.exe", "tracert", "tracert.exe", "test-connection"];
/// Sends ICMP unless it has a port.
const TEST: &str = "test-netconnection";
/// Words of one command that are looked at.
const MOST_WORDS: usize = 1_000;

/// Commands with a path or a shell of Linux.
pub fn linux(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (path, container) in unit.containers() {
        let own = ("command", &container.command);
        for (name, command) in probes(container).into_iter().chain([own]) {
            let program = command.first().map(String::as_str).unwrap_or_default();
            if SHELLS.contains(&program) || FOLDERS.iter().any(|folder| program.starts_with(folder)) {
                let message = format!("Windows base images have no {program}");
                hits.push(Hit::warning(
                    Code::LinuxCommand,
                    format!("{path}.{name}"),
                    message,
                ));
            }
        }
    }
    hits
}

/// Probes and hooks that ping.
pub fn icmp(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (path, container) in unit.containers() {
        for (name, _) in probes(container)
            .into_iter()
            .filter(|(_, command)| pings(command))
        {
            let message = "ICMP gets no answer from outside of the pod network";
            hits.push(Hit::warning(Code::IcmpProbe, format!("{path}.{name}"), message));
        }
    }
    hits
}

/// Commands of probes and hooks, each with its path in the container.
fn probes(container: &Container) -> [(&'static str, &Vec<String>); 5] {
    let lifecycle = &container.lifecycle;
    [
        (
            "livenessProbe.exec.command",
            &container.liveness_probe.exec.command,
        ),
        (
            "readinessProbe.exec.command",
            &container.readiness_probe.exec.command,
        ),
        ("startupProbe.exec.command", &container.startup_probe.exec.command),
        (
            "lifecycle.postStart.exec.command",
            &lifecycle.post_start.exec.command,
        ),
        ("lifecycle.preStop.exec.command", &lifecycle.pre_stop.exec.command),
    ]
}

fn pings(command: &[String]) -> bool {
    let separators = |c: char| c.is_whitespace() || "\"'();&|{}".contains(c);
    let words = command
        .iter()
        .flat_map(|text| text.split(separators))
        .take(MOST_WORDS);
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let has_port = words.iter().any(|word| word == "-port");
    words
        .iter()
        .any(|word| PINGS.contains(&word.as_str()) || (word == TEST && !has_port))
}
