//! Facts of a Windows Node.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{items, text};
use crate::version::Version;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    pub labels: BTreeMap<String, String>,
    pub provider_id: String,
    /// `status.nodeInfo.kernelVersion`, e.g. `10.0.20348.3207`.
    pub kernel_version: String,
    pub kubelet_version: String,
    pub container_runtime: String,
    /// `Ready` is True.
    pub ready: bool,
    /// Message of `Ready` while it is not True.
    pub ready_message: String,
    /// `NetworkUnavailable` is True.
    pub network_unavailable: bool,
}

impl NodeFacts {
    pub fn read(node: &Value) -> Self {
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let condition = |wanted: &str| items(node, "/status/conditions").find(|c| text(c, "/type") == wanted);
        let is_true = |c: &Value| text(c, "/status") == "True";
        let ready = condition("Ready");
        Self {
            labels: labels
                .into_iter()
                .flatten()
                .filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
                .collect(),
            provider_id: text(node, "/spec/providerID").to_owned(),
            kernel_version: text(node, "/status/nodeInfo/kernelVersion").to_owned(),
            kubelet_version: text(node, "/status/nodeInfo/kubeletVersion").to_owned(),
            container_runtime: text(node, "/status/nodeInfo/containerRuntimeVersion").to_owned(),
            ready: ready.is_some_and(is_true),
            ready_message: ready
                .filter(|c| !is_true(c))
                .map(|c| text(c, "/message").to_owned())
                .unwrap_or_default(),
            network_unavailable: condition("NetworkUnavailable").is_some_and(is_true),
        }
    }

    pub fn build(&self) -> Option<WindowsBuild> {
        WindowsBuild::parse(&self.kernel_version)
    }

    pub fn kubelet(&self) -> Option<Version> {
        self.kubelet_version.parse().ok()
    }
}

/// `10.0.<build>.<UBR>`; the update build revision tells the patch level within a build.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WindowsBuild {
    pub build: u32,
    /// Missing when only the label `node.kubernetes.io/windows-build` is known.
    pub ubr: Option<u32>,
}

impl WindowsBuild {
    pub fn parse(kernel_version: &str) -> Option<Self> {
        let mut parts = kernel_version
            .strip_prefix("10.0.")?
            .split('.')
            .map(|p| p.parse::<u32>().ok());
        let build = parts.next()??;
        let ubr = parts.next().flatten();
        parts.next().is_none().then_some(Self { build, ubr })
    }

    /// Can HNS of this build do direct server return? 17763 from UBR 1432 (KB4571748), and every build
    /// from 18317 on: Calico `cni-plugin/pkg/install/install_windows.go`, `supportsDSR`.
    /// An unknown patch level counts as able.
    pub fn can_dsr(self) -> bool {
        match self.build {
            17763 => self.ubr.is_none_or(|ubr| ubr >= 1432),
            build => build >= 18317,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("10.0.17763.1431", Some(false))]
    #[case("10.0.17763.1432", Some(true))]
    #[case("10.0.17763", Some(true))]
    #[case("10.0.18316.1", Some(false))]
    #[case("10.0.18317.0", Some(true))]
    #[case("10.0.20348.3207", Some(true))]
    #[case("10.0.14393.5", Some(false))]
    #[case("5.15.0-generic", None)]
    #[case("10.0.x.1", None)]
    #[case("", None)]
    fn dsr_by_build(#[case] kernel: &str, #[case] expected: Option<bool>) {
        assert_eq!(WindowsBuild::parse(kernel).map(WindowsBuild::can_dsr), expected);
    }

    #[test]
    fn heartbeats_do_not_change_the_fact() {
        let node = |beat: &str| {
            serde_json::json!({
                "metadata": {"labels": {"kubernetes.io/os": "windows"}, "resourceVersion": beat},
                "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": beat}]},
            })
        };
        assert_eq!(NodeFacts::read(&node("1")), NodeFacts::read(&node("2")));
    }
}
