//! Objects of the cases.

/// A Windows node of a build, with the documented taint, and a Linux node.
pub fn nodes(version: &str) -> String {
    format!(
        "apiVersion: v1
kind: Node
metadata: {{name: win, labels: {{kubernetes.io/os: windows, pool: w}}}}
spec: {{taints: [{{key: os, value: windows, effect: NoSchedule}}]}}
status: {{nodeInfo: {{kernelVersion: {version}}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: lin, labels: {{kubernetes.io/os: linux, pool: l}}}}
---
"
    )
}

pub const NEW: &str = "10.0.20348.2227";
pub const OLD: &str = "10.0.17763.1000";

/// A Deployment `shop/web` for Windows nodes; `spec` has further fields of the pod.
pub fn pod(spec: &str) -> String {
    template(
        "nodeSelector: {kubernetes.io/os: windows}, os: {name: windows}",
        spec,
    )
}

pub fn template(place: &str, spec: &str) -> String {
    let containers = if spec.contains("containers:") {
        ""
    } else {
        ", containers: [{name: c, image: app}]"
    };
    let spec = if spec.is_empty() {
        String::new()
    } else {
        format!(", {spec}")
    };
    let place = if place.is_empty() {
        "restartPolicy: Always"
    } else {
        place
    };
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 3
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{{place}{spec}{containers}}}
"
    )
}

/// A container of a Deployment for Windows nodes.
pub fn container(fields: &str) -> String {
    pod(&format!("containers: [{{name: c, image: app, {fields}}}]"))
}

/// A Service `shop/web` in front of a Deployment for Windows nodes; `spec` has further fields.
pub fn service(version: &str, spec: &str) -> String {
    format!("{}{}---\n{}", nodes(version), pod(""), bare_service(spec))
}

pub fn bare_service(spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop}}\nspec: {{selector: {{app: web}}, {spec}}}\n"
    )
}

pub fn annotated_service(version: &str, annotation: &str) -> String {
    let service = service(version, "ports: [{port: 80}]");
    service.replace(
        "metadata: {name: web, namespace: shop}\nspec: {selector",
        &format!("metadata: {{name: web, namespace: shop, annotations: {{{annotation}}}}}\nspec: {{selector"),
    )
}

pub fn slice(endpoints: &str, ports: &str) -> String {
    format!(
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: web-1, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}\naddressType: IPv4\nendpoints: [{endpoints}]\nports: [{ports}]\n"
    )
}

/// Endpoints on the Windows node.
pub fn endpoints(number: usize) -> String {
    let endpoint = |i: usize| format!("{{addresses: [10.1.{}.{}], nodeName: win}}", i / 250, i % 250);
    (0..number).map(endpoint).collect::<Vec<_>>().join(", ")
}

/// A Deployment `shop/other` with another number for the port `http`.
pub fn other(number: u16) -> String {
    let text = container(&format!("ports: [{{name: http, containerPort: {number}}}]"));
    text.replace("name: web, namespace", "name: other, namespace")
}

pub fn proxy(version: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: kube-proxy-windows, namespace: kube-system}}\nspec: {{template: {{spec: {{nodeSelector: {{kubernetes.io/os: windows}}, containers: [{{image: 'sigwindowstools/kube-proxy:{version}-calico-hostprocess'}}]}}}}}}\n"
    )
}

pub const BGP: &str = "---
apiVersion: projectcalico.org/v3
kind: BGPConfiguration
metadata: {name: default}
spec: {serviceExternalIPs: [{cidr: 192.0.2.0/24}, {cidr: nonsense}]}
";

pub const HOST_PROCESS: &str = "hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true}}";

pub fn budget(spec: &str) -> String {
    format!(
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web, namespace: shop}}\nspec: {{selector: {{matchLabels: {{app: web}}}}, {spec}}}\n"
    )
}

/// An IP pool, and pods on the Windows node.
pub fn pods_on_node(number: usize, block_size: u8) -> String {
    let pool = format!(
        "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {{name: p}}\nspec: {{cidr: 10.244.0.0/16, blockSize: {block_size}, nodeSelector: all()}}\n"
    );
    let pods = (0..number).map(|i| {
        format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{i}, namespace: shop}}\nspec: {{nodeName: win}}\n")
    });
    format!("{}{pool}{}", nodes(NEW), pods.collect::<String>())
}

pub fn namespace(level: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{pod-security.kubernetes.io/enforce: {level}}}}}\n"
    )
}

/// The Service `data/db`, with Linux pods.
pub const DATABASE: &str = "---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: data}
spec: {sessionAffinity: ClientIP, ports: [{port: 5432}]}
";

pub const DEPLOYMENT: &str = "Deployment shop/web";
pub const SERVICE: &str = "Service shop/web";
