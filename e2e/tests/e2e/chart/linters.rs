//! Checkers of other projects over what the chart renders: Prometheus' own tests of each alert, linters of manifests, and the CRD as a schema.
//!
//! A finding that stays is listed with its reason, and must still be found without its entry.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wn_e2e::control_plane::release_tools;

use super::monitoring::rules;
use super::{CRD, NAME, chart, documents, objects, template_of, text, workspace};

struct Linter {
    program: fn() -> Result<PathBuf>,
    /// The last one is the file that it reads.
    arguments: &'static [&'static str],
    accepted: &'static [Accepted],
    /// A text of the file, what makes it a mistake, and what the program prints then.
    mistake: [&'static str; 3],
}

/// The argument that leaves out a check whose findings stay, and why they stay.
type Accepted = (&'static str, &'static str);

const LINTERS: [Linter; 4] = [
    Linter {
        program: release_tools::promtool,
        arguments: &["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"],
        accepted: &[],
        mistake: ["\"15m\"", "\"soon\"", "not a valid duration string: \"soon\""],
    },
    Linter {
        program: release_tools::promtool,
        arguments: &["test", "rules", "alerts.yaml"],
        accepted: &[],
        mistake: ["summary: 2 Windows", "summary: 3 Windows", "FAILED"],
    },
    Linter {
        program: release_tools::kube_score,
        arguments: &[
            "score",
            "--output-format=ci",
            "--exit-one-on-warning",
            "chart.yaml",
        ],
        accepted: &[
            (
                "--ignore-container-cpu-limit",
                "throttling would delay repairs; the memory, which cannot be throttled, is limited",
            ),
            (
                "--ignore-test=container-ephemeral-storage-request-and-limit",
                "the container writes no files: its root is read-only, and it mounts no writable volume",
            ),
            (
                "--ignore-test=container-image-pull-policy",
                "a tag is a version that is not moved; with Always, a registry that is down would stop a restart",
            ),
        ],
        mistake: [
            "readOnlyRootFilesystem: true",
            "readOnlyRootFilesystem: false",
            "The pod has a container with a writable root filesystem",
        ],
    },
    Linter {
        program: release_tools::kubeconform,
        arguments: &[
            "-strict",
            "-schema-location={{.ResourceKind}}_{{.ResourceAPIVersion}}.json",
            "samples.yaml",
        ],
        accepted: &[],
        mistake: ["type: FlannelVXLAN", "type: Flannel", "/spec/network/type"],
    },
];

/// Every object that the chart can render.
const VALUES: [&str; 8] = [
    "image.registry=registry.example.com",
    "networkPolicy.enabled=true",
    "service.enabled=true",
    "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "grafanaDashboard.enabled=true",
    "tigeraOperator.enabled=true",
    "etcd.secretName=calico-etcd",
];

/// The files that the programs read, in a folder of the test's own.
fn files(test: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder)?;
    let rules = json!({ "groups": [{ "name": "chart", "rules": rules()? }] });
    fs::write(folder.join("rules.yaml"), rules.to_string())?;
    fs::copy(
        workspace().join("e2e/fixtures/alerts.yaml"),
        folder.join("alerts.yaml"),
    )?;
    let values: Vec<&str> = VALUES.iter().flat_map(|value| ["--set", value]).collect();
    let rendered = template_of(&chart(), NAME, &values)?;
    ensure!(!objects(&rendered)?.is_empty(), "the chart rendered nothing");
    fs::write(folder.join("chart.yaml"), rendered.stdout)?;
    let crd = documents(&fs::read_to_string(workspace().join(CRD))?)?.remove(0);
    let version = &crd["spec"]["versions"][0];
    let schema = format!("windowsnodeconfig_{}.json", text(&version["name"]));
    fs::write(
        folder.join(schema),
        version["schema"]["openAPIV3Schema"].to_string(),
    )?;
    let mut samples = String::new();
    for sample in fs::read_dir(workspace().join("manifests/samples"))? {
        samples.push_str("---\n");
        samples.push_str(&fs::read_to_string(sample?.path())?);
    }
    fs::write(folder.join("samples.yaml"), samples)?;
    Ok(folder)
}

impl Linter {
    /// Whether it accepts the file, and what it prints. `looked_for` is an accepted check that is not left out.
    fn run(&self, folder: &Path, looked_for: Option<&str>) -> Result<(bool, String)> {
        let (file, arguments) = self.arguments.split_last().context("no file")?;
        let mut command = Command::new((self.program)()?);
        command.args(arguments).current_dir(folder);
        let left_out = self.accepted.iter().map(|(check, _)| *check);
        command.args(left_out.filter(|check| Some(*check) != looked_for));
        let output = command.arg(file).output()?;
        let print = [output.stdout, output.stderr].concat();
        Ok((
            output.status.success(),
            String::from_utf8_lossy(&print).into_owned(),
        ))
    }

    fn name(&self) -> String {
        format!("the linter with arguments {:?}", self.arguments)
    }
}

#[test]
fn linters_find_nothing_but_what_is_accepted() -> Result<()> {
    let folder = files("linters")?;
    for linter in &LINTERS {
        let (accepts, print) = linter.run(&folder, None)?;
        assert!(accepts, "{}:\n{print}", linter.name());
        for (check, why) in linter.accepted {
            let (accepts, _) = linter.run(&folder, Some(check))?;
            assert!(!accepts, "{} needs {check} no longer ({why})", linter.name());
        }
    }
    Ok(())
}

/// A linter that accepts everything would pass the other test.
#[test]
fn linters_find_mistakes() -> Result<()> {
    let folder = files("linters-mistakes")?;
    for linter in &LINTERS {
        let file = folder.join(linter.arguments.last().context("no file")?);
        let whole = fs::read_to_string(&file)?;
        let [text, mistake, found] = linter.mistake;
        ensure!(whole.contains(text), "{}: no {text:?}", linter.name());
        fs::write(&file, whole.replacen(text, mistake, 1))?;
        let (accepts, print) = linter.run(&folder, None)?;
        fs::write(&file, whole)?;
        assert!(!accepts && print.contains(found), "{}:\n{print}", linter.name());
    }
    Ok(())
}

/// An alert that fires at every time would pass a test that expects it only.
#[test]
fn each_alert_is_tested_before_and_after_it_fires() -> Result<()> {
    let tests: Value =
        serde_saphyr::from_str(&fs::read_to_string(workspace().join("e2e/fixtures/alerts.yaml"))?)?;
    let tests = tests["tests"].as_array().context("no tests")?;
    let cases: Vec<&Value> = tests
        .iter()
        .filter_map(|test| test["alert_rule_test"].as_array())
        .flatten()
        .collect();
    let of = |fires: bool| -> BTreeSet<&str> {
        let cases = cases.iter().filter(|case| case["exp_alerts"].is_array() == fires);
        cases.map(|case| text(&case["alertname"])).collect()
    };
    let rules = rules()?;
    let alerts: BTreeSet<&str> = rules.iter().map(|rule| text(&rule["alert"])).collect();
    assert_eq!([of(false), of(true)], [alerts.clone(), alerts]);
    Ok(())
}
