//! The status a kubelet gives the pods simulated here (`pkg/kubelet/kubelet_pods.go`,
//! `pkg/kubelet/status/generate.go`). Pure; times come in.

use k8s_openapi::api::core::v1::{Container, Pod};
use serde_json::{Value, json};

/// What became of a pod's containers.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A volume is not there: no container was made.
    Creating,
    /// `container` cannot be started; those before it were.
    Waiting {
        container: String,
        reason: &'static str,
        message: String,
    },
    /// `container` exits; those before it did their work.
    Crashing {
        container: String,
        message: String,
    },
    /// All run; those with a readiness probe are not ready. One without is ready as soon as it runs.
    Running,
    Ready,
}

/// The status, taking over from `pod` what has not changed.
pub fn status(pod: &Pod, node_ip: Option<&str>, outcome: &Outcome, now: &str) -> Value {
    let empty = Vec::new();
    let spec = pod.spec.as_ref();
    let inits = spec
        .and_then(|spec| spec.init_containers.as_ref())
        .unwrap_or(&empty);
    let mains = spec.map_or(&empty, |spec| &spec.containers);
    let previous = json!(pod.status);
    let stuck = match outcome {
        Outcome::Waiting { container, .. } | Outcome::Crashing { container, .. } => Some(container.as_str()),
        _ => None,
    };
    let stuck_init = inits.iter().position(|init| Some(init.name.as_str()) == stuck);
    let initialized = stuck_init.is_none() && *outcome != Outcome::Creating;
    let init_statuses: Vec<Value> = inits
        .iter()
        .enumerate()
        .map(|(n, init)| {
            let state = match stuck_init {
                Some(at) if n == at => stuck_state(outcome, now),
                Some(at) if n > at => waiting("PodInitializing", None),
                _ if !initialized && stuck_init.is_none() => waiting("PodInitializing", None),
                _ => json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}, "ready": true}),
            };
            container_status(init, state, &previous["initContainerStatuses"][n])
        })
        .collect();
    let statuses: Vec<Value> = mains
        .iter()
        .enumerate()
        .map(|(n, main)| {
            let reason = if inits.is_empty() {
                "ContainerCreating"
            } else {
                "PodInitializing"
            };
            let ready = *outcome == Outcome::Ready || main.readiness_probe.is_none();
            let state = match outcome {
                _ if !initialized => waiting(reason, None),
                _ if Some(main.name.as_str()) == stuck => stuck_state(outcome, now),
                _ => json!({"state": {"running": {"startedAt": now}}, "ready": ready, "started": true}),
            };
            container_status(main, state, &previous["containerStatuses"][n])
        })
        .collect();
    let running = statuses.iter().any(|one| one["state"].get("running").is_some());
    let restarting = initialized && matches!(outcome, Outcome::Crashing { .. });
    let mut status = json!({
        "phase": if running || restarting { "Running" } else { "Pending" },
        "conditions": conditions(&previous, &statuses, &init_statuses, now),
        "startTime": previous["startTime"].as_str().unwrap_or(now),
        "containerStatuses": statuses,
    });
    // A HostProcess pod is on the host network.
    if let Some(ip) = node_ip {
        for (one, all) in [("hostIP", "hostIPs"), ("podIP", "podIPs")] {
            status[one] = json!(ip);
            status[all] = json!([{"ip": ip}]);
        }
    }
    if !inits.is_empty() {
        status["initContainerStatuses"] = json!(init_statuses);
    }
    status
}

/// Does `current` say all that `desired` says?
pub fn says(current: &Value, desired: &Value) -> bool {
    match (current, desired) {
        (Value::Object(current), Value::Object(desired)) => desired.iter().all(|(key, value)| {
            current
                .get(key)
                .map_or(*value == json!({}), |current| says(current, value))
        }),
        (Value::Array(current), Value::Array(desired)) => {
            current.len() == desired.len() && current.iter().zip(desired).all(|(c, d)| says(c, d))
        }
        _ => current == desired,
    }
}

pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|one| one.type_ == "Ready" && one.status == "True")
}

