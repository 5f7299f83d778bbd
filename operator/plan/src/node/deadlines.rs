//! How long each stage of a node's way to work may take before it counts as failed. A deadline delays bad
//! news of a node that will never work; too short a one cries wolf while it still comes up.

use jiff::SignedDuration;

/// From node and DaemonSet being there to a pod being scheduled: the DaemonSet controller and the scheduler take
/// seconds, a busy control plane a minute.
pub const PLACED: SignedDuration = SignedDuration::from_mins(2);

/// From a pod's creation to its containers running: both images of the agent on a slow line, unpacked by
/// Windows, and the two installers.
pub const STARTED: SignedDuration = SignedDuration::from_mins(15);

/// From Felix' start to its being ready: it waits up to a minute for its network's address; the liveness probe
/// (10 s, then six of 10 s) ends it after 70 s if it hangs.
pub const AGENT_READY: SignedDuration = SignedDuration::from_secs(70);

/// From kube-proxy's start to its being ready: the start script waits five minutes for HNS, and the startup
/// probe two more.
pub const PROXY_READY: SignedDuration = SignedDuration::from_mins(7);

/// From the agent's start to block, tunnel and CNI configuration: a virtual switch, its address (90 s,
/// `STARTUP_VALID_IP_TIMEOUT`), the management address (a minute), the block.
pub const SET_UP: SignedDuration = SignedDuration::from_mins(4);

/// From a node's joining to the kubelet being ready for other reasons than the network.
pub const JOINED: SignedDuration = SignedDuration::from_mins(2);

/// From a reboot to both pods having restarted: the kubelet's start, HNS' own recovery, then both starts.
pub const RECOVERED: SignedDuration = SignedDuration::from_mins(10);

/// The kubelet's clock and ours, and the moment it reports a boot id a little after it started containers.
pub const CLOCK_SLACK: SignedDuration = SignedDuration::from_mins(2);

/// How long a failed sandbox counts. The kubelet tries again within a minute or so, but client-go lets through
/// one Event in five minutes of an object that had 25.
pub const SANDBOX_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// How long a crash counts of a pod that crashes often and is ready in between: the longest pause of the
/// kubelet between restarts is five minutes.
pub const CRASH_WINDOW: SignedDuration = SignedDuration::from_mins(10);
