//! Cases of this project, which need no other files: small clusters with the verdict of each pod and the
//! findings.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

use rstest::rstest;
use wn_workloads::findings;
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::output::Report;
use wn_workloads::release::Release;

const WORLD: &str = "
apiVersion: v1
kind: Node
metadata: {name: win, labels: {kubernetes.io/os: windows}}
status: {addresses: [{type: InternalIP, address: 10.0.0.1}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {team: a}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: a, labels: {app: web}}
spec:
  nodeName: win
  containers: [{name: c, ports: [{name: http, containerPort: 80}]}]
status: {podIP: 10.1.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: a, labels: {app: client}}
spec: {nodeName: linux}
status: {podIP: 10.1.0.2}
";

fn objects(policies: &str) -> Objects {
    let text = format!("{WORLD}---\n{policies}");
    Objects::read([Manifest {
        name: "own",
        text: &text,
    }])
    .unwrap()
}

/// A NetworkPolicy of Calico for `a/web` with ingress rules.
fn calico(rules: &str) -> String {
    format!(
        "apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {{name: p, namespace: a}}\nspec: {{selector: app == 'web', ingress: [{rules}]}}"
    )
}

/// A policy of tier `first` with ingress rules, and a Kubernetes policy with ports.
fn tiers(first: &str, ports: &str) -> String {
    format!(
        "apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {{name: first}}\nspec: {{order: 1}}\n---\napiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\nmetadata: {{name: first.p}}\nspec: {{tier: first, selector: app == 'web', ingress: [{first}]}}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: k, namespace: a}}\nspec: {{podSelector: {{matchLabels: {{app: web}}}}, ingress: [{{ports: [{ports}]}}]}}"
    )
}

#[rstest]
#[case::nothing(String::new(), "same", None)]
#[case::plain(calico("{action: Allow, source: {selector: app == 'client'}}"), "same", None)]
#[case::lost_allow(
    calico("{action: Allow, source: {notNets: [10.2.0.0/16]}}"),
    "more-closed",
    Some("WN2001")
)]
#[case::lost_deny(
    calico("{action: Deny, protocol: TCP, destination: {ports: [http]}}, {action: Allow}"),
    "more-open",
    Some("WN2002")
)]
#[case::lost_deny_that_nothing_needs(
    calico("{action: Deny, protocol: TCP, destination: {ports: [http]}}"),
    "same",
    None
)]
#[case::icmp(
    calico("{action: Allow, protocol: ICMP, icmp: {type: 8}}"),
    "more-closed",
    Some("WN2003")
)]
#[case::http(
    calico("{action: Allow, http: {methods: [GET]}}"),
    "more-open",
    Some("WN2004")
)]
#[case::pass(calico("{action: Pass}"), "more-closed", Some("WN2006"))]
#[case::pass_and_other_ports(
    tiers("{action: Pass, protocol: TCP, destination: {ports: [80]}}", "{port: 443}"),
    "more-open",
    Some("WN2008")
)]
#[case::pass_and_same_port(
    tiers("{action: Pass, protocol: TCP, destination: {ports: [80]}}", "{port: 80}"),
    "felix-panics",
    Some("WN2009")
)]
#[case::pass_without_ports(tiers("{action: Pass}", "{port: 80}"), "same", None)]
#[case::staged(calico("{action: Allow}").replace("NetworkPolicy", "StagedNetworkPolicy"), "more-closed", Some("WN2010"))]
fn verdict_and_finding(#[case] policies: String, #[case] verdict: &str, #[case] code: Option<&str>) {
    let objects = objects(&policies);
    let report = Report::new(&objects, Release::NEWEST);
    assert_eq!(report.endpoints.len(), 1);
    assert_eq!(report.endpoints[0].verdict, verdict);
    let findings = findings::all(&objects, Release::NEWEST);
    let grave = findings
        .iter()
        .filter(|f| f.flow.is_some() || f.code.entry().code == "WN2009");
    let codes: Vec<&str> = grave.map(|f| f.code.entry().code).collect();
    assert_eq!(codes, code.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_flow_names_both_ends_and_who_decides() {
    let policies = calico("{action: Deny, protocol: TCP, source: {notNets: [10.2.0.0/16]}}, {action: Allow}");
    let findings = findings::all(&objects(&policies), Release::NEWEST);
    let found = findings.iter().find_map(|finding| finding.flow.as_ref()).unwrap();
    let expected = "TCP 1 from a/client (10.1.0.2) to a/web: denied by NetworkPolicy.projectcalico.org a/p rule 1, allowed on Windows by policy-NetworkPolicy/a/p";
    assert_eq!(found, expected);
}

#[rstest]
#[case(Release::V3_28, "same")]
#[case(Release::V3_29, "felix-panics")]
fn tiers_came_with_v3_29(#[case] release: Release, #[case] verdict: &str) {
    let policies = tiers(
        "{action: Pass, protocol: TCP, destination: {ports: [80]}}",
        "{port: 80}",
    );
    let report = Report::new(&objects(&policies), release);
    assert_eq!(report.endpoints[0].verdict, verdict);
    assert_eq!(report.unknown.is_empty(), release.has_tiers());
}

#[test]
fn members_that_another_covers_are_left_out() {
    let set = "apiVersion: projectcalico.org/v3\nkind: GlobalNetworkSet\nmetadata: {name: s, labels: {app: client}}\nspec: {nets: [10.1.0.0/30, 10.1.0.2/32]}\n---\napiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\nmetadata: {name: g}\nspec: {selector: app == 'web', ingress: [{action: Allow, source: {selector: app == 'client'}}]}";
    let addresses = |release| {
        let report = Report::new(&objects(set), release);
        let acl = report.endpoints[0]
            .acls
            .iter()
            .find(|acl| acl.priority == 1000)
            .unwrap();
        serde_json::to_string(&acl.remote_addresses).unwrap()
    };
    assert_eq!(addresses(Release::V3_32), r#"["10.1.0.0/30"]"#);
    assert_eq!(addresses(Release::V3_32_0), r#"["10.1.0.0/30","10.1.0.2/32"]"#);
}

#[test]
fn all_addresses_of_a_set_are_two_halves() {
    let set = "apiVersion: projectcalico.org/v3\nkind: GlobalNetworkSet\nmetadata: {name: s, labels: {app: any}}\nspec: {nets: [0.0.0.0/0]}\n---\napiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\nmetadata: {name: g}\nspec: {selector: app == 'web', ingress: [{action: Allow, source: {selector: app == 'any'}}]}";
    let report = Report::new(&objects(set), Release::NEWEST);
    let acl = report.endpoints[0]
        .acls
        .iter()
        .find(|acl| acl.priority == 1000)
        .unwrap();
    let addresses = serde_json::to_string(&acl.remote_addresses).unwrap();
    assert_eq!(addresses, r#"["0.0.0.0/1","128.0.0.0/1"]"#);
}

#[rstest]
#[case::ports(
    "{action: Allow, protocol: TCP, destination: {ports: [81]}}",
    Release::V3_32,
    true
)]
#[case::ports_before(
    "{action: Allow, protocol: TCP, destination: {ports: [81]}}",
    Release::V3_31,
    false
)]
#[case::selector("{action: Allow, source: {selector: app == 'client'}}", Release::V3_32, false)]
#[case::refused("{action: Allow, destination: {ports: [81]}}", Release::V3_32, false)]
fn edits_of_rules(#[case] rule: &str, #[case] release: Release, #[case] stale: bool) {
    let before = objects(&calico(
        "{action: Allow, protocol: TCP, destination: {ports: [80]}}",
    ));
    let text = calico(rule);
    let edit = Objects::read([Manifest {
        name: "edit",
        text: &text,
    }])
    .unwrap();
    let pods = wn_workloads::update::of(&before, &edit, release);
    assert_eq!(pods.len(), 1);
    assert_eq!(pods[0].stale, stale);
}

#[test]
fn policies_of_linux_pods_are_silent() {
    let policies = calico("{action: Allow, source: {notNets: [10.2.0.0/16]}}").replace("'web'", "'client'");
    let findings = findings::all(&objects(&policies), Release::NEWEST);
    assert!(findings.is_empty(), "{findings:?}");
}
