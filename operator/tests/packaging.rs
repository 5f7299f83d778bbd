//! What is shipped beside the binary agrees with it: versions, names, samples, documentation of values.
//!
//! Files only; what needs helm or a cluster is tested in `e2e`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use wn_api::component::Component;
use wn_api::{WindowsNodeConfig, names};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CHART: &str = "charts/windows-node-operator";

fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(relative)
}

fn read(relative: &str) -> Result<String> {
    fs::read_to_string(path(relative)).with_context(|| relative.to_owned())
}

fn yaml(relative: &str) -> Result<Value> {
    serde_saphyr::from_str(&read(relative)?).with_context(|| relative.to_owned())
}

fn documents(relative: &str) -> Result<Vec<Value>> {
    serde_saphyr::from_multiple(&read(relative)?).with_context(|| relative.to_owned())
}

fn samples() -> Result<Vec<String>> {
    let mut samples = Vec::new();
    for entry in fs::read_dir(path("manifests/samples"))? {
        samples.push(format!(
            "manifests/samples/{}",
            entry?.file_name().to_string_lossy()
        ));
    }
    samples.sort();
    Ok(samples)
}

#[test]
fn one_version_everywhere() -> Result<()> {
    let chart = yaml(&format!("{CHART}/Chart.yaml"))?;
    assert_eq!(chart["version"], VERSION, "Chart.yaml version");
    assert_eq!(chart["appVersion"], VERSION, "Chart.yaml appVersion");
    let kustomization = yaml("manifests/base/kustomization.yaml")?;
    assert_eq!(
        kustomization["images"][0]["newTag"], VERSION,
        "manifests/base image tag"
    );
    assert!(
        read("CHANGELOG.md")?.contains(&format!("## [{VERSION}]")),
        "CHANGELOG.md lacks a section for {VERSION}"
    );
    let readme = read(&format!("{CHART}/README.md"))?;
    assert!(
        readme.contains(&format!("windows-node-operator:{VERSION}")),
        "the chart's README names another image"
    );
    Ok(())
}

#[test]
fn chart_asks_for_the_oldest_supported_kubernetes() -> Result<()> {
    let chart = yaml(&format!("{CHART}/Chart.yaml"))?;
    assert_eq!(
        chart["kubeVersion"],
        format!(">=1.{}.0-0", names::KUBERNETES_MINORS.start())
    );
    Ok(())
}

/// A data URI needs no host to be there; the file is what people see and edit.
#[test]
fn icon_is_the_one_in_docs() -> Result<()> {
    let chart = yaml(&format!("{CHART}/Chart.yaml"))?;
    let icon = chart["icon"].as_str().context("no icon")?;
    let encoded = icon.strip_prefix("data:image/svg+xml,").context("another form")?;
    let mut parts = encoded.split('%');
    let mut svg = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).with_context(|| part.to_owned())?;
        svg.push(char::from(u8::from_str_radix(code, 16)?));
        svg.push_str(rest);
    }
    assert_eq!(svg, read("docs/icon.svg")?.trim_end());
    Ok(())
}

#[test]
fn dockerfile_builds_with_the_pinned_toolchain() -> Result<()> {
    let toolchain = read("rust-toolchain.toml")?;
    let channel = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("channel = "))
        .map(|channel| channel.trim_matches('"'))
        .context("rust-toolchain.toml names no channel")?;
    let dockerfile = read("Dockerfile")?;
    for line in [
        format!("rust:{channel}-bookworm"),
        format!("RUSTUP_TOOLCHAIN={channel}\n"),
    ] {
        assert!(dockerfile.contains(&line), "Dockerfile has no {line:?}");
    }
    Ok(())
}

