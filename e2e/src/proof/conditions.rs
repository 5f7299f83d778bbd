//! What kube-proxy may find when it starts, and what it does then.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::fixture::{Dsr, ELSEWHERE, Fixture, Network};
use super::run::Run;
use crate::hns::{Hns, WindowsBuild};
use crate::windows::{KubeProxy, Release};

/// It serves from this line on (`cmd/kube-proxy/app/server.go`, `Run`).
const SERVES: &str = "\"Version info\"";
/// How often it says a thing before it counts as waiting for it.
const AGAIN: usize = 10;
/// An overlay takes it ten seconds, Wine some on a loaded machine.
const LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(100);

/// One thing that differs from what the operator renders for a node where all is right.
pub struct Condition {
    pub name: &'static str,
    pub network: Network,
    build: WindowsBuild,
    has_network: bool,
    edit: fn(Vec<String>) -> Vec<String>,
    /// What the operator is to say of a node whose kube-proxy ends under it.
    pub reason: &'static str,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    Starts,
    /// It says this again and again.
    Waits(String),
    /// It ends with these words; the whole log is what the kubelet has.
    Exits {
        words: String,
        log: String,
    },
}

impl Outcome {
    /// Its word in the record, and the message.
    pub fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Starts => ("starts", ""),
            Self::Waits(words) => ("waits", words),
            Self::Exits { words, .. } => ("exits", words),
        }
    }

    /// The words without this machine's address.
    fn of_any_machine(self, address: &str) -> Self {
        match self {
            Self::Exits { words, log } => Self::Exits {
                words: words.replace(address, "<InternalIP>"),
                log,
            },
            other => other,
        }
    }
}

const fn on(network: Network, name: &'static str, edit: fn(Vec<String>) -> Vec<String>) -> Condition {
    Condition {
        name,
        network,
        build: WindowsBuild::Server2022,
        has_network: true,
        edit,
        reason: "KubeProxyCrashLooping",
    }
}

const fn refused_gate(
    network: Network,
    name: &'static str,
    edit: fn(Vec<String>) -> Vec<String>,
) -> Condition {
    Condition {
        reason: "KubeProxyFeatureGate",
        ..on(network, name, edit)
    }
}

pub const CONDITIONS: &[Condition] = &[
    on(Network::Vxlan, "as rendered, VXLAN", |all| all),
    on(Network::Bgp, "as rendered, BGP", |all| all),
    refused_gate(Network::Bgp, "WinDSR=true", |all| gates(all, Some("WinDSR=true"))),
    refused_gate(Network::Bgp, "WinDSR=false", |all| {
        gates(all, Some("WinDSR=false"))
    }),
    refused_gate(Network::Bgp, "WinDSR not named", |all| gates(all, None)),
    refused_gate(Network::Vxlan, "WinOverlay=false", |all| {
        gates(all, Some("WinDSR=true,WinOverlay=false"))
    }),
    refused_gate(Network::Bgp, "IPv6DualStack=true", |all| {
        gates(all, Some("IPv6DualStack=true"))
    }),
    refused_gate(Network::Bgp, "WindowsHostProcessContainers=true", |all| {
        gates(all, Some("WindowsHostProcessContainers=true"))
    }),
    refused_gate(Network::Bgp, "a gate without value", |all| {
        gates(all, Some("WinDSR"))
    }),
    on(Network::Bgp, "an unknown flag", |all| {
        with(all, "--no-such-flag=1")
    }),
    on(Network::Bgp, "proxy-mode iptables", |all| {
        with(all, "--proxy-mode=iptables")
    }),
    Condition {
        reason: "KubeProxyNoSourceVIP",
        ..on(Network::Vxlan, "no source VIP", |all| {
            without(all, "--source-vip=")
        })
    },
    Condition {
        reason: "KubeProxyNoHostMAC",
        ..on(Network::Vxlan, "InternalIP on no interface", |all| {
            with(all, &format!("--hostname-override={ELSEWHERE}"))
        })
    },
    on(Network::Bgp, "no Node of that name", |all| {
        with(all, "--hostname-override=nobody")
    }),
    Condition {
        build: WindowsBuild::Server2019Released,
        reason: "OSBuildTooOldForDSR",
        ..on(Network::Bgp, "HNS without DSR", |all| all)
    },
    Condition {
        has_network: false,
        ..on(Network::Bgp, "no HNS network", |all| all)
    },
];

fn without(all: Vec<String>, beginning: &str) -> Vec<String> {
    all.into_iter()
        .filter(|word| !word.starts_with(beginning))
        .collect()
}

