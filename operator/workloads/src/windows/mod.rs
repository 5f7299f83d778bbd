//! Builds of Windows and versions of kube-proxy: what each can do. Something that is not known is never reported as missing.

mod builds;
mod image;
mod kube_proxy;

use std::fmt;
use std::str::FromStr;

pub use builds::{BUILDS, Build, DEFECTS, Defect, FLOORS, Fit, Floor, Need};
pub use image::{build_of_image, runs};
pub use kube_proxy::{DEFECTS as KUBE_PROXY_DEFECTS, Defect as KubeProxyDefect};

/// A version of Windows: `10.0.<build>.<update build revision>`. The revision is the patch level of the build.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct WindowsBuild {
    /// Number of the build.
    pub build: u32,
    /// The update build revision; `None` if only the label `node.kubernetes.io/windows-build` is known.
    pub ubr: Option<u32>,
}

/// The text is not a version of Windows.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a version of Windows; write one such as 10.0.20348.2227 or 10.0.20348")]
pub struct NotABuild(String);

impl WindowsBuild {
    /// Maximum number of endpoints of a load balancer of HNS (kubernetes.io, Networking on Windows).
    pub const MOST_BACKENDS: usize = 1024;

    /// Reads a text such as `10.0.20348.2227` or `10.0.20348`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text
            .strip_prefix("10.0.")?
            .split('.')
            .map(|part| part.parse::<u32>().ok());
        let build = parts.next()??;
        let ubr = parts.next().flatten();
        parts.next().is_none().then_some(Self { build, ubr })
    }

    /// Whether HNS of this build supports direct server return: 17763 from revision 1432 on (KB4571748), and every
    /// build from 18317 on (Calico `cni-plugin/pkg/install/install_windows.go`, `supportsDSR`). `true` if the
    /// revision is not known.
    pub fn can_dsr(self) -> bool {
        match self.build {
            17763 => self.ubr.is_none_or(|ubr| ubr >= 1432),
            build => build >= 18317,
        }
    }

    /// Whether kube-proxy balances by the address of the client: from HNS 12 on, which is Windows Server 2022
    /// (kubernetes.io, Networking on Windows; hnslib `SessionAffinityVersion`).
    pub const fn has_session_affinity(self) -> bool {
        self.build >= 20348
    }

    /// Whether HNS passes packets on without changing their destination: from version 1903 on (kubernetes.io,
    /// Networking on Windows).
    pub const fn can_preserve_destination(self) -> bool {
        self.build >= 18362
    }

    /// Maximum number of endpoints of a load balancer: 64 up to 17763.2745 (KB5011551 raised it), otherwise
    /// [`Self::MOST_BACKENDS`], which is also the result if the revision is not known.
    pub fn most_backends(self) -> usize {
        match (self.build, self.ubr) {
            (17763, Some(ubr)) if ubr < 2746 => 64,
            _ => Self::MOST_BACKENDS,
        }
    }
}

impl fmt::Display for WindowsBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "10.0.{}", self.build)?;
        match self.ubr {
            Some(ubr) => write!(f, ".{ubr}"),
            None => Ok(()),
        }
    }
}

impl FromStr for WindowsBuild {
    type Err = NotABuild;

    fn from_str(text: &str) -> Result<Self, NotABuild> {
        Self::parse(text).ok_or_else(|| NotABuild(text.to_owned()))
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
    #[case("10.0.17763.1.2", None)]
    #[case("", None)]
    fn dsr_by_build(#[case] text: &str, #[case] expected: Option<bool>) {
        assert_eq!(WindowsBuild::parse(text).map(WindowsBuild::can_dsr), expected);
    }

    #[rstest]
    #[case("10.0.17763.2745", 64)]
    #[case("10.0.17763.2746", 1024)]
    #[case("10.0.17763", 1024)]
    #[case("10.0.20348.169", 1024)]
    fn backends_by_build(#[case] text: &str, #[case] most: usize) {
        assert_eq!(text.parse::<WindowsBuild>().unwrap().most_backends(), most);
    }
}
