//! What Windows nodes need of flannel's `net-conf.json`.

use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::flannel::{CONFIG_MAP, NAMESPACE, NET_CONF_KEY};
use wn_api::names::{MIN_VXLAN_VNI, VXLAN_PORT};
use wn_api::reasons::Reason;
use wn_api::spec::{Policy, WhenInUse, WindowsNodeConfigSpec};
use wn_api::status::Original;

use crate::field::{Desired, FieldId, is_met};
use crate::finding::Finding;
use crate::finding::names_of;
use crate::json_text;
use crate::observed::flannel::TEXT;
use crate::observed::{ConfigObject, Observed};

const KIND: ConfigKind = ConfigKind::FlannelConfiguration;
const VNI: &str = "Backend.VNI";
const PORT: &str = "Backend.Port";
/// What has to be done for a changed `net-conf.json` to count, and what it costs.
const RESTART: &str = "kubectl -n kube-flannel rollout restart ds/kube-flannel-ds";

/// flannel's backends on Windows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backend {
    /// `host-gw`: routes between nodes on one layer 2 network.
    HostGateway,
    /// `vxlan`: an overlay.
    Vxlan,
}

impl Backend {
    const fn as_str(self) -> &'static str {
        match self {
            Self::HostGateway => "host-gw",
            Self::Vxlan => "vxlan",
        }
    }
}

fn object(observed: &Observed) -> Option<&ConfigObject> {
    observed.flannel.as_ref()
}

fn find(reason: Reason, what: &str) -> Option<Finding> {
    Some(Finding {
        reason,
        message: format!("ConfigMap {NAMESPACE}/{CONFIG_MAP} {what}"),
    })
}

/// Why flannel cannot network Windows nodes, whatever we set.
pub fn unfit(backend: Backend, observed: &Observed) -> Option<Finding> {
    let Some(object) = object(observed) else {
        let what =
            "does not exist: install flannel with its own manifest or chart, which create it under this name";
        return find(Reason::InputMissing, what);
    };
    let found = object.text("Backend.Type");
    if !object.spec.contains_key("Backend.Type") {
        let what = format!("{NET_CONF_KEY} is not JSON with Backend.Type: correct it");
        return find(Reason::InputInvalid, &what);
    }
    if !found.eq_ignore_ascii_case(backend.as_str()) {
        let other = match backend {
            Backend::HostGateway => "FlannelVXLAN",
            Backend::Vxlan => "FlannelHostGateway",
        };
        let what = format!(
            "{NET_CONF_KEY} Backend.Type is {found}, spec.network.type needs {}: set spec.network.type to {other} if that is what Linux \
             nodes use, or change flannel's backend",
            backend.as_str()
        );
        return find(Reason::InputInvalid, &what);
    }
    if object.text("Network").parse::<ipnet::Ipv4Net>().is_err() {
        let what =
            format!("{NET_CONF_KEY} Network is not an IPv4 range: set one, because Windows nodes need it");
        return find(Reason::InputInvalid, &what);
    }
    None
}

/// Linux nodes then route some traffic without VXLAN, which Windows nodes do not take (flannel
/// `pkg/backend/vxlan/vxlan_windows.go` has no such mode).
pub fn direct_routing(observed: &Observed) -> Option<Finding> {
    object(observed)?.is_true("Backend.DirectRouting").then_some(())?;
    let what = format!(
        "{NET_CONF_KEY} Backend.DirectRouting is true, which Windows nodes do not support: set it to false, then {RESTART}"
    );
    find(Reason::InputInvalid, &what)
}

/// Windows takes a VNI of 4096 and more, and port 4789, only (`vxlan_windows.go`); flannel's defaults for Linux are 1
/// and 8472.
pub fn desired(observed: &Observed) -> Vec<Desired> {
    if unfit(Backend::Vxlan, observed).is_some() {
        return Vec::new();
    }
    let field = |field: &str, value: i64| Desired {
        id: FieldId {
            kind: KIND,
            name: CONFIG_MAP.to_owned(),
            field: field.to_owned(),
        },
        value: json!(value),
    };
    vec![field(VNI, vni(observed)), field(PORT, VXLAN_PORT.into())]
}

