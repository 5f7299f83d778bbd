//! Somebody else's kube-proxy on Windows nodes, as far as the API shows how it runs.

use wn_api::component::Component;
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::version;

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1090",
        severity: Severity::Warning,
        title: "kube-proxy does not use DSR",
        limit: "Without direct server return, connections to a ClusterIP come from the node's address, and network policy that selects \
                their sources is not enforced.",
        reads: "DaemonSet spec.template.spec.containers: command, args of kube-proxy; Node annotation rke2.io/node-args",
        fix: "run kube-proxy with --enable-dsr=true, up to Kubernetes v1.32 with feature gate WinDSR=true",
        source: "tigera/docs windows-calico/limitations.mdx; Kubernetes pkg/proxy/winkernel/proxier.go",
        check: dsr,
    },
    Rule {
        code: "WN1091",
        severity: Severity::Warning,
        title: "kube-proxy's version does not fit",
        limit: "kube-proxy must not be newer than the API server, at most three minors older, and at most three minors from the kubelet \
                beside it.",
        reads: "tag of kube-proxy's image in DaemonSet spec.template.spec.containers; version of the API server; Node \
                status.nodeInfo.kubeletVersion",
        fix: "run kube-proxy in the version of the kubelets",
        source: "kubernetes.io: Version skew policy",
        check: skew,
    },
];

const IMAGE: &str = "spec.template.spec.containers.image";
const ARGUMENTS: &str = "spec.template.spec.containers.args";

fn dsr(cluster: &Cluster) -> Vec<Hit> {
    if cluster.runs_ours(Component::KubeProxy) {
        return Vec::new();
    }
    let off = cluster
        .observed
        .foreign(Component::KubeProxy)
        .filter(|(_, d)| d.dsr == Some(false));
    let hits = off.map(|((namespace, name), _)| {
        let message =
            "kube-proxy runs without --enable-dsr=true, so network policy on ClusterIPs is not enforced";
        Hit::new(format!("DaemonSet {namespace}/{name}"), ARGUMENTS, message)
    });
    let nodes = cluster.observed.nodes.iter();
    let of_rke2 = nodes
        .filter(|(_, n)| n.dsr_of_rke2() == Some(false))
        .map(|(name, _)| name.as_str());
    let nodes = Hit::of_many("Windows nodes", RKE2, of_rke2, |names| {
        format!(
            "kube-proxy of RKE2 does not use DSR on {names}, because of its arguments or an old Windows build, so network policy on \
                 ClusterIPs is not enforced there"
        )
    });
    hits.chain(nodes).collect()
}

const RKE2: &str = "metadata.annotations[rke2.io/node-args]";

fn skew(cluster: &Cluster) -> Vec<Hit> {
    if cluster.runs_ours(Component::KubeProxy) {
        return Vec::new();
    }
    let found = cluster
        .observed
        .foreign(Component::KubeProxy)
        .filter_map(|((namespace, name), facts)| {
            let proxy = facts.version.as_ref()?;
            let server = cluster.observed.kubernetes.as_ref();
            let of_server =
                server.and_then(|s| Some(format!("{} the API server ({s})", version::skew(proxy, s)?)));
            let kubelets = cluster.observed.nodes.values().filter_map(|n| n.kubelet());
            let far = kubelets.filter(|kubelet| version::apart(proxy, kubelet)).min();
            let of_kubelet = far.map(|kubelet| format!("more than three minors from a kubelet ({kubelet})"));
            let how = of_server.or(of_kubelet)?;
            Some(Hit::new(
                format!("DaemonSet {namespace}/{name}"),
                IMAGE,
                format!("kube-proxy is {proxy}, {how}"),
            ))
        });
    found.collect()
}
