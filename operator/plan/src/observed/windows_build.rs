//! Builds of Windows as Nodes report them, and what their HNS can do.

/// A build of Windows, `10.0.<build>.<UBR>`. The update build revision (UBR) is the patch level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WindowsBuild {
    /// Build number, e.g. 20348.
    pub build: u32,
    /// Missing when only the label `node.kubernetes.io/windows-build` is known.
    pub ubr: Option<u32>,
}

impl WindowsBuild {
    /// Reads `10.0.<build>` or `10.0.<build>.<UBR>`; `None` for anything else.
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
}
