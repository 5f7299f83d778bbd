//! What works where, as rows of the README's table. The states come from the same code that acts by them.

use std::fmt;

use wn_api::names::{CALICO_MINORS, KUBERNETES_MINORS};
use wn_api::spec::{DatastoreType, NetworkType, Platform, WindowsNodeConfigSpec};

use crate::network;
use crate::network::role::CalicoRole;
use crate::node::builds::{BUILDS, Build, FLOORS, Fit, Need};
use crate::observed::{CalicoObject, InstallationFacts, Observed};
use crate::platform::{Behaviour, Support, behaviour, name};
use crate::standing::{self, Standing};

/// What is done for something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// Done as described, and tested here up to what only a Windows host can show.
    Supported,
    /// Somebody else sets it up; we look whether it fits, and judge the nodes.
    Checked,
    Refused,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Supported => "supported",
            Self::Checked => "checked, not managed",
            Self::Refused => "refused",
        })
    }
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub state: State,
    /// How, or why not.
    pub how: String,
}

fn row(what: impl Into<String>, state: State, how: impl Into<String>) -> Row {
    Row {
        what: what.into(),
        state,
        how: how.into(),
    }
}

/// Every row, in order.
pub fn table() -> Vec<Row> {
    let mut rows = vec![versions()];
    rows.extend(NetworkType::ALL.map(network_type));
    rows.push(host_local());
    rows.extend([DatastoreType::Kubernetes, DatastoreType::Etcd].map(datastore));
    rows.extend(installation());
    rows.extend(Platform::ALL.map(platform));
    rows.extend(builds());
    rows.push(row(
        "IPv6 and dual stack on Windows nodes",
        State::Refused,
        "Calico for Windows does not know them; IPv4 of a dual-stack cluster is supported",
    ));
    rows
}

fn versions() -> Row {
    let minors = (KUBERNETES_MINORS, CALICO_MINORS);
    row(
        format!(
            "Kubernetes 1.{} to 1.{}, Calico v3.{} to v3.{}",
            minors.0.start(),
            minors.0.end(),
            minors.1.start(),
            minors.1.end()
        ),
        State::Supported,
        "another minor of Kubernetes that the chart takes (1.29 and newer) is used and reported as untested",
    )
}

/// Managed where Calico networks the nodes or an agent of ours does; else there is nothing of ours to manage.
fn network_type(type_: NetworkType) -> Row {
    let spec = WindowsNodeConfigSpec::minimal(type_);
    let networks = matches!(network::of(type_).calico(), CalicoRole::Networking(_));
    let state = if networks || standing::network_agent(&spec, &Observed::default()) == Standing::Managed {
        State::Supported
    } else {
        State::Checked
    };
    let how = match type_ {
        NetworkType::CalicoVxlan => "IPAM, pools and Felix are set; BGP on Linux nodes must be off",
        NetworkType::CalicoBgp => {
            "IPAM, pools and Felix are set; one subnet or BGP peers, RemoteAccess on the nodes; not with Calico v3.30.3 to v3.31.4"
        }
        NetworkType::FlannelHostGateway => "nodes on one L2 network; Calico enforces policy on top",
        NetworkType::FlannelVxlan => "VNI 4096, UDP 4789; Calico's policy on top is untested upstream",
        NetworkType::StaticRoutes => {
            "nodes on one L2 network or with routes of the cloud; Calico enforces policy on top"
        }
        NetworkType::CloudProvider => "Azure CNI, Amazon VPC CNI: theirs; Calico enforces policy on top",
    };
    row(format!("`{}`", type_.as_str()), state, how)
}

fn host_local() -> Row {
    row(
        "`ipam: HostLocal` with `CalicoBGP`",
        State::Supported,
        "addresses of the Node's pod CIDR; Calico's IPAM is left alone",
    )
}

