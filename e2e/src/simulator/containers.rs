//! What a container on a node gets to see, as the kubelet puts it together: environment, arguments and
//! files out of ConfigMaps (`pkg/kubelet/kubelet_pods.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec, Volume};

pub type Env = BTreeMap<String, String>;
/// Data of a ConfigMap, or the files of a mounted one.
pub type Files = BTreeMap<String, String>;
/// ConfigMaps by namespace and name.
pub type ConfigMaps = BTreeMap<(String, String), Files>;

/// What the kubelet knows besides the pod.
pub struct PodContext<'a> {
    pub config_maps: &'a ConfigMaps,
    /// ClusterIP of Service `kubernetes`, which every container gets in its environment.
    pub cluster_ip: Option<&'a str>,
    pub node_ip: &'a str,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    pub name: String,
    pub image: String,
    /// Command and arguments, expanded.
    pub args: Vec<String>,
    pub env: Env,
    /// Mount path → files of the ConfigMap mounted there.
    pub mounts: BTreeMap<String, Files>,
}

/// Why a pod's containers cannot be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Unresolved {
    /// A volume cannot be mounted: the pod stays in ContainerCreating.
    Volume(String),
    /// One container's configuration cannot be put together: reason `CreateContainerConfigError`.
    Container { name: String, message: String },
}

/// All containers of a pod, init containers first.
pub fn resolve(pod: &Pod, context: &PodContext<'_>) -> Result<Vec<Resolved>, Unresolved> {
    let Some(spec) = &pod.spec else {
        return Ok(Vec::new());
    };
    let volumes = volumes(pod, spec, context.config_maps)?;
    all_containers(spec)
        .map(|container| one(pod, container, &volumes, context))
        .collect()
}

pub fn all_containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

fn one(
    pod: &Pod,
    container: &Container,
    volumes: &BTreeMap<&str, Files>,
    context: &PodContext<'_>,
) -> Result<Resolved, Unresolved> {
    let env = environment(pod, container, context).map_err(|message| Unresolved::Container {
        name: container.name.clone(),
        message,
    })?;
    let words = container
        .command
        .iter()
        .flatten()
        .chain(container.args.iter().flatten());
    let mut mounts = BTreeMap::new();
    for mount in container.volume_mounts.iter().flatten() {
        let Some(files) = volumes.get(mount.name.as_str()) else {
            continue;
        };
        match &mount.sub_path {
            // A single file, whose path is the mount path.
            Some(key) => {
                let (folder, file) = mount
                    .mount_path
                    .rsplit_once('/')
                    .unwrap_or(("", &mount.mount_path));
                let content = files.get(key).map(|content| (file.to_owned(), content.clone()));
                mounts
                    .entry(folder.to_owned())
                    .or_insert_with(Files::new)
                    .extend(content);
            }
            None => {
                mounts.insert(mount.mount_path.clone(), files.clone());
            }
        }
    }
    Ok(Resolved {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        args: words.map(|word| expand(word, &env)).collect(),
        env,
        mounts,
    })
}

fn environment(pod: &Pod, container: &Container, context: &PodContext<'_>) -> Result<Env, String> {
    let mut env = Env::new();
    // Every container gets the address of Service `kubernetes` before its own environment: one that is not
    // given the API server's real address therefore has the ClusterIP (`getServiceEnvVarMap`).
    if let Some(ip) = context.cluster_ip {
        env.insert("KUBERNETES_SERVICE_HOST".to_owned(), ip.to_owned());
        env.insert("KUBERNETES_SERVICE_PORT".to_owned(), "443".to_owned());
    }
    for source in container.env_from.iter().flatten() {
        if let Some(reference) = &source.config_map_ref {
            let prefix = source.prefix.as_deref().unwrap_or_default();
            match config_map(pod, &reference.name, context.config_maps) {
                Some(data) => {
                    env.extend(
                        data.iter()
                            .map(|(key, value)| (format!("{prefix}{key}"), value.clone())),
                    );
                }
                None if reference.optional == Some(true) => {}
                None => return Err(format!("configmap \"{}\" not found", reference.name)),
            }
        }
    }
    for variable in container.env.iter().flatten() {
        if let Some(value) = value(pod, variable, &env, context)? {
            env.insert(variable.name.clone(), value);
        }
    }
    Ok(env)
}

