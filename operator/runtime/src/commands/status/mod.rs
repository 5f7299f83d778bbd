//! The command `status`: the status of the `WindowsNodeConfig` on one screen, once or whenever it changes.

mod screen;

use std::pin::pin;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use futures::TryStreamExt;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube_runtime::WatchStreamExt as _;
use kube_runtime::watcher::watch_object;
use wn_api::WindowsNodeConfig;
use wn_api::names::{GROUP, KIND, SINGLETON, VERSION};
use wn_api::reasons::conditions::READY;
use wn_plan::observed::Config;

use super::connection::Connection;
use super::{block_on, print};

pub const EXAMPLES: &str = "Examples:
  status
  status --watch
  status --context staging

Needs get on windowsnodeconfigs.windowsnode.dev, and list and watch for --watch. NO_COLOR turns colours off.

Exit codes: 0 if the condition Ready is True, 1 if it is not, 3 if there is no WindowsNodeConfig or it cannot be read.";

#[derive(Args)]
pub struct Arguments {
    /// Show it again whenever it changes.
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    block_on(async {
        let client = arguments.connection.client().await?;
        if arguments.watch {
            follow(client).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let found = configs(client).get_opt(SINGLETON).await;
        let found = found.context("WindowsNodeConfig default")?;
        let config = found.map(|object| read(&object)).transpose()?;
        let Some(config) = config else {
            bail!("WindowsNodeConfig default: does not exist; apply one, see `kubectl explain wnc.spec`");
        };
        print::text(&screen::of(&config, Timestamp::now()))?;
        Ok(ExitCode::from(u8::from(!is_ready(&config))))
    })
}

/// As it is stored: a newer version of the operator may have written fields that this one does not know.
fn configs(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, KIND);
    Api::all_with(
        client,
        &ApiResource::from_gvk_with_plural(&kind, "windowsnodeconfigs"),
    )
}

fn read(object: &DynamicObject) -> anyhow::Result<WindowsNodeConfig> {
    Ok(Config::read(&serde_json::to_value(object)?).object().clone())
}

/// Moves to the upper left corner and clears the screen; not printed where there is no terminal.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";

async fn follow(client: Client) -> anyhow::Result<()> {
    let mut changes = pin!(watch_object(configs(client), SINGLETON).default_backoff());
    loop {
        match changes.try_next().await {
            Ok(Some(found)) => {
                let shown = match found {
                    Some(object) => screen::of(&read(&object)?, Timestamp::now()),
                    None => "WindowsNodeConfig default does not exist.\n".to_owned(),
                };
                print::text(&format!("{CLEAR}{shown}"))?;
            }
            Ok(None) => return Ok(()),
            Err(error) => print::warning(&format!("{error}; trying again")),
        }
    }
}

fn is_ready(config: &WindowsNodeConfig) -> bool {
    let mut conditions = config.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.type_ == READY && condition.status == "True")
}
