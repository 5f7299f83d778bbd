//! What kube-proxy was seen to do at its start: the record `e2e/windows/seen.tsv`, which `cargo windows-proof --record`
//! writes from runs of the Windows binary of each minor.

use super::failure::{Kind, Verdict, refuse};
use crate::windows::record::{Seen, parse};

const RECORD: &str = include_str!("../../windows/seen.tsv");

/// Where a release ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TestCluster {
    /// Its flags, before it asks anybody anything.
    Flags,
    /// HNS.
    Proxier,
}

/// How a release of that minor ends under a condition, if it ends there. A minor that is not recorded
/// counts as the nearest older one, and before the first as the first.
///
/// # Panics
///
/// If no minor was ever recorded under the condition: a name that was mistyped must not pass as a release that works.
pub fn ends(minor: u32, condition: &str, test: TestCluster) -> Verdict {
    assert!(
        is_recorded(condition),
        "nothing is recorded of the condition {condition:?}"
    );
    let all: Vec<Seen> = record().collect();
    let minors = || all.iter().filter_map(minor_of);
    let nearest = minors()
        .filter(|one| *one <= minor)
        .max()
        .or_else(|| minors().min());
    let seen = all
        .iter()
        .find(|seen| minor_of(seen) == nearest && seen.condition == condition);
    let Some(seen) = seen.filter(|seen| seen.outcome == "exits" && stage_of(seen) == test) else {
        return Ok(());
    };
    refuse(true, Kind::Exit, termination_message(&seen.message))
}

/// Was any minor recorded under the condition?
pub fn is_recorded(condition: &str) -> bool {
    record().any(|seen| seen.condition == condition)
}

fn record() -> impl Iterator<Item = Seen> {
    RECORD
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(parse)
}

fn minor_of(seen: &Seen) -> Option<u32> {
    seen.version.split('.').nth(1)?.parse().ok()
}

fn stage_of(seen: &Seen) -> TestCluster {
    if seen.message.contains("unable to create proxier") {
        TestCluster::Proxier
    } else {
        TestCluster::Flags
    }
}

/// As the kubelet has it: the end of the log. What is refused as a flag comes after the list of all flags, what is
/// an error of the program after lines about other things.
fn termination_message(message: &str) -> String {
    match message.split_once(": ") {
        Some((what, why)) if !message.starts_with("Error: ") => format!(
            "I1121 18:04:21.429223      32 shared_informer.go:402] \"Waiting for caches to sync\"\n\
             E1121 18:04:32.000522      32 run.go:72] \"{what}\" err={why:?}\n"
        ),
        _ => format!("  -v, --v Level    number for the log level verbosity\n\n{message}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recorded_minor_ends_without_source_vip() {
        for minor in [29, 32, 33, 37, 38] {
            let failure = ends(minor, "no source VIP", TestCluster::Proxier).unwrap_err();
            assert!(
                failure.message.contains("source-vip flag not set"),
                "{minor}: {}",
                failure.message
            );
            assert_eq!(ends(minor, "as rendered, VXLAN", TestCluster::Proxier), Ok(()));
            assert_eq!(ends(minor, "no source VIP", TestCluster::Flags), Ok(()));
        }
    }

    #[test]
    #[should_panic(expected = "nothing is recorded of the condition \"no source vip\"")]
    fn an_unknown_condition_is_no_success() {
        let _ = ends(36, "no source vip", TestCluster::Proxier);
    }

    #[test]
    fn a_message_is_the_end_of_a_log() {
        let failure = ends(36, "an unknown flag", TestCluster::Flags).unwrap_err();
        assert!(
            failure
                .message
                .ends_with("\n\nError: unknown flag: --no-such-flag\n"),
            "{}",
            failure.message
        );
        let failure = ends(36, "WinDSR=false", TestCluster::Flags).unwrap_err();
        assert!(failure.message.starts_with("I1121"), "{}", failure.message);
    }
}
