//! What the cluster runs on, the Linux nodes it has, and how they route: each works, or is refused with the reason.

mod bgp;
mod linux;
mod refused;
mod supported;
