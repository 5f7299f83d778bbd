//! What stops tigera/operator, and what of it stays behind.

use serde_json::Value;
use wn_api::calico::ConfigKind;
use wn_api::names::{node_agent, tigera};

use super::agent_owner::{hns, installation_object, is_theirs, set_by_us};
use super::spelling::filled_in;
use crate::finding::names_of;
use crate::observed::tigera::{POOLS, WINDOWS_NODES};
use crate::observed::{ConfigObject, Observed};

/// What TigeraStatus `calico` says while tigera/operator refuses the Installation, and reconciles nothing of Calico.
pub fn refused(observed: &Observed) -> Option<String> {
    let status = observed.tigera_statuses.get(tigera::STATUS)?;
    let mut conditions = status.conditions.iter();
    conditions
        .any(|(type_, reason, _)| type_ == "Degraded" && reason == tigera::REFUSED)
        .then(|| {
            format!(
                "tigera/operator refuses Installation default and does nothing for Calico until it is changed: TigeraStatus {} is {status}",
                tigera::STATUS
            )
        })
}

/// `spec.windowsNodes` without Windows, for which tigera/operator refuses the Installation
/// (`pkg/controller/installation/validation.go:421-424`). Whoever switches Windows off by hand leaves it behind.
pub fn stray_folders(observed: &Observed) -> Option<String> {
    let set = observed.installation.as_ref()?.windows_nodes;
    (set && !hns(observed)).then(|| format!("Installation default spec.windowsNodes {REMOVE_FOLDERS}"))
}

const REMOVE_FOLDERS: &str = "is set while spec.calicoNetwork.windowsDataplane is Disabled, and tigera/operator refuses the whole \
     Installation for that: remove it with `kubectl patch installation default --type=merge -p '{\"spec\":{\"windowsNodes\":null}}'`";

/// Why there is no IPPool, where those of the Installation are still to be made.
pub fn pools_to_come(observed: &Observed) -> Option<String> {
    let list = installation_object(observed)?.spec.get(POOLS);
    let none_wanted = list.and_then(Value::as_array).is_some_and(Vec::is_empty);
    let mut kinds = observed.calico.objects.keys().map(|(kind, _)| *kind);
    if none_wanted || kinds.any(|kind| kind == ConfigKind::IpPool) {
        return None;
    }
    let why = refused(observed).unwrap_or_else(|| "waits until tigera/operator has created it".to_owned());
    Some(format!(
        "there is no IPPool yet; tigera/operator creates those of Installation default: {why}"
    ))
}

/// Does tigera/operator's agent run on after everything of ours was restored, because somebody else switched it on?
/// It is Degraded without `strictAffinity`, and refuses an Installation that Windows nodes cannot have.
pub fn runs_on(observed: &Observed) -> bool {
    installation_object(observed).is_some_and(|i| hns(observed) && !set_by_us(observed, i))
}

/// What tigera/operator leaves when Windows is switched off, or is stopped by then: a person must remove it.
pub fn left_behind(observed: &Observed) -> Vec<String> {
    if runs_on(observed) {
        return Vec::new();
    }
    let theirs = |hns| {
        observed
            .daemon_sets
            .iter()
            .any(|(key, facts)| is_theirs(key, facts, hns))
    };
    let daemon_set = theirs(hns(observed)).then(|| {
        format!(
            "DaemonSet {namespace}/{name}, which tigera/operator does not remove when windowsDataplane is switched off: when no Windows \
             node needs it, `kubectl delete daemonset -n {namespace} {name}`",
            namespace = tigera::CALICO_NAMESPACE,
            name = node_agent::DAEMON_SET,
        )
    });
    let folders = installation_object(observed).and_then(folders_of_others);
    daemon_set.into_iter().chain(folders).collect()
}

/// Folders that are not tigera/operator's defaults do not go along with `windowsDataplane`.
fn folders_of_others(installation: &ConfigObject) -> Option<String> {
    let owners = installation.owners.get(WINDOWS_NODES)?;
    let others = owners.iter().filter(|o| !filled_in(o));
    let others = names_of(others.map(|o| o.manager.as_str()));
    (!others.is_empty())
        .then(|| format!("Installation default spec.windowsNodes, of {others}: it {REMOVE_FOLDERS}"))
}
