//! An upgrade to another image and a reboot of the node, while somebody changes what the operator set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wn_e2e::calico_fields::IPAM;
use wn_e2e::objects::text;
use wn_e2e::test_cluster::minimal;

use super::Real;

/// From a change to its repair while replicas are replaced. A replica that ends hands its lease over, which takes a fraction of a second; the
/// rest is for a machine that is busy with other tests. A lease that nobody handed over would expire 9 s after its last holder's end at the
/// earliest: it lasts 12 s and is renewed every 3 s.
const HANDOVER: Duration = Duration::from_secs(9);
/// Between two changes.
const PAUSE: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_leaves_no_gap_and_a_reboot_is_survived() -> Result<()> {
    let Some(mut real) = Real::start("real_node_upgrade").await? else {
        return Ok(());
    };
    real.test.apply(minimal("CalicoVXLAN")).await?;
    real.test.ready().await?;

    let other = real.images.other_value();
    let upgraded = async {
        real.upgrade(&other).await?;
        real.rolled_out().await
    };
    let longest = repairs_until(&real, upgraded).await?;
    println!("longest time from a change to its repair during the upgrade: {longest:?}");
    ensure!(longest < HANDOVER, "a repair took {longest:?}");
    let digest = other.trim_start_matches("image.digest=");
    for pod in real.pods().await? {
        let image = text(&pod, "/status/containerStatuses/0/imageID");
        ensure!(image.ends_with(digest), "{image} is not {digest}");
    }

    let began = Instant::now();
    real.node.reboot().await?;
    repair(&real, 0).await.with_context(|| real.node.logs())?;
    println!("first repair {:?} after the reboot began", began.elapsed());
    real.rolled_out().await?;
    real.test.delete_and_wait().await
}

/// Changes and waits for the repair, again and again until `upgraded` has ended, and once more. The longest time of a repair.
async fn repairs_until(real: &Real, upgraded: impl Future<Output = Result<()>>) -> Result<Duration> {
    let ended = AtomicBool::new(false);
    let upgrade = async {
        let result = upgraded.await;
        ended.store(true, Ordering::Relaxed);
        result
    };
    let repairs = async {
        let mut longest = Duration::ZERO;
        for round in 0_u32.. {
            let last = ended.load(Ordering::Relaxed);
            longest = longest.max(repair(real, round).await?);
            if last {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(longest)
    };
    let ((), longest) = tokio::try_join!(upgrade, repairs)?;
    Ok(longest)
}

/// The time of one repair.
async fn repair(real: &Real, round: u32) -> Result<Duration> {
    // A changed spec has the operator forget how often a field was reverted; this field changes nothing else.
    let policy = if round.is_multiple_of(2) {
        "Retain"
    } else {
        "Restore"
    };
    real.test
        .apply(json!({"network": {"type": "CalicoVXLAN"}, "deletionPolicy": policy}))
        .await?;
    let began = Instant::now();
    real.test
        .edit(IPAM, "default", json!({"strictAffinity": false}), "kubectl-edit")
        .await?;
    real.test
        .field(IPAM, "default", "strictAffinity", json!(true))
        .await?;
    Ok(began.elapsed())
}
