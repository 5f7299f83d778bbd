//! The command `explain`: what a reason, an advisory or a finding means, from the tables that the pages in `docs/` are
//! generated from.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use wn_api::node_reasons::NodeReason;
use wn_api::reasons::Reason;
use wn_plan::advice;
use wn_workloads::findings::Code;

use super::{Format, print};

pub const EXAMPLES: &str = "Examples:
  explain WN2001
  explain PoolInUse
  explain                 # every code in one list
  explain -o json

Exit codes: 0, or 3 if there is no such code.";

#[derive(Args)]
pub struct Arguments {
    /// A reason of a node or of a condition, or the code of an advisory (WN1…) or of a finding (WN2…, WN3…, WN4…). Default: all.
    #[arg(value_name = "CODE")]
    code: Option<String>,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// An entry of one of the tables.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    code: &'static str,
    kind: Kind,
    /// The entry in a few words, or its meaning in one sentence.
    title: &'static str,
    /// What it means, if the title does not say it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<&'static str>,
    /// Labels and texts, in the order in which they are printed.
    #[serde(serialize_with = "as_map")]
    facts: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
enum Kind {
    #[serde(rename = "node reason")]
    Node,
    #[serde(rename = "condition reason")]
    Condition,
    #[serde(rename = "advisory")]
    Advisory,
    #[serde(rename = "finding")]
    Finding,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Node, Self::Condition, Self::Advisory, Self::Finding];

    const fn heading(self) -> &'static str {
        match self {
            Self::Node => "Reasons of a Windows node, in order of rank (docs/reasons.md)",
            Self::Condition => "Reasons of the conditions of a WindowsNodeConfig",
            Self::Advisory => "Advisories: limits that the cluster runs into (docs/advisories.md)",
            Self::Finding => "Findings of `lint` (docs/findings.md)",
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "reason of a Windows node",
            Self::Condition => "reason of a condition of a WindowsNodeConfig",
            Self::Advisory => "advisory",
            Self::Finding => "finding of `lint`",
        }
    }
}

