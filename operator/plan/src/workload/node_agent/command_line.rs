//! Command lines of the agent's images. Until Calico v3.32 every part is a program of its own; from v3.33
//! there is one `calico.exe` (`node/Dockerfile.windows`, `cni-plugin/Dockerfile.windows` of projectcalico/calico;
//! `pkg/render/windows.go` of tigera/operator v1.32 to v1.42 and master).

use crate::version::Version;
use crate::workload::meta::ROOT;

/// First minor whose images hold `calico.exe` only.
const FIRST_SINGLE_BINARY: (u32, u32) = (3, 33);

/// First release of each minor whose `uninstall-calico-hpc.ps1` removes CNI files and the service `kube-proxy` only if
/// `CNI_PLUGIN_TYPE` is `Calico` (calico#11109); all later minors do, all earlier ones remove them always.
const UNINSTALL_ASKS: &[Version] = &[
    Version::new(3, 30, 7),
    Version::new(3, 31, 4),
    Version::new(3, 32, 0),
];

#[derive(Clone, Copy, Debug)]
pub struct CommandLines {
    single_binary: bool,
    uninstall_asks: bool,
}

impl CommandLines {
    pub fn of(version: &Version) -> Self {
        Self {
            single_binary: (version.major, version.minor) >= FIRST_SINGLE_BINARY,
            uninstall_asks: uninstall_asks(version),
        }
    }

    /// Does `uninstall-calico.ps1` ask which CNI plugin is used before it removes its files and kube-proxy's service?
    pub fn uninstall_asks_for_plugin(self) -> bool {
        self.uninstall_asks
    }

    pub fn install_cni(self) -> Vec<String> {
        self.pick(
            &["opt/cni/bin/install.exe"],
            &["opt/cni/bin/calico.exe", "component", "cni", "install"],
        )
    }

    pub fn felix_live(self) -> Vec<String> {
        self.pick(
            &["CalicoWindows/calico-node.exe", "-felix-live"],
            &[
                "CalicoWindows/calico.exe",
                "component",
                "node",
                "health",
                "--felix-live",
            ],
        )
    }

    pub fn felix_ready(self) -> Vec<String> {
        self.pick(
            &["CalicoWindows/calico-node.exe", "-felix-ready"],
            &[
                "CalicoWindows/calico.exe",
                "component",
                "node",
                "health",
                "--felix-ready",
            ],
        )
    }

    /// Sets NetworkUnavailable on the Node, so that nothing new is scheduled while the agent is away.
    pub fn shutdown(self) -> Vec<String> {
        self.pick(
            &["CalicoWindows/calico-node.exe", "-shutdown"],
            &["CalicoWindows/calico.exe", "component", "node", "shutdown"],
        )
    }

    fn pick(self, separate: &[&str], single: &[&str]) -> Vec<String> {
        let words = if self.single_binary { single } else { separate };
        words
            .iter()
            .enumerate()
            .map(|(i, word)| {
                if i == 0 {
                    in_image(word)
                } else {
                    (*word).to_owned()
                }
            })
            .collect()
    }
}

fn uninstall_asks(version: &Version) -> bool {
    let of_minor = UNINSTALL_ASKS.iter().rfind(|first| first.minor <= version.minor);
    version.major == 3
        && of_minor.is_some_and(|first| (version.minor, version.patch) >= (first.minor, first.patch))
}

/// A file of the image.
pub fn in_image(path: &str) -> String {
    format!("{ROOT}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// As `git show <tag>:node/windows-packaging/CalicoWindows/uninstall-calico-hpc.ps1` of projectcalico/calico has it.
    #[rstest]
    #[case("v3.29.7", false)]
    #[case("v3.30.0", false)]
    #[case("v3.30.6", false)]
    #[case("v3.30.7", true)]
    #[case("v3.31.0", false)]
    #[case("v3.31.3", false)]
    #[case("v3.31.4", true)]
    #[case("v3.31.7", true)]
    #[case("v3.32.0", true)]
    #[case("v3.33.0", true)]
    fn releases_whose_script_asks_for_the_plugin(#[case] version: &str, #[case] asks: bool) {
        let lines = CommandLines::of(&version.parse().unwrap());
        assert_eq!(lines.uninstall_asks_for_plugin(), asks);
    }
}
