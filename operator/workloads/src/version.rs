//! Versions of Kubernetes and Calico as they appear in the wild: `v1.33.4`, `v1.31.2+rke2r1`,
//! `v3.32.1-0.dev-5-g1a2b3c`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version, ordered by its numbers first.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
    /// What follows the numbers, with its `-` or `+`.
    pub suffix: String,
}

/// The text is not a version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a version like v1.33.4")]
pub struct NotAVersion(pub String);

impl Version {
    /// Without the suffix.
    pub const fn numbers(&self) -> (u32, u32, u32) {
        (self.major, self.minor, self.patch)
    }

    /// A version without a suffix.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
            suffix: String::new(),
        }
    }
}

/// Minors a kubelet or kube-proxy may be older than the API server, and kube-proxy older or newer than the kubelet
/// beside it (kubernetes.io: Version skew policy).
const SKEW: u32 = 3;

/// How the version of a kubelet or kube-proxy is outside the range that the API server supports; `None` if it is inside.
pub fn skew(version: &Version, server: &Version) -> Option<&'static str> {
    if version.minor > server.minor {
        Some("newer than")
    } else if version.minor.saturating_add(SKEW) < server.minor {
        Some("more than three minors older than")
    } else {
        None
    }
}

/// Whether the version of kube-proxy is too far from that of the kubelet on its node.
pub fn apart(proxy: &Version, kubelet: &Version) -> bool {
    proxy.minor.abs_diff(kubelet.minor) > SKEW
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotAVersion(text.to_owned());
        let rest = text.strip_prefix('v').unwrap_or(text);
        let end = rest.find(['-', '+']).unwrap_or(rest.len());
        let (numbers, suffix) = rest.split_at(end);
        // It becomes part of an image's tag.
        if !suffix
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-+._".contains(&b))
        {
            return Err(bad());
        }
        let mut parts = numbers.split('.').map(str::parse::<u32>);
        let mut next = || parts.next().and_then(Result::ok).ok_or_else(bad);
        let version = Self {
            major: next()?,
            minor: next()?,
            patch: next()?,
            suffix: suffix.to_owned(),
        };
        if parts.next().is_some() {
            Err(bad())
        } else {
            Ok(version)
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}{}", self.major, self.minor, self.patch, self.suffix)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| self.suffix.cmp(&other.suffix))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("v1.33.4", Some((1, 33, 4)))]
    #[case("1.33.4", Some((1, 33, 4)))]
    #[case("v1.31.2+rke2r1", Some((1, 31, 2)))]
    #[case("v3.32.1-0.dev-5-g1a2b3c", Some((3, 32, 1)))]
    #[case("v1.33", None)]
    #[case("1.33.4.5", None)]
    #[case("latest", None)]
    #[case("v1.33.4-a b", None)]
    #[case("v1.33.4+a/b", None)]
    #[case("", None)]
    fn parses(#[case] text: &str, #[case] expected: Option<(u32, u32, u32)>) {
        let found = text.parse::<Version>().ok().map(|v| (v.major, v.minor, v.patch));
        assert_eq!(found, expected);
    }

    #[test]
    fn prints_what_it_read() {
        assert_eq!(
            "1.31.2+rke2r1".parse::<Version>().unwrap().to_string(),
            "v1.31.2+rke2r1"
        );
    }

    #[test]
    fn numbers_order_before_suffixes() {
        let parse = |s: &str| s.parse::<Version>().unwrap();
        assert!(parse("v1.9.0") < parse("v1.10.0"));
        assert!(parse("v1.33.4+a") < parse("v1.33.5"));
    }
}