fn value(
    pod: &Pod,
    variable: &EnvVar,
    env: &Env,
    context: &PodContext<'_>,
) -> Result<Option<String>, String> {
    let Some(source) = &variable.value_from else {
        return Ok(Some(expand(variable.value.as_deref().unwrap_or_default(), env)));
    };
    if let Some(field) = &source.field_ref {
        return field_value(pod, &field.field_path, context.node_ip).map(Some);
    }
    if let Some(reference) = &source.config_map_key_ref {
        let optional = reference.optional == Some(true);
        let Some(data) = config_map(pod, &reference.name, context.config_maps) else {
            let missing = format!("configmap \"{}\" not found", reference.name);
            return if optional { Ok(None) } else { Err(missing) };
        };
        return match data.get(&reference.key) {
            Some(value) => Ok(Some(value.clone())),
            None if optional => Ok(None),
            None => Err(format!(
                "couldn't find key {} in ConfigMap {}/{}",
                reference.key,
                namespace(pod),
                reference.name
            )),
        };
    }
    // Secrets and resource fields decide nothing that is simulated.
    Ok(Some(String::new()))
}

fn field_value(pod: &Pod, path: &str, node_ip: &str) -> Result<String, String> {
    let keyed = |prefix: &str, map: &Option<BTreeMap<String, String>>| {
        let key = path
            .strip_prefix(prefix)?
            .strip_prefix("['")?
            .strip_suffix("']")?;
        Some(
            map.as_ref()
                .and_then(|map| map.get(key))
                .cloned()
                .unwrap_or_default(),
        )
    };
    let spec = pod.spec.as_ref();
    let found = match path {
        "metadata.name" => pod.metadata.name.clone(),
        "metadata.namespace" => Some(namespace(pod).to_owned()),
        "metadata.uid" => pod.metadata.uid.clone(),
        "spec.nodeName" => spec.and_then(|spec| spec.node_name.clone()),
        "spec.serviceAccountName" => spec.and_then(|spec| spec.service_account_name.clone()),
        // A pod on the host network has the node's address.
        "status.podIP" | "status.podIPs" | "status.hostIP" | "status.hostIPs" => Some(node_ip.to_owned()),
        _ => keyed("metadata.labels", &pod.metadata.labels)
            .or_else(|| keyed("metadata.annotations", &pod.metadata.annotations)),
    };
    found.ok_or_else(|| format!("unsupported fieldPath: {path}"))
}

fn volumes<'a>(
    pod: &Pod,
    spec: &'a PodSpec,
    config_maps: &ConfigMaps,
) -> Result<BTreeMap<&'a str, Files>, Unresolved> {
    let mut volumes = BTreeMap::new();
    for volume in spec.volumes.iter().flatten() {
        if let Some(files) = volume_files(pod, volume, config_maps).map_err(Unresolved::Volume)? {
            volumes.insert(volume.name.as_str(), files);
        }
    }
    Ok(volumes)
}

fn volume_files(pod: &Pod, volume: &Volume, config_maps: &ConfigMaps) -> Result<Option<Files>, String> {
    let parts: Vec<_> = match (&volume.config_map, &volume.projected) {
        (Some(source), _) => vec![(&source.name, &source.items, source.optional)],
        (None, Some(projected)) => projected
            .sources
            .iter()
            .flatten()
            .filter_map(|source| source.config_map.as_ref())
            .map(|source| (&source.name, &source.items, source.optional))
            .collect(),
        (None, None) => return Ok(None),
    };
    let mut files = Files::new();
    for (name, items, optional) in parts {
        let failed = |why: String| format!("MountVolume.SetUp failed for volume \"{}\" : {why}", volume.name);
        let Some(data) = config_map(pod, name, config_maps) else {
            // Every namespace has this one, put there by a controller; it holds only the API server's CA.
            if optional == Some(true) || name == "kube-root-ca.crt" {
                continue;
            }
            return Err(failed(format!("configmap \"{name}\" not found")));
        };
        match items {
            None => files.extend(data.clone()),
            Some(items) => {
                for item in items {
                    match data.get(&item.key) {
                        Some(content) => drop(files.insert(item.path.clone(), content.clone())),
                        None if optional == Some(true) => {}
                        None => {
                            return Err(failed(format!(
                                "references non-existent config key: {}",
                                item.key
                            )));
                        }
                    }
                }
            }
        }
    }
    Ok(Some(files))
}

fn config_map<'a>(pod: &Pod, name: &str, config_maps: &'a ConfigMaps) -> Option<&'a Files> {
    config_maps.get(&(namespace(pod).to_owned(), name.to_owned()))
}

fn namespace(pod: &Pod) -> &str {
    pod.metadata.namespace.as_deref().unwrap_or_default()
}

/// `$(NAME)` becomes its value; an unknown name stays as it is, `$$` is a dollar sign
/// (`third_party/forked/golang/expansion`). PowerShell's own `$(…)` pass through.
fn expand(text: &str, env: &Env) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let name = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((value, tail)) = name.and_then(|(name, tail)| Some((env.get(name)?, tail))) {
            out.push_str(value);
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out + rest
}

#[cfg(test)]
#[path = "containers_tests.rs"]
mod tests;
