//! The HNS version of a build of Windows, from which hnslib and hcsshim derive every feature
//! (`hcn/hcnglobals.go`).

use serde_json::{Value, json};

/// Builds that differ for kube-proxy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WindowsBuild {
    /// Windows Server 2019 as released: an HNS before 9.3, so without DSR.
    Server2019Released,
    /// With KB4580390 and later: HNS 9.3 to 9.x have DSR; no session affinity, no dual stack.
    Server2019,
    /// Session affinity (12.0), dual stack (11.10); load balancers cannot be modified.
    Server2022,
    /// `ModifyLoadbalancer` (15.5 and 16.0 on).
    Server2025,
}

impl WindowsBuild {
    pub const ALL: [Self; 4] = [
        Self::Server2019Released,
        Self::Server2019,
        Self::Server2022,
        Self::Server2025,
    ];

    /// As kubelets report it in `kernelVersion`.
    pub fn kernel_version(self) -> &'static str {
        match self {
            Self::Server2019Released => "10.0.17763.973",
            Self::Server2019 => "10.0.17763.6893",
            Self::Server2022 => "10.0.20348.3207",
            Self::Server2025 => "10.0.26100.6899",
        }
    }

    pub(super) fn can_modify_load_balancers(self) -> bool {
        self == Self::Server2025
    }

    /// Answer of `GET /globals/version`.
    pub(super) fn hns_version(self) -> Value {
        let (major, minor) = match self {
            Self::Server2019Released => (9, 2),
            Self::Server2019 => (9, 5),
            Self::Server2022 => (13, 3),
            Self::Server2025 => (16, 0),
        };
        json!({"Major": major, "Minor": minor})
    }
}
