//! Selectors of policies and rules, folded into one selector of endpoints each.

use crate::input::calico::{Entity, PolicySpec, ServiceAccountMatch};
use crate::selector::Selector;

/// Label of a pod or network set: its namespace.
pub const NAMESPACE: &str = "projectcalico.org/namespace";
/// Label of a pod: its service account.
pub const SERVICE_ACCOUNT: &str = "projectcalico.org/serviceaccount";
/// Label of a pod: who made it.
pub const ORCHESTRATOR: &str = "projectcalico.org/orchestrator";
/// In front of a namespace's labels at its pods.
pub const OF_NAMESPACE: &str = "pcns.";
/// In front of a service account's labels at its pods.
pub const OF_SERVICE_ACCOUNT: &str = "pcsa.";
/// Label of a namespace or service account: its name.
pub const NAME: &str = "projectcalico.org/name";

/// `Some(None)` for an empty text, `None` for one that cannot be read.
pub fn optional(text: &str) -> Option<Option<Selector>> {
    if text.is_empty() {
        return Some(None);
    }
    Selector::parse(text).map(Some)
}

/// Which endpoints a policy is about.
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

/// Which endpoints one side of a rule means; `Some(None)` where it is not about endpoints.
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
        // `global()` means what is in no namespace.
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
