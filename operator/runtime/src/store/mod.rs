//! Where fields are stored. The plan decides what a field should be; this module knows whether a custom resource, a
//! ConfigMap or a key of etcd holds it.

pub mod etcd;
mod flannel;
mod kubernetes;

use wn_api::calico::ConfigKind;
use wn_plan::calico::Write;

use crate::context::Context;
use crate::error::Error;

/// Writes to one object. What was decided on must still be what is stored, else it is refused as stale.
pub async fn write(context: &Context, write: &Write) -> Result<(), Error> {
    match &context.apis.etcd {
        Some(link) if ConfigKind::OF_CALICO.contains(&write.kind) => {
            etcd::write(context, link, write).await?
        }
        _ => kubernetes::write(context, write).await?,
    }
    let changes: Vec<_> = write.changes.iter().map(wn_plan::status::describe).collect();
    tracing::info!(
        object = format!("{} {}", write.kind.as_str(), write.name),
        ?changes,
        "Calico written"
    );
    Ok(())
}
