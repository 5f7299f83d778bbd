//! The chart, rendered by real helm, against what it promises, and against `manifests/base`, rendered by real kustomize.
//!
//! No control plane: what an API server makes of the objects is tested where one runs.

mod argo_cd;
mod cluster_rules;
mod linters;
mod monitoring;
mod rights;
mod upgrade;
mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use wn_e2e::control_plane::Binaries;

const NAME: &str = "windows-node-operator";
const CRD: &str = "crds/windowsnode.dev_windowsnodeconfigs.yaml";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn chart() -> PathBuf {
    workspace().join("charts").join(NAME)
}

fn binaries() -> Result<Binaries> {
    Binaries::ensure(&|line| eprintln!("{line}"))
}

fn helm<S: AsRef<str>>(args: &[S]) -> Result<Output> {
    let output = Command::new(binaries()?.helm)
        .args(args.iter().map(AsRef::as_ref))
        // Neither a person's cluster nor their plugins and repositories may have a say.
        .env("KUBECONFIG", "/dev/null")
        .env("HELM_CONFIG_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("HELM_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("HELM_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .current_dir(workspace())
        .output()?;
    Ok(output)
}

fn template_of(chart: &Path, release: &str, args: &[&str]) -> Result<Output> {
    let chart = chart.display().to_string();
    helm(&[&["template", release, &chart, "--namespace", NAME], args].concat())
}

/// The objects of a release named as in the documentation, without those of its hooks.
fn render(args: &[&str]) -> Result<Vec<Value>> {
    let mut all = objects(&template_of(&chart(), NAME, args)?)?;
    all.retain(|object| !is_hook(object));
    Ok(all)
}

fn is_hook(object: &Value) -> bool {
    object["metadata"]["annotations"].get("helm.sh/hook").is_some()
}

/// The objects that helm makes only while it uninstalls.
fn hooks(args: &[&str]) -> Result<Vec<Value>> {
    let mut all = objects(&template_of(&chart(), NAME, args)?)?;
    all.retain(is_hook);
    Ok(all)
}

fn objects(output: &Output) -> Result<Vec<Value>> {
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    documents(std::str::from_utf8(&output.stdout)?)
}

fn documents(yaml: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).context("not YAML")?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

fn kustomize(directory: &str) -> Result<Vec<Value>> {
    let output = Command::new(binaries()?.kubectl)
        .args(["kustomize", directory])
        .current_dir(workspace())
        .output()?;
    objects(&output)
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    objects
        .iter()
        .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
        .with_context(|| format!("there is no {kind} {name}"))
}

fn deployment(args: &[&str]) -> Result<Value> {
    Ok(find(&render(args)?, "Deployment", NAME)?.clone())
}

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn assert_same(chart: &BTreeSet<String>, manifests: &BTreeSet<String>) {
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert_eq!(
        only(chart, manifests),
        Vec::<String>::new(),
        "granted by the chart only"
    );
    assert_eq!(
        only(manifests, chart),
        Vec::<String>::new(),
        "granted by the manifests only"
    );
}

#[test]
fn lints_without_a_warning() -> Result<()> {
    let output = helm(&["lint", "--strict", &chart().display().to_string()])?;
    ensure!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[test]
fn runs_the_pod_that_manifests_run() -> Result<()> {
    let base = kustomize("manifests/base")?;
    let base = &find(&base, "Deployment", NAME)?["spec"];
    assert_eq!(&deployment(&[])?["spec"], base);
    Ok(())
}

/// Both paths install the same objects; the namespace is helm's own business.
#[test]
fn installs_the_objects_that_manifests_install() -> Result<()> {
    let named = |objects: &[Value]| -> BTreeSet<String> {
        objects
            .iter()
            .filter(|object| object["kind"] != "Namespace")
            .map(|object| {
                let metadata = &object["metadata"];
                format!(
                    "{} {}/{}",
                    text(&object["kind"]),
                    text(&metadata["namespace"]),
                    text(&metadata["name"])
                )
            })
            .collect()
    };
    assert_same(&named(&render(&[])?), &named(&kustomize("manifests/base")?));
    Ok(())
}

#[test]
fn manifests_let_host_process_pods_in() -> Result<()> {
    let base = kustomize("manifests/base")?;
    let labels = &find(&base, "Namespace", NAME)?["metadata"]["labels"];
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "privileged");
    Ok(())
}

#[test]
fn crd_is_the_generated_one_and_is_kept() -> Result<()> {
    let generated = documents(&std::fs::read_to_string(workspace().join(CRD))?)?.remove(0);
    let name = text(&generated["metadata"]["name"]).to_owned();
    let rendered = render(&[])?;
    let crd = find(&rendered, "CustomResourceDefinition", &name)?;
    assert_eq!(
        plain(&crd["spec"]),
        plain(&generated["spec"]),
        "helm changed the CRD"
    );
    assert_eq!(crd["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");

    let rendered = render(&["--set", "crds.keep=false"])?;
    let crd = find(&rendered, "CustomResourceDefinition", &name)?;
    assert_eq!(
        crd["metadata"]["annotations"].get("helm.sh/resource-policy"),
        None
    );

    let rendered = render(&["--set", "crds.enabled=false"])?;
    assert!(find(&rendered, "CustomResourceDefinition", &name).is_err());
    Ok(())
}

/// Helm writes the number `4096.0` as `4096`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), plain(field)))
            .collect(),
        other => other.clone(),
    }
}

/// In the checkout the chart holds a link; a package that kept the link would install no CRD.
#[test]
fn package_holds_all_that_the_checkout_renders() -> Result<()> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let output = helm(&[
        "package",
        &chart().display().to_string(),
        "--destination",
        &directory.display().to_string(),
    ])?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let package = directory.join(format!("{NAME}-{}.tgz", env!("CARGO_PKG_VERSION")));
    assert_eq!(
        objects(&template_of(&package, NAME, &[])?)?,
        objects(&template_of(&chart(), NAME, &[])?)?
    );
    Ok(())
}

#[test]
fn notes_say_what_to_do_next() -> Result<()> {
    let chart = chart().display().to_string();
    let args = [
        "install",
        NAME,
        &chart,
        "--namespace",
        "elsewhere",
        "--dry-run=client",
    ];
    let output = helm(&args)?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let notes = String::from_utf8(output.stdout)?;
    for expected in [
        "--set image.registry=",
        "kubectl label namespace elsewhere --overwrite pod-security.kubernetes.io/enforce=privileged",
        "kubectl wait windowsnodeconfig default --for=condition=Ready",
        "kubectl delete windowsnodeconfig default\nhelm uninstall windows-node-operator --namespace elsewhere",
    ] {
        assert!(notes.contains(expected), "no {expected:?} in:\n{notes}");
    }
    let output = helm(&[&args[..], &["--set", "image.registry=r.example.com"]].concat())?;
    assert!(!String::from_utf8(output.stdout)?.contains("No registry is set"));
    Ok(())
}
