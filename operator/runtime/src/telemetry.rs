//! Logs.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, Settings};

pub fn init(settings: &Settings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.log_level)
        .with_context(|| format!("--log-level {:?} is not a level or filter", settings.log_level))?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match settings.log_format {
        LogFormat::Text => logs.with_ansi(false).init(),
        LogFormat::Json => logs.json().init(),
    }
    Ok(())
}
