//! Every check with its boundary on both sides, and the verdict made of them.

mod addresses;
mod other_networks;
mod pods;
mod table;
mod update;
mod windows;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use wn_api::component::{Component, PerComponent};
use wn_api::node_reasons::{NodeReason as R, Weight};
use wn_api::spec::{NetworkType, TaintMode};
use wn_plan::calico::pools::Offer;
use wn_plan::node::{
    CalicoIpam, ClusterContext, NodeUpdate, Run, State, Table, Verdict, View, node_update, verdict,
};
use wn_plan::observed::{BlockFacts, NodeFacts, Observed, PodFacts, SandboxFailure, Trouble};
use wn_plan::version::Version;
use wn_plan::workload::kube_proxy::{Group, Members};

use crate::common::*;

const NODE: &str = "win-0";

struct World {
    observed: Observed,
    cluster: ClusterContext,
    before: Option<(R, Timestamp)>,
    now: Timestamp,
}

fn key(name: &str) -> (String, String) {
    (String::new(), name.to_owned())
}

/// A node that works; its pods started at 0, and it is an hour later.
fn works() -> World {
    let mut observed = Observed::default();
    let node = NodeFacts {
        created: Some(at(-1000)),
        boot_id: "1".into(),
        network_up: Some(at(1)),
        max_pods: Some(60),
        ..windows_node()
    };
    observed.nodes.insert(NODE.into(), node);
    set_up(&mut observed, NODE, 0);
    for component in [Component::NodeAgent, Component::KubeProxy] {
        let pod = PodFacts {
            ready: true,
            created: Some(at(-10)),
            turned: Some(at(0)),
            started: Some(at(0)),
            ..pod(component, NODE)
        };
        let pod = match component {
            Component::NodeAgent => PodFacts {
                startup: Some(at(0)),
                vni: Some(4096),
                ..pod
            },
            _ => pod,
        };
        observed.pods.insert(key(&format!("{component:?}")), pod);
    }
    let run = Run {
        ours: true,
        blocked: None,
        created: Some(at(-900)),
    };
    World {
        observed,
        cluster: ClusterContext {
            network: NetworkType::CalicoVxlan,
            ipam: wn_api::spec::Ipam::CalicoIpam,
            node_selector: [].into(),
            components: PerComponent::new(|component| match component {
                Component::NetworkAgent => Run::default(),
                Component::NodeAgent | Component::KubeProxy => run.clone(),
            }),
            kubernetes: Some(Version::new(1, 36, 3)),
            groups: vec![Group {
                members: Members::Rest,
                version: Version::new(1, 36, 3),
                dsr: true,
            }],
            theirs: None,
            policy: true,
            vni: 4096,
            felix_vni: Some(4096),
            calico_ipam: Some(CalicoIpam {
                lax: false,
                pools: vec![offer("all()", true)],
            }),
            own_vnis: [].into(),
            cni_dirs: ("/opt/cni/bin".into(), "/etc/cni/net.d".into()),
        },
        before: None,
        now: at(3600),
    }
}

fn offer(selector: &str, fits: bool) -> Offer {
    Offer {
        selector: selector.into(),
        fits,
    }
}

impl World {
    fn ipam(self, change: impl FnOnce(&mut CalicoIpam)) -> Self {
        self.cluster(|s| change(s.calico_ipam.as_mut().unwrap()))
    }

    fn without_block(mut self) -> Self {
        self.observed.calico.blocks = Default::default();
        self.observed.calico.affinities = Default::default();
        self
    }

    fn node(mut self, change: impl FnOnce(&mut NodeFacts)) -> Self {
        change(self.observed.nodes.get_mut(NODE).unwrap());
        self
    }

    fn pod(mut self, component: Component, change: impl FnOnce(&mut PodFacts)) -> Self {
        let mut pod = self
            .observed
            .pods
            .remove(&key(&format!("{component:?}")))
            .unwrap();
        change(&mut pod);
        self.observed.pods.insert(key(&format!("{component:?}")), pod);
        self
    }

