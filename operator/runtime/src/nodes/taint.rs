//! The readiness taint. Taints are one list to the API server: it is read, changed by one entry and written back
//! only if nobody wrote to the Node in between, so that no other taint is ever lost.

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::Resource;
use kube::api::{Api, Patch};
use serde_json::json;
use wn_api::names::annotations::TAINTED;
use wn_api::names::{READINESS_TAINT, READINESS_TAINT_EFFECT, READINESS_TAINT_VALUE, managers};

use crate::apis::merge_as;

/// Sets or removes the readiness taint; the Node as stored.
pub async fn write(api: &Api<Node>, name: &str, set: bool) -> Result<Node, kube::Error> {
    let node = api.get(name).await?;
    let mut taints = node
        .spec
        .as_ref()
        .and_then(|s| s.taints.clone())
        .unwrap_or_default();
    taints.retain(|t| t.key != READINESS_TAINT);
    if set {
        taints.push(Taint {
            key: READINESS_TAINT.to_owned(),
            value: Some(READINESS_TAINT_VALUE.to_owned()),
            effect: READINESS_TAINT_EFFECT.to_owned(),
            time_added: None,
        });
    }
    let body = json!({
        "metadata": {
            "resourceVersion": node.meta().resource_version,
            "annotations": { TAINTED: set.then_some("true") },
        },
        "spec": { "taints": taints },
    });
    api.patch(name, &merge_as(managers::NODE), &Patch::Merge(body))
        .await
}
