//! The questions: what a release does with what the operator renders, on a node where all is right, and when
//! something happens to HNS under it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::expected;
use super::fixture::{Dsr, Fixture, Network};
use super::programmed::Programmed;
use super::run::Run;
use crate::hns::{Hns, HnsError, Kind, WindowsBuild};
use crate::windows::{KubeProxy, Release, Rendered};

/// Ten seconds of an overlay, and those of a loaded machine.
const STARTED: Duration = Duration::from_secs(60);
/// kube-proxy looks at everything again every 30 s (`--iptables-sync-period`, which winkernel takes).
const NEXT_SYNC: Duration = Duration::from_secs(40);
/// The first look finds that the network is another one, the second programs it.
const TWO_SYNCS: Duration = Duration::from_secs(80);
/// How long HNS is away when its service is restarted.
const RESTART: Duration = Duration::from_secs(5);
/// Health fails when a change has not been programmed for two periods (`pkg/proxy/healthcheck`).
const UNHEALTHY: Duration = Duration::from_secs(90);

/// A release in a fixture.
pub struct Ground<'a> {
    pub fixture: &'a Fixture,
    pub release: &'a Release,
    pub program: &'a Path,
}

pub struct Case {
    pub name: &'static str,
    pub network: Network,
    /// What must come out; nothing where that is kube-proxy's own affair.
    pub goal: &'static str,
    /// kube-proxy's own periods have to pass.
    pub slow: bool,
    ask: for<'a> fn(&'a Ground<'a>) -> LocalBoxFuture<'a, Result<String>>,
}

impl Case {
    /// What was found; an error where it is not what it must be.
    pub async fn ask(&self, ground: &Ground<'_>) -> Result<String> {
        let found = (self.ask)(ground).await?;
        ensure!(
            self.goal.is_empty() || found == self.goal,
            "{found}, not {}",
            self.goal
        );
        Ok(found)
    }
}

pub const CASES: &[Case] = &[
    Case {
        name: "our arguments, VXLAN",
        network: Network::Vxlan,
        goal: "15 load balancers, 12 DSR",
        slow: false,
        ask: |ground| rendered_as_is(ground, Dsr::Auto).boxed_local(),
    },
    Case {
        name: "our arguments, BGP",
        network: Network::Bgp,
        goal: "15 load balancers, 12 DSR",
        slow: false,
        ask: |ground| rendered_as_is(ground, Dsr::Auto).boxed_local(),
    },
    Case {
        name: "dsr: Disabled",
        network: Network::Bgp,
        goal: "15 load balancers, 2 DSR",
        slow: false,
        ask: |ground| rendered_as_is(ground, Dsr::Disabled).boxed_local(),
    },
    Case {
        name: "a pod goes, Server 2022",
        network: Network::Bgp,
        goal: "",
        slow: false,
        ask: |ground| pod_goes(ground, WindowsBuild::Server2022).boxed_local(),
    },
    Case {
        name: "a pod goes, Server 2025",
        network: Network::Bgp,
        goal: "",
        slow: false,
        ask: |ground| pod_goes(ground, WindowsBuild::Server2025).boxed_local(),
    },
    Case {
        name: "somebody removes a load balancer",
        network: Network::Bgp,
        goal: "",
        slow: true,
        ask: |ground| load_balancer_lost(ground).boxed_local(),
    },
    Case {
        name: "HNS stops while a pod goes",
        network: Network::Bgp,
        goal: "",
        slow: true,
        ask: |ground| hns_stops(ground).boxed_local(),
    },
    Case {
        name: "the HNS network is made again",
        network: Network::Vxlan,
        goal: "",
        slow: true,
        ask: |ground| network_again(ground).boxed_local(),
    },
];

impl Ground<'_> {
    fn run<'b>(&'b self, hns: &'b Hns, rendered: &'b Rendered) -> Run<'b> {
        Run {
            fixture: self.fixture,
            program: self.program,
            hns,
            rendered,
            edit: |arguments| arguments,
        }
    }

    fn programmed(&self, hns: &Hns) -> Programmed {
        Programmed::read(hns, &self.fixture.services)
    }

    async fn programs_all(&self, hns: &Hns, proxy: &mut KubeProxy) -> Result<()> {
        let all = expected::count();
        let look = async || (self.programmed(hns).all.len() >= all).then_some(());
        proxy.until(&format!("{all} load balancers"), STARTED, look).await
    }

    /// Started beside others, everything programmed.
    async fn beside(&self, build: WindowsBuild) -> Result<(Hns, KubeProxy)> {
        let rendered = self.fixture.rendered(self.release, Dsr::Auto).await?;
        let hns = self.fixture.hns(build).await?;
        let mut proxy = self.run(&hns, &rendered).start_beside()?;
        self.programs_all(&hns, &mut proxy).await?;
        Ok((hns, proxy))
    }
}

