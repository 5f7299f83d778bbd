//! Which of Calico's APIs a Calico program uses, decided as libcalico decides it.

use std::collections::{BTreeMap, BTreeSet};

use wn_api::calico::{CalicoApi, GROUP_V1, GROUP_V3};

/// `libcalico-go/lib/backend/k8s/discovery.go`: the environment wins; then group v1, even beside v3
/// (that one is the aggregated server over it); then v3. `served` holds the groups with definitions of
/// their own: the aggregated server has none, and never decides.
pub fn api(env: &BTreeMap<String, String>, served: &BTreeSet<String>) -> Option<CalicoApi> {
    match env.get("CALICO_API_GROUP").map(String::as_str) {
        Some("crd.projectcalico.org/v1") => return Some(CalicoApi::V1),
        Some("projectcalico.org/v3") => return Some(CalicoApi::V3),
        _ => {}
    }
    [(GROUP_V1, CalicoApi::V1), (GROUP_V3, CalicoApi::V3)]
        .into_iter()
        .find_map(|(group, api)| served.contains(group).then_some(api))
}

/// The group of a custom resource definition that carries Calico's IPAM, from its name.
pub fn ipam_group(definition: &str) -> Option<&str> {
    definition
        .strip_prefix("ipamblocks.")
        .filter(|group| [GROUP_V1, GROUP_V3].contains(group))
}

/// The API of `group`.
pub fn api_of(group: &str) -> CalicoApi {
    if group == GROUP_V1 {
        CalicoApi::V1
    } else {
        CalicoApi::V3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_of_a_program() {
        let (v1, v3) = (GROUP_V1, GROUP_V3);
        for (env, served, expected) in [
            (None, vec![], None),
            (None, vec![v1], Some(CalicoApi::V1)),
            (None, vec![v3], Some(CalicoApi::V3)),
            (None, vec![v1, v3], Some(CalicoApi::V1)),
            (Some("projectcalico.org/v3"), vec![v1, v3], Some(CalicoApi::V3)),
            (Some("crd.projectcalico.org/v1"), vec![v3], Some(CalicoApi::V1)),
        ] {
            let env = env
                .map(|group| ("CALICO_API_GROUP".to_owned(), group.to_owned()))
                .into_iter()
                .collect();
            let groups = served.iter().map(|&group| group.to_owned()).collect();
            assert_eq!(api(&env, &groups), expected, "{env:?} {served:?}");
        }
    }

    #[test]
    fn definitions() {
        assert_eq!(ipam_group("ipamblocks.crd.projectcalico.org"), Some(GROUP_V1));
        assert_eq!(ipam_group("ipamblocks.projectcalico.org"), Some(GROUP_V3));
        assert_eq!(ipam_group("ippools.projectcalico.org"), None);
        assert_eq!(
            (api_of(GROUP_V1), api_of(GROUP_V3)),
            (CalicoApi::V1, CalicoApi::V3)
        );
    }
}
