//! What is reported about network policies, Services and pods. It never affects `Ready`, and nothing is written because of it but
//! the status and Events.

mod condition;
mod events;
mod report;

use wn_api::spec::{Lint as Asked, WindowsNodeConfigSpec};
use wn_workloads::release::Release;

use crate::observed::Observed;
use crate::release;

pub use condition::condition;
pub use events::{Announcement, Published};
pub use report::{Report, Series};

/// Whether workloads are checked, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Lint {
    /// The operator runs without the rights to read workloads.
    NotGranted,
    /// `spec.workloads.lint` is `Disabled`.
    Disabled,
    /// There is no Windows node.
    NoWindowsNodes,
    /// The first lists are not complete.
    #[default]
    Reading,
    /// Every kind was listed, or cannot be.
    Checked(Report),
}

impl Lint {
    /// The reason not to check workloads; `None` if they are to be checked. `granted`: whether the operator has the rights.
    pub fn skipped(granted: bool, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Self> {
        match spec.workloads.lint {
            Asked::Disabled => Some(Self::Disabled),
            Asked::Enabled if !granted => Some(Self::NotGranted),
            Asked::Enabled => observed.nodes.is_empty().then_some(Self::NoWindowsNodes),
        }
    }

    /// The findings, if workloads were checked.
    pub const fn report(&self) -> Option<&Report> {
        match self {
            Self::Checked(report) => Some(report),
            Self::NotGranted | Self::Disabled | Self::NoWindowsNodes | Self::Reading => None,
        }
    }
}

/// The release of Calico whose behaviour findings are about: the cluster's, or the newest if it is not known.
pub fn calico_release(observed: &Observed) -> Release {
    let found = release::of_calico(observed);
    let found = found.and_then(|found| found.version.to_string().parse().ok());
    found.unwrap_or(Release::NEWEST)
}
