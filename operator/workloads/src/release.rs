//! Differences between Calico's releases. One patch release of each minor was checked; everything that is not
//! listed is the same in all of them.

use std::fmt;
use std::str::FromStr;

/// Releases of Calico between which policies on Windows differ.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Release {
    /// v3.27 and older.
    V3_27,
    /// v3.28, which is the same as v3.27.
    V3_28,
    /// v3.29, the first with tiers.
    V3_29,
    /// v3.30, the first with staged policies.
    V3_30,
    /// v3.31, the last that sorts by stored names.
    V3_31,
    /// v3.32.0 only.
    V3_32_0,
    /// v3.32.1 and later patch releases.
    V3_32,
    /// Calico's main branch.
    Later,
}

/// The text does not name a release of Calico.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no release of Calico; write one such as v3.32 or v3.32.1, or master")]
pub struct UnknownRelease(String);

impl Release {
    /// The default release: the newest that was checked.
    pub const NEWEST: Self = Self::V3_32;

    /// Every release, oldest first.
    pub const ALL: [Self; 8] = [
        Self::V3_27,
        Self::V3_28,
        Self::V3_29,
        Self::V3_30,
        Self::V3_31,
        Self::V3_32_0,
        Self::V3_32,
        Self::Later,
    ];

    /// Whether the kind `Tier` exists and Felix's Windows dataplane supports tiers. Before, there is one tier
    /// and `Pass` is not supported.
    pub fn has_tiers(self) -> bool {
        self >= Self::V3_29
    }

    /// Whether staged policies exist.
    pub fn has_staged(self) -> bool {
        self >= Self::V3_30
    }

    /// Whether `ClusterNetworkPolicy` exists, which replaced `AdminNetworkPolicy` and
    /// `BaselineAdminNetworkPolicy`.
    pub fn has_cluster_policies(self) -> bool {
        self >= Self::V3_32_0
    }

    /// Whether each ACL has its own priority. Before, consecutive ACLs with the same action share one.
    pub fn has_own_priorities(self) -> bool {
        self.has_tiers()
    }

    /// Whether policies of equal order are sorted by the name in Calico's datastore, which contains tier and
    /// kind.
    pub fn sorts_by_stored_name(self) -> bool {
        self < Self::V3_32_0
    }

    /// Whether Felix fails to find the endpoints of a policy whose rules changed.
    pub fn loses_rule_edits(self) -> bool {
        self >= Self::V3_32_0
    }

    /// Whether Felix removes a member of an IP set that another member covers: with `NFTablesMode: Auto`, the
    /// default.
    pub fn leaves_out_covered_members(self) -> bool {
        self >= Self::V3_32
    }

    /// Maximum number of entries in a rule's list of ports that the CRD accepts; `None` without a limit.
    pub fn most_ports(self) -> Option<usize> {
        (self >= Self::Later).then_some(50)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V3_27 => "v3.27",
            Self::V3_28 => "v3.28",
            Self::V3_29 => "v3.29",
            Self::V3_30 => "v3.30",
            Self::V3_31 => "v3.31",
            Self::V3_32_0 => "v3.32.0",
            Self::V3_32 => "v3.32.1",
            Self::Later => "master",
        })
    }
}

impl FromStr for Release {
    type Err = UnknownRelease;

    /// Reads `v3.32`, `3.32.1` or `master`.
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let unknown = || UnknownRelease(text.to_owned());
        if text == "master" {
            return Ok(Self::Later);
        }
        let version = text.strip_prefix('v').unwrap_or(text);
        let mut parts = version.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
            return Err(unknown());
        };
        let patch = parts.next();
        match (major, minor) {
            (3, ..=27) => Ok(Self::V3_27),
            (3, 28) => Ok(Self::V3_28),
            (3, 29) => Ok(Self::V3_29),
            (3, 30) => Ok(Self::V3_30),
            (3, 31) => Ok(Self::V3_31),
            (3, 32) if matches!(patch, Some(Ok(0))) => Ok(Self::V3_32_0),
            (3, 32) => Ok(Self::V3_32),
            (3.., _) => Ok(Self::Later),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("v3.32.1", Some(Release::V3_32))]
    #[case("v3.32.0", Some(Release::V3_32_0))]
    #[case("v3.32", Some(Release::V3_32))]
    #[case("3.31", Some(Release::V3_31))]
    #[case("v3.26.4", Some(Release::V3_27))]
    #[case("v3.33.0", Some(Release::Later))]
    #[case("v4.0.0", Some(Release::Later))]
    #[case("master", Some(Release::Later))]
    #[case("v2.6", None)]
    #[case("3", None)]
    #[case("latest", None)]
    fn reads(#[case] text: &str, #[case] release: Option<Release>) {
        assert_eq!(text.parse().ok(), release);
    }
}
