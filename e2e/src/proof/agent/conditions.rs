//! What keeps the agent's startup from succeeding, and its exact words.

use anyhow::Result;

use super::fixture::AgentFixture;
use super::steps::{STARTUP, words};
use crate::hns::{Hns, HnsError, WindowsBuild};
use crate::simulator::Env;

/// One thing that differs from what the operator renders for a node where all is right.
pub struct StartCondition {
    pub name: &'static str,
    edit: fn(&mut Env),
    hns: HnsState,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HnsState {
    Fresh,
    /// No adapter, so networks get no ManagementIP.
    NoAdapter,
    Stopped,
}

/// All with VXLAN.
pub const CONDITIONS: &[StartCondition] = &[
    with("VNI 4095", |env| set(env, "VXLAN_VNI", "4095")),
    with("VNI empty", |env| set(env, "VXLAN_VNI", "")),
    with("NODENAME of no Node", |env| set(env, "NODENAME", "nobody")),
    with("no known backend", |env| {
        set(env, "CALICO_NETWORKING_BACKEND", "ipip")
    }),
    StartCondition {
        hns: HnsState::NoAdapter,
        ..with("HNS without an adapter", |_| {})
    },
    StartCondition {
        hns: HnsState::Stopped,
        ..with("HNS stopped", |_| {})
    },
];

const fn with(name: &'static str, edit: fn(&mut Env)) -> StartCondition {
    StartCondition {
        name,
        edit,
        hns: HnsState::Fresh,
    }
}

fn set(env: &mut Env, name: &str, value: &str) {
    env.insert(name.to_owned(), value.to_owned());
}

impl StartCondition {
    /// How startup ended, and its last message.
    pub async fn try_out(&self, fixture: &AgentFixture) -> Result<(String, String)> {
        let mut env = fixture.rendered.scripted_env("node")?;
        (self.edit)(&mut env);
        let hns = match self.hns {
            HnsState::NoAdapter => Hns::start(WindowsBuild::Server2022).await?,
            _ => Hns::on_adapter(WindowsBuild::Server2022, fixture.node_ip).await?,
        };
        if self.hns == HnsState::Stopped {
            hns.fail("H", HnsError::ServerUnavailable);
        }
        let ended = fixture.sandbox.run(&words(&STARTUP), &env, hns.port()).await?;
        let code = ended
            .code
            .map_or("killed".to_owned(), |code| format!("exit {code}"));
        let text = last_words(&format!("{}{}", ended.output, ended.errors));
        Ok((code, text.replace(&fixture.node_ip.to_string(), "<InternalIP>")))
    }
}

/// The panic, or the error of the last line that has one.
fn last_words(log: &str) -> String {
    let panic = log.lines().find(|line| line.starts_with("panic: "));
    let error = || {
        log.lines()
            .rev()
            .find_map(|line| line.split_once("error=").map(|(_, error)| error))
    };
    let last = || log.lines().rev().find(|line| !line.trim().is_empty());
    let text = panic.or_else(error).or_else(last).unwrap_or_default();
    text.trim().trim_matches('"').replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_a_panic_or_the_last_error() {
        let log = "2026-11-21 [INFO][1] startup/x.go 1: Starting\n\
            2026-11-21 [ERROR][1] startup/x.go 2: Unable to ensure network for os error=no \"x\" here\n\
            2026-11-21 [WARNING][1] startup/x.go 3: Terminating\n";
        assert_eq!(last_words(log), "no \"x\" here");
        assert_eq!(
            last_words(&format!("{log}panic: boom\ngoroutine 1\n")),
            "panic: boom"
        );
        assert_eq!(last_words("a\nb\n"), "b");
    }
}
