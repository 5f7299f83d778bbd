//! A Windows node's programs without Windows: the real `kube-proxy.exe` and Calico's agent of a release, run under
//! Wine with the arguments and the environment of a rendered pod, against the stand-in [`HNS`](crate::hns).

mod agent;
mod dll;
mod host;
mod kube_proxy;
pub mod record;
mod release;
mod rendered;
mod rendered_agent;

pub use agent::{Ended, Programs, Sandbox};
pub use host::WindowsHost;
pub use kube_proxy::{KubeProxy, Start};
pub use release::Release;
pub use rendered::{Rendered, StartScript};
pub use rendered_agent::RenderedAgent;
