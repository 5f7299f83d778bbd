//! A stand-in for HNS, the Host Networking Service of a Windows node: networks, endpoints and load balancers in
//! memory, asked over loopback by the DLLs in `e2e/windows/dll`, which programs for Windows load under Wine.
//!
//! It answers as HNS does, with its error codes and its error records, and keeps what it is configured with in the
//! schema of HNS v2; callers of schema v1 see the same objects in theirs. A test reads that state, changes it as Calico's agent or a reboot would, and makes calls
//! fail. Invariant: it never invents an object nobody asked for.

mod calls;
mod errors;
mod modify;
mod objects;
mod query;
mod remote_node;
mod server;
mod state;
mod v1;
mod version;

pub use errors::HnsError;
pub use objects::{Acl, Endpoint, Kind, LoadBalancer, Network};
pub use remote_node::RemoteNode;
pub use server::Hns;
pub use version::WindowsBuild;
