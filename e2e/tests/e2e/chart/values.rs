//! Each value does what it says, and values that cannot work are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::rights::grants;
use super::{NAME, chart, deployment, find, objects, render, strings, template_of, text};

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn image_follows_registry_tag_and_digest() -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let cases: &[(&[&str], String)] = &[
        (&[], format!("{NAME}:{version}")),
        (
            &["image.registry=r.example.com/team"],
            format!("r.example.com/team/{NAME}:{version}"),
        ),
        (
            &["imageRegistry=r.example.com:5000"],
            format!("r.example.com:5000/{NAME}:{version}"),
        ),
        (
            &["imageRegistry=a.example.com", "image.registry=b.example.com"],
            format!("b.example.com/{NAME}:{version}"),
        ),
        (
            &[
                "global.imageRegistry=g.example.com",
                "image.registry=b.example.com",
            ],
            format!("g.example.com/{NAME}:{version}"),
        ),
        (&["image.repository=wno", "image.tag=v9"], "wno:v9".to_owned()),
        (
            &["image.registry=r.example.com", &format!("image.digest={DIGEST}")],
            format!("r.example.com/{NAME}@{DIGEST}"),
        ),
    ];
    for (set, expected) in cases {
        let args: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let deployment = deployment(&args)?;
        assert_eq!(
            deployment["spec"]["template"]["spec"]["containers"][0]["image"], *expected,
            "{set:?}"
        );
    }
    Ok(())
}

