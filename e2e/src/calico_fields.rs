//! What each network type needs in the fields of Calico's objects on a cluster with one pool.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;

use crate::test_cluster::TestCluster;

/// Kind and name of each object, and the fields that are set in its spec.
pub type Fields = [(ConfigKind, &'static str, &'static [(&'static str, Field)]); 3];

/// The value of a field.
#[derive(Clone, Copy)]
pub enum Field {
    Flag(bool),
    Number(i32),
    Text(&'static str),
}

use Field::{Flag, Number, Text};

pub const IPAM: ConfigKind = ConfigKind::IpamConfiguration;
const POOL: ConfigKind = ConfigKind::IpPool;
pub const FELIX: ConfigKind = ConfigKind::FelixConfiguration;

pub const VXLAN: Fields = [
    (IPAM, "default", &[("strictAffinity", Flag(true))]),
    (
        POOL,
        "default-ipv4-ippool",
        &[("ipipMode", Text("Never")), ("vxlanMode", Text("Always"))],
    ),
    (
        FELIX,
        "default",
        &[
            ("ipipEnabled", Flag(false)),
            ("vxlanEnabled", Flag(true)),
            ("vxlanVNI", Number(4096)),
            ("vxlanPort", Number(4789)),
        ],
    ),
];
pub const BGP: Fields = [
    (IPAM, "default", &[("strictAffinity", Flag(true))]),
    (
        POOL,
        "default-ipv4-ippool",
        &[("ipipMode", Text("Never")), ("vxlanMode", Text("Never"))],
    ),
    (
        FELIX,
        "default",
        &[("ipipEnabled", Flag(false)), ("vxlanEnabled", Flag(false))],
    ),
];

/// Every object has these fields, and its others as they were in `before` (see [`TestCluster::calico_specs`]).
pub async fn configured(test: &TestCluster, before: &Value, fields_of: &Fields) -> Result<()> {
    let found = test.calico_specs().await?;
    for (kind, name, fields) in fields_of {
        let key = format!("{} {name}", kind.as_str());
        // What the operator creates has the defaults of the schema, too.
        let mut expected = if before[&key].is_null() {
            found[&key].clone()
        } else {
            before[&key].clone()
        };
        for (field, value) in *fields {
            expected[*field] = match value {
                Flag(value) => json!(value),
                Number(value) => json!(value),
                Text(value) => json!(value),
            };
        }
        ensure!(
            found[&key] == expected,
            "{key}\nfound {:#}\nexpected {expected:#}",
            found[&key]
        );
    }
    Ok(())
}
