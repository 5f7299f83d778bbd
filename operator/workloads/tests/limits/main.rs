//! Services and pods: for each code objects that have the finding, and objects that nearly do.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

mod objects;
mod pods;
mod services;

use std::collections::BTreeSet;

use objects::{NEW, bare_service, nodes, pod, template};
use wn_workloads::findings::{Code, Finding, Severity};
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::limits::{self, Known};

/// Severity, object and field; `None` if the code must not be reported.
type Expected = Option<(Severity, &'static str, &'static str)>;

/// Every case.
fn cases() -> Vec<(&'static str, Expected, String)> {
    let mut cases = services::services();
    cases.extend(pods::pods());
    cases
}

fn read(text: &str) -> Objects {
    let manifest = Manifest { name: "case", text };
    let objects = Objects::read([manifest]);
    objects.map_err(|error| format!("{error}\n{text}")).unwrap()
}

fn findings(text: &str, known: &Known) -> Vec<Finding> {
    limits::findings(&read(text), known)
}

/// The findings with a code.
fn found(text: &str, code: &str) -> Vec<(Severity, String, String)> {
    let all = findings(text, &Known::default()).into_iter();
    let of_code = all.filter(|finding| finding.code.to_string() == code);
    of_code
        .map(|f| (f.severity, f.object.to_string(), f.field.unwrap_or_default()))
        .collect()
}

#[test]
fn each_case_has_its_finding() {
    let mut wrong = Vec::new();
    for (code, expected, text) in cases() {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(severity, object, field)| (severity, object.to_owned(), field.to_owned()))
            .collect();
        let found = found(&text, code);
        if found != expected {
            wrong.push(format!("{code}: {found:?} instead of {expected:?} in\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn each_code_has_a_hit_and_a_near_miss() {
    let cases = cases();
    let of = |is_hit: bool| -> BTreeSet<&str> {
        let cases = cases
            .iter()
            .filter(|(_, expected, _)| expected.is_some() == is_hit);
        cases.map(|(code, _, _)| *code).collect()
    };
    let codes = Code::ALL.into_iter().map(|code| code.entry().code);
    let codes: BTreeSet<&str> = codes.filter(|code| !code.starts_with("WN2")).collect();
    assert_eq!(of(true), codes);
    assert_eq!(of(false), codes);
}

/// What files do not say may be given beside them.
#[test]
fn builds_and_kube_proxy_may_be_given() {
    let service = format!(
        "{}---\n{}",
        pod(""),
        bare_service("sessionAffinity: ClientIP, internalTrafficPolicy: Local")
    );
    let codes = |known: &Known| -> Vec<String> {
        let codes = findings(&service, known).into_iter().map(|f| f.code.to_string());
        codes.collect()
    };
    assert!(codes(&Known::default()).is_empty());
    let known = Known {
        builds: vec!["10.0.17763.1432".parse().unwrap()],
        kube_proxy: Some("v1.33.1".parse().unwrap()),
    };
    assert_eq!(codes(&known), ["WN3001", "WN3008"]);
    let known = Known {
        builds: vec![NEW.parse().unwrap()],
        kube_proxy: Some("v1.36.3".parse().unwrap()),
    };
    assert!(codes(&known).is_empty());
}

/// A Deployment, its ReplicaSet and its pods have one finding together.
#[test]
fn pods_are_reported_with_their_owner() {
    let owned = |kind: &str, name: &str, owner: &str, owner_name: &str, spec: &str| {
        format!(
            "---\napiVersion: {}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop, ownerReferences: [{{kind: {owner}, name: {owner_name}, controller: true}}]}}\nspec: {spec}\n",
            if kind == "Pod" { "v1" } else { "apps/v1" }
        )
    };
    let spec = "{hostNetwork: true, nodeSelector: {kubernetes.io/os: windows}, os: {name: windows}}";
    let set = owned(
        "ReplicaSet",
        "web-1",
        "Deployment",
        "web",
        &format!("{{template: {{spec: {spec}}}}}"),
    );
    let pods = owned("Pod", "web-1-a", "ReplicaSet", "web-1", spec)
        + &owned("Pod", "web-1-b", "ReplicaSet", "web-1", spec);
    let objects = |text: &str| -> Vec<(String, Vec<String>)> {
        let all = findings(text, &Known::default());
        all.into_iter()
            .map(|finding| (finding.object.to_string(), finding.pods.to_vec()))
            .collect()
    };
    let names = vec!["shop/web-1-a".to_owned(), "shop/web-1-b".to_owned()];
    let all = pod("hostNetwork: true") + &set + &pods;
    assert_eq!(objects(&all), [("Deployment shop/web".to_owned(), names.clone())]);
    assert_eq!(
        objects(&(set + &pods)),
        [("ReplicaSet shop/web-1".to_owned(), names.clone())]
    );
    assert_eq!(objects(&pods), [("ReplicaSet shop/web-1".to_owned(), names)]);
}

/// Each way in which a template can be for Windows nodes.
#[test]
fn placement() {
    let affinity = |operator: &str, values: &str| {
        format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{{key: kubernetes.io/os, operator: {operator}, values: [{values}]}}]}}]}}}}}}"
        )
    };
    let class = "---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: w}\nhandler: h\nscheduling: {nodeSelector: {kubernetes.io/os: windows}}\n";
    let cases = [
        ("nodeSelector: {kubernetes.io/os: windows}".to_owned(), true),
        ("nodeSelector: {beta.kubernetes.io/os: windows}".to_owned(), true),
        ("nodeSelector: {kubernetes.io/os: linux}".to_owned(), false),
        (
            "nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}".to_owned(),
            true,
        ),
        ("nodeSelector: {pool: w}".to_owned(), true),
        ("nodeSelector: {pool: l}".to_owned(), false),
        ("nodeName: win".to_owned(), true),
        ("nodeName: lin, os: {name: windows}".to_owned(), false),
        ("nodeName: gone".to_owned(), false),
        (affinity("In", "windows"), true),
        (affinity("In", "windows, linux"), false),
        (affinity("NotIn", "linux"), true),
        (affinity("NotIn", "windows"), false),
        ("runtimeClassName: w".to_owned(), true),
        ("runtimeClassName: other".to_owned(), false),
        ("os: {name: windows}".to_owned(), true),
        ("os: {name: linux}".to_owned(), false),
        ("tolerations: [{key: os, value: windows}]".to_owned(), true),
        ("tolerations: [{operator: Exists}]".to_owned(), false),
        (
            "securityContext: {windowsOptions: {runAsUserName: u}}".to_owned(),
            true,
        ),
        (String::new(), false),
    ];
    for (place, is_windows) in cases {
        let text = nodes(NEW) + &template(&place, "dnsPolicy: ClusterFirstWithHostNet") + class;
        assert_eq!(!found(&text, "WN4002").is_empty(), is_windows, "{place}");
    }
}
