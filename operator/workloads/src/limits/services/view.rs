//! A Service with its endpoints.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::cluster::Cluster;
use super::super::placement::position;
use super::super::units::Unit;
use crate::findings::ObjectName;
use crate::input::Key;
use crate::input::kubernetes::Texts;
use crate::input::service::{Service, ServiceSpec};
use crate::input::slice::{EndpointSlice, SliceEndpoint};

/// A slice and its name.
type NamedSlice<'a> = (&'a str, &'a EndpointSlice);

/// Positions of the units with a label in a namespace.
type ByLabel<'a> = HashMap<(&'a str, &'a str, &'a str), Vec<usize>>;

/// What finds the endpoints of a Service without a look at every object.
pub struct Index<'a> {
    slices: HashMap<(&'a str, &'a str), Vec<NamedSlice<'a>>>,
    units: ByLabel<'a>,
    /// Position of the first unit on Windows nodes that names the Service.
    users: HashMap<&'a Key, usize>,
}

impl<'a> Index<'a> {
    /// The index of a cluster.
    pub fn new(cluster: &Cluster<'a>) -> Self {
        let mut slices: HashMap<_, Vec<_>> = HashMap::new();
        for ((namespace, name), slice) in &cluster.objects.endpoint_slices {
            if let Some(service) = slice.service.as_deref() {
                let key = (&**namespace, service);
                slices.entry(key).or_default().push((&**name, &**slice));
            }
        }
        let mut units: ByLabel<'a> = HashMap::new();
        for (position, unit) in cluster.units.iter().enumerate() {
            for (label, value) in unit.labels.iter() {
                let key = (unit.namespace, label, value);
                units.entry(key).or_default().push(position);
            }
        }
        let references = cluster.references.iter().rev();
        let users = references.map(|reference| (reference.service, reference.unit));
        Self {
            slices,
            units,
            users: users.collect(),
        }
    }

    /// Positions of the units whose pods the selector selects.
    fn selected(&self, namespace: &str, selector: &Texts, units: &[Unit<'_>]) -> Vec<usize> {
        let lists = selector.iter().map(|(label, value)| {
            let positions = self.units.get(&(namespace, label, value));
            positions.map_or(&[][..], Vec::as_slice)
        });
        let shortest = lists.min_by_key(|positions| positions.len()).unwrap_or_default();
        let is_selected = |unit: &Unit<'_>| selector.iter().all(|(k, v)| unit.labels.get(k) == Some(v));
        let selected = shortest.iter().filter(|position| is_selected(&units[**position]));
        selected.copied().collect()
    }
}

/// A Service that concerns Windows nodes.
pub struct View<'a> {
    /// The cluster.
    pub cluster: &'a Cluster<'a>,
    /// The Service.
    pub service: &'a Service,
    /// Its EndpointSlices.
    pub slices: Vec<NamedSlice<'a>>,
    /// What makes its pods.
    pub units: Vec<&'a Unit<'a>>,
    key: &'a Key,
    user: Option<&'a Unit<'a>>,
    on_windows: bool,
}

impl<'a> View<'a> {
    /// `None` if the Service does not concern Windows nodes.
    pub fn new(
        cluster: &'a Cluster<'a>,
        index: &Index<'a>,
        key: &'a Key,
        service: &'a Service,
    ) -> Option<Self> {
        let (namespace, name) = key;
        let slices = index.slices.get(&(&**namespace, &**name));
        let units = index.selected(namespace, &service.spec.selector, &cluster.units);
        let mut view = Self {
            cluster,
            service,
            slices: slices.cloned().unwrap_or_default(),
            units: units
                .into_iter()
                .map(|position| &cluster.units[position])
                .collect(),
            key,
            user: index
                .users
                .get(key)
                .and_then(|position| cluster.units.get(*position)),
            on_windows: false,
        };
        view.on_windows = view.units.iter().any(|unit| unit.is_on_windows)
            || view.endpoints().any(|endpoint| view.is_on_windows(endpoint.node));
        (view.on_windows || view.user.is_some()).then_some(view)
    }

    /// Kind, namespace and name.
    pub fn object(&self) -> ObjectName {
        let (namespace, name) = self.key;
        ObjectName::new("", "Service", namespace, name)
    }

    /// An object with pods on Windows nodes that name the Service.
    pub fn user(&self) -> Option<&'a str> {
        self.user.map(|unit| unit.object.as_str())
    }

    /// Names of the pods of the Service that are for Windows nodes.
    pub fn pod_names(&self) -> Arc<[String]> {
        let units = self.units.iter().filter(|unit| unit.is_on_windows);
        let names: Vec<Arc<[String]>> = units.map(|unit| unit.pod_names()).collect();
        match names.as_slice() {
            [of_one] => of_one.clone(),
            _ => names.iter().flat_map(|names| names.iter().cloned()).collect(),
        }
    }

    /// The spec of the Service.
    pub const fn spec(&self) -> &'a ServiceSpec {
        &self.service.spec
    }

    /// Whether an endpoint is on a Windows node.
    pub const fn has_windows_backends(&self) -> bool {
        self.on_windows
    }

    /// Whether every known endpoint is on a Windows node.
    pub fn has_windows_backends_only(&self) -> bool {
        let units = self.units.iter().all(|unit| unit.is_on_windows);
        let endpoints = self.endpoints().all(|endpoint| self.is_on_windows(endpoint.node));
        self.on_windows && units && endpoints
    }

    /// Whether kube-proxy makes load balancers for the Service: not for headless Services and names.
    pub fn is_balanced(&self) -> bool {
        let spec = self.spec();
        &*spec.cluster_ip != "None" && &*spec.r#type != "ExternalName"
    }

    /// Whether the Service has ports on nodes.
    pub fn has_node_ports(&self) -> bool {
        matches!(&*self.spec().r#type, "NodePort" | "LoadBalancer")
    }

    /// The endpoints of all slices.
    pub fn endpoints(&self) -> impl Iterator<Item = SliceEndpoint<'a>> {
        let slices = self.slices.clone();
        slices.into_iter().flat_map(|(_, slice)| slice.endpoints())
    }

    fn is_on_windows(&self, node: &str) -> bool {
        position(&self.cluster.windows, node).is_some()
    }
}
