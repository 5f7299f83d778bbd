//! Logs.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::settings::LogFormat;

/// Starts logging.
///
/// # Errors
/// If `level` is not a level or filter.
pub fn init(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("--log-level {level:?} is not a level or filter"))?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => logs.with_ansi(false).init(),
        LogFormat::Json => logs.json().init(),
    }
    Ok(())
}
