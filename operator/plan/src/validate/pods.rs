//! What the API server would refuse in a DaemonSet's pods, reported on the field that the user wrote.

use wn_api::component::Component;
use wn_api::spec::{Resources, Toleration, TolerationOperator, WindowsNodeConfigSpec};

use super::Violation;
use crate::quantity;

pub fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    let mut found = Vec::new();
    for component in Component::ALL {
        let path = format!("spec.{}", component.names().field);
        let settings = spec.component(component);
        if let Some(given) = settings.resources {
            found.extend(resources(&format!("{path}.resources"), given));
        }
        found.extend(tolerations(&format!("{path}.tolerations"), settings.tolerations));
    }
    found
}

fn resources(path: &str, resources: &Resources) -> Vec<Violation> {
    let lists = [("requests", &resources.requests), ("limits", &resources.limits)];
    let all = lists
        .into_iter()
        .flat_map(|(list, map)| map.iter().map(move |(name, q)| (list, name, q)));
    let bad = all.filter(|(_, _, q)| quantity::parse(q.as_str()).is_none());
    let mut found: Vec<_> = bad
        .map(|(list, name, q)| {
            Violation::new(
                format!("{path}.{list}.{name}"),
                format!("{:?} is not a quantity such as 100m or 500Mi", q.as_str()),
            )
        })
        .collect();
    let above = resources.requests.iter().filter_map(|(name, request)| {
        let limit = resources.limits.get(name)?;
        (quantity::parse(request.as_str())? > quantity::parse(limit.as_str())?)
            .then_some((name, request, limit))
    });
    found.extend(above.map(|(name, request, limit)| {
        let message = format!("{request} is more than the limit {limit}: lower it, or raise limits.{name}");
        Violation::new(format!("{path}.requests.{name}"), message)
    }));
    found
}

fn tolerations(path: &str, tolerations: &[Toleration]) -> Vec<Violation> {
    let wrong = |toleration: &Toleration| {
        let exists = toleration.operator == Some(TolerationOperator::Exists);
        if exists && toleration.value.as_deref().is_some_and(|v| !v.is_empty()) {
            Some(
                "has a value, and operator Exists matches every value: remove value, or set operator to Equal",
            )
        } else if !exists && toleration.key.as_deref().is_none_or(str::is_empty) {
            Some("has no key: set key, or set operator to Exists to tolerate every taint")
        } else {
            None
        }
    };
    let found = tolerations
        .iter()
        .enumerate()
        .filter_map(|(i, t)| Some((i, wrong(t)?)));
    found
        .map(|(i, message)| Violation::new(format!("{path}[{i}]"), message))
        .collect()
}
