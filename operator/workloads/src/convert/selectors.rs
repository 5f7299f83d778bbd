//! Combines the selectors of a policy, or of one side of a rule, into one selector of endpoints.

use crate::input::calico::{Entity, PolicySpec, ServiceAccountMatch};
use crate::selector::Selector;

/// Label of a pod or network set with the name of its namespace.
pub const NAMESPACE: &str = "projectcalico.org/namespace";
/// Label of a pod with the name of its service account.
pub const SERVICE_ACCOUNT: &str = "projectcalico.org/serviceaccount";
/// Label of a pod with the orchestrator that created it.
pub const ORCHESTRATOR: &str = "projectcalico.org/orchestrator";
/// Prefix of the labels that a pod inherits from its namespace.
pub const OF_NAMESPACE: &str = "pcns.";
/// Prefix of the labels that a pod inherits from its service account.
pub const OF_SERVICE_ACCOUNT: &str = "pcsa.";
/// Label of a namespace or service account with its name.
pub const NAME: &str = "projectcalico.org/name";

/// Parses a selector: `Some(None)` for an empty text, `None` for an invalid one.
pub fn optional(text: &str) -> Option<Option<Selector>> {
    if text.is_empty() {
        return Some(None);
    }
    Selector::parse(text).map(Some)
}

/// The selector of the endpoints that a policy applies to; `None` if a selector is invalid.
pub fn policy_selector(spec: &PolicySpec, namespace: &str) -> Option<Selector> {
    let mut selector = optional(&spec.selector)?;
    if !namespace.is_empty() {
        selector = and(selector, Some(Selector::equal(NAMESPACE, namespace)));
    } else if let Some(of_namespace) = optional(&spec.namespace_selector)? {
        let all = and(selector, Some(of_namespace.prefixed(OF_NAMESPACE)));
        selector = all.map(|s| s.with_all_as(&Selector::has(NAMESPACE), None));
    }
    if let Some(of_account) = optional(&spec.service_account_selector)? {
        selector = and(selector, Some(of_account.prefixed(OF_SERVICE_ACCOUNT)));
        if namespace.is_empty() {
            selector = selector.map(|s| s.with_all_as(&Selector::has(SERVICE_ACCOUNT), None));
        }
    }
    Some(selector.unwrap_or_else(Selector::all))
}

/// The selector of the endpoints that one side of a rule matches; `Some(None)` if it does not select
/// endpoints, `None` if a selector is invalid.
pub fn peer(entity: &Entity, namespace: &str) -> Option<Option<Selector>> {
    let accounts = entity
        .service_accounts
        .as_ref()
        .map_or(Some(None), service_accounts)?;
    let selector = and(accounts, optional(&entity.selector)?);
    let named_namespaces = !entity.namespace_selector.is_empty();
    let is_about_endpoints = selector.is_some() || !entity.not_selector.is_empty() || named_namespaces;
    if !is_about_endpoints {
        return Some(None);
    }
    let of_namespace = if named_namespaces {
        let parsed = Selector::parse(&entity.namespace_selector)?.prefixed(OF_NAMESPACE);
        let any = Selector::has(NAMESPACE);
        // `global()` selects what is in no namespace.
        Some(parsed.with_all_as(&any, Some(&any.clone().negated())))
    } else if namespace.is_empty() {
        None
    } else {
        Some(Selector::equal(NAMESPACE, namespace))
    };
    Some(and(of_namespace, selector))
}

fn service_accounts(accounts: &ServiceAccountMatch) -> Option<Option<Selector>> {
    let by_label = optional(&accounts.selector)?.map(|s| s.prefixed(OF_SERVICE_ACCOUNT));
    if accounts.names.is_empty() {
        return Some(by_label);
    }
    let by_name = Selector::among(SERVICE_ACCOUNT, accounts.names.iter().cloned());
    Some(and(by_label, Some(by_name)))
}

fn and(a: Option<Selector>, b: Option<Selector>) -> Option<Selector> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.and(b)),
        (a, b) => a.or(b),
    }
}
