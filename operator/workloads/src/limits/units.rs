//! Everything that makes pods, each once: the pods of a Deployment belong to the Deployment.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::cluster::Host;
use super::placement::{Placement, Target, position};
use crate::findings::ObjectName;
use crate::input::kubernetes::{OwnerReference, Texts};
use crate::input::pod::{Container, Pod, PodClass, PodSpec};
use crate::input::workload::{Workload, WorkloadKind};
use crate::input::{Key, Objects, key};

/// An object with pods of one template.
#[derive(Debug)]
pub struct Unit<'a> {
    /// The object.
    pub object: ObjectName,
    /// The namespace.
    pub namespace: &'a str,
    /// Path of the spec of the pods in the object.
    pub path: &'static str,
    /// Labels of the pods.
    pub labels: &'a Texts,
    /// Spec of the pods, without the name of a node.
    pub spec: &'a PodSpec,
    /// Number of replicas that the object asks for; `None` if it has no such field.
    pub replicas: Option<i64>,
    /// Pods that exist.
    pub pods: Vec<Running<'a>>,
    /// Where the pods can run.
    pub placement: Placement,
    /// Whether the pods can run on Windows nodes only, or one of them runs there.
    pub is_on_windows: bool,
    names: OnceLock<Arc<[String]>>,
}

/// A pod that exists and has not finished.
#[derive(Debug)]
pub struct Running<'a> {
    /// Namespace and name.
    pub key: &'a Key,
    /// The pod.
    pub pod: &'a Pod,
}

impl Running<'_> {
    /// `namespace/name`.
    pub fn name(&self) -> String {
        let (namespace, name) = self.key;
        format!("{namespace}/{name}")
    }
}

impl Unit<'_> {
    /// The containers, each with its path in the spec.
    pub fn containers(&self) -> impl Iterator<Item = (String, &Container)> {
        let init = self.spec.init_containers.iter().enumerate();
        let init = init.map(|(i, container)| (format!("initContainers[{i}]"), container));
        let all = self.spec.containers.iter().enumerate();
        init.chain(all.map(|(i, container)| (format!("containers[{i}]"), container)))
    }

    /// Whether a container is a HostProcess container.
    pub fn is_host_process(&self, container: &Container) -> bool {
        let contexts = [&container.security_context, &self.spec.security_context];
        let mut options = contexts
            .into_iter()
            .filter_map(|c| c.windows_options.as_ref()?.host_process);
        options.next().unwrap_or(false)
    }

    /// Whether there is a HostProcess container.
    pub fn has_host_process(&self) -> bool {
        self.containers()
            .any(|(_, container)| self.is_host_process(container))
    }

    /// Names of the pods. All findings about the unit share them.
    pub fn pod_names(&self) -> Arc<[String]> {
        let names = || self.pods.iter().map(Running::name).collect();
        self.names.get_or_init(names).clone()
    }

    /// Number of pods that the object asks for, or that exist if it does not say. At most what the API allows, so
    /// that sums do not overflow.
    pub fn size(&self) -> usize {
        let wanted = self.replicas.and_then(|n| i32::try_from(n).ok());
        let wanted = wanted.and_then(|n| usize::try_from(n).ok());
        wanted.unwrap_or(self.pods.len())
    }
}

/// Kind, namespace and name of an object with a template.
type Id<'a> = (WorkloadKind, &'a str, &'a str);