fn stuck_state(outcome: &Outcome, now: &str) -> Value {
    match outcome {
        Outcome::Waiting { reason, message, .. } => waiting(reason, Some(message)),
        Outcome::Crashing { container, message } => {
            let mut state = waiting(
                "CrashLoopBackOff",
                Some(&format!("back-off 10s restarting failed container={container}")),
            );
            state["lastState"] = json!({"terminated": {
                "exitCode": 1, "reason": "Error", "message": message, "startedAt": now, "finishedAt": now,
            }});
            state
        }
        _ => waiting("ContainerCreating", None),
    }
}

fn waiting(reason: &str, message: Option<&str>) -> Value {
    json!({"state": {"waiting": {"reason": reason, "message": message}}, "ready": false, "started": false})
}

/// Completes `state`, keeping times and counts of `previous` where the container did not change.
fn container_status(container: &Container, mut state: Value, previous: &Value) -> Value {
    for field in ["state", "lastState"] {
        for (phase, detail) in state[field].as_object_mut().into_iter().flatten() {
            let before = &previous[field][phase];
            let same = detail["message"] == before["message"];
            for time in ["startedAt", "finishedAt"] {
                if same && detail.get(time).is_some() && before[time].is_string() {
                    detail[time] = before[time].clone();
                }
            }
        }
    }
    // A merge patch would otherwise leave the state of before beside the new one; lists are replaced
    // whole, so leaving a field out removes it.
    let restarts = previous["restartCount"].as_i64().unwrap_or(0);
    let exit = |status: &Value| status["lastState"]["terminated"]["message"].clone();
    // A new way to fail is a restart; the same one over and over is not counted, to stay silent.
    let again = state["lastState"].is_object() && exit(&state) != exit(previous);
    let mut status = json!({
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "restartCount": restarts + i64::from(again),
        "lastState": previous["lastState"].as_object().cloned().unwrap_or_default(),
    });
    for (key, value) in state.as_object_mut().into_iter().flatten() {
        if !value.is_null() {
            status[key] = strip_nulls(value.take());
        }
    }
    status
}

fn strip_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, strip_nulls(value))).collect())
        }
        other => other,
    }
}

fn conditions(previous: &Value, statuses: &[Value], inits: &[Value], now: &str) -> Vec<Value> {
    let names = |list: &[Value]| {
        let unready = list.iter().filter(|one| one["ready"] != true);
        let names: Vec<String> = unready
            .filter_map(|one| one["name"].as_str().map(str::to_owned))
            .collect();
        names.join(" ")
    };
    let (unready, incomplete) = (names(statuses), names(inits));
    let not_ready = |text: &str| format!("containers with unready status: [{text}]");
    let ours = [
        ("PodReadyToStartContainers", String::new(), ""),
        ("Initialized", incomplete.clone(), "ContainersNotInitialized"),
        ("Ready", unready.clone(), "ContainersNotReady"),
        ("ContainersReady", unready, "ContainersNotReady"),
    ];
    let before = previous["conditions"].as_array().cloned().unwrap_or_default();
    let foreign = |one: &&Value| ours.iter().all(|(kind, ..)| one["type"] != *kind);
    let mut conditions: Vec<Value> = before.iter().filter(foreign).cloned().collect();
    for (kind, problem, reason) in &ours {
        let status = if problem.is_empty() { "True" } else { "False" };
        let same = before
            .iter()
            .find(|one| one["type"] == *kind && one["status"] == status);
        let since = same
            .and_then(|one| one["lastTransitionTime"].as_str())
            .unwrap_or(now);
        let mut condition = json!({"type": kind, "status": status, "lastTransitionTime": since});
        if !problem.is_empty() {
            condition["reason"] = json!(reason);
            condition["message"] = json!(match *kind {
                "Initialized" => format!("containers with incomplete status: [{problem}]"),
                _ => not_ready(problem),
            });
        }
        conditions.push(condition);
    }
    conditions
}

#[cfg(test)]
#[path = "pod_status_tests.rs"]
mod tests;
