//! The roles of Calico's agent and CNI plugin grant what the real programs ask for.
//!
//! `e2e/windows/calico-requests.tsv` holds the requests of Calico's programs for Windows. It is an extract of
//! a larger recording, `calico-agent/requests.json` in the directory of shared fixtures, which is not part of this repository;
//! where that is at hand, `UPDATE_RECORD=1 cargo test -p windows-node-operator --test agent_rights` regenerates the extract.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wn_api::calico::{GROUP_V1, GROUP_V3};
use wn_api::names::node_agent::{CNI_SERVICE_ACCOUNT, SERVICE_ACCOUNT};

const EXTRACT: &str = include_str!("../../e2e/windows/calico-requests.tsv");
const HEADER: &str = "\
# What Calico's programs for Windows, v3.32.1, ask of the API server, with NO_DEFAULT_POOLS=true.
# `calico` is the group and version of Calico's resources, in either form. Names are empty where they differ by cluster.
# account\tprogram\tapi\tresource\tverbs\tnames
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Without `NO_DEFAULT_POOLS`, which we always set, a start with no pool creates one.
fn is_rendered_otherwise(request: &Value) -> bool {
    request["resource"] == "ippools" && request["verb"] == "create"
}

/// The recording, as the extract has it.
fn extract(recording: &Value) -> String {
    let mut forms: BTreeMap<[String; 5], BTreeMap<String, BTreeSet<&str>>> = BTreeMap::new();
    for (form, recorded) in recording["apiForms"].as_object().unwrap() {
        let requests = recorded["requests"].as_array().unwrap().iter();
        for request in requests.filter(|r| r["resource"].is_string() && !is_rendered_otherwise(r)) {
            let text = |field: &str| request[field].as_str().unwrap_or_default();
            let calico = [GROUP_V1, GROUP_V3].contains(&text("apiGroup"));
            let api = match (text("apiGroup"), text("apiVersion")) {
                _ if calico => "calico".to_owned(),
                ("", version) => version.to_owned(),
                (group, version) => format!("{group}/{version}"),
            };
            let resource = match text("subresource") {
                "" => text("resource").to_owned(),
                sub => format!("{}/{sub}", text("resource")),
            };
            let name = if text("name").contains('<') {
                ""
            } else {
                text("name")
            };
            let program = match text("program") {
                "install.exe" => "install",
                program if program.starts_with("calico.exe") => "cni",
                program => program.split(" -").nth(1).unwrap(),
            };
            let row = [text("serviceAccount"), program, &api, &resource, name].map(str::to_owned);
            let verbs = forms.entry(row).or_default().entry(form.clone()).or_default();
            verbs.insert(text("verb"));
        }
    }
    let mut lines = HEADER.to_owned();
    for ([account, program, api, resource, name], verbs) in forms {
        let all: BTreeSet<_> = verbs.values().flatten().copied().collect();
        let all = Vec::from_iter(all).join(",");
        lines += &format!("{account}\t{program}\t{api}\t{resource}\t{all}\t{name}\n");
    }
    lines
}

#[test]
fn extract_is_of_the_recording() {
    let shared = std::env::var_os("WINDOWS_NODE_SHARED").map_or(root().join("../shared"), PathBuf::from);
    let Ok(recording) = fs::read(shared.join("calico-agent/requests.json")) else {
        eprintln!("skipped: the recording of Calico's requests is absent (set WINDOWS_NODE_SHARED)");
        return;
    };
    let fresh = extract(&serde_json::from_slice(&recording).unwrap());
    if std::env::var_os("UPDATE_RECORD").is_some() {
        fs::write(root().join("e2e/windows/calico-requests.tsv"), &fresh).unwrap();
        return;
    }
    assert_eq!(EXTRACT, fresh, "UPDATE_RECORD=1 regenerates it");
}

/// What `manifests/base` grants an account: group, resource, verb, and a name or nothing for all.
/// That the chart grants the same is a test of the chart's.
fn granted(account: &str) -> BTreeSet<[String; 4]> {
    let mut rights = BTreeSet::new();
    for file in ["node-agent", "cni-plugin"] {
        let text = fs::read_to_string(root().join(format!("manifests/base/rbac/{file}.yaml"))).unwrap();
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let bindings = objects.iter().filter(|o| o["subjects"][0]["name"] == account);
        for binding in bindings {
            let role = objects.iter().find(|o| {
                o["kind"] == binding["roleRef"]["kind"] && o["metadata"]["name"] == binding["roleRef"]["name"]
            });
            for rule in role.unwrap()["rules"].as_array().unwrap() {
                let list = |field: &str| -> Vec<String> {
                    serde_json::from_value(rule[field].clone()).unwrap_or_default()
                };
                let names = match list("resourceNames") {
                    names if names.is_empty() => vec![String::new()],
                    names => names,
                };
                for group in list("apiGroups") {
                    for resource in list("resources") {
                        for verb in list("verbs") {
                            let right =
                                |name: &String| [group.clone(), resource.clone(), verb.clone(), name.clone()];
                            rights.extend(names.iter().map(right));
                        }
                    }
                }
            }
        }
    }
    rights
}

#[test]
fn every_request_is_granted() {
    let mut missing = Vec::new();
    let mut seen = 0;
    for line in EXTRACT.lines().filter(|line| !line.starts_with('#')) {
        let [account, _, api, resource, verbs, name] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line:?} has not six columns");
        };
        let rights = granted(account);
        let groups = match api.split_once('/') {
            None if api == "calico" => vec![GROUP_V1, GROUP_V3],
            None => vec![""],
            Some((group, _)) => vec![group],
        };
        for (group, verb) in groups.iter().flat_map(|g| verbs.split(',').map(move |v| (*g, v))) {
            seen += 1;
            let right = |name: &str| [group, resource, verb, name].map(str::to_owned);
            if !rights.contains(&right("")) && !rights.contains(&right(name)) {
                missing.push(format!("{account}: {verb} {resource}.{group} {name}"));
            }
        }
    }
    assert!(seen > 100, "only {seen} requests were read");
    assert_eq!(missing, Vec::<String>::new());
}

/// A pool that nobody asked for takes addresses that belong to another network.
#[test]
fn no_agent_creates_pools() {
    for account in [SERVICE_ACCOUNT, CNI_SERVICE_ACCOUNT] {
        let writes: Vec<_> = granted(account)
            .into_iter()
            .filter(|[_, resource, verb, _]| {
                resource == "ippools" && !["get", "list", "watch"].contains(&verb.as_str())
            })
            .collect();
        assert_eq!(writes, Vec::<[String; 4]>::new(), "{account}");
    }
}
