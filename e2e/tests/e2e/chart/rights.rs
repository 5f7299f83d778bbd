//! Who may do what: the same with helm and with kustomize, and no more than is needed.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{NAME, assert_same, documents, find, hooks, kustomize, render, strings, text, workspace};

/// Every right, spelt out: who, where, what, which verb. How rules are grouped does not matter.
pub(super) fn grants(objects: &[Value]) -> BTreeSet<String> {
    let mut grants = BTreeSet::new();
    for binding in objects.iter().filter(|object| {
        object["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("RoleBinding"))
    }) {
        let scope = binding["metadata"]["namespace"].as_str().unwrap_or("cluster");
        let role = &binding["roleRef"];
        let rules = objects
            .iter()
            .find(|object| {
                object["kind"] == role["kind"]
                    && object["metadata"]["name"] == role["name"]
                    // A Role is looked up beside its binding, a ClusterRole has no namespace.
                    && (role["kind"] == "ClusterRole"
                        || object["metadata"]["namespace"] == binding["metadata"]["namespace"])
            })
            .map(|role| role["rules"].as_array().cloned().unwrap_or_default());
        for subject in binding["subjects"].as_array().into_iter().flatten() {
            let who = format!(
                "{}/{} in {scope}",
                text(&subject["namespace"]),
                text(&subject["name"])
            );
            match &rules {
                Some(rules) => {
                    grants.extend(expand(rules).into_iter().map(|right| format!("{who}: {right}")))
                }
                // One of Kubernetes' own.
                None => grants.extend([format!("{who}: role {}", text(&role["name"]))]),
            }
        }
    }
    grants
}

fn expand(rules: &[Value]) -> Vec<String> {
    let mut rights = Vec::new();
    for rule in rules {
        let names = match strings(&rule["resourceNames"]) {
            names if names.is_empty() => vec!["*"],
            names => names,
        };
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for name in &names {
                    for verb in strings(&rule["verbs"]) {
                        rights.push(format!("{verb} {resource}.{group} {name}"));
                    }
                }
            }
        }
    }
    rights
}

#[test]
fn grants_what_manifests_grant() -> Result<()> {
    let base = grants(&kustomize("manifests/base")?);
    assert!(base.len() > 100, "only {} rights were understood", base.len());
    assert_same(&grants(&render(&[])?), &base);
    Ok(())
}

#[test]
fn grants_what_the_tigera_component_grants() -> Result<()> {
    let mut with_component = kustomize("manifests/base")?;
    let component =
        std::fs::read_to_string(workspace().join("manifests/components/tigera-operator/rbac.yaml"))?;
    with_component.extend(documents(&component)?);
    let chart = grants(&render(&["--set", "tigeraOperator.enabled=true"])?);
    assert_same(&chart, &grants(&with_component));
    assert!(chart.len() > grants(&render(&[])?).len());
    Ok(())
}

#[test]
fn grants_what_the_etcd_component_grants() -> Result<()> {
    let mut with_component = kustomize("manifests/base")?;
    let component = std::fs::read_to_string(workspace().join("manifests/components/etcd/rbac.yaml"))?;
    with_component.extend(documents(&component)?);
    let chart = grants(&render(&["--set", "etcd.secretName=calico-etcd-secrets"])?);
    assert_same(&chart, &grants(&with_component));
    // One Secret, and nothing but to read it.
    let added: Vec<_> = chart.difference(&grants(&render(&[])?)).cloned().collect();
    let right = |verb: &str| format!("{NAME}/{NAME} in {NAME}: {verb} secrets. calico-etcd-secrets");
    assert_eq!(added, [right("list"), right("watch")]);
    Ok(())
}

/// Without linting the operator knows that it has no rights, and has none; with it, it may read and nothing else.
#[test]
fn linting_grants_reading_only() -> Result<()> {
    let without = ["--set", "workloads.lint.enabled=false"];
    let (all, few) = (grants(&render(&[])?), grants(&render(&without)?));
    let added: Vec<_> = all.difference(&few).collect();
    assert!(added.len() > 40 && few.is_subset(&all), "{}", added.len());
    for right in added {
        assert!(right.contains(": list ") || right.contains(": watch "), "{right}");
    }
    // A release from before this value has none: `helm upgrade --reuse-values`.
    assert_same(&grants(&render(&["--set", "workloads=null"])?), &all);
    for (args, expected) in [(&[][..], false), (&without[..], true)] {
        let deployment = super::deployment(args)?;
        let arguments = strings(&deployment["spec"]["template"]["spec"]["containers"][0]["args"]);
        assert_eq!(arguments.contains(&"--workload-lint=false"), expected);
    }
    Ok(())
}

