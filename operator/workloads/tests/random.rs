//! Random small clusters: each difference has a finding with a packet, and nothing panics.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

mod common;

use common::policies::{policy, world};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use wn_workloads::findings::{self, Code};
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::output::Report;
use wn_workloads::release::Release;

fn objects() -> impl Strategy<Value = String> {
    (policy(1), policy(2), policy(3)).prop_map(|(a, b, c)| {
        let items = [world(), vec![a, b, c]].concat();
        json!({"kind": "List", "items": items}).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_difference_has_a_finding_and_each_finding_a_packet(
        text in objects(),
        release in select(Release::ALL.to_vec()),
    ) {
        let objects = Objects::read([Manifest { name: "random", text: &text }]).unwrap();
        let report = Report::new(&objects, release);
        let findings = findings::all(&objects, release);
        for endpoint in &report.endpoints {
            let about = findings.iter().filter(|finding| finding.pods.contains(&endpoint.pod));
            let (panics, others): (Vec<_>, Vec<_>) = about.partition(|f| f.code == Code::FelixPanics);
            match endpoint.verdict {
                "same" => prop_assert!(panics.is_empty() && others.is_empty(), "{:?}", endpoint.pod),
                "felix-panics" => prop_assert!(findings.iter().any(|f| f.code == Code::FelixPanics)),
                verdict => {
                    prop_assert!(!others.is_empty(), "{verdict}: {:?}", endpoint.difference);
                    prop_assert!(others.iter().all(|f| f.flow.is_some() && f.code != Code::Unexplained), "{others:?}");
                }
            }
        }
    }
}