/// All units of the objects.
pub fn all<'a>(objects: &'a Objects, windows: &[Host<'_>]) -> Vec<Unit<'a>> {
    let mut builder = Builder {
        objects,
        windows,
        units: Vec::new(),
        positions: HashMap::new(),
        of_class: HashMap::new(),
    };
    for ((kind, key), workload) in &objects.workloads {
        builder.add_workload(*kind, key, workload);
    }
    for (key, pod) in &objects.pods {
        builder.add_pod(key, pod);
    }
    let mut units = builder.units;
    for unit in &mut units {
        let nodes = unit.pods.iter().map(|running| &*running.pod.node);
        let running: Vec<usize> = nodes.filter_map(|node| position(windows, node)).collect();
        unit.is_on_windows = !running.is_empty() || unit.placement.target == Target::Windows;
        unit.placement.hosts.extend(running);
        unit.placement.hosts.sort_unstable();
        unit.placement.hosts.dedup();
    }
    units
}

struct Builder<'a, 'w> {
    objects: &'a Objects,
    windows: &'w [Host<'w>],
    units: Vec<Unit<'a>>,
    positions: HashMap<Id<'a>, usize>,
    /// Positions of the units of pods that have an owner, by namespace and class.
    of_class: HashMap<(&'a str, *const PodClass), usize>,
}

impl<'a> Builder<'a, '_> {
    fn add_workload(&mut self, kind: WorkloadKind, (namespace, name): &'a Key, workload: &'a Workload) {
        let owner = workload.metadata.controller.as_ref();
        let is_owned = owner.and_then(|owner| self.root(namespace, owner, 0)).is_some();
        let is_history = kind == WorkloadKind::ReplicaSet && workload.spec.replicas == Some(0);
        if is_owned || is_history {
            return;
        }
        let template = workload.template();
        let replicas = match kind {
            WorkloadKind::Deployment
            | WorkloadKind::StatefulSet
            | WorkloadKind::ReplicaSet
            | WorkloadKind::ReplicationController => Some(workload.spec.replicas.unwrap_or(1)),
            WorkloadKind::DaemonSet | WorkloadKind::Job | WorkloadKind::CronJob => None,
        };
        let object = ObjectName::new(kind.group(), kind.as_str(), namespace, name);
        self.positions
            .insert((kind, &**namespace, &**name), self.units.len());
        self.add(
            object,
            namespace,
            kind.pod_spec(),
            &template.metadata.labels,
            (&template.spec, &template.spec.node_name),
        );
        if let Some(unit) = self.units.last_mut() {
            unit.replicas = replicas;
        }
    }

    fn add_pod(&mut self, key: &'a Key, pod: &'a Pod) {
        if pod.is_finished {
            return;
        }
        let (namespace, name) = key;
        let position = self.position(namespace, name, pod);
        if let Some(unit) = self.units.get_mut(position) {
            unit.pods.push(Running { key, pod });
        }
    }

    /// Position of the unit of a pod. Pods of an object that is not known are one unit: they have the same template.
    fn position(&mut self, namespace: &'a str, name: &str, pod: &'a Pod) -> usize {
        let class = (namespace, Arc::as_ptr(&pod.class));
        if let Some(position) = self.of_class.get(&class) {
            return *position;
        }
        let owner = pod.class.controller.as_ref();
        let id = owner.and_then(|owner| {
            let root = self.root(namespace, owner, 0);
            root.or_else(|| Some((kind(owner)?, namespace, owner.name.as_str())))
        });
        if let Some(position) = id.and_then(|id| self.positions.get(&id)) {
            self.of_class.insert(class, *position);
            return *position;
        }
        let position = self.units.len();
        let (object, path) = match id {
            Some((kind, _, owner)) => (
                ObjectName::new(kind.group(), kind.as_str(), namespace, owner),
                kind.pod_spec(),
            ),
            None => (ObjectName::new("", "Pod", namespace, name), "spec"),
        };
        self.positions.extend(id.map(|id| (id, position)));
        let class = &*pod.class;
        self.add(object, namespace, path, &class.labels, (&class.spec, &pod.node));
        position
    }

    fn add(
        &mut self,
        object: ObjectName,
        namespace: &'a str,
        path: &'static str,
        labels: &'a Texts,
        (spec, node): (&'a PodSpec, &str),
    ) {
        self.units.push(Unit {
            object,
            namespace,
            path,
            labels,
            spec,
            replicas: None,
            pods: Vec::new(),
            placement: Placement::new((spec, node), self.objects, self.windows),
            is_on_windows: false,
            names: OnceLock::new(),
        });
    }

    /// The object among the objects that has the template in the end. Owners are followed twice at most: a pod of a
    /// Deployment belongs to a ReplicaSet, one of a CronJob to a Job.
    fn root(&self, namespace: &'a str, owner: &'a OwnerReference, depth: u8) -> Option<Id<'a>> {
        let kind = kind(owner)?;
        let key = (kind, key(namespace, &owner.name));
        let workload = self.objects.workloads.get(&key)?;
        let above = workload.metadata.controller.as_ref().filter(|_| depth < 2);
        let root = above.and_then(|above| self.root(namespace, above, depth + 1));
        root.or(Some((kind, namespace, owner.name.as_str())))
    }
}

fn kind(owner: &OwnerReference) -> Option<WorkloadKind> {
    WorkloadKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == owner.kind)
}