/// A tag can be moved to other code, a commit cannot.
#[test]
fn workflows_pin_actions_by_commit() -> Result<()> {
    let mut pinned = 0;
    for workflow in ["ci", "release"] {
        let text = read(&format!(".github/workflows/{workflow}.yaml"))?;
        for line in text.lines() {
            let Some((_, action)) = line.split_once("uses: ") else {
                continue;
            };
            if action.starts_with("./") {
                continue;
            }
            let (_, commit) = action.split_once('@').context("no version")?;
            let (commit, version) = commit.split_once(" # ").with_context(|| line.to_owned())?;
            let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(is_commit && version.starts_with('v'), "{workflow}: {line}");
            pinned += 1;
        }
    }
    assert!(pinned > 0, "no workflow uses an action");
    Ok(())
}

/// A pod that says another user than the image's would still start, and surprise whoever set up volumes for it.
#[test]
fn image_and_pods_agree_on_the_user() -> Result<()> {
    assert!(read("Dockerfile")?.contains("USER 65532:65532\n"));
    let values = yaml(&format!("{CHART}/values.yaml"))?;
    assert_eq!(values["podSecurityContext"]["runAsUser"], 65532);
    Ok(())
}

#[test]
fn chart_carries_the_generated_crd() -> Result<()> {
    let generated = read("crds/windowsnode.dev_windowsnodeconfigs.yaml")?;
    let carried = read(&format!("{CHART}/crd-manifests/windowsnodeconfigs.yaml"))?;
    assert_eq!(
        carried, generated,
        "the chart's file must be a link to the generated one"
    );
    Ok(())
}