fn as_map<S: serde::Serializer>(facts: &[(&str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facts.iter().map(|(label, text)| (label, text)))
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let all = explanations();
    let found = match &arguments.code {
        None => all,
        Some(code) => matching(all, code)?,
    };
    match arguments.output {
        Format::Json => print::json(&found)?,
        Format::Text if arguments.code.is_none() => print::text(&list(&found))?,
        Format::Text => print::text(&found.iter().map(page).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries of a code, of which there are two if nodes and conditions have a reason of the same name.
fn matching(mut all: Vec<Explanation>, code: &str) -> anyhow::Result<Vec<Explanation>> {
    let is_it = |explanation: &Explanation| explanation.code.eq_ignore_ascii_case(code);
    if !all.iter().any(is_it) {
        let near = near(&all, code);
        if near.is_empty() {
            bail!("{code:?} is no code; `explain` without an argument lists every code");
        }
        bail!(
            "{code:?} is no code; did you mean {}? `explain` without an argument lists every code",
            near.join(" or ")
        );
    }
    all.retain(is_it);
    Ok(all)
}

/// Similarity from which another code is proposed: one wrong letter in a short code is above it.
const NEAR: f64 = 0.85;
/// Codes that are proposed.
const PROPOSED: usize = 3;

fn near(all: &[Explanation], code: &str) -> Vec<&'static str> {
    let wanted: String = code.chars().take(100).collect::<String>().to_lowercase();
    let similarity = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let contains = wanted.len() >= 4 && candidate.contains(&wanted);
        if contains {
            1.0
        } else {
            strsim::jaro_winkler(&wanted, &candidate)
        }
    };
    let mut near: Vec<_> = all
        .iter()
        .map(|explanation| (similarity(explanation.code), explanation.code))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by_key(|(_, code)| *code);
    near.into_iter().map(|(_, code)| code).take(PROPOSED).collect()
}

fn explanations() -> Vec<Explanation> {
    let nodes = NodeReason::ALL.iter().map(|reason| node(*reason));
    let conditions = Reason::ALL.iter().map(|reason| condition(*reason));
    let advisories = advice::rules().map(advisory);
    let findings = Code::ALL.into_iter().map(finding);
    nodes
        .chain(conditions)
        .chain(advisories)
        .chain(findings)
        .collect()
}

const KNOW: &str = "How we know";
const DO: &str = "What to do";
const SOURCE: &str = "Source";

fn node(reason: NodeReason) -> Explanation {
    let entry = reason.entry();
    Explanation {
        code: reason.as_str(),
        kind: Kind::Node,
        title: entry.meaning,
        meaning: None,
        facts: vec![
            ("State", entry.usually.as_str().to_owned()),
            (KNOW, entry.evidence.to_owned()),
            (DO, entry.fix.to_owned()),
            (SOURCE, entry.source.to_owned()),
        ],
    }
}

fn condition(reason: Reason) -> Explanation {
    let how = "the message of the condition names the object, the field and what was found";
    let what = if reason.needs_a_person() {
        "nothing changes until you do what the message of the condition says: kubectl describe wnc default"
    } else {
        "see the message of the condition: kubectl describe wnc default"
    };
    Explanation {
        code: reason.as_str(),
        kind: Kind::Condition,
        title: reason.meaning(),
        meaning: None,
        facts: vec![(KNOW, how.to_owned()), (DO, what.to_owned())],
    }
}

fn advisory(rule: &'static advice::Rule) -> Explanation {
    Explanation {
        code: rule.code,
        kind: Kind::Advisory,
        title: rule.title,
        meaning: Some(rule.limit),
        facts: vec![
            ("Severity", format!("{:?}", rule.severity)),
            (KNOW, rule.reads.to_owned()),
            (DO, rule.fix.to_owned()),
            (SOURCE, rule.source.to_owned()),
        ],
    }
}

fn finding(code: Code) -> Explanation {
    let entry = code.entry();
    Explanation {
        code: entry.code,
        kind: Kind::Finding,
        title: entry.title,
        meaning: Some(entry.what),
        facts: vec![
            ("Severity", entry.severity.to_owned()),
            ("Releases of Calico", entry.releases.to_owned()),
            (DO, entry.fix.to_owned()),
            (SOURCE, entry.source.to_owned()),
        ],
    }
}

fn page(explanation: &Explanation) -> String {
    let Explanation {
        code,
        kind,
        title,
        meaning,
        facts,
    } = explanation;
    let mut text = format!("{code}: {title}\n({})\n", kind.as_str());
    if let Some(meaning) = meaning {
        let _ = write!(text, "\n{meaning}\n");
    }
    text.push('\n');
    for (label, fact) in facts {
        let _ = writeln!(text, "{label}: {fact}");
    }
    text
}

fn list(all: &[Explanation]) -> String {
    let mut text = String::new();
    for kind in Kind::ALL {
        let _ = writeln!(text, "{}\n", kind.heading());
        for explanation in all.iter().filter(|explanation| explanation.kind == kind) {
            let _ = writeln!(text, "  {:30} {}", explanation.code, explanation.title);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("WN2001", &["finding of `lint`", "What to do: write what is meant without negation"])]
    #[case("wn1001", &["WN1001: No WireGuard", "advisory", "How we know: FelixConfiguration"])]
    #[case("OSBuildKnownBad", &["reason of a Windows node", "State: Failing", "Source: microsoft/"])]
    #[case("PoolInUse", &["reason of a condition", "nothing changes until"])]
    #[case("PodCIDRMissing", &["reason of a Windows node", "reason of a condition"])]
    fn explains(#[case] code: &str, #[case] parts: &[&str]) {
        let found = matching(explanations(), code).unwrap();
        let text: String = found.iter().map(page).collect();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[rstest]
    #[case::a_letter_too_many("WN20001", "did you mean WN2001")]
    #[case::wrong_letter("PoolInUze", "did you mean PoolInUse?")]
    #[case::part("StrictAffinity", "StrictAffinityFalse")]
    #[case::nothing_near("xyz", "is no code; `explain` without")]
    #[case::long(&"x".repeat(1 << 20), "is no code")]
    fn proposes_near_codes(#[case] code: &str, #[case] part: &str) {
        let error = matching(explanations(), code).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn every_code_is_explained_and_listed() {
        let all = explanations();
        let list = list(&all);
        for explanation in &all {
            assert!(!explanation.title.is_empty(), "{explanation:?}");
            assert!(
                explanation.facts.iter().all(|(_, text)| !text.is_empty()),
                "{explanation:?}"
            );
            assert!(
                list.contains(&format!("  {} ", explanation.code)),
                "{explanation:?}"
            );
        }
        for reason in Reason::ALL {
            assert!(reason.meaning().ends_with('.') && !reason.meaning().contains('\n'));
        }
    }
}