/// The last of a flag wins.
fn with(mut all: Vec<String>, word: &str) -> Vec<String> {
    all.push(word.to_owned());
    all
}

fn gates(all: Vec<String>, gates: Option<&str>) -> Vec<String> {
    let all = without(all, "--feature-gates=");
    match gates {
        Some(gates) => with(all, &format!("--feature-gates={gates}")),
        None => all,
    }
}

impl Condition {
    /// How a release behaves under this condition, in a fixture of the condition's network.
    pub async fn try_out(&self, fixture: &Fixture, release: &Release, program: &Path) -> Result<Outcome> {
        let rendered = fixture.rendered(release, Dsr::Auto).await?;
        let hns = if self.has_network {
            fixture.hns(self.build).await?
        } else {
            Hns::start(self.build).await?
        };
        let run = Run {
            fixture,
            program,
            hns: &hns,
            rendered: &rendered,
            edit: self.edit,
        };
        let outcome = match outcome(run.start_beside()?).await {
            // Seen once in a hundred starts, on a machine with eight times the load it has processors for: it
            // stood still after its ten seconds on an overlay. Why is not known; a second time tells.
            Err(_) => outcome(run.start_beside()?).await?,
            found => found?,
        };
        Ok(outcome.of_any_machine(&fixture.node_ip.to_string()))
    }
}

async fn outcome(mut proxy: KubeProxy) -> Result<Outcome> {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        let ended = proxy.ended_within(POLL).await?;
        let log = proxy.log();
        if log.contains(SERVES) {
            return Ok(Outcome::Starts);
        }
        if ended.is_some() {
            let words = last_words(&log);
            return Ok(Outcome::Exits { words, log });
        }
        if let Some(words) = repeated(&log) {
            return Ok(Outcome::Waits(words));
        }
    }
    bail!(
        "kube-proxy neither starts nor ends within {LIMIT:?}:\n{}",
        proxy.log()
    )
}

/// What the kubelet makes the termination message of a container without one (`FallbackToLogsOnError`): 80 lines
/// and 2048 bytes at most, `pkg/kubelet/kuberuntime/kuberuntime_container.go`.
pub fn termination_message(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines[lines.len().saturating_sub(80)..].join("\n");
    let from = (last.len().saturating_sub(2048)..).find(|at| last.is_char_boundary(*at));
    last[from.unwrap_or_default()..].to_owned()
}

/// The error of the last line that is one.
fn last_words(log: &str) -> String {
    let text = log.lines().rev().find_map(error_of);
    text.unwrap_or_else(|| log.lines().last().unwrap_or_default().to_owned())
}

/// The repeated message.
fn repeated(log: &str) -> Option<String> {
    let all: Vec<String> = log.lines().filter_map(error_of).collect();
    let last = all.last()?;
    (all.iter().filter(|one| *one == last).count() >= AGAIN).then(|| last.clone())
}

/// `E1121 18:00:40.400732      32 server.go:265] "What failed" err="why" key="value"`: what and why.
fn error_of(line: &str) -> Option<String> {
    let (_, text) = line.strip_prefix('E')?.split_once("] ")?;
    let why = text.split_once("err=\"").map(|(_, rest)| rest);
    let (what, _) = text.strip_prefix('"')?.split_once('"')?;
    let end = |text: &str| {
        let at = text
            .char_indices()
            .find(|(at, c)| *c == '"' && !text[..*at].ends_with('\\'));
        text[..at.map_or(text.len(), |(at, _)| at)].replace("\\\"", "\"")
    };
    Some(why.map_or_else(|| what.to_owned(), |why| format!("{what}: {}", end(why))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "I1121 18:00:40.1      32 server.go:228] \"Successfully retrieved NodeIPs\" NodeIPs=[\"192.0.2.2\"]\n\
        E1121 18:00:40.2      32 server.go:136] \"Error running ProxyServer\" err=\"no \\\"x\\\" here\" n=\"1\"\n";

    #[test]
    fn last_words_are_the_last_error() {
        assert_eq!(last_words(LOG), "Error running ProxyServer: no \"x\" here");
        assert_eq!(last_words("a\nb\n"), "b");
    }

    #[test]
    fn waiting_is_to_say_it_again_and_again() {
        assert_eq!(repeated(&LOG.repeat(AGAIN - 1)), None);
        assert_eq!(
            repeated(&LOG.repeat(AGAIN)).as_deref(),
            Some("Error running ProxyServer: no \"x\" here")
        );
    }
}
