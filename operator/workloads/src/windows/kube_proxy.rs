//! Defects of kube-proxy on Windows that a later patch release of the same minor fixes.

use crate::version::Version;

/// A defect of kube-proxy.
pub struct Defect {
    /// What does not work.
    pub what: &'static str,
    /// First minor that has it.
    pub since: u32,
    /// Minor and patch that fix it, one of each minor.
    pub fixed: &'static [(u32, u32)],
    /// How we know.
    pub source: &'static str,
    /// Whether only networks without an overlay have it.
    pub bridge_only: bool,
}

/// A Service with `internalTrafficPolicy: Local` keeps endpoints that are gone.
const INTERNAL_TRAFFIC: Defect = Defect {
    what: "a Service with internalTrafficPolicy Local keeps stale endpoints",
    since: 24,
    fixed: &[(31, 14), (32, 10), (33, 6), (34, 2)],
    source: "kubernetes/kubernetes#134031",
    bridge_only: false,
};

/// Every known defect, from the CHANGELOG of each minor.
pub const DEFECTS: &[Defect] = &[
    Defect {
        what: "remote endpoints cannot be created",
        since: 31,
        fixed: &[(31, 9), (32, 5), (33, 1)],
        source: "kubernetes/kubernetes#131427",
        bridge_only: false,
    },
    Defect {
        what: "backends that change are not replaced in a load balancer",
        since: 32,
        fixed: &[(32, 6), (33, 2)],
        source: "kubernetes CHANGELOG-1.33",
        bridge_only: false,
    },
    INTERNAL_TRAFFIC,
    Defect {
        what: "rules are not resynchronised",
        since: 34,
        fixed: &[(34, 4), (35, 1)],
        source: "kubernetes/kubernetes#135631",
        bridge_only: false,
    },
    Defect {
        what: "a pod's reused address keeps a stale remote endpoint",
        since: 24,
        fixed: &[(34, 8), (35, 5), (36, 1)],
        source: "kubernetes/kubernetes#138000",
        bridge_only: true,
    },
];

impl Defect {
    /// The defect of `internalTrafficPolicy: Local`.
    pub const INTERNAL_TRAFFIC: Self = INTERNAL_TRAFFIC;

    /// Whether a version has the defect.
    pub fn is_in(&self, version: &Version) -> bool {
        let line = self.fixed.iter().find(|(minor, _)| *minor == version.minor);
        let newest = self.fixed.iter().map(|(minor, _)| *minor).max();
        version.major == 1
            && version.minor >= self.since
            && line.map_or(version.minor < newest.unwrap_or_default(), |(_, patch)| {
                version.patch < *patch
            })
    }

    /// The versions that fix it, as a list such as `v1.33.6, v1.34.2`.
    pub fn fixed_in(&self) -> String {
        let versions: Vec<_> = self
            .fixed
            .iter()
            .map(|(minor, patch)| format!("v1.{minor}.{patch}"))
            .collect();
        versions.join(", ")
    }
}
