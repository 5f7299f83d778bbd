//! What each network type wishes of Calico.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::stage::Stage;

pub type Fields = [(ConfigKind, &'static str, &'static [(&'static str, Wish)]); 3];

#[derive(Clone, Copy)]
pub enum Wish {
    Flag(bool),
    Number(i32),
    Text(&'static str),
}

use Wish::{Flag, Number, Text};

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

/// Every object has the fields that are wished for, and its others as they were.
pub async fn configured(stage: &Stage, before: &Value, wishes: &Fields) -> Result<()> {
    let found = stage.calico_specs().await?;
    for (kind, name, fields) in wishes {
        let key = format!("{} {name}", kind.as_str());
        // What the operator creates has the defaults of the schema, too.
        let mut expected = if before[&key].is_null() {
            found[&key].clone()
        } else {
            before[&key].clone()
        };
        for (field, wish) in *fields {
            expected[*field] = match wish {
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
