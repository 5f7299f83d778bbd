//! Decides which nodes the pods of a template can run on.

use super::cluster::Host;
use crate::input::kubernetes::{Node, Requirement, Taint, Texts};
use crate::input::pod::{NodeSelectorTerm, PodSpec, Toleration};
use crate::input::{Objects, key};

/// Label of a Node with its operating system.
pub const OS: &str = "kubernetes.io/os";
/// The same before Kubernetes 1.14, which kubelets still set.
const OLD_OS: &str = "beta.kubernetes.io/os";
/// Label of a Windows Node with its build, such as `10.0.20348`.
pub const BUILD: &str = "node.kubernetes.io/windows-build";
/// The value of the labels, of `os.name` and of the documented taint.
pub const WINDOWS: &str = "windows";
/// Keys of the taint that Windows nodes are documented to have (kubernetes.io, Windows user guide), and common forms of it.
const OS_TAINTS: [&str; 3] = ["os", OS, "node.kubernetes.io/os"];
/// Keys of taints that come and go with the state of a node begin with one of these.
const TRANSIENT: [&str; 3] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "readiness.k8s.io/",
];

/// The operating system of the nodes that pods can run on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// Windows only.
    Windows,
    /// Other systems only.
    Linux,
    /// The pods select no operating system.
    Any,
    /// The objects do not tell.
    Unknown,
}

/// Where pods can run.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The operating system.
    pub target: Target,
    /// Positions of the Windows nodes that node selectors and affinity allow, or of the one that `nodeName` names.
    pub hosts: Vec<usize>,
    /// Position of the first of them whose taints the pods tolerate.
    pub reachable: Option<usize>,
    /// Value of the label of the build that the pods require.
    pub build: Option<String>,
}

impl Placement {
    /// The placement of pods with this spec, or of the pod on a node.
    pub fn new((spec, node): (&PodSpec, &str), objects: &Objects, windows: &[Host<'_>]) -> Self {
        let demand = Demand::new((spec, node), objects);
        let is_selected = |position: &usize| demand.selects(windows[*position].node);
        let is_tolerated = |position: &usize| demand.tolerates(&windows[*position].node.spec.taints);
        let hosts: Vec<usize> = if node.is_empty() {
            (0..windows.len()).filter(is_selected).collect()
        } else {
            position(windows, node).into_iter().collect()
        };
        Self {
            reachable: hosts.iter().copied().find(is_tolerated),
            hosts,
            target: demand.target(objects),
            build: demand.selector(BUILD).map(str::to_owned),
        }
    }
}

/// Position of the Windows node of a name. The nodes are sorted by name.
pub fn position(windows: &[Host<'_>], name: &str) -> Option<usize> {
    windows.binary_search_by(|host| host.name.cmp(name)).ok()
}

/// What a spec and its runtime class ask of a node.
struct Demand<'a> {
    spec: &'a PodSpec,
    /// Name of the node; empty if none is named.
    node: &'a str,
    selectors: [Option<&'a Texts>; 2],
    tolerations: Vec<&'a Toleration>,
    /// Whether the spec names a runtime class that is not among the objects.
    is_open: bool,
}

impl<'a> Demand<'a> {
    fn new((spec, node): (&'a PodSpec, &'a str), objects: &'a Objects) -> Self {
        let name = &spec.runtime_class_name;
        let class = objects.runtime_classes.get(&key("", name));
        let of_class = class.map(|class| &class.scheduling);
        let added = of_class
            .into_iter()
            .flat_map(|scheduling| &scheduling.tolerations);
        Self {
            spec,
            node,
            selectors: [
                Some(&spec.node_selector),
                of_class.map(|scheduling| &scheduling.node_selector),
            ],
            tolerations: spec.tolerations.iter().chain(added).collect(),
            is_open: !name.is_empty() && class.is_none(),
        }
    }

    fn selector(&self, label: &str) -> Option<&'a str> {
        let mut found = self.selectors.into_iter().flatten();
        found.find_map(|selector| selector.get(label))
    }

    fn terms(&self) -> &'a [NodeSelectorTerm] {
        let required = self.spec.affinity.node_affinity.required.as_ref();
        required.map_or(&[][..], |required| required.node_selector_terms.as_slice())
    }

