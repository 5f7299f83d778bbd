//! A round in which one write is refused for as long as the round lasts: how often is it tried?

use std::time::Duration;

use anyhow::{Result, ensure};
use fastrand::Rng;

use super::environment::Environment;
use super::proxy::Refused;
use super::report::Report;
use super::user;

const PATHS: [&str; 5] = [
    "/daemonsets/kube-proxy-windows",
    "/windowsnodeconfigs/default/status",
    "/ippools/default-ipv4-ippool",
    "/felixconfigurations/default",
    "/nodes/windows-0/status",
];
const CODES: [u16; 4] = [403, 422, 500, 409];
/// After this time of failing, requests must be rare.
const SETTLED: Duration = Duration::from_secs(30);
const COUNTED: Duration = Duration::from_secs(10);
/// At most one request a second.
const MOST: usize = 10;

pub async fn run(environment: &mut Environment, rng: &mut Rng, report: &mut Report) -> Result<()> {
    let refused = Refused {
        path_ends: rng.choice(PATHS).unwrap_or(PATHS[0]),
        code: rng.choice(CODES).unwrap_or(CODES[0]),
    };
    environment.refuse(refused);
    let spec = user::target(environment, rng);
    environment.note(format!("{refused:?}; the user applies {spec}"));
    environment.test.apply(spec).await?;
    tokio::time::sleep(SETTLED).await;
    let before = refused_writes(environment);
    tokio::time::sleep(COUNTED).await;
    let tried = refused_writes(environment);
    environment.note(format!(
        "{before} requests in {SETTLED:?}, {tried} in {COUNTED:?}"
    ));
    ensure!(
        tried <= MOST,
        "{refused:?}: {tried} requests in {COUNTED:?} after {SETTLED:?}, at most {MOST}"
    );
    report.refusal(before, tried);
    Ok(())
}

fn refused_writes(environment: &Environment) -> usize {
    let writes = environment.take_writes();
    writes.into_iter().flatten().filter(|w| w.refused).count()
}