/// What of Calico is in its datastore matters to the types it networks; with etcd, others have no use for it.
fn datastore(type_: DatastoreType) -> Row {
    let networks = |t: NetworkType| matches!(network::of(t).calico(), CalicoRole::Networking(_));
    let taken = |t: &NetworkType| type_ == DatastoreType::Kubernetes || networks(*t);
    let all = NetworkType::ALL.iter();
    let (yes, no): (Vec<_>, Vec<_>) = all.partition(|n| taken(n));
    let list = |types: Vec<&NetworkType>| {
        let names: Vec<_> = types.iter().map(|t| format!("`{}`", t.as_str())).collect();
        names.join(", ")
    };
    let how = if no.is_empty() {
        "with every network type".to_owned()
    } else {
        format!("with {}; refused with {}", list(yes), list(no))
    };
    let what = match type_ {
        DatastoreType::Kubernetes => {
            "Calico's datastore: Kubernetes API, `crd.projectcalico.org/v1` or `projectcalico.org/v3`"
        }
        DatastoreType::Etcd => "Calico's datastore: etcd",
    };
    row(what, State::Supported, how)
}

fn installation() -> [Row; 2] {
    let beside = |hns: bool| {
        let facts = InstallationFacts {
            windows_hns: hns,
            ..InstallationFacts::default()
        };
        let observed = Observed {
            installation: Some(facts),
            installation_object: Some(CalicoObject::default()),
            ..Observed::default()
        };
        let agent = standing::node_agent(
            &WindowsNodeConfigSpec::minimal(NetworkType::CalicoVxlan),
            &observed,
        );
        if agent == Standing::Managed {
            "our agent runs"
        } else {
            "its agent stands; Calico's settings, the services-endpoint ConfigMap and kube-proxy are ours"
        }
    };
    [
        row(
            "tigera/operator, `windowsDataplane: HNS`",
            State::Supported,
            beside(true),
        ),
        row(
            "tigera/operator, `windowsDataplane: Disabled`",
            State::Supported,
            beside(false),
        ),
    ]
}

fn platform(platform: Platform) -> Row {
    let Behaviour {
        node_agent,
        kube_proxy,
        support,
    } = behaviour(platform);
    let theirs = match (node_agent, kube_proxy) {
        (true, true) => "its agent and kube-proxy stand; ",
        (true, false) => "its agent stands; ",
        (false, true) => "its kube-proxy stands; ",
        (false, false) => "",
    };
    let (state, how) = match support {
        Support::Full => (State::Supported, format!("{theirs}every network type")),
        Support::PolicyOnly => (
            State::Checked,
            format!(
                "{theirs}`CloudProvider` only: Calico enforces policy{}",
                if platform == Platform::Eks {
                    "; not for production"
                } else {
                    ""
                }
            ),
        ),
        Support::Refused => (
            State::Refused,
            "`Stalled` with the source; `spec.platform.acceptUnsupported: true` goes on all the same"
                .to_owned(),
        ),
    };
    row(format!("platform {}", name(platform)), state, how)
}

fn builds() -> impl Iterator<Item = Row> {
    BUILDS.iter().map(|build| {
        let floors = FLOORS.iter().filter(|f| f.build == build.number);
        let floors = floors.filter_map(|f| {
            let what = match f.need {
                Need::Calico => "all",
                Need::Overlay => "overlay",
                Need::Dsr => "DSR",
                Need::Comfort => return None,
            };
            Some(format!("{what} from {}.{} ({})", f.build, f.ubr, f.kb))
        });
        let floors = floors.collect::<Vec<_>>().join(", ");
        let (state, how) = match build.fit {
            Fit::Good if floors.is_empty() => (State::Supported, "every patch level".to_owned() + yet(build)),
            Fit::Good => (State::Supported, floors + yet(build)),
            Fit::EndOfLife => (State::Supported, "end of life: each node says so".to_owned()),
            Fit::Unfit => (State::Refused, "each node says so".to_owned()),
        };
        row(format!("{} ({})", build.name, build.number), state, how)
    })
}

/// Calico's images are built for Windows Server 2019 and 2022, and HostProcess containers run elsewhere.
const fn yet(build: &Build) -> &'static str {
    if build.calico {
        ""
    } else {
        "; not supported by Calico: each node says so"
    }
}