    /// Whether node selectors and affinity allow the node.
    fn selects(&self, node: &Node) -> bool {
        let labels = &node.metadata.labels;
        let mut selectors = self.selectors.into_iter().flatten();
        let terms = self.terms();
        selectors.all(|selector| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
            && (terms.is_empty() || terms.iter().any(|term| is_met(term, node)))
    }

    /// Whether the taints allow the pods. Taints of the state of the node do not count.
    fn tolerates(&self, taints: &[Taint]) -> bool {
        let repels = |taint: &&Taint| {
            matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
                && !TRANSIENT.iter().any(|prefix| taint.key.starts_with(prefix))
        };
        let mut taints = taints.iter().filter(repels);
        taints.all(|taint| {
            self.tolerations
                .iter()
                .any(|toleration| covers(toleration, taint))
        })
    }

    fn target(&self, objects: &Objects) -> Target {
        let by_node = || {
            let node = objects.nodes.get(&key("", self.node))?;
            Some(of_node(node))
        };
        let by_label = || [OS, OLD_OS].into_iter().find_map(|label| self.selector(label));
        let by_name = || (self.spec.os.name == WINDOWS).then_some(Target::Windows);
        let by_options = || self.has_windows_options().then_some(Target::Windows);
        by_node()
            .or_else(|| by_label().map(of_system))
            .or_else(|| self.selector(BUILD).map(|_| Target::Windows))
            .or_else(|| of_terms(self.terms()))
            .or_else(by_name)
            .or_else(by_options)
            .or_else(|| self.by_toleration())
            .or_else(|| self.by_nodes(objects))
            .unwrap_or(if self.is_open {
                Target::Unknown
            } else {
                Target::Any
            })
    }

    /// Settings of Windows in a security context.
    fn has_windows_options(&self) -> bool {
        let containers = self.spec.containers.iter();
        let contexts = containers.map(|container| &container.security_context);
        let mut all = contexts.chain([&self.spec.security_context]);
        all.any(|context| context.windows_options.is_some())
    }

    /// A toleration of the documented taint of Windows nodes.
    fn by_toleration(&self) -> Option<Target> {
        let mut tolerations = self.tolerations.iter();
        let is_found = tolerations.any(|t| OS_TAINTS.contains(&t.key.as_str()) && t.value == WINDOWS);
        is_found.then_some(Target::Windows)
    }

    /// The system of the nodes that other labels select.
    fn by_nodes(&self, objects: &Objects) -> Option<Target> {
        let mut selectors = self.selectors.into_iter().flatten();
        if selectors.all(Texts::is_empty) && self.terms().is_empty() {
            return None;
        }
        let mut targets = objects
            .nodes
            .values()
            .filter(|node| self.selects(node))
            .map(of_node);
        let Some(first) = targets.next() else {
            return Some(Target::Unknown);
        };
        targets.all(|target| target == first).then_some(first)
    }
}

fn of_node(node: &Node) -> Target {
    let labels = &node.metadata.labels;
    match labels.get(OS).or_else(|| labels.get(OLD_OS)) {
        Some(system) => of_system(system),
        None => Target::Unknown,
    }
}

fn of_system(system: &str) -> Target {
    if system == WINDOWS {
        Target::Windows
    } else {
        Target::Linux
    }
}

/// The system that every term asks for. `None` if they differ, or if one asks for none.
fn of_terms(terms: &[NodeSelectorTerm]) -> Option<Target> {
    let mut targets = terms
        .iter()
        .map(|term| term.match_expressions.iter().find_map(of_requirement));
    let first = targets.next()??;
    targets.all(|target| target == Some(first)).then_some(first)
}

fn of_requirement(requirement: &Requirement) -> Option<Target> {
    let is_named = requirement.values.iter().any(|value| value == WINDOWS);
    let is_alone = requirement.values.len() == 1;
    match (requirement.key.as_str(), requirement.operator.as_str()) {
        (OS | OLD_OS, "In") if is_named => is_alone.then_some(Target::Windows),
        (OS | OLD_OS, "In") => Some(Target::Linux),
        (OS | OLD_OS, "NotIn") if is_named => Some(Target::Linux),
        (OS | OLD_OS, "NotIn") => Some(Target::Windows),
        (BUILD, "In" | "Exists") => Some(Target::Windows),
        (BUILD, "DoesNotExist") => Some(Target::Linux),
        _ => None,
    }
}

/// Whether a node meets every requirement of a term. A term without requirements matches no node.
fn is_met(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels = &node.metadata.labels;
    let by_label = |r: &Requirement| r.matches(labels.get(&r.key));
    let by_field = |r: &Requirement| r.key == "metadata.name" && r.matches(Some(&node.metadata.name));
    let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    !is_empty && term.match_expressions.iter().all(by_label) && term.match_fields.iter().all(by_field)
}

fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let is_effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    is_effect
        && match toleration.operator.as_str() {
            "Exists" => toleration.key.is_empty() || toleration.key == taint.key,
            "" | "Equal" => toleration.key == taint.key && toleration.value == taint.value,
            _ => false,
        }
}
