//! Cases of Services.

use super::objects::*;
use super::{Expected, Severity};

use Severity::{Error, Info, Warning};

/// Code, expected finding and objects of each case.
pub fn services() -> Vec<(&'static str, Expected, String)> {
    let affinity = "sessionAffinity: ClientIP";
    let timeout = |seconds: u32| {
        format!(
            "sessionAffinity: ClientIP, sessionAffinityConfig: {{clientIP: {{timeoutSeconds: {seconds}}}}}"
        )
    };
    let local = "type: LoadBalancer, externalTrafficPolicy: Local";
    let named = "ports: [{name: web, port: 80, targetPort: http}]";
    let advertised = "externalIPs: [192.0.2.7], externalTrafficPolicy: Local";
    let listens = container("ports: [{name: http, containerPort: 8080}]");
    let named_service = format!("{listens}---\n{}---\n", bare_service(named));
    let linux =
        template("nodeSelector: {kubernetes.io/os: linux}", "").replace("name: web, n", "name: linux, n");
    let terminating = "{addresses: [10.1.0.1], nodeName: win, conditions: {ready: false, serving: true, terminating: true}}";
    let used = format!(
        "{}{}",
        container("env: [{name: DB, value: 'tcp://db.data.svc.cluster.local:5432'}]"),
        DATABASE
    );
    vec![
        (
            "WN3001",
            Some((Warning, SERVICE, "spec.sessionAffinity")),
            service(OLD, affinity),
        ),
        (
            "WN3001",
            Some((Warning, "Service data/db", "spec.sessionAffinity")),
            format!("{}{used}", nodes(OLD)),
        ),
        ("WN3001", None, service(NEW, affinity)),
        ("WN3001", None, service("unknown", affinity)),
        ("WN3001", None, service(OLD, "sessionAffinity: None")),
        (
            "WN3001",
            None,
            service(OLD, "clusterIP: None, sessionAffinity: ClientIP"),
        ),
        (
            "WN3001",
            None,
            format!("{}{linux}---\n{}", nodes(OLD), bare_service(affinity)),
        ),
        (
            "WN3002",
            Some((
                Warning,
                SERVICE,
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
            )),
            service(NEW, &timeout(60)),
        ),
        ("WN3002", None, service(NEW, &timeout(10_800))),
        ("WN3002", None, service(NEW, affinity)),
        (
            "WN3003",
            Some((Warning, SERVICE, "spec.externalTrafficPolicy")),
            service(OLD, local),
        ),
        ("WN3003", None, service("10.0.17763.1432", local)),
        ("WN3003", None, service("10.0.17763", local)),
        ("WN3003", None, service(OLD, "externalTrafficPolicy: Local")),
        (
            "WN3004",
            Some((Warning, SERVICE, "metadata.annotations[preserve-destination]")),
            annotated_service("10.0.17763.5000", "preserve-destination: 'true'"),
        ),
        (
            "WN3004",
            None,
            annotated_service(NEW, "preserve-destination: 'true'"),
        ),
        (
            "WN3004",
            None,
            annotated_service(OLD, "preserve-destination: 'false'"),
        ),
        (
            "WN3005",
            Some((Error, SERVICE, "spec.selector")),
            service(OLD, "") + &slice(&endpoints(65), ""),
        ),
        ("WN3005", None, service(OLD, "") + &slice(&endpoints(64), "")),
        ("WN3005", None, service(NEW, "") + &slice(&endpoints(1024), "")),
        (
            "WN3005",
            Some((Error, SERVICE, "spec.selector")),
            service(NEW, "") + &slice(&endpoints(1025), ""),
        ),
        (
            "WN3005",
            Some((Error, SERVICE, "spec.selector")),
            service(OLD, "").replace("replicas: 3", "replicas: 65"),
        ),
        (
            "WN3006",
            Some((Error, SERVICE, "spec.ipFamilies")),
            service(NEW, "ipFamilies: [IPv6]"),
        ),
        (
            "WN3006",
            Some((Warning, SERVICE, "spec.ipFamilies")),
            service(NEW, "ipFamilies: [IPv4, IPv6]"),
        ),
        (
            "WN3006",
            Some((Warning, SERVICE, "spec.ipFamilyPolicy")),
            service(NEW, "ipFamilyPolicy: RequireDualStack"),
        ),
        (
            "WN3006",
            None,
            service(NEW, "ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4]"),
        ),
        (
            "WN3007",
            Some((Error, SERVICE, "spec.ports[0].targetPort")),
            format!("{named_service}{}", other(8081)),
        ),
        ("WN3007", None, format!("{named_service}{}", other(8080))),
        (
            "WN3007",
            None,
            format!("{named_service}{}", other(8081)).replace("targetPort: http", "targetPort: 80"),
        ),
        (
            "WN3007",
            Some((Error, SERVICE, "spec.ports[0].targetPort")),
            named_service.clone() + &slice("{addresses: [10.1.0.1]}", "{name: web, port: 8081}"),
        ),
        (
            "WN3007",
            None,
            named_service.clone() + &slice("{addresses: [10.1.0.1]}", "{name: web, port: 8080}"),
        ),
        (
            "WN3008",
            Some((Warning, SERVICE, "spec.internalTrafficPolicy")),
            service(NEW, "internalTrafficPolicy: Local") + &proxy("v1.33.5"),
        ),
        (
            "WN3008",
            None,
            service(NEW, "internalTrafficPolicy: Local") + &proxy("v1.33.6"),
        ),
        (
            "WN3008",
            None,
            service(NEW, "internalTrafficPolicy: Cluster") + &proxy("v1.33.5"),
        ),
        ("WN3008", None, service(NEW, "internalTrafficPolicy: Local")),
        (
            "WN3009",
            Some((Info, SERVICE, "spec.trafficDistribution")),
            service(NEW, "trafficDistribution: PreferClose"),
        ),
        (
            "WN3009",
            Some((
                Info,
                SERVICE,
                "metadata.annotations[service.kubernetes.io/topology-mode]",
            )),
            annotated_service(NEW, "service.kubernetes.io/topology-mode: Auto"),
        ),
        (
            "WN3009",
            None,
            annotated_service(NEW, "service.kubernetes.io/topology-mode: Disabled"),
        ),
        (
            "WN3010",
            Some((Warning, SERVICE, "")),
            service(NEW, "") + &slice(terminating, ""),
        ),
        (
            "WN3010",
            None,
            service(NEW, "")
                + &slice(
                    &format!("{terminating}, {{addresses: [10.1.0.2], nodeName: lin}}"),
                    "",
                ),
        ),
        (
            "WN3010",
            None,
            service(NEW, "") + &slice(&terminating.replace("serving: true", "serving: false"), ""),
        ),
        (
            "WN3011",
            Some((Info, SERVICE, "spec.type")),
            service(NEW, "type: NodePort"),
        ),
        ("WN3011", None, service(NEW, "type: ClusterIP")),
        (
            "WN3012",
            Some((Error, SERVICE, "spec.externalTrafficPolicy")),
            service(NEW, advertised) + BGP,
        ),
        ("WN3012", None, service(NEW, advertised)),
        (
            "WN3012",
            None,
            service(NEW, "externalIPs: [198.51.100.7], externalTrafficPolicy: Local") + BGP,
        ),
        (
            "WN3012",
            None,
            service(NEW, "externalIPs: [192.0.2.7], externalTrafficPolicy: Cluster") + BGP,
        ),
        (
            "WN3012",
            None,
            format!("{}{BGP}---\n{linux}", service(NEW, advertised)),
        ),
        (
            "WN3013",
            Some((Error, SERVICE, "spec.ports[0].protocol")),
            service(NEW, "ports: [{port: 9, protocol: SCTP}]"),
        ),
        ("WN3013", None, service(NEW, "ports: [{port: 9, protocol: UDP}]")),
        (
            "WN3014",
            Some((Warning, SERVICE, "spec.loadBalancerSourceRanges")),
            service(
                NEW,
                "type: LoadBalancer, loadBalancerSourceRanges: [192.0.2.0/24]",
            ),
        ),
        ("WN3014", None, service(NEW, "type: LoadBalancer")),
    ]
}
