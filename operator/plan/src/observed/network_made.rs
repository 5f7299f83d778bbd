//! The record of a node's HNS network in annotation `windowsnode.dev/hns-network`.

/// The VNI that a node's HNS network was made with, and what identifies that network: none of it changes while the network exists.
/// HNS keeps a network until the agent's first start after a boot.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NetworkMade {
    /// VXLAN network identifier that the HNS network was made with.
    pub vni: i64,
    /// Boot id of the node at that time.
    pub boot_id: String,
    /// IPv4 address of the VXLAN tunnel at that time.
    pub tunnel_address: String,
    /// MAC address of the VXLAN tunnel at that time.
    pub tunnel_mac: String,
}

impl NetworkMade {
    /// Reads the annotation; `None` when it is damaged.
    pub(super) fn read(text: &str) -> Option<Self> {
        let part = |name: &str| text.split(' ').find_map(|word| word.strip_prefix(name));
        Some(Self {
            vni: part("vni=")?.parse().ok()?,
            boot_id: part("boot=")?.to_owned(),
            tunnel_address: part("address=")?.to_owned(),
            tunnel_mac: part("mac=")?.to_owned(),
        })
    }

    /// Is it the same network, whatever its VNI?
    pub fn is_that_of(&self, other: &Self) -> bool {
        (&self.boot_id, &self.tunnel_address, &self.tunnel_mac)
            == (&other.boot_id, &other.tunnel_address, &other.tunnel_mac)
    }
}

/// The value of the annotation.
impl std::fmt::Display for NetworkMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            vni,
            boot_id,
            tunnel_address,
            tunnel_mac,
        } = self;
        write!(
            f,
            "vni={vni} boot={boot_id} address={tunnel_address} mac={tunnel_mac}"
        )
    }
}
