//! Which nodes the `nodeSelector` of a pool selects, in Calico's selector language.

use wn_workloads::selector::Selector;

use crate::observed::Labels;

/// Does `selector` match `labels`? `None` when it cannot be read.
pub fn matches(selector: &str, labels: &Labels) -> Option<bool> {
    let selector = Selector::parse(selector)?;
    Some(selector.matches(&|name: &str| labels.get(name)))
}
