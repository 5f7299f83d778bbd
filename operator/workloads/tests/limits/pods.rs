//! Cases of pods.

use super::objects::*;
use super::{Expected, Severity};

use Severity::{Error, Info, Warning};

/// Code, expected finding and objects of each case.
pub fn pods() -> Vec<(&'static str, Expected, String)> {
    let field = |field: &'static str| (DEPLOYMENT, field);
    let error = |(object, field)| Some((Error, object, field));
    let warning = |(object, field)| Some((Warning, object, field));
    let ping = |command: &str| container(&format!("livenessProbe: {{exec: {{command: [{command}]}}}}"));
    let image = |image: &str| pod(&format!("containers: [{{name: c, image: '{image}'}}]"));
    let on = |version: &str, text: &str| format!("{}{text}", nodes(version));
    let two_builds = |text: &str| {
        format!(
            "{}{}{text}",
            nodes(NEW),
            nodes(OLD).replace("name: win,", "name: win-2,")
        )
    };
    let asks = |build: &str| {
        template(
            &format!("nodeSelector: {{node.kubernetes.io/windows-build: {build}}}"),
            "",
        )
    };
    let env = |value: &str| {
        format!(
            "{}{DATABASE}",
            container(&format!("env: [{{name: DB, value: '{value}'}}]"))
        )
    };
    let untainted = nodes(NEW).replace("effect: NoSchedule", "effect: PreferNoSchedule");
    let outside = template("nodeSelector: {kubernetes.io/os: windows}", HOST_PROCESS);
    let system = outside.replace("namespace: shop", "namespace: kube-system");
    let budgeted = |spec: &str| pod("") + &budget(spec);
    let on_node = |name: &str, node: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, ownerReferences: [{{kind: ReplicaSet, name: web-1, controller: true}}]}}\nspec: {{nodeName: {node}, containers: [{{image: 'a/servercore:ltsc2019'}}]}}\n"
        )
    };
    vec![
        (
            "WN4005",
            Some((
                Warning,
                "ReplicaSet shop/web-1",
                "spec.template.spec.containers[0].image",
            )),
            two_builds("") + &on_node("a", "win-2") + &on_node("b", "win"),
        ),
        ("WN4005", None, two_builds("") + &on_node("a", "win-2")),
        (
            "WN4001",
            error(field("spec.template.spec.hostNetwork")),
            pod("hostNetwork: true"),
        ),
        ("WN4001", None, pod(HOST_PROCESS)),
        (
            "WN4001",
            None,
            template("nodeSelector: {kubernetes.io/os: linux}", "hostNetwork: true"),
        ),
        (
            "WN4002",
            warning(field("spec.template.spec.dnsPolicy")),
            pod("dnsPolicy: ClusterFirstWithHostNet"),
        ),
        ("WN4002", None, pod("dnsPolicy: ClusterFirst")),
        (
            "WN4003",
            warning(field("spec.template.spec.dnsConfig.searches[0]")),
            pod("dnsConfig: {searches: [corp.example]}"),
        ),
        (
            "WN4003",
            None,
            pod("dnsPolicy: None, dnsConfig: {searches: [corp.example]}"),
        ),
        (
            "WN4003",
            warning(field("spec.template.spec.dnsConfig.searches[1]")),
            pod("dnsPolicy: None, dnsConfig: {searches: [corp.example, example.com]}"),
        ),
        (
            "WN4004",
            error(field("spec.template.spec.containers[0].env[0].value")),
            env("postgres://db.data:5432/x"),
        ),
        (
            "WN4004",
            error(field("spec.template.spec.containers[0].env[0].value")),
            env("db.data.svc"),
        ),
        ("WN4004", None, env("db.data.svc.cluster.local:5432")),
        ("WN4004", None, env("db.other:5432")),
        (
            "WN4005",
            error(field("spec.template.spec.containers[0].image")),
            on(NEW, &image("a/servercore:ltsc2019")),
        ),
        ("WN4005", None, on(NEW, &image("a/servercore:ltsc2022"))),
        ("WN4005", None, on("unknown", &image("a/servercore:ltsc2019"))),
        ("WN4005", None, on(NEW, &image("a/servercore:1.2.3"))),
        (
            "WN4005",
            warning(field("spec.template.spec.containers[0].image")),
            two_builds(
                &image("a/servercore:ltsc2019")
                    .replace("os: {name: windows}", "tolerations: [{operator: Exists}]"),
            ),
        ),
        (
            "WN4006",
            error(field("spec.template.spec.nodeSelector")),
            on(NEW, &asks("10.0.17763")),
        ),
        ("WN4006", None, on(NEW, &asks("10.0.20348"))),
        ("WN4006", None, on("unknown", &asks("10.0.17763"))),
        ("WN4006", None, asks("10.0.17763")),
        (
            "WN4007",
            warning(field("spec.template.spec.nodeSelector")),
            format!("{untainted}{}", template("", "")),
        ),
        (
            "WN4007",
            warning(field("spec.template.spec.nodeSelector")),
            format!("{untainted}{}", template("os: {name: linux}", "")),
        ),
        ("WN4007", None, on(NEW, &template("", ""))),
        (
            "WN4007",
            None,
            format!("{untainted}{}", template("nodeSelector: {pool: l}", "")),
        ),
        (
            "WN4007",
            None,
            format!("{untainted}{}", template("runtimeClassName: other", "")),
        ),
        (
            "WN4007",
            warning(field("spec.template.spec.nodeSelector")),
            on(NEW, &template("", "tolerations: [{operator: Exists}]")),
        ),
        ("WN4007", None, template("", "")),
        (
            "WN4008",
            Some((Info, DEPLOYMENT, "spec.template.spec.os.name")),
            template("nodeSelector: {kubernetes.io/os: windows}", ""),
        ),
        ("WN4008", None, pod("")),
        (
            "WN4009",
            warning(field("spec.template.spec.containers[0].ports[0].hostPort")),
            container("ports: [{containerPort: 80, hostPort: 8080}]"),
        ),
        ("WN4009", None, container("ports: [{containerPort: 80}]")),
        (
            "WN4010",
            warning(field("spec.template.spec.containers[0].command")),
            container("command: [/bin/app]"),
        ),
        (
            "WN4010",
            warning(field(
                "spec.template.spec.containers[0].livenessProbe.exec.command",
            )),
            ping("sh, -c, 'true'"),
        ),
        ("WN4010", None, container("command: [powershell, -Command, x]")),
        ("WN4010", None, container("args: [/bin/app]")),
        (
            "WN4011",
            warning(field(
                "spec.template.spec.containers[0].livenessProbe.exec.command",
            )),
            ping("cmd, /c, ping -n 1 example.com"),
        ),
        (
            "WN4011",
            warning(field(
                "spec.template.spec.containers[0].livenessProbe.exec.command",
            )),
            ping("powershell, 'Test-NetConnection example.com'"),
        ),
        (
            "WN4011",
            None,
            ping("powershell, 'Test-NetConnection example.com -Port 443'"),
        ),
        ("WN4011", None, ping("app.exe, mapping")),
        (
            "WN4012",
            Some((Warning, "PodDisruptionBudget shop/web", "spec.minAvailable")),
            budgeted("minAvailable: 3"),
        ),
        (
            "WN4012",
            Some((Warning, "PodDisruptionBudget shop/web", "spec.minAvailable")),
            budgeted("minAvailable: 70%"),
        ),
        (
            "WN4012",
            Some((Warning, "PodDisruptionBudget shop/web", "spec.maxUnavailable")),
            budgeted("maxUnavailable: 0%"),
        ),
        ("WN4012", None, budgeted("minAvailable: 2")),
        ("WN4012", None, budgeted("maxUnavailable: 1%")),
        (
            "WN4012",
            None,
            template("nodeSelector: {kubernetes.io/os: linux}", "") + &budget("maxUnavailable: 0"),
        ),
        ("WN4013", Some((Error, "Node win", "")), pods_on_node(13, 28)),
        ("WN4013", None, pods_on_node(12, 28)),
        (
            "WN4013",
            None,
            pods_on_node(13, 28).replace("nodeSelector: all()", "nodeSelector: pool == 'l'"),
        ),
        (
            "WN4013",
            None,
            pods_on_node(13, 28).replace("nodeName: win", "nodeName: win, hostNetwork: true"),
        ),
        (
            "WN4014",
            error(field(
                "spec.template.spec.containers[0].securityContext.privileged",
            )),
            container("securityContext: {privileged: true}"),
        ),
        (
            "WN4014",
            warning(field("spec.template.spec.securityContext.fsGroup")),
            template(
                "nodeSelector: {kubernetes.io/os: windows}",
                "securityContext: {fsGroup: 1}",
            ),
        ),
        (
            "WN4014",
            None,
            pod("securityContext: {runAsNonRoot: true, sysctls: [], windowsOptions: {runAsUserName: u}}"),
        ),
        (
            "WN4015",
            Some((
                Info,
                DEPLOYMENT,
                "spec.template.spec.securityContext.windowsOptions.hostProcess",
            )),
            outside.clone(),
        ),
        (
            "WN4015",
            error(field(
                "spec.template.spec.securityContext.windowsOptions.hostProcess",
            )),
            outside.clone() + &namespace("baseline"),
        ),
        ("WN4015", None, system),
        ("WN4015", None, pod("")),
        (
            "WN4016",
            error(field("spec.template.spec.hostNetwork")),
            pod("securityContext: {windowsOptions: {hostProcess: true}}"),
        ),
        (
            "WN4016",
            error(field(
                "spec.template.spec.containers[1].securityContext.windowsOptions.hostProcess",
            )),
            pod(
                "hostNetwork: true, containers: [{name: a, securityContext: {windowsOptions: {hostProcess: true}}}, {name: b}]",
            ),
        ),
        ("WN4016", None, outside),
        (
            "WN4017",
            warning(field("spec.template.spec.volumes[0].emptyDir.medium")),
            pod("volumes: [{name: v, emptyDir: {medium: Memory}}]"),
        ),
        (
            "WN4017",
            error(field("spec.template.spec.containers[0].volumeDevices")),
            container("volumeDevices: [{name: v}]"),
        ),
        (
            "WN4017",
            error(field("spec.template.spec.containers[0].resources")),
            container("resources: {limits: {hugepages-2Mi: 4Mi}}"),
        ),
        (
            "WN4017",
            warning(field(
                "spec.template.spec.containers[0].volumeMounts[0].mountPropagation",
            )),
            container("volumeMounts: [{name: v, mountPropagation: Bidirectional}]"),
        ),
        ("WN4017", None, pod("volumes: [{name: v, emptyDir: {}}]")),
    ]
}
