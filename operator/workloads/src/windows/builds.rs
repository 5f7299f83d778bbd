//! Builds of Windows: what is known of each, as data.

use std::ops::RangeInclusive;

/// A build of Windows.
pub struct Build {
    /// The third number of a version such as `10.0.20348.3207`.
    pub number: u32,
    /// Name of the product.
    pub name: &'static str,
    /// Whether Calico's network runs on it.
    pub fit: Fit,
    /// Calico's documentation lists it.
    pub calico: bool,
    /// Minors of Kubernetes whose documentation lists it; an empty range if none does.
    pub kubernetes: RangeInclusive<u32>,
}

/// Whether Calico's network runs on a build.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fit {
    /// It runs.
    Good,
    /// It runs, and Microsoft publishes no updates any more.
    EndOfLife,
    /// Lacks what Calico needs.
    Unfit,
}

/// Every minor of Kubernetes from `minor` on.
const fn since(minor: u32) -> RangeInclusive<u32> {
    minor..=u32::MAX
}

/// No Kubernetes.
#[allow(clippy::reversed_empty_ranges, reason = "the range is empty on purpose")]
const NEVER: RangeInclusive<u32> = 1..=0;

/// Numbers: `microsoft/hcsshim` `osversion/windowsbuilds.go`. Calico: tigera/docs
/// `windows-calico/requirements.mdx`, v3.27 to v3.32 alike; 2025 waits for projectcalico/calico#11691. Kubernetes:
/// kubernetes.io, Windows OS version support, by the documentation of each minor (1.35 dropped 2019 and took 2025 in,
/// kubernetes/website#53724; 23H2 and those before 2022 but 2019 are in none from 1.29 on).
pub const BUILDS: &[Build] = &[
    Build {
        number: 14393,
        name: "Windows Server 2016",
        fit: Fit::Unfit,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 16299,
        name: "Windows Server 1709",
        fit: Fit::Unfit,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 17134,
        name: "Windows Server 1803",
        fit: Fit::Unfit,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 17763,
        name: "Windows Server 2019",
        fit: Fit::Good,
        calico: true,
        kubernetes: 14..=34,
    },
    Build {
        number: 18362,
        name: "Windows Server 1903",
        fit: Fit::EndOfLife,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 18363,
        name: "Windows Server 1909",
        fit: Fit::EndOfLife,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 19041,
        name: "Windows Server 2004",
        fit: Fit::EndOfLife,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 19042,
        name: "Windows Server 20H2",
        fit: Fit::EndOfLife,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 20348,
        name: "Windows Server 2022",
        fit: Fit::Good,
        calico: true,
        kubernetes: since(23),
    },
    Build {
        number: 25398,
        name: "Windows Server 23H2",
        fit: Fit::Good,
        calico: false,
        kubernetes: NEVER,
    },
    Build {
        number: 26100,
        name: "Windows Server 2025",
        fit: Fit::Good,
        calico: false,
        kubernetes: since(35),
    },
];

/// A patch level from which on something works.
pub struct Floor {
    /// Number of the build.
    pub build: u32,
    /// Update build revision: the fourth number of the version.
    pub ubr: u32,
    /// The update that brought this patch level.
    pub kb: &'static str,
    /// Month of the update.
    pub date: &'static str,
    /// What needs it.
    pub need: Need,
    /// What does not work before.
    pub why: &'static str,
}

/// What needs a patch level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Need {
    /// Every network of Calico.
    Calico,
    /// Overlay networks.
    Overlay,
    /// Direct server return.
    Dsr,
    /// Nothing needs it; it fixes a defect.
    Comfort,
}

/// The most important one of a build first; sources are in `docs/reasons.md`.
pub const FLOORS: &[Floor] = &[
    Floor {
        build: 17763,
        ubr: 379,
        kb: "KB4489899",
        date: "March 2019",
        need: Need::Calico,
        why: "HNS has no overlay networks and host routes before",
    },
    Floor {
        build: 20348,
        ubr: 169,
        kb: "KB5005039",
        date: "August 2021",
        need: Need::Calico,
        why: "the lowest Calico and RKE2 are tested on",
    },
    Floor {
        build: 26100,
        ubr: 6899,
        kb: "KB5066835",
        date: "October 2025",
        need: Need::Overlay,
        why: "overlay networks do not work before (rancher/rancher#50915)",
    },
    Floor {
        build: 17763,
        ubr: 1432,
        kb: "KB4571748",
        date: "August 2020",
        need: Need::Dsr,
        why: "HNS cannot do direct server return before",
    },
    Floor {
        build: 17763,
        ubr: 1554,
        kb: "KB4580390",
        date: "October 2020",
        need: Need::Comfort,
        why: "a restart of HNS breaks direct server return before (Windows-Containers#61)",
    },
    Floor {
        build: 17763,
        ubr: 2746,
        kb: "KB5011551",
        date: "March 2022",
        need: Need::Comfort,
        why: "a Service has at most 64 backends before",
    },
    Floor {
        build: 17763,
        ubr: 3650,
        kb: "KB5019966",
        date: "November 2022",
        need: Need::Comfort,
        why: "HNS crashes at times before",
    },
    Floor {
        build: 20348,
        ubr: 1249,
        kb: "KB5019081",
        date: "November 2022",
        need: Need::Comfort,
        why: "HNS crashes at times before",
    },
];

/// Patch levels of a build with a defect.
pub struct Defect {
    /// Number of the build.
    pub build: u32,
    /// First update build revision that has it.
    pub first: u32,
    /// First update build revision that does not have it any more.
    pub fixed: u32,
    /// The update that fixes it.
    pub fixed_by: &'static str,
    /// The defect.
    pub why: &'static str,
}

/// Known defects of patch levels.
pub const DEFECTS: &[Defect] = &[
    Defect {
        build: 20348,
        first: 2582,
        fixed: 2762,
        fixed_by: "KB5044281 (October 2024)",
        why: "KB5040437 of July 2024 broke Calico's networking (microsoft/Windows-Containers#516)",
    },
    Defect {
        build: 17763,
        first: 1579,
        fixed: 1580,
        fixed_by: "a later update",
        why: "load balancing is broken (microsoft/Windows-Containers#78)",
    },
    Defect {
        build: 17763,
        first: 1637,
        fixed: 1638,
        fixed_by: "a later update",
        why: "load balancing is broken (microsoft/Windows-Containers#78)",
    },
];
