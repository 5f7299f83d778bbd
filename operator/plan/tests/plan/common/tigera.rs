//! A cluster whose Calico is of tigera/operator.

use serde_json::json;
use wn_api::calico::DEFAULT;
use wn_api::names::{node_agent, tigera};
use wn_api::spec::NetworkType;
use wn_plan::observed::DaemonSetFacts;

use super::{Cluster, DEFAULT_POOL, INSTALLATION, POOL};

/// tigera/operator's field manager: the name of its binary.
pub const OPERATOR: &str = "operator";

/// What `custom-resources.yaml` leaves once tigera/operator has filled in its defaults.
pub fn tigera_fresh(network: NetworkType) -> Cluster {
    let mut cluster = Cluster::fresh(network);
    let pool = json!({
        "name": DEFAULT_POOL, "blockSize": 26, "cidr": "10.244.0.0/16", "encapsulation": "VXLANCrossSubnet",
        "natOutgoing": "Enabled", "nodeSelector": "all()",
    });
    cluster.update(
        INSTALLATION,
        DEFAULT,
        "kubectl-create",
        json!({"calicoNetwork": {"ipPools": [pool]}}),
    );
    cluster.update(
        INSTALLATION,
        DEFAULT,
        OPERATOR,
        json!({"calicoNetwork": {"bgp": "Enabled", "windowsDataplane": "Disabled"}, "cni": {"type": "Calico", "ipam": {"type": "Calico"}}}),
    );
    cluster
        .store
        .set_status(INSTALLATION, DEFAULT, json!({"conditions": [{"type": "Ready"}]}));
    cluster.update(
        POOL,
        DEFAULT_POOL,
        OPERATOR,
        json!({"ipipMode": "Never", "vxlanMode": "CrossSubnet"}),
    );
    cluster.manage_by_tigera(DEFAULT_POOL);
    cluster
}

pub fn their_key() -> (String, String) {
    (
        tigera::CALICO_NAMESPACE.to_owned(),
        node_agent::DAEMON_SET.to_owned(),
    )
}

/// tigera/operator renders its DaemonSet.
pub fn render_theirs(cluster: &mut Cluster, ready: i32) {
    let facts = DaemonSetFacts::read(&json!({
        "metadata": {"generation": 1, "ownerReferences": [{"kind": "Installation", "name": "default"}]},
        "spec": {"template": {"spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [{"name": "felix", "image": "quay.io/calico/node-windows:v3.32.1"}],
        }}},
        "status": {"observedGeneration": 1, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": ready},
    }));
    cluster.observed.daemon_sets.insert(their_key(), facts.unwrap());
}