async fn rendered_as_is(ground: &Ground<'_>, dsr: Dsr) -> Result<String> {
    let rendered = ground.fixture.rendered(ground.release, dsr).await?;
    let hns = ground.fixture.hns(WindowsBuild::Server2022).await?;
    let mut proxy = ground.run(&hns, &rendered).start().await?;
    ground.programs_all(&hns, &mut proxy).await?;
    let programmed = ground.programmed(&hns);
    expected::check(&programmed, ground.fixture, dsr)?;
    // Up to 1.32 the gate has to be named; from then on no message may mention one.
    let mentioned = proxy.log().contains("feature gate");
    ensure!(!mentioned, "kube-proxy mentions feature gates:\n{}", proxy.log());
    let health = (
        KubeProxy::health("/healthz").await,
        KubeProxy::health("/livez").await,
    );
    ensure!(
        health == (Some(200), Some(200)),
        "healthz and livez are {health:?}"
    );
    let dsr = programmed
        .all
        .values()
        .filter(|one| one.load_balancer.is_dsr())
        .count();
    Ok(format!("{} load balancers, {dsr} DSR", programmed.all.len()))
}

/// One Service for each that happens at the same time.
const SHRINKS: &str = "cluster-ip";
const SHRINKS_UNSEEN: &str = "node-port";
const LOST: &str = "session-affinity clusterIP";

async fn pod_goes(ground: &Ground<'_>, build: WindowsBuild) -> Result<String> {
    let (hns, mut proxy) = ground.beside(build).await?;
    let before = hns.calls().len();
    let gone = ground
        .fixture
        .services
        .without_remote_pod(&ground.fixture.test, SHRINKS)
        .await?;
    proxy
        .until("the load balancer follows", STARTED, async || {
            without_remote(ground, &hns, SHRINKS)
        })
        .await?;
    gone.back(&ground.fixture.test).await?;
    let calls = hns.calls();
    let of = |name: &str| {
        calls[before..]
            .iter()
            .any(|(call, error)| call == name && error.is_none())
    };
    Ok(if of("HcnModifyLoadBalancer") {
        "modified in place"
    } else {
        "removed and created again"
    }
    .to_owned())
}

fn without_remote(ground: &Ground<'_>, hns: &Hns, service: &str) -> Option<()> {
    let programmed = ground.programmed(hns);
    let balancer = programmed.get(&format!("{service} clusterIP"))?;
    (balancer.remote.is_empty() && !balancer.local.is_empty()).then_some(())
}

async fn load_balancer_lost(ground: &Ground<'_>) -> Result<String> {
    let (hns, mut proxy) = ground.beside(WindowsBuild::Server2022).await?;
    let lost = ground
        .programmed(&hns)
        .get(LOST)
        .map(|one| one.load_balancer.id.clone());
    hns.delete(Kind::LoadBalancer, &lost.unwrap_or_default())?;
    let back = async || ground.programmed(&hns).get(LOST).map(drop);
    let found = proxy.found_within(NEXT_SYNC, back).await?;
    Ok(if found { "made again" } else { "stays away" }.to_owned())
}

/// HNS keeps its load balancers; kube-proxy must not take silence for their absence (kubernetes#139519).
async fn hns_stops(ground: &Ground<'_>) -> Result<String> {
    let (hns, mut proxy) = ground.beside(WindowsBuild::Server2022).await?;
    hns.fail("H", HnsError::ServerUnavailable);
    let before = hns.calls().len();
    let gone = ground
        .fixture
        .services
        .without_remote_pod(&ground.fixture.test, SHRINKS_UNSEEN)
        .await?;
    proxy
        .until("kube-proxy asks HNS", NEXT_SYNC, async || {
            (hns.calls().len() > before).then_some(())
        })
        .await?;
    tokio::time::sleep(RESTART).await;
    hns.repair();
    let found = proxy
        .found_within(TWO_SYNCS, async || without_remote(ground, &hns, SHRINKS_UNSEEN))
        .await?;
    gone.back(&ground.fixture.test).await?;
    let refused = hns
        .calls()
        .iter()
        .any(|(_, error)| *error == Some(HnsError::AlreadyExists));
    Ok(match (found, refused) {
        (true, false) => "follows",
        (true, true) => "follows after 0xb7",
        (false, true) => "0xb7, keeps the old pods",
        (false, false) => "keeps the old pods",
    }
    .to_owned())
}

/// What a reboot of the agent, or a change of the node's address, does to a kube-proxy that runs on.
async fn network_again(ground: &Ground<'_>) -> Result<String> {
    let rendered = ground.fixture.rendered(ground.release, Dsr::Auto).await?;
    let hns = ground.fixture.hns(WindowsBuild::Server2022).await?;
    let mut proxy = ground.run(&hns, &rendered).start().await?;
    ground.programs_all(&hns, &mut proxy).await?;
    hns.remove_network("Calico")?;
    tokio::time::sleep(NEXT_SYNC).await;
    let silent = KubeProxy::health("/livez").await;
    let gone = ground
        .fixture
        .services
        .without_remote_pod(&ground.fixture.test, SHRINKS)
        .await?;
    let unhealthy = async || (KubeProxy::health("/livez").await == Some(503)).then_some(());
    let noticed = proxy.found_within(UNHEALTHY, unhealthy).await?;
    gone.back(&ground.fixture.test).await?;
    ground.fixture.make_network(&hns)?;
    let all = async || (ground.programmed(&hns).all.len() >= expected::count()).then_some(());
    let programmed = proxy.found_within(TWO_SYNCS, all).await?;
    Ok(format!(
        "livez {} while nothing changes, {} after a change; {}",
        silent.unwrap_or_default(),
        if noticed { "503" } else { "200" },
        if programmed {
            "programs the new one"
        } else {
            "does not program the new one"
        },
    ))
}
