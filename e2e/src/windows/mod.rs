//! A Windows node's kube-proxy without Windows: the real `kube-proxy.exe` of a release, run under Wine with the
//! arguments and the environment of a rendered pod, against the stand-in [`HNS`](crate::hns).

mod dll;
mod host;
mod kube_proxy;
pub mod record;
mod release;
mod rendered;

pub use host::WindowsHost;
pub use kube_proxy::{KubeProxy, Start};
pub use release::Release;
pub use rendered::{Rendered, StartScript};