#[test]
fn manifests_use_the_names_the_operator_looks_for() -> Result<()> {
    let of_components = Component::ALL
        .into_iter()
        .flat_map(|component| component.names().service_accounts);
    let expected: BTreeSet<&str> = of_components.copied().chain([names::OPERATOR]).collect();
    let accounts = documents("manifests/base/serviceaccounts.yaml")?;
    let accounts: Vec<&str> = accounts
        .iter()
        .map(|account| account["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(accounts.len(), expected.len());
    assert_eq!(BTreeSet::from_iter(accounts), expected);

    // A misspelt resource name grants nothing, and shows only where the operator needs it.
    let objects = documents("manifests/base/rbac/operator.yaml")?;
    let named: BTreeSet<&str> = objects
        .iter()
        .filter(|object| object["kind"] == "Role")
        .flat_map(|role| role["rules"].as_array().unwrap())
        .filter_map(|rule| rule["resourceNames"].as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let of_components = Component::ALL.into_iter().flat_map(Component::objects);
    let expected: BTreeSet<&str> = of_components.chain([names::LEASE]).collect();
    assert_eq!(named, expected);

    let tigera = documents("manifests/components/tigera-operator/rbac.yaml")?;
    assert_eq!(tigera[0]["metadata"]["namespace"], names::tigera::NAMESPACE);
    assert_eq!(
        tigera[0]["rules"][0]["resourceNames"][0],
        names::tigera::SERVICES_ENDPOINT
    );
    Ok(())
}

/// `deny_unknown_fields` on every type makes this a check of the spelling of each field and value.
#[test]
fn samples_are_what_the_api_takes() -> Result<()> {
    let samples = samples()?;
    assert!(samples.len() >= 5, "{samples:?}");
    for sample in samples {
        let value = yaml(&sample)?;
        let api_version = format!("{}/{}", names::GROUP, names::VERSION);
        assert_eq!(value["apiVersion"], api_version, "{sample}");
        assert_eq!(value["kind"], names::KIND, "{sample}");
        assert_eq!(value["metadata"]["name"], names::SINGLETON, "{sample}");
        let config: WindowsNodeConfig = serde_json::from_value(value).with_context(|| sample.clone())?;
        assert!(config.status.is_none(), "{sample} sets a status");
    }
    Ok(())
}

#[test]
fn the_minimal_sample_stays_minimal() -> Result<()> {
    let spec = &yaml("manifests/samples/calico-vxlan.yaml")?["spec"];
    assert_eq!(*spec, serde_json::json!({ "network": { "type": "CalicoVXLAN" } }));
    Ok(())
}

/// A new field of the API must be shown in `full.yaml`.
#[test]
fn the_full_sample_has_every_field() -> Result<()> {
    let crd = wn_api::crd::custom_resource_definition();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert!(
        schema["properties"]["network"].is_object(),
        "the CRD has another shape: {crd}"
    );
    let sample = yaml("manifests/samples/full.yaml")?;
    let mut missing = Vec::new();
    missing_fields(schema, &sample["spec"], "spec", &mut missing);
    // Excluded by another field of the same object, or shown for the node agent.
    missing.retain(|field| {
        ![
            "spec.nodeAgent.image.digest",
            "spec.networkAgent.image.digest",
            "spec.kubeProxy.image.tag",
        ]
        .contains(&field.as_str())
            && !field.starts_with("spec.kubeProxy.tolerations.")
            && !field.starts_with("spec.networkAgent.tolerations.")
    });
    assert_eq!(missing, Vec::<String>::new());
    Ok(())
}

fn missing_fields(schema: &Value, sample: &Value, at: &str, missing: &mut Vec<String>) {
    let Some(properties) = schema["properties"].as_object() else {
        if let Some(item) = sample.get(0) {
            missing_fields(&schema["items"], item, at, missing);
        }
        return;
    };
    for (name, property) in properties {
        let at = format!("{at}.{name}");
        match sample.get(name) {
            Some(value) => missing_fields(property, value, &at, missing),
            None => missing.push(at),
        }
    }
}

/// Values, their schema and their documentation are three lists of the same names.
#[test]
fn chart_values_are_in_schema_and_readme() -> Result<()> {
    let values = yaml(&format!("{CHART}/values.yaml"))?;
    let schema: Value = serde_json::from_str(&read(&format!("{CHART}/values.schema.json"))?).unwrap();
    let readme = read(&format!("{CHART}/README.md"))?;
    assert_eq!(
        schema["additionalProperties"], false,
        "unknown values must be refused"
    );

    let in_values: BTreeSet<&str> = values.as_object().unwrap().keys().map(String::as_str).collect();
    let in_schema: BTreeSet<&str> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(in_values, in_schema);

    for name in in_values {
        // These are Kubernetes' own types, documented there.
        let ours = schema["properties"][name]["additionalProperties"] == false
            && !["affinity", "resources"].contains(&name)
            // Helm hands it to every subchart, with values of others in it.
            || name == "global";
        let documented: Vec<String> = match values[name].as_object().filter(|_| ours) {
            Some(nested) => nested.keys().map(|key| format!("`{name}.{key}`")).collect(),
            None => vec![format!("`{name}`")],
        };
        for name in documented {
            assert!(
                readme.contains(&name),
                "the chart's README does not say what {name} is"
            );
        }
    }
    Ok(())
}

/// Every page, and what it links to in this repository.
#[test]
fn links_between_pages_lead_somewhere() -> Result<()> {
    let mut pages: Vec<String> = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(str::to_owned)
        .into();
    pages.push(format!("{CHART}/README.md"));
    for directory in ["docs", "docs/adr"] {
        for entry in fs::read_dir(path(directory))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                pages.push(format!("{directory}/{name}"));
            }
        }
    }
    let mut broken = Vec::new();
    for page in &pages {
        let text = read(page)?;
        let folder = path(page);
        let folder = folder.parent().context("a page is in a folder")?;
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0));
        for target in targets.filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() {
                path(page)
            } else {
                folder.join(file)
            };
            let found = file.exists()
                && (anchor.is_empty() || anchors(&fs::read_to_string(&file)?).any(|known| known == anchor));
            if !found {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
    let index = read("docs/README.md")?;
    for page in pages.iter().filter_map(|page| page.strip_prefix("docs/")) {
        let listed = page == "README.md" || page.starts_with("adr/") || index.contains(&format!("]({page})"));
        assert!(listed, "docs/README.md does not list {page}");
    }
    Ok(())
}

/// Of each heading, as forges make them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || "- _".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    })
}

#[test]
fn license_is_the_whole_apache_license() -> Result<()> {
    let license = read("LICENSE")?;
    assert!(license.contains("Version 2.0, January 2004") && license.contains("END OF TERMS AND CONDITIONS"));
    Ok(())
}
