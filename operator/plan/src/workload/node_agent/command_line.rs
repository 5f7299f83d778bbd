//! Command lines of the agent's images. Until Calico v3.32 every part is a program of its own; from v3.33
//! there is one `calico.exe` (`node/Dockerfile.windows`, `cni-plugin/Dockerfile.windows` of projectcalico/calico;
//! `pkg/render/windows.go` of tigera/operator v1.32 to v1.42 and master).

use crate::version::Version;
use crate::workload::meta::ROOT;

/// First minor whose images hold `calico.exe` only.
const FIRST_SINGLE_BINARY: (u32, u32) = (3, 33);

#[derive(Clone, Copy, Debug)]
pub struct CommandLines {
    single_binary: bool,
}

impl CommandLines {
    pub fn of(version: &Version) -> Self {
        Self {
            single_binary: (version.major, version.minor) >= FIRST_SINGLE_BINARY,
        }
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

/// A file of the image.
pub fn in_image(path: &str) -> String {
    format!("{ROOT}/{path}")
}
