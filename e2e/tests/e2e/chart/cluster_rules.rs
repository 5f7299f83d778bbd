//! What clusters with rules of their own ask of a chart: annotations, network policies, disruption, eviction.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{NAME, chart, find, hooks, objects, render, template_of, text};

const CRD: &str = "windowsnodeconfigs.windowsnode.dev";
const EVERYTHING: [&str; 2] = [
    "--set",
    "service.enabled=true,serviceMonitor.enabled=true,prometheusRule.enabled=true,grafanaDashboard.enabled=true,\
     tigeraOperator.enabled=true,etcd.secretName=a,networkPolicy.enabled=true",
];

#[test]
fn every_object_has_the_common_annotations() -> Result<()> {
    let own = [
        "--set",
        "commonAnnotations.a=b,commonAnnotations.c=common,service.annotations.c=own,crds.annotations.c=own",
    ];
    let all = objects(&template_of(&chart(), NAME, &[EVERYTHING, own].concat())?)?;
    assert!(all.len() > 35, "only {}", all.len());
    for object in &all {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations["a"], "b", "{object}");
        let has_own = ["Service", "CustomResourceDefinition"].contains(&text(&object["kind"]));
        assert_eq!(
            annotations["c"],
            if has_own { "own" } else { "common" },
            "{object}"
        );
    }
    assert_eq!(
        find(&all, "CustomResourceDefinition", CRD)?["metadata"]["annotations"]["helm.sh/resource-policy"],
        "keep"
    );
    Ok(())
}

#[test]
fn the_crd_takes_annotations() -> Result<()> {
    let set = r#"crds.annotations={"argocd.argoproj.io/sync-options":"Prune=false","helm.sh/resource-policy":"delete"}"#;
    let annotations = |args: &[&str]| -> Result<Value> {
        Ok(find(&render(args)?, "CustomResourceDefinition", CRD)?["metadata"]["annotations"].clone())
    };
    let kept = json!({ "argocd.argoproj.io/sync-options": "Prune=false", "helm.sh/resource-policy": "keep" });
    assert_eq!(annotations(&["--set-json", set])?, kept);
    assert_eq!(annotations(&["--set", "crds.keep=false"])?, Value::Null);
    Ok(())
}

/// `(to, port)` of every rule, `*` for every address.
fn egress(policy: &Value) -> Vec<(String, u64)> {
    let mut rules = Vec::new();
    for rule in policy["spec"]["egress"].as_array().into_iter().flatten() {
        let to: Vec<&str> = match rule["to"].as_array() {
            Some(peers) => peers.iter().map(|peer| text(&peer["ipBlock"]["cidr"])).collect(),
            None => vec!["*"],
        };
        for to in to {
            for port in rule["ports"].as_array().into_iter().flatten() {
                let number = port["port"].as_u64().unwrap_or_default();
                rules.push((format!("{to} {}", text(&port["protocol"])), number));
            }
        }
    }
    rules
}

#[test]
fn the_network_policy_lets_out_what_is_needed() -> Result<()> {
    let any = |ports: &[u64]| {
        ports
            .iter()
            .map(|port| ("* TCP".to_owned(), *port))
            .collect::<Vec<_>>()
    };
    let dns = |port: u64| vec![("* UDP".to_owned(), port), ("* TCP".to_owned(), port)];
    let cases: [(&str, Vec<(String, u64)>); 4] = [
        (
            "networkPolicy.enabled=true",
            [any(&[443, 6443]), dns(53)].concat(),
        ),
        (
            "networkPolicy.enabled=true,networkPolicy.apiServer.cidrs={10.0.0.1/32},networkPolicy.apiServer.ports={6443}",
            [vec![("10.0.0.1/32 TCP".to_owned(), 6443)], dns(53)].concat(),
        ),
        (
            "networkPolicy.enabled=true,kubernetesServiceEndpoint.host=h,kubernetesServiceEndpoint.port=8443",
            [any(&[443, 6443, 8443]), dns(53)].concat(),
        ),
        (
            "networkPolicy.enabled=true,networkPolicy.etcd.ports={2379},networkPolicy.etcd.cidrs={10.0.0.0/24},networkPolicy.dns.ports={5353}",
            [
                any(&[443, 6443]),
                vec![("10.0.0.0/24 TCP".to_owned(), 2379)],
                dns(5353),
            ]
            .concat(),
        ),
    ];
    for (set, expected) in cases {
        let rendered = render(&["--set", set])?;
        let policy = find(&rendered, "NetworkPolicy", NAME)?;
        assert_eq!(egress(policy), expected, "{set}");
        // The Job before `helm uninstall` asks the API server, and etcd nothing.
        let job = find(&rendered, "NetworkPolicy", &format!("{NAME}-uninstall"))?;
        let expected: Vec<_> = expected.into_iter().filter(|(_, port)| *port != 2379).collect();
        assert_eq!(egress(job), expected, "{set}");
    }
    assert!(find(&render(&[])?, "NetworkPolicy", NAME).is_err());
    let without_hook = render(&["--set", "networkPolicy.enabled=true,uninstallHook.enabled=false"])?;
    assert!(find(&without_hook, "NetworkPolicy", &format!("{NAME}-uninstall")).is_err());
    Ok(())
}

