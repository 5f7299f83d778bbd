//! Logs.

use anyhow::{Context as _, ensure};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::settings::LogFormat;

/// Starts logging. `level`: a level, and levels of single modules, for example `info,wn_runtime::watch=debug`.
///
/// # Errors
/// If `level` is not that.
pub fn init(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = filter(level).with_context(|| {
        format!(
            "--log-level {level:?} is not valid: write off, error, warn, info, debug or trace, and MODULE=LEVEL for single modules, for \
             example info,wn_runtime=debug"
        )
    })?;
    let logs = layer().with_writer(std::io::stderr);
    let logs = match format {
        LogFormat::Text => logs.with_ansi(false).boxed(),
        LogFormat::Json => logs.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(logs.with_filter(filter))
        .init();
    Ok(())
}

/// A word alone must be a level: as a module it would switch everything else off.
fn filter(text: &str) -> anyhow::Result<Targets> {
    for level in text.split(',').filter(|part| !part.contains('=')) {
        ensure!(!level.is_empty(), "a level is missing");
        level.parse::<LevelFilter>()?;
    }
    Ok(text.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn a_level_and_levels_of_modules() {
        let found = filter("info,wn_runtime::watch=debug").unwrap();
        assert!(found.would_enable("kube", &Level::INFO) && !found.would_enable("kube", &Level::DEBUG));
        assert!(found.would_enable("wn_runtime::watch::feed", &Level::DEBUG));
        for wrong in ["verbose", "", "info,", "info,kube", "kube=loud"] {
            assert!(filter(wrong).is_err(), "{wrong:?}");
        }
    }
}