#[test]
fn refuses_values_that_cannot_work() -> Result<()> {
    let digest = format!("image.tag=v1,image.digest={DIGEST}");
    let cases = [
        ("replicaCount=6", "/replicaCount"),
        ("replicaCount=-1", "/replicaCount"),
        ("leaderElection.enabled=true", "'leaderElection' not allowed"),
        ("image.name=a", "'name' not allowed"),
        ("image.registry=https://r.example.com", "/image/registry"),
        ("image.repository=Upper", "/image/repository"),
        ("image.digest=sha256:12", "/image/digest"),
        (&digest, "image: set tag or digest, not both"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("imagePullSecrets={a}", "/imagePullSecrets/0"),
        ("commonLabels.a=b c", "/commonLabels/a"),
        ("crds.keep=maybe", "/crds/keep"),
        ("global.imageRegistry=a b", "/global/imageRegistry"),
        (
            "networkPolicy.apiServer.ports={70000}",
            "/networkPolicy/apiServer/ports/0",
        ),
        (
            "networkPolicy.apiServer.cidrs={10.0.0.1}",
            "/networkPolicy/apiServer/cidrs/0",
        ),
        ("networkPolicy.metrics.from[0].name=a", "'name' not allowed"),
        (
            "networkPolicy.enabled=true,hostNetwork=true",
            "networkPolicy: has no effect on a pod in the network of its node",
        ),
        (
            "podDisruptionBudget.maxUnavailable=0",
            "/podDisruptionBudget/maxUnavailable",
        ),
        (
            "podDisruptionBudget.maxUnavailable=half",
            "/podDisruptionBudget/maxUnavailable",
        ),
        (
            "podDisruptionBudget.unhealthyPodEvictionPolicy=Never",
            "/podDisruptionBudget/unhealthyPodEvictionPolicy",
        ),
        (
            "terminationGracePeriodSeconds=0",
            "/terminationGracePeriodSeconds",
        ),
        ("serviceAccount.create=false", "set serviceAccount.name"),
        (
            "kubernetesServiceEndpoint.host=a.example.com",
            "set host and port, or neither",
        ),
        (
            "kubernetesServiceEndpoint.port=6443",
            "set host and port, or neither",
        ),
        (
            "kubernetesServiceEndpoint.host=https://a.example.com",
            "/kubernetesServiceEndpoint/host",
        ),
        (
            "kubernetesServiceEndpoint.port=70000",
            "/kubernetesServiceEndpoint/port",
        ),
        ("dnsPolicy=None", "/dnsPolicy"),
        ("port=0", "/port"),
        ("port=65536", "/port"),
        ("logFormat=xml", "/logFormat"),
        ("logLevel=", "/logLevel"),
        ("resources.limits.memory=10Q", "/resources/limits/memory"),
        ("nodeSelector.a=true", "/nodeSelector/a"),
        ("tolerations[0].effect=Never", "/tolerations/0/effect"),
        ("extraArgs={word}", "/extraArgs/0"),
        ("extraEnv[0].value=a", "missing property 'name'"),
    ];
    for (set, expected) in cases {
        let output = template_of(&chart(), NAME, &["--set", set])?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{set} was accepted");
        assert!(message.contains(expected), "{set}: {message}");
    }
    Ok(())
}

/// A value that does nothing is a promise that is not kept: each shows where it belongs.
#[test]
fn every_option_shows() -> Result<()> {
    let values = json!({
        "imagePullSecrets": [{ "name": "pull" }],
        "commonLabels": { "team": "network", "app.kubernetes.io/name": "ignored" },
        "podLabels": { "pod": "label" },
        "podAnnotations": { "pod": "annotation" },
        "serviceAccount": { "name": "account", "annotations": { "sa": "annotation" } },
        "kubernetesServiceEndpoint": { "host": "api.example.com", "port": 6443 },
        "hostNetwork": true,
        "port": 9000,
        "logLevel": "info,kube=debug",
        "logFormat": "json",
        "resources": { "requests": { "cpu": "1m" }, "limits": { "memory": "1Gi" } },
        "priorityClassName": "urgent",
        "nodeSelector": { "pool": "infra" },
        "tolerations": [{ "operator": "Exists" }],
        "affinity": { "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [] } },
        "topologySpreadConstraints": [{ "maxSkew": 1 }],
        "terminationGracePeriodSeconds": 60,
        "podSecurityContext": { "runAsUser": 1 },
        "securityContext": { "privileged": false },
        "extraArgs": ["--extra"],
        "extraEnv": [{ "name": "EXTRA", "value": "1" }],
        "extraVolumes": [{ "name": "extra", "emptyDir": {} }],
        "extraVolumeMounts": [{ "name": "extra", "mountPath": "/extra" }],
        "extraObjects": [
            { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "as-object" } },
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-as-text\n",
        ],
    });
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("every-option.json");
    std::fs::write(&file, values.to_string())?;
    let rendered = render(&["--values", &file.display().to_string()])?;

    let deployment = find(&rendered, "Deployment", NAME)?;
    let template = &deployment["spec"]["template"];
    let pod = &template["spec"];
    let container = &pod["containers"][0];
    for field in [
        "imagePullSecrets",
        "hostNetwork",
        "priorityClassName",
        "tolerations",
        "affinity",
        "topologySpreadConstraints",
        "terminationGracePeriodSeconds",
    ] {
        assert_eq!(pod[field], values[field], "{field}");
    }
    assert_eq!(pod["dnsPolicy"], "ClusterFirstWithHostNet");
    assert_eq!(pod["serviceAccountName"], "account");
    assert_eq!(
        pod["nodeSelector"],
        json!({ "kubernetes.io/os": "linux", "pool": "infra" })
    );
    assert_eq!(pod["securityContext"]["runAsUser"], 1);
    assert_eq!(pod["volumes"], values["extraVolumes"]);
    assert_eq!(container["volumeMounts"], values["extraVolumeMounts"]);
    assert_eq!(container["securityContext"]["privileged"], false);
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    assert_eq!(
        container["resources"]["requests"],
        json!({ "cpu": "1m", "memory": "24Mi" })
    );
    assert_eq!(container["ports"][0]["containerPort"], 9000);
    assert_eq!(
        strings(&container["args"]),
        [
            "run",
            "--listen=0.0.0.0:9000",
            "--log-level=info,kube=debug",
            "--log-format=json",
            "--extra"
        ]
    );
    let env: BTreeMap<&str, &str> = container["env"]
        .as_array()
        .context("env")?
        .iter()
        .map(|env| (text(&env["name"]), text(&env["value"])))
        .collect();
    assert_eq!(env["KUBERNETES_SERVICE_HOST"], "api.example.com");
    assert_eq!(env["KUBERNETES_SERVICE_PORT"], "6443");
    assert_eq!(env["EXTRA"], "1");
    assert!(env.contains_key("POD_NAMESPACE") && env.contains_key("POD_NAME"));

    let labels = &template["metadata"]["labels"];
    assert_eq!(
        (text(&labels["pod"]), text(&labels["team"])),
        ("label", "network")
    );
    assert_eq!(template["metadata"]["annotations"], values["podAnnotations"]);
    for (label, value) in deployment["spec"]["selector"]["matchLabels"]
        .as_object()
        .context("selector")?
    {
        assert_eq!(&labels[label], value, "the selector must find the pods");
    }

    assert_eq!(
        find(&rendered, "ServiceAccount", "account")?["metadata"]["annotations"]["sa"],
        "annotation"
    );
    assert!(find(&rendered, "ConfigMap", "as-object").is_ok());
    assert!(find(&rendered, "ConfigMap", &format!("{NAME}-as-text")).is_ok());
    for object in rendered.iter().filter(|object| object["kind"] != "ConfigMap") {
        assert_eq!(object["metadata"]["labels"]["team"], "network", "{object}");
    }
    // Its rights go with the account, whatever its name.
    assert!(
        grants(&rendered)
            .iter()
            .any(|right| right.starts_with(&format!("{NAME}/account in cluster: ")))
    );
    Ok(())
}

#[test]
fn can_be_stopped_without_being_uninstalled() -> Result<()> {
    assert_eq!(deployment(&["--set", "replicaCount=0"])?["spec"]["replicas"], 0);
    Ok(())
}

/// Replicas, whether they prefer different nodes and have a budget, and how many may be missing during an update.
#[test]
fn replicas_are_kept_apart_and_replaced_one_by_one() -> Result<()> {
    let cases: [(&[&str], u64, bool, u64); 4] = [
        (&[], 2, true, 1),
        (&["--set", "replicaCount=1"], 1, false, 0),
        // The port of the old pod is taken on the node.
        (&["--set", "replicaCount=1,hostNetwork=true"], 1, false, 1),
        (&["--set", "replicaCount=3"], 3, true, 1),
    ];
    for (args, replicas, apart, missing) in cases {
        let rendered = render(args)?;
        let spec = &find(&rendered, "Deployment", NAME)?["spec"];
        assert_eq!(spec["replicas"], replicas);
        let update = &spec["strategy"]["rollingUpdate"];
        assert_eq!(
            *update,
            json!({"maxSurge": 1, "maxUnavailable": missing}),
            "{args:?}"
        );
        let affinity = &spec["template"]["spec"]["affinity"]["podAntiAffinity"];
        assert_eq!(affinity.is_object(), apart, "{args:?}");
        assert_eq!(
            find(&rendered, "PodDisruptionBudget", NAME).is_ok(),
            apart,
            "{args:?}"
        );
    }
    let mine = deployment(&["--set-json", r#"affinity={"nodeAffinity":{}}"#])?;
    assert_eq!(
        mine["spec"]["template"]["spec"]["affinity"],
        json!({"nodeAffinity": {}})
    );
    Ok(())
}

/// The operator finds the accounts of its DaemonSets by name, so no release may rename them.
#[test]
fn accounts_of_the_daemon_sets_keep_their_names() -> Result<()> {
    let args = [
        "--set",
        "serviceAccount.name=mine",
        "--set",
        "fullnameOverride=other",
    ];
    let rendered = objects(&template_of(&chart(), "release", &args)?)?;
    let accounts: BTreeSet<&str> = rendered
        .iter()
        .filter(|object| object["kind"] == "ServiceAccount")
        .map(|object| text(&object["metadata"]["name"]))
        .collect();
    assert_eq!(
        accounts,
        [
            "mine",
            "calico-node-windows",
            "calico-cni-plugin",
            "kube-proxy-windows",
            "kube-flannel-windows",
            "static-routes-windows",
            // The hook before `helm uninstall`.
            "other-uninstall"
        ]
        .into()
    );
    assert!(find(&rendered, "Deployment", "other").is_ok());

    let rendered = objects(&template_of(&chart(), "release", &[])?)?;
    assert!(find(&rendered, "Deployment", "release-windows-node-operator").is_ok());
    Ok(())
}
