//! TigeraStatus, with which each controller tells how it gets on (`pkg/controller/status`).

use anyhow::Result;
use jiff::Timestamp;
use serde_json::json;

use super::objects::{World, create, get, merge_status};

/// Reason and message of `Degraded`.
pub type Refusal = (&'static str, String);

/// Writes the TigeraStatus when it says something new.
pub async fn say(world: &World, name: &str, type_: &str, reason: &str, message: &str) -> Result<()> {
    let api = world.statuses();
    let found = get(&api, name).await?;
    if found.is_null() {
        let object = json!({"apiVersion": "operator.tigera.io/v1", "kind": "TigeraStatus", "metadata": {"name": name}});
        create(&api, object).await?;
    }
    let known = found["status"]["conditions"].as_array();
    let mut reported = known.into_iter().flatten().filter(|c| c["status"] == "True");
    if reported.any(|c| c["type"] == type_ && c["message"] == message) {
        return Ok(());
    }
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |of: &str| {
        let on = of == type_;
        json!({
            "type": of, "status": if on { "True" } else { "False" }, "lastTransitionTime": now,
            "reason": if on { reason } else { "NotApplicable" }, "message": if on { message } else { "" },
        })
    };
    let all = ["Available", "Progressing", "Degraded"].map(condition);
    merge_status(&api, name, json!({ "conditions": all })).await
}
