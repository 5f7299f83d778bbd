//! The arguments of kube-proxy that can be decided off the node.

use std::collections::BTreeMap;

use wn_api::spec::KubeProxy;

use crate::version::Version;

/// kube-proxy's default health port (`pkg/cluster/ports`).
pub const HEALTH_PORT: i32 = 10256;

/// Last minor in which kube-proxy refuses `--enable-dsr=true` without the gate. From 1.33 the gate is on, from
/// 1.34 locked, and it is about to be removed: naming it then would be fatal (KEP-5100, kubernetes#142125).
/// Seen from kube-proxy.exe: refused without the gate by 1.32.13, taken without it by 1.33.13, 1.34.4, 1.35.4,
/// 1.36.3 and 1.37.0 (`e2e/windows/seen.tsv`).
const LAST_MINOR_WITH_DSR_GATE: u32 = 32;
const DSR_GATE: &str = "WinDSR";
/// On since 1.20, locked since 1.34: no supported kube-proxy needs it (seen from 1.32.13 to 1.37.0 on an overlay),
/// and a future one will not know it.
const OVERLAY_GATE: &str = "WinOverlay";

/// Flags the operator or the start script sets, or that would make kube-proxy do something else than run
/// (with `--config` it ignores all other flags: `cmd/kube-proxy/app/options.go`). `extraArgs` may not name them.
pub const MANAGED_FLAGS: &[&str] = &[
    "cleanup",
    "config",
    "enable-dsr",
    "feature-gates",
    "healthz-bind-address",
    "healthz-port",
    "help",
    "hostname-override",
    "init-only",
    "kubeconfig",
    "master",
    "network-name",
    "proxy-mode",
    "source-vip",
    "version",
    "windows-service",
    "write-config-to",
];

/// The arguments of kube-proxy. `network`: name of the HNS network.
pub fn arguments(spec: &KubeProxy, version: &Version, dsr: bool, network: &str) -> Vec<String> {
    let mut all = vec![
        "--proxy-mode=kernelspace".to_owned(),
        format!("--network-name={network}"),
    ];
    if dsr {
        all.push("--enable-dsr=true".to_owned());
    }
    all.extend(feature_gates(spec, version, dsr));
    // All addresses: the kubelet probes the pod's address, which with hostNetwork is the node's.
    all.push(format!("--healthz-bind-address=0.0.0.0:{HEALTH_PORT}"));
    all.extend(spec.extra_args.iter().cloned());
    all
}

/// One flag, because a second `--feature-gates` would be merged in an order nobody sees; sorted, so that the same
/// gates are always the same text. The two gates with rules of their own are never taken from the user.
fn feature_gates(spec: &KubeProxy, version: &Version, dsr: bool) -> Option<String> {
    let managed = [DSR_GATE, OVERLAY_GATE];
    let mut gates: BTreeMap<&str, bool> = spec
        .feature_gates
        .iter()
        .map(|(gate, on)| (gate.as_str(), *on))
        .filter(|(gate, _)| !managed.contains(gate))
        .collect();
    if dsr && (version.major, version.minor) <= (1, LAST_MINOR_WITH_DSR_GATE) {
        gates.insert(DSR_GATE, true);
    }
    let text: Vec<_> = gates.iter().map(|(gate, on)| format!("{gate}={on}")).collect();
    (!text.is_empty()).then(|| format!("--feature-gates={}", text.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::gate_needed(32, true, &[], Some("--feature-gates=WinDSR=true"))]
    #[case::gate_on_by_default(33, true, &[], None)]
    #[case::gate_gone(38, true, &[], None)]
    #[case::no_dsr(32, false, &[], None)]
    #[case::sorted(32, true, &[("ZFoo", false), ("AFoo", true)], Some("--feature-gates=AFoo=true,WinDSR=true,ZFoo=false"))]
    #[case::own_only(36, true, &[("AFoo", true)], Some("--feature-gates=AFoo=true"))]
    #[case::managed_dropped(34, true, &[("WinDSR", true), ("WinOverlay", true)], None)]
    #[case::managed_wins(32, true, &[("WinDSR", false)], Some("--feature-gates=WinDSR=true"))]
    fn workload_gates(
        #[case] minor: u32,
        #[case] dsr: bool,
        #[case] gates: &[(&str, bool)],
        #[case] expected: Option<&str>,
    ) {
        let feature_gates = gates.iter().map(|(gate, on)| ((*gate).to_owned(), *on)).collect();
        let spec = KubeProxy {
            feature_gates,
            ..KubeProxy::default()
        };
        assert_eq!(
            super::feature_gates(&spec, &Version::new(1, minor, 0), dsr).as_deref(),
            expected
        );
    }

    #[test]
    fn workload_managed_flags_hold_every_flag_we_write() {
        let all = arguments(&KubeProxy::default(), &Version::new(1, 32, 0), true, "Calico");
        for argument in &all {
            let name = argument.trim_start_matches('-').split('=').next().unwrap();
            assert!(MANAGED_FLAGS.contains(&name), "{name}");
        }
        assert!(MANAGED_FLAGS.is_sorted());
    }

    #[test]
    fn workload_dsr_off_and_extra_arguments_last() {
        let spec = KubeProxy {
            extra_args: vec!["--v=4".into()],
            ..KubeProxy::default()
        };
        let all = arguments(&spec, &Version::new(1, 31, 2), false, "cbr0");
        assert!(!all.iter().any(|a| a.contains("dsr")));
        assert_eq!(all.last().unwrap(), "--v=4");
    }
}