#[test]
fn nobody_may_do_everything() -> Result<()> {
    let rights = grants(&render(&["--set", "tigeraOperator.enabled=true"])?);
    for right in &rights {
        let (_, what) = right.split_once(": ").context("who: what")?;
        let verb = what.split(' ').next().unwrap_or_default();
        let forbidden = ["*", "escalate", "bind", "impersonate", "deletecollection"].contains(&verb)
            || what.contains("secrets")
            || what.contains("rbac.authorization.k8s.io")
            || what.contains("*.")
            || what.contains(".* ");
        assert!(!forbidden, "{right}");
    }
    // Tokens of one account, in one namespace.
    let tokens: Vec<_> = rights
        .iter()
        .filter(|right| right.contains("serviceaccounts/token"))
        .collect();
    let expected =
        format!("{NAME}/calico-node-windows in {NAME}: create serviceaccounts/token. calico-cni-plugin");
    assert_eq!(tokens, [&expected]);
    Ok(())
}

/// The operator writes to two Calico objects by name, to pools, to flannel's configuration, to Nodes its condition and
/// taint, and to what is its own.
#[test]
fn operator_writes_only_what_it_manages() -> Result<()> {
    let rights = grants(&render(&[])?);
    let writes: Vec<&str> = rights
        .iter()
        .filter_map(|right| right.strip_prefix(&format!("{NAME}/{NAME} in cluster: ")))
        .filter(|what| {
            !["get ", "list ", "watch "]
                .iter()
                .any(|verb| what.starts_with(verb))
        })
        .collect();
    let allowed = |what: &&&str| {
        [
            "felixconfigurations.",
            "ipamconfigs.",
            "ipamconfigurations.",
            "ippools.",
        ]
        .iter()
        .any(|resource| what.contains(&format!(" {resource}")) && what.contains("projectcalico.org "))
            || what.contains(".windowsnode.dev ")
            || what.ends_with(" events.events.k8s.io *")
            || [
                "patch nodes. *",
                "patch nodes/status. *",
                "patch configmaps. kube-flannel-cfg",
            ]
            .contains(what)
    };
    let other: Vec<_> = writes.iter().filter(|what| !allowed(what)).collect();
    assert!(!writes.is_empty() && other.is_empty(), "{other:?}");
    let unnamed: Vec<_> = writes
        .iter()
        .filter(|what| what.starts_with("delete ") && what.ends_with(" *"))
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
    Ok(())
}

#[test]
fn leaves_rbac_to_others_on_request() -> Result<()> {
    let kinds: BTreeSet<String> = render(&[
        "--set",
        "rbac.create=false",
        "--set",
        "tigeraOperator.enabled=true",
    ])?
    .iter()
    .map(|object| text(&object["kind"]).to_owned())
    .collect();
    assert_eq!(
        kinds,
        [
            "CustomResourceDefinition",
            "Deployment",
            "PodDisruptionBudget",
            "ServiceAccount"
        ]
        .map(str::to_owned)
        .into()
    );
    let view = format!("{NAME}-view");
    assert!(find(&render(&[])?, "ClusterRole", &view).is_ok());
    assert!(
        find(
            &render(&["--set", "rbac.aggregateClusterRoles=false"])?,
            "ClusterRole",
            &view
        )
        .is_err()
    );
    Ok(())
}

/// While helm uninstalls, a Job may delete the one object, and nothing else.
#[test]
fn the_uninstall_hook_may_delete_the_config_only() -> Result<()> {
    let all = hooks(&[])?;
    for object in &all {
        assert_eq!(object["metadata"]["annotations"]["helm.sh/hook"], "pre-delete");
    }
    let who = format!("{NAME}/{NAME}-uninstall in cluster");
    let right = |verb: &str| format!("{who}: {verb} windowsnodeconfigs.windowsnode.dev default");
    assert_eq!(grants(&all), BTreeSet::from([right("delete"), right("get")]));
    let job = find(&all, "Job", &format!("{NAME}-uninstall"))?;
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(
        pod["containers"][0]["args"],
        json!(["uninstall", "--timeout=270"])
    );
    assert_eq!(pod["serviceAccountName"], format!("{NAME}-uninstall"));
    let set = hooks(&[
        "--set",
        "uninstallHook.timeoutSeconds=60,kubernetesServiceEndpoint.host=h,kubernetesServiceEndpoint.port=6443",
    ])?;
    let container =
        &find(&set, "Job", &format!("{NAME}-uninstall"))?["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["args"][1], "--timeout=60");
    assert_eq!(container["env"][0]["value"], "h");
    for without in ["uninstallHook.enabled=false", "rbac.create=false"] {
        assert!(hooks(&["--set", without])?.is_empty(), "{without}");
    }
    Ok(())
}
