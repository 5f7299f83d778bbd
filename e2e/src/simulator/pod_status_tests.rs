use super::*;

fn pod(status: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "agent", "namespace": "ns"},
        "spec": {
            "initContainers": [{"name": "uninstall-calico", "image": "n"}, {"name": "install-cni", "image": "c"}],
            "containers": [
                {"name": "felix", "image": "n", "readinessProbe": {"httpGet": {"port": 9099}}},
                {"name": "node", "image": "n"},
            ],
        },
        "status": status,
    }))
    .unwrap()
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["type"] == kind)
        .unwrap()
}

fn crash(container: &str) -> Outcome {
    Outcome::Crashing {
        container: container.to_owned(),
        message: "no".to_owned(),
    }
}

#[test]
fn every_outcome() {
    let waits = |container: &str| Outcome::Waiting {
        container: container.to_owned(),
        reason: "ImagePullBackOff",
        message: "Back-off pulling image".to_owned(),
    };
    // Outcome, phase, Ready, Initialized, and whether felix, node are ready.
    for (outcome, phase, ready, initialized, containers) in [
        (Outcome::Creating, "Pending", "False", "False", [false, false]),
        (
            waits("uninstall-calico"),
            "Pending",
            "False",
            "False",
            [false, false],
        ),
        (waits("node"), "Running", "False", "True", [false, false]),
        (crash("install-cni"), "Pending", "False", "False", [false, false]),
        (crash("node"), "Running", "False", "True", [false, false]),
        (Outcome::Running, "Running", "False", "True", [false, true]),
        (Outcome::Ready, "Running", "True", "True", [true, true]),
    ] {
        let status = status(
            &pod(json!({})),
            Some("172.20.0.5"),
            &outcome,
            "2026-01-01T00:00:00Z",
        );
        assert_eq!(status["phase"], phase, "{outcome:?}");
        assert_eq!(condition(&status, "Ready")["status"], ready, "{outcome:?}");
        assert_eq!(
            condition(&status, "Initialized")["status"],
            initialized,
            "{outcome:?}"
        );
        for (n, expected) in containers.into_iter().enumerate() {
            assert_eq!(
                status["containerStatuses"][n]["ready"], expected,
                "{outcome:?} {n}"
            );
        }
        assert_eq!(status["podIP"], "172.20.0.5");
    }
}

#[test]
fn a_crash_is_reported_as_a_kubelet_reports_it() {
    let status = status(
        &pod(json!({})),
        Some("172.20.0.5"),
        &crash("install-cni"),
        "2026-01-01T00:00:00Z",
    );
    let [done, crashed] = [
        &status["initContainerStatuses"][0],
        &status["initContainerStatuses"][1],
    ];
    assert_eq!(done["state"]["terminated"]["reason"], "Completed");
    assert_eq!(crashed["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(crashed["lastState"]["terminated"]["exitCode"], 1);
    assert_eq!(crashed["lastState"]["terminated"]["message"], "no");
    assert_eq!(crashed["restartCount"], 1);
    assert_eq!(
        status["containerStatuses"][0]["state"]["waiting"]["reason"],
        "PodInitializing"
    );
}

#[test]
fn equal_status_is_not_written_again() {
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z");
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": early});
    for outcome in [
        Outcome::Creating,
        crash("install-cni"),
        crash("node"),
        Outcome::Running,
        Outcome::Ready,
    ] {
        let first = status(
            &pod(json!({"conditions": [scheduled]})),
            Some("172.20.0.5"),
            &outcome,
            early,
        );
        assert!(condition(&first, "PodScheduled")["status"] == "True");
        // As it comes back from the API server, through its types.
        let back = pod(first.clone());
        let second = status(&back, Some("172.20.0.5"), &outcome, late);
        assert!(
            says(&json!(back.status), &second),
            "{outcome:?}\n{:#}\n{second:#}",
            json!(back.status)
        );
        assert_eq!(is_ready(&back), outcome == Outcome::Ready);
    }
    let running = pod(status(
        &pod(json!({})),
        Some("172.20.0.5"),
        &Outcome::Running,
        early,
    ));
    let ready = status(&running, Some("172.20.0.5"), &Outcome::Ready, late);
    assert!(!says(&json!(running.status), &ready));
    assert_eq!(condition(&ready, "Ready")["lastTransitionTime"], late);
    assert_eq!(condition(&ready, "Initialized")["lastTransitionTime"], early);
    assert_eq!(
        ready["containerStatuses"][0]["state"]["running"]["startedAt"],
        early
    );
}

#[test]
fn a_container_that_crashed_once_runs_on() {
    let now = "2026-01-01T00:00:00Z";
    let crashed = pod(status(&pod(json!({})), None, &crash("node"), now));
    let running = pod(status(&crashed, None, &Outcome::Ready, now));
    let later = status(&running, None, &Outcome::Ready, now);
    assert!(says(&json!(running.status), &later));
    assert_eq!(later["containerStatuses"][1]["restartCount"], 1);
    assert_eq!(
        later["containerStatuses"][1]["lastState"]["terminated"]["message"],
        "no"
    );
}
