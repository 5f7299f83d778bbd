//! The command `bundle`: what a bug report needs in one archive, without secrets and of bounded size.

mod archive;
mod redact;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, LogParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use wn_api::calico::{GROUP_V1, GROUP_V3};
use wn_api::names::{GROUP, KIND, OPERATOR, VERSION, tigera};

use super::connection::Connection;
use super::listing::Listed;
use super::{block_on, print};
use crate::kind::Kind;
use archive::Archive;

pub const EXAMPLES: &str = "Examples:
  bundle
  bundle --file report.tar.gz --context staging

Only GET requests are sent, and none for Secrets. Values with a secret name, tokens, private keys and passwords in URLs are replaced by \
<redacted>; names of nodes, pods and images, addresses and logs are not. Look at the archive before you publish it.

Exit codes: 0, or 3 if the archive cannot be written or the API server does not answer. What may not be read is named in errors.txt.";

#[derive(Args)]
pub struct Arguments {
    /// The archive, which must not exist. Default: windows-node-operator-TIME.tar.gz.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Namespace of the operator.
    #[arg(short, long, default_value = OPERATOR)]
    namespace: String,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let now = Timestamp::now();
    let default = || format!("{OPERATOR}-{}.tar.gz", now.strftime("%Y%m%dT%H%M%SZ")).into();
    let file: PathBuf = arguments.file.clone().unwrap_or_else(default);
    block_on(async {
        let client = arguments.connection.client().await?;
        let server = client
            .apiserver_version()
            .await
            .context("the API server does not answer")?;
        let mut bundle = Bundle {
            archive: Archive::create(&file, now)?,
            errors: Vec::new(),
        };
        let versions = format!(
            "{OPERATOR} {}\nKubernetes {}\nat {now}\n",
            env!("CARGO_PKG_VERSION"),
            server.git_version
        );
        bundle.archive.add("versions.txt", versions.as_bytes())?;
        for (kind, scope) in KINDS {
            bundle
                .objects(&client, *kind, *scope, &arguments.namespace)
                .await?;
        }
        bundle.logs(&client, &arguments.namespace).await?;
        bundle.finish()
    })?;
    print::text(&format!("{}\n", file.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Which objects of a kind are read.
#[derive(Clone, Copy)]
enum Scope {
    All,
    /// The operator's namespace.
    Own,
    /// Where Events of Nodes and of the `WindowsNodeConfig` are.
    Default,
}

const fn of_calico(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> (Kind, Scope) {
    (Kind::new(group, version, kind, plural), Scope::All)
}

const KINDS: &[(Kind, Scope)] = &[
    (Kind::new(GROUP, VERSION, KIND, "windowsnodeconfigs"), Scope::All),
    (Kind::new("", "v1", "Node", "nodes"), Scope::All),
    (Kind::new("", "v1", "Pod", "pods"), Scope::Own),
    (Kind::new("", "v1", "ConfigMap", "configmaps"), Scope::Own),
    (Kind::new("", "v1", "Event", "events"), Scope::Own),
    (Kind::new("", "v1", "Event", "events"), Scope::Default),
    (Kind::new("apps", "v1", "Deployment", "deployments"), Scope::Own),
    (Kind::new("apps", "v1", "DaemonSet", "daemonsets"), Scope::All),
    (
        Kind::new("coordination.k8s.io", "v1", "Lease", "leases"),
        Scope::Own,
    ),
    (
        Kind::new(tigera::GROUP, "v1", "Installation", "installations"),
        Scope::All,
    ),
    (
        Kind::new(tigera::GROUP, "v1", "TigeraStatus", "tigerastatuses"),
        Scope::All,
    ),
    of_calico(GROUP_V1, "v1", "IPPool", "ippools"),
    of_calico(GROUP_V1, "v1", "IPAMConfig", "ipamconfigs"),
    of_calico(GROUP_V1, "v1", "IPAMBlock", "ipamblocks"),
    of_calico(GROUP_V1, "v1", "BlockAffinity", "blockaffinities"),
    of_calico(GROUP_V1, "v1", "FelixConfiguration", "felixconfigurations"),
    of_calico(GROUP_V1, "v1", "BGPConfiguration", "bgpconfigurations"),
    of_calico(GROUP_V1, "v1", "BGPPeer", "bgppeers"),
    of_calico(GROUP_V1, "v1", "ClusterInformation", "clusterinformations"),
    of_calico(GROUP_V3, "v3", "IPPool", "ippools"),
    of_calico(GROUP_V3, "v3", "IPAMConfiguration", "ipamconfigurations"),
    of_calico(GROUP_V3, "v3", "IPAMBlock", "ipamblocks"),
    of_calico(GROUP_V3, "v3", "BlockAffinity", "blockaffinities"),
    of_calico(GROUP_V3, "v3", "FelixConfiguration", "felixconfigurations"),
    of_calico(GROUP_V3, "v3", "BGPConfiguration", "bgpconfigurations"),
    of_calico(GROUP_V3, "v3", "BGPPeer", "bgppeers"),
    of_calico(GROUP_V3, "v3", "ClusterInformation", "clusterinformations"),
];

/// Objects of one kind.
const OBJECTS: usize = 500;
/// Pods whose logs are read, those that are not ready first.
const PODS: usize = 50;
/// Of each container.
const LOG_LINES: i64 = 2_000;
const LOG_BYTES: i64 = 1 << 20;

struct Bundle {
    archive: Archive,
    /// What could not be read.
    errors: Vec<String>,
}

impl Bundle {
    async fn objects(&mut self, client: &Client, kind: Kind, scope: Scope, own: &str) -> anyhow::Result<()> {
        let namespace = match scope {
            Scope::All => None,
            Scope::Own => Some(own),
            Scope::Default => Some("default"),
        };
        let mut found = Vec::new();
        let listed = kind
            .list(&kind.api(client, namespace), |mut object| {
                redact::object(&mut object);
                found.push(object);
                Ok(found.len() < OBJECTS)
            })
            .await;
        let name = namespace.map_or_else(|| kind.name(), |namespace| format!("{namespace}/{}", kind.name()));
        match listed {
            Ok(Listed::NotServed) => return Ok(()),
            Ok(Listed::Complete) => {}
            Ok(Listed::Forbidden) => self.errors.push(format!("{name}: you may not list them")),
            Err(error) => self.errors.push(format!("{name}: {error:#}")),
        }
        if found.is_empty() {
            return Ok(());
        }
        if found.len() == OBJECTS {
            self.errors.push(format!("{name}: the first {OBJECTS} only"));
        }
        print::progress(&format!("{name}: {}", found.len()));
        let file = format!("objects/{name}.json");
        self.add(
            &file,
            serde_json::to_string_pretty(&Value::Array(found))?.as_bytes(),
        )
    }

    async fn logs(&mut self, client: &Client, namespace: &str) -> anyhow::Result<()> {
        let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let mut pods = match api.list(&ListParams::default()).await {
            Ok(pods) => pods.items,
            // Named with the objects already.
            Err(_) => return Ok(()),
        };
        pods.sort_by_key(is_ready);
        if pods.len() > PODS {
            self.errors
                .push(format!("logs: of {PODS} of {} pods only", pods.len()));
        }
        for pod in pods.iter().take(PODS) {
            for (container, restarts) in containers(pod) {
                self.log(&api, &pod.name_any(), &container, false).await?;
                if restarts > 0 {
                    self.log(&api, &pod.name_any(), &container, true).await?;
                }
            }
        }
        Ok(())
    }

    async fn log(
        &mut self,
        api: &Api<Pod>,
        pod: &str,
        container: &str,
        previous: bool,
    ) -> anyhow::Result<()> {
        let parameters = LogParams {
            container: Some(container.to_owned()),
            previous,
            tail_lines: Some(LOG_LINES),
            limit_bytes: Some(LOG_BYTES),
            timestamps: true,
            ..LogParams::default()
        };
        let suffix = if previous { ".previous" } else { "" };
        let name = format!("logs/{pod}/{container}{suffix}.log");
        match api.logs(pod, &parameters).await {
            Ok(log) => {
                print::progress(&name);
                self.add(&name, redact::text(&log).as_bytes())
            }
            Err(error) => {
                self.errors.push(format!("{name}: {error}"));
                Ok(())
            }
        }
    }

    /// Adds a file while there is room.
    fn add(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        if !self.archive.add(name, bytes)? {
            self.errors
                .push(format!("{name}: left out, the archive would be too large"));
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let errors: String = self
            .errors
            .iter()
            .map(|error| format!("{}\n", redact::text(error)))
            .collect();
        if !errors.is_empty() {
            self.archive.add("errors.txt", errors.as_bytes())?;
        }
        self.archive.finish()
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    ready.any(|condition| condition.status == "True")
}

/// Containers of a pod that ran, and how often each was restarted.
fn containers(pod: &Pod) -> Vec<(String, i32)> {
    let status = pod.status.iter();
    let all = status.flat_map(|status| {
        let init = status.init_container_statuses.iter().flatten();
        init.chain(status.container_statuses.iter().flatten())
    });
    all.map(|container| (container.name.clone(), container.restart_count))
        .collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
