//! `spec.nodeAgent`: variables that contradict what the operator sets.

use wn_api::spec::NodeAgent;

use super::Violation;
use crate::workload::node_agent::MANAGED_ENV;

/// Names of variables are case-insensitive on Windows.
pub fn violations(spec: &NodeAgent) -> Vec<Violation> {
    let mut found = Vec::new();
    for (i, variable) in spec.env.iter().enumerate() {
        let name = &variable.name;
        let path = format!("spec.nodeAgent.env[{i}].name");
        let twice = spec.env[..i]
            .iter()
            .any(|other| other.name.eq_ignore_ascii_case(name));
        if let Some(managed) = MANAGED_ENV
            .iter()
            .find(|managed| managed.eq_ignore_ascii_case(name))
        {
            let message = format!("{managed} is set by the operator: remove it{}", instead(managed));
            found.push(Violation::new(path, message));
        } else if twice {
            found.push(Violation::new(path, format!("{name} is given twice")));
        }
    }
    found
}

/// The field of the spec for the same setting.
fn instead(name: &str) -> &'static str {
    match name {
        "FELIX_LOGSEVERITYSCREEN" | "CALICO_STARTUP_LOGLEVEL" | "BGP_LOGSEVERITYSCREEN" => {
            " and use spec.nodeAgent.logLevel"
        }
        "VXLAN_VNI" | "FELIX_VXLANVNI" => " and use spec.calico.vxlan.vni",
        "VXLAN_ADAPTER" => " and use spec.nodeAgent.vxlanAdapter",
        "KUBERNETES_SERVICE_HOST" | "KUBERNETES_SERVICE_PORT" => " and use spec.network.apiServer",
        "CNI_IPAM_TYPE" | "USE_POD_CIDR" => " and use spec.network.ipam",
        _ => "",
    }
}
