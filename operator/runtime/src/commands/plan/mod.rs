//! The command `plan`: what the operator would write now, decided as in `mode: Observe` on one list of each topic.

mod diff;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;
use serde_json::Value;
use wn_api::names::OPERATOR;
use wn_api::reasons::{Reason, conditions as types};
use wn_plan::observed::Observed;
use wn_plan::status;

use super::connection::Connection;
use super::decided::{Decided, unread};
use super::{Format, block_on, files, print};
use crate::survey::survey;

pub const EXAMPLES: &str = "Examples:
  plan                              # what would be written now
  plan -f windowsnodeconfig.yaml    # if this were applied, also before the installation
  plan --context staging -o json

Only GET requests are sent. Needs list on the kinds that the operator reads (see its ClusterRole). Which fields \
the operator has stopped writing because they are contested is not known here: see the condition CalicoConfigured.

Exit codes, as of `kubectl diff`: 0 if nothing would be written, 1 if something would be, 3 if that cannot be decided.";

#[derive(Args)]
pub struct Arguments {
    /// A WindowsNodeConfig whose spec is used instead of the stored one; `-` is standard input.
    #[arg(short, long = "filename", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Namespace of the operator, where its DaemonSets go.
    #[arg(short, long, default_value = OPERATOR)]
    namespace: String,
    #[command(flatten)]
    connection: Connection,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Everything that `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// As `status.pendingChanges`.
    pending_changes: Vec<String>,
    /// Conditions that are not as they should be.
    conditions: Vec<Condition>,
    objects: Vec<diff::Object>,
    /// What could not be read, and is not needed for a decision.
    unread: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let spec = arguments.file.as_ref().map(|file| {
        let object: Value =
            serde_saphyr::from_str(&files::text(file)?).context(file.display().to_string())?;
        let spec = object.get("spec").cloned();
        spec.with_context(|| format!("{}: spec: is missing in a WindowsNodeConfig", file.display()))
    });
    let spec = spec.transpose()?;
    let world = block_on(async {
        let client = arguments.connection.client().await?;
        survey(client, &arguments.namespace, spec.as_ref()).await
    })?;
    let output = world.read(|observed| output(observed, Timestamp::now()))?;
    match arguments.output {
        Format::Json => print::json(&output)?,
        Format::Text => print::text(&text(&output))?,
    }
    Ok(ExitCode::from(u8::from(!output.pending_changes.is_empty())))
}

fn output(observed: &Observed, now: Timestamp) -> anyhow::Result<Output> {
    let decided = Decided::new(observed, now)?;
    let mut conditions = decided.conditions();
    conditions.retain(|condition| {
        let follows =
            FOLLOW.contains(&condition.type_.as_str()) || condition.reason == Reason::ObserveOnly.as_str();
        super::is_wrong(condition) && !follows
    });
    Ok(Output {
        pending_changes: status::pending(&decided.plan),
        conditions,
        objects: diff::objects(&decided.plan, observed),
        unread: observed.unread.iter().map(unread).collect(),
    })
}

/// Conditions that only repeat others, or say nothing about writes.
const FOLLOW: [&str; 5] = [
    types::READY,
    types::RECONCILING,
    types::STALLED,
    types::ADVISORIES,
    types::WORKLOADS_SUPPORTED,
];

fn text(output: &Output) -> String {
    let mut text = String::new();
    for line in &output.pending_changes {
        let _ = writeln!(text, "{line}");
    }
    for object in &output.objects {
        let _ = write!(text, "\n{object}");
    }
    if output.pending_changes.is_empty() {
        text.push_str("Nothing would be written.\n");
    } else {
        let _ = writeln!(
            text,
            "\n{} changes would be written.",
            output.pending_changes.len()
        );
    }
    for condition in &output.conditions {
        let Condition {
            type_,
            reason,
            message,
            ..
        } = condition;
        let _ = writeln!(text, "{type_}: {reason}: {message}");
    }
    for unread in &output.unread {
        let _ = writeln!(text, "not read: {unread}");
    }
    text
}