#[test]
fn the_network_policy_selects_the_pods_and_their_port() -> Result<()> {
    let from = r#"networkPolicy={"enabled":true,"metrics":{"from":[{"namespaceSelector":{}}]}}"#;
    for (args, peers) in [
        (["--set", "networkPolicy.enabled=true"], Value::Null),
        (["--set-json", from], json!([{ "namespaceSelector": {} }])),
    ] {
        let rendered = render(&args)?;
        let policy = &find(&rendered, "NetworkPolicy", NAME)?["spec"];
        let pod = &find(&rendered, "Deployment", NAME)?["spec"]["template"];
        assert_eq!(policy["podSelector"]["matchLabels"], pod["metadata"]["labels"]);
        let ingress = &policy["ingress"][0];
        assert_eq!(
            ingress["ports"][0]["port"],
            pod["spec"]["containers"][0]["ports"][0]["name"]
        );
        assert_eq!(ingress["from"], peers);
        let job = &find(&rendered, "NetworkPolicy", &format!("{NAME}-uninstall"))?["spec"];
        let hooks = hooks(&[])?;
        let labels =
            &find(&hooks, "Job", &format!("{NAME}-uninstall"))?["spec"]["template"]["metadata"]["labels"];
        assert_eq!(&job["podSelector"]["matchLabels"], labels);
    }
    Ok(())
}

#[test]
fn the_budget_follows_the_values() -> Result<()> {
    let spec = |set: &str| -> Result<Value> {
        let rendered = render(&["--set", set])?;
        let budget = find(&rendered, "PodDisruptionBudget", NAME)?;
        Ok(json!([
            budget["spec"]["maxUnavailable"],
            budget["spec"]["unhealthyPodEvictionPolicy"]
        ]))
    };
    assert_eq!(spec("replicaCount=2")?, json!([1, "AlwaysAllow"]));
    let other = "podDisruptionBudget.maxUnavailable=50%,podDisruptionBudget.unhealthyPodEvictionPolicy=IfHealthyBudget";
    assert_eq!(spec(other)?, json!(["50%", "IfHealthyBudget"]));
    assert!(spec("podDisruptionBudget.enabled=false").is_err());
    Ok(())
}

/// Seconds for which a pod tolerates a taint that evicts: `None` for ever. `Err` when it does not tolerate it.
fn borne(pod: &Value, taint: &str, effect: &str) -> Result<Option<u64>> {
    let tolerations = pod["tolerations"].as_array().context("no tolerations")?;
    let mut fitting = tolerations.iter().filter(|toleration| {
        toleration["key"] == taint && toleration.get("effect").is_none_or(|own| own == effect)
    });
    let toleration = fitting
        .next()
        .with_context(|| format!("{taint}:{effect} is not tolerated"))?;
    assert!(fitting.next().is_none(), "{taint}:{effect} twice");
    Ok(toleration["tolerationSeconds"].as_u64())
}

/// It can start on any node that is not ready. It leaves one after 30 seconds where another replica works meanwhile and
/// where it could not work itself.
#[test]
fn pods_leave_nodes_that_others_can_do_without() -> Result<()> {
    let (not_ready, unreachable) = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable");
    for (set, seconds) in [
        ("replicaCount=2", Some(30)),
        ("replicaCount=1", None),
        ("replicaCount=2,hostNetwork=true", None),
    ] {
        let rendered = render(&["--set", set])?;
        let pod = &find(&rendered, "Deployment", NAME)?["spec"]["template"]["spec"];
        assert_eq!(borne(pod, not_ready, "NoSchedule")?, None, "{set}");
        assert_eq!(borne(pod, not_ready, "NoExecute")?, seconds, "{set}");
        assert_eq!(borne(pod, unreachable, "NoExecute")?, Some(30), "{set}");
        assert_eq!(
            borne(pod, "node.kubernetes.io/network-unavailable", "NoSchedule")?,
            None,
            "{set}"
        );
        // The Job has one try.
        let hooks = hooks(&["--set", set])?;
        let job = &find(&hooks, "Job", &format!("{NAME}-uninstall"))?["spec"]["template"]["spec"];
        assert_eq!(borne(job, not_ready, "NoExecute")?, None, "{set}");
        assert!(borne(job, unreachable, "NoExecute").is_err(), "{set}");
    }
    Ok(())
}
