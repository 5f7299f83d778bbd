//! A few rounds of the campaign, always the same ones; `cargo campaign` runs many.

use std::num::NonZeroUsize;

use anyhow::Result;
use wn_e2e::campaign::{CampaignOptions, campaign};

#[tokio::test(flavor = "multi_thread")]
async fn a_few_rounds_end_healthy() -> Result<()> {
    let options = CampaignOptions {
        rounds: 3,
        seed: 1,
        clusters: NonZeroUsize::MIN,
    };
    campaign(&options, &|line| eprintln!("{line}")).await
}