/// The one we set before, so that a change by hand is drift and not a new choice; else the cluster's if Windows can use
/// it; else the lowest Windows can use.
pub fn vni(observed: &Observed) -> i64 {
    let usable = |vni: &i64| *vni >= i64::from(MIN_VXLAN_VNI);
    let set = original(&observed.originals(), VNI).and_then(|o| o.applied.as_i64());
    let found = || object(observed)?.spec.get(VNI)?.as_i64();
    set.filter(usable)
        .or_else(|| found().filter(usable))
        .unwrap_or_else(|| MIN_VXLAN_VNI.into())
}

fn original(all: &[Original], field: &str) -> Option<Original> {
    all.iter().find(|o| o.kind == KIND && o.field == field).cloned()
}

/// Holds a first change back while Linux nodes use the network: theirs would break when flannel next starts there.
pub fn held(spec: &WindowsNodeConfigSpec, observed: &Observed, fields: &[Desired]) -> Option<Finding> {
    let encapsulation = &spec.calico.encapsulation;
    let originals = observed.originals();
    let ours = |d: &Desired| originals.iter().any(|o| d.id.is_of(o) && o.applied == d.value);
    let current = object(observed)?;
    let differing: Vec<_> = fields
        .iter()
        .filter(|d| !is_met(d, current.spec.get(&d.id.field)))
        .collect();
    let hold = encapsulation.policy == Policy::Enforce && encapsulation.when_in_use == WhenInUse::Hold;
    if !hold || observed.linux.is_empty() || differing.iter().all(|d| ours(d)) {
        return None;
    }
    let wanted: Vec<_> = differing
        .iter()
        .map(|d| format!("{}: {}", d.id.field, d.value))
        .collect();
    let what = format!(
        "{NET_CONF_KEY} is used by Linux nodes, whose traffic a change would interrupt; waiting to set {}: set \
         spec.calico.encapsulation.whenInUse to Migrate to allow it, and then {RESTART}",
        wanted.join(", ")
    );
    find(Reason::NetworkInUse, &what)
}

/// Linux nodes on which flannel still works with another VNI, by what it says itself on the Node.
pub fn not_restarted(observed: &Observed) -> Option<Finding> {
    let wanted = vni(observed);
    (object(observed)?.spec.get(VNI)?.as_i64()? == wanted).then_some(())?;
    let old = |n: &Option<i64>| n.is_some_and(|vni| vni != wanted);
    let nodes = names_of(
        observed
            .linux
            .iter()
            .filter(|(_, n)| old(&n.flannel_vni))
            .map(|(name, _)| name.as_str()),
    );
    (!nodes.is_empty()).then(|| Finding {
        reason: Reason::RestartNeeded,
        message: format!(
            "flannel on Linux node {nodes} uses another VNI than {wanted} (annotation flannel.alpha.coreos.com/backend-data) and does \
             not reach Windows nodes until it restarts: {RESTART}"
        ),
    })
}

/// A note while a change of the operator is in effect: older releases of flannel do not announce the VNI they use.
pub fn changed(observed: &Observed) -> Option<String> {
    let held = observed.originals();
    let changed = |field| original(&held, field).is_some_and(|o| o.previous.as_ref() != Some(&o.applied));
    (changed(VNI) || changed(PORT)).then(|| {
        format!(
            "ConfigMap {NAMESPACE}/{CONFIG_MAP} was changed; Linux nodes use the change after flannel has restarted there: {RESTART}"
        )
    })
}

/// `net-conf.json` as flannel on Windows nodes reads it: the cluster's, with the values Windows needs and the name of the
/// HNS network stated. `None` when there is nothing to start from.
pub fn effective(backend: Backend, observed: &Observed, hns_network: &str) -> Option<String> {
    if unfit(backend, observed).is_some() {
        return None;
    }
    let text = object(observed)?.text(TEXT);
    let named = json_text::with(text, "Backend.Name", Some(&json!(hns_network)), "")?;
    let set = |text: String, d: &Desired| json_text::with(&text, &d.id.field, Some(&d.value), "");
    let text = match backend {
        Backend::HostGateway => named,
        Backend::Vxlan => desired(observed).iter().try_fold(named, set)?,
    };
    // Rendered from the parsed value, so that spaces and the order of names roll no pods.
    let conf: Value = serde_json::from_str(&text).ok()?;
    Some(format!("{conf:#}\n"))
}

/// The cluster's pod network.
pub fn pod_network(observed: &Observed) -> String {
    object(observed).map_or("", |o| o.text("Network")).to_owned()
}
