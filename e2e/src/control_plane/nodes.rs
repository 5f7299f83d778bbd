//! Node objects as kubelets register them; kwok then keeps them Ready.
//!
//! Every node has an address of its own in 172.20.0.0/16. The addresses are simulated: nothing
//! listens there and nothing connects to them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use super::cluster::Cluster;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Os {
    Linux,
    Windows,
}

impl Os {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
        }
    }
}

/// What a node says about itself. The defaults are a current Linux node, and Windows Server 2022.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    pub name: String,
    pub os: Os,
    /// With the `v`; `None` is the version of the control plane.
    pub kubelet_version: Option<String>,
    /// On Windows `10.0.<build>.<revision>`; the build label is derived from it.
    pub kernel_version: String,
    pub os_image: String,
    pub container_runtime: String,
    /// `key=value:effect`, as the kubelet's `--register-with-taints` has them.
    pub taints: Vec<String>,
    /// Added to the labels every kubelet sets; the same key wins over those.
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub provider_id: Option<String>,
    pub pod_cidr: Option<String>,
    /// What the kubelet takes at most.
    pub max_pods: u32,
    /// Registered with `Ready` True, so that kwok need not write it.
    pub ready: bool,
}

impl NodeSpec {
    pub fn linux(name: impl Into<String>) -> Self {
        Self::new(
            name,
            Os::Linux,
            "6.1.0-31-amd64",
            "Debian GNU/Linux 12 (bookworm)",
        )
    }

    pub fn windows(name: impl Into<String>) -> Self {
        Self::new(
            name,
            Os::Windows,
            "10.0.20348.3207",
            "Windows Server 2022 Datacenter",
        )
    }

    fn new(name: impl Into<String>, os: Os, kernel_version: &str, os_image: &str) -> Self {
        Self {
            name: name.into(),
            os,
            kubelet_version: None,
            kernel_version: kernel_version.to_owned(),
            os_image: os_image.to_owned(),
            container_runtime: "containerd://1.7.22".to_owned(),
            taints: Vec::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            provider_id: None,
            pod_cidr: None,
            max_pods: 110,
            ready: false,
        }
    }

    pub fn kubelet_version(mut self, version: impl Into<String>) -> Self {
        self.kubelet_version = Some(version.into());
        self
    }

    pub fn kernel_version(mut self, version: impl Into<String>) -> Self {
        self.kernel_version = version.into();
        self
    }

    pub fn os_image(mut self, image: impl Into<String>) -> Self {
        self.os_image = image.into();
        self
    }

    pub fn container_runtime(mut self, runtime: impl Into<String>) -> Self {
        self.container_runtime = runtime.into();
        self
    }

    pub fn taint(mut self, taint: impl Into<String>) -> Self {
        self.taints.push(taint.into());
        self
    }

    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    pub fn max_pods(mut self, pods: u32) -> Self {
        self.max_pods = pods;
        self
    }

    pub fn ready(mut self) -> Self {
        self.ready = true;
        self
    }

    pub fn provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = Some(id.into());
        self
    }

    pub fn pod_cidr(mut self, cidr: impl Into<String>) -> Self {
        self.pod_cidr = Some(cidr.into());
        self
    }

    fn all_labels(&self) -> BTreeMap<String, String> {
        let os = self.os.as_str();
        let mut labels: BTreeMap<String, String> = [
            ("kubernetes.io/os", os),
            ("kubernetes.io/arch", "amd64"),
            ("kubernetes.io/hostname", &self.name),
            ("beta.kubernetes.io/os", os),
            ("beta.kubernetes.io/arch", "amd64"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        if self.os == Os::Windows {
            // Kubelets leave the revision out of the label.
            let build: Vec<&str> = self.kernel_version.split('.').take(3).collect();
            labels.insert("node.kubernetes.io/windows-build".to_owned(), build.join("."));
        }
        labels.extend(self.labels.clone());
        labels
    }

    fn object(&self, number: u16, control_plane: &str) -> Result<Node> {
        let kubelet = self.kubelet_version.as_deref().unwrap_or(control_plane);
        let [high, low] = number.to_be_bytes();
        let mut annotations = self.annotations.clone();
        annotations.insert("kwok.x-k8s.io/node".to_owned(), "fake".to_owned());
        let resources = json!({"cpu": "8", "memory": "32Gi", "pods": self.max_pods.to_string()});
        let taints = self
            .taints
            .iter()
            .map(|taint| taint_of(taint))
            .collect::<Result<Vec<_>>>()?;
        let conditions = if self.ready {
            kubelet_conditions()
        } else {
            Value::Null
        };
        let id = format!("00000000-0000-4000-8000-{number:012x}");
        let node = json!({
            "metadata": {"name": self.name, "labels": self.all_labels(), "annotations": annotations},
            "spec": {
                "providerID": self.provider_id, "taints": taints,
                "podCIDR": self.pod_cidr, "podCIDRs": self.pod_cidr.iter().collect::<Vec<_>>(),
            },
            "status": {
                "addresses": [
                    {"type": "InternalIP", "address": format!("172.20.{high}.{low}")},
                    {"type": "Hostname", "address": self.name},
                ],
                "conditions": conditions,
                "capacity": resources,
                "allocatable": resources,
                "nodeInfo": {
                    "architecture": "amd64",
                    "bootID": id,
                    "containerRuntimeVersion": self.container_runtime,
                    "kernelVersion": self.kernel_version,
                    "kubeProxyVersion": "",
                    "kubeletVersion": kubelet,
                    "machineID": id,
                    "operatingSystem": self.os.as_str(),
                    "osImage": self.os_image,
                    "systemUUID": id,
                },
            },
        });
        serde_json::from_value(node).context("a Node object")
    }
}

/// What a kubelet says of a node that works, as of now. `NetworkUnavailable` is Calico's to say.
fn kubelet_conditions() -> Value {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |type_: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    json!([
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available"
        ),
        condition(
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure"
        ),
        condition(
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available"
        ),
    ])
}

fn taint_of(text: &str) -> Result<Value> {
    let parts = text
        .rsplit_once(':')
        .and_then(|(pair, effect)| Some((pair.split_once('=')?, effect)));
    let ((key, value), effect) = parts.with_context(|| format!("{text:?} is not key=value:effect"))?;
    Ok(json!({"key": key, "value": value, "effect": effect}))
}

impl Cluster {
    /// Registers a node; it becomes Ready a moment later.
    pub async fn add_node(&self, spec: NodeSpec) -> Result<()> {
        let node = spec.object(self.next_node(), self.kubernetes_version())?;
        Api::<Node>::all(self.client())
            .create(&PostParams::default(), &node)
            .await
            .with_context(|| format!("register node {}", spec.name))?;
        Ok(())
    }

    pub async fn remove_node(&self, name: &str) -> Result<()> {
        Api::<Node>::all(self.client())
            .delete(name, &DeleteParams::default())
            .await
            .with_context(|| format!("remove node {name}"))?;
        Ok(())
    }
}
