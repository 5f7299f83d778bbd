//! The start script: only what is known on the node. It is the same text in every cluster; what differs
//! comes to it as arguments and variables.

/// Longest time the script waits for HNS. A first start creates a virtual switch, waits up to 90 s for an address
/// (`STARTUP_VALID_IP_TIMEOUT` in `config-hpc.ps1`), up to a minute for the management address, and may pull
/// the agent's image; five minutes cover it, and end well before anybody wonders what a silent pod waits for.
pub const WAIT_SECONDS: i32 = 300;

/// The start script of kube-proxy.
pub const TEXT: &str = concat!(
    include_str!("../../../scripts/common/functions.ps1"),
    "\n",
    include_str!("../../../scripts/kube-proxy/start.ps1")
);
