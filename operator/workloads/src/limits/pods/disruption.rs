//! PodDisruptionBudgets that never let a node be drained.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::units::Unit;
use crate::findings::{Code, Finding, ObjectName};
use crate::input::workload::{DisruptionBudget, DisruptionBudgetSpec};
use crate::input::{Key, NumberOrText};

/// Budgets that allow no eviction of pods on Windows nodes.
pub fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let budgets = cluster.objects.disruption_budgets.iter();
    budgets
        .filter_map(|(key, budget)| of_budget(cluster, key, budget))
        .collect()
}

fn of_budget(cluster: &Cluster<'_>, (namespace, name): &Key, budget: &DisruptionBudget) -> Option<Finding> {
    // A budget without a selector selects no pod.
    let selector = budget.spec.selector.as_ref()?;
    let units = cluster.units.iter();
    let units = units.filter(|unit| unit.namespace == &**namespace && selector.selects(unit.labels));
    let units: Vec<&Unit<'_>> = units.collect();
    if !units.iter().any(|unit| unit.is_on_windows) {
        return None;
    }
    let size = units.iter().map(|unit| unit.size()).sum();
    let (field, limit) = blocking(&budget.spec, size)?;
    let message = format!("{limit} of {size} pods: no pod can be evicted from a Windows node");
    let names = units.iter().map(|unit| unit.pod_names());
    let pods = names.flat_map(|names| names.to_vec()).collect();
    let hit = Hit::warning(Code::NeverDrains, field, message);
    let object = ObjectName::new("policy", "PodDisruptionBudget", namespace, name);
    Some(hit.of(&object, "spec", pods))
}

/// The field that allows no eviction, with its value. Percentages are rounded up, as the disruption controller does.
fn blocking(spec: &DisruptionBudgetSpec, size: usize) -> Option<(&'static str, String)> {
    let least = spec.min_available.as_ref().and_then(|value| number(value, size));
    let most = spec
        .max_unavailable
        .as_ref()
        .and_then(|value| number(value, size));
    if size == 0 {
        return None;
    }
    if most == Some(0) {
        return Some(("maxUnavailable", "maxUnavailable is 0".to_owned()));
    }
    let least = least.filter(|least| *least >= size)?;
    Some(("minAvailable", format!("minAvailable is {least}")))
}

/// A number of pods, or a percentage of `size`.
fn number(value: &NumberOrText, size: usize) -> Option<usize> {
    match value {
        NumberOrText::Number(number) => usize::try_from(*number).ok(),
        NumberOrText::Text(text) => {
            let percent: usize = text.strip_suffix('%')?.parse().ok()?;
            Some(size.checked_mul(percent)?.div_ceil(100))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("2", 5, Some(2))]
    #[case("50%", 5, Some(3))]
    #[case("100%", 5, Some(5))]
    #[case("0%", 5, Some(0))]
    #[case("18446744073709551615%", 5, None)]
    #[case("99999999999999999999%", 5, None)]
    #[case("-1", 5, None)]
    #[case("many", 5, None)]
    fn numbers(#[case] text: &str, #[case] size: usize, #[case] expected: Option<usize>) {
        let value = match text.parse() {
            Ok(number) => NumberOrText::Number(number),
            Err(_) => NumberOrText::Text(text.to_owned()),
        };
        assert_eq!(number(&value, size), expected);
    }
}