    fn block(mut self, change: impl FnOnce(&mut BlockFacts)) -> Self {
        let mut block = self.observed.calico.blocks.remove(&key(NODE)).unwrap();
        change(&mut block);
        self.observed.calico.blocks.insert(key(NODE), block);
        self
    }

    fn cluster(mut self, change: impl FnOnce(&mut ClusterContext)) -> Self {
        change(&mut self.cluster);
        self
    }

    fn at(mut self, seconds: i64) -> Self {
        self.now = at(seconds);
        self
    }

    fn fails(mut self, message: &str, last: i64) -> Self {
        let failure = SandboxFailure {
            node: NODE.into(),
            pod: "default/web".into(),
            uid: "u".into(),
            message: message.into(),
            last: at(last),
        };
        self.observed.failures.insert(key(message), failure);
        self
    }

    fn verdict(&self) -> Verdict {
        let node = &self.observed.nodes[NODE];
        verdict(&View::of(
            NODE,
            node,
            &self.observed,
            &self.cluster,
            self.before,
            self.now,
        ))
    }

    /// State, and every reason by rank.
    fn found(&self) -> (State, Vec<R>) {
        let verdict = self.verdict();
        (verdict.state, verdict.findings.iter().map(|f| f.reason).collect())
    }
}

#[test]
fn a_node_that_works_is_ready() {
    assert_eq!(works().found(), (State::Ready, vec![]));
}

/// A cause that is not known does not hide one that is.
#[test]
fn failures_come_before_what_is_unknown() {
    let node = works()
        .node(|n| n.kernel_version = "10.0.29000.1".into())
        .block(|b| b.exhausted = true);
    assert_eq!(
        node.found(),
        (State::Failing, vec![R::BlockExhausted, R::OSBuildUnknown])
    );
}

fn trouble(reason: &str, message: &str) -> Option<Box<Trouble>> {
    Some(Box::new(Trouble {
        container: "node".into(),
        reason: reason.into(),
        message: message.into(),
    }))
}

/// Judges, and writes down on the Node what is to be remembered there.
fn remembered(world: World) -> World {
    let made = world.verdict().network_made;
    world.node(|n| n.network_made = made)
}

fn judged(world: &World, table: &mut Table) -> Option<(State, Option<R>)> {
    table.judge(NODE, &world.observed, &world.cluster, world.now);
    table.get(NODE).map(|e| (e.state, e.reason))
}

fn update_of(world: &World, mode: TaintMode) -> NodeUpdate {
    let node = &world.observed.nodes[NODE];
    node_update(mode, None, node, &world.verdict(), world.now, world.now)
}

fn saying(world: World) -> World {
    let world = remembered(world);
    let condition = update_of(&world, TaintMode::None).condition.map(Box::new);
    world.node(|n| n.condition = condition)
}

/// A node that flannel networks: without a block, a tunnel or anything else of Calico's.
fn on_flannel() -> World {
    let mut world = works().cluster(|s| {
        s.network = NetworkType::FlannelVxlan;
        s.components[Component::NetworkAgent] = std::mem::take(&mut s.components[Component::NodeAgent]);
    });
    world.observed.calico.blocks = wn_plan::observed::NodeIndex::default();
    world.observed.calico.affinities = wn_plan::observed::NodeIndex::default();
    let mut agent = world.observed.pods.remove(&key("NodeAgent")).unwrap();
    agent.component = Component::NetworkAgent;
    world.observed.pods.insert(key("NetworkAgent"), agent);
    world.node(|n| {
        n.tunnel_address = String::new();
        n.tunnel_mac = String::new();
        n.bgp_address = String::new();
        n.pod_cidr = "10.244.1.0/24".parse().ok();
    })
}

fn crash(pod: &mut PodFacts, words: &str) {
    pod.ready = false;
    pod.trouble = Some(Box::new(Trouble {
        container: "c".into(),
        reason: "CrashLoopBackOff".into(),
        message: words.into(),
    }));
}
