//! One run of kube-proxy in a fixture.

use std::path::Path;

use anyhow::Result;

use super::fixture::Fixture;
use crate::hns::Hns;
use crate::windows::{KubeProxy, Rendered, Start};

/// What is started: usually just what was rendered.
pub struct Run<'a> {
    pub fixture: &'a Fixture,
    pub program: &'a Path,
    pub hns: &'a Hns,
    pub rendered: &'a Rendered,
    /// Instead of what the operator rendered and the script adds.
    pub edit: fn(Vec<String>) -> Vec<String>,
}

impl Run<'_> {
    pub async fn start(&self) -> Result<KubeProxy> {
        let (arguments, logs) = (self.arguments(), self.fixture.logs()?);
        KubeProxy::start(self.with(&arguments, &logs)).await
    }

    /// Beside others: its health cannot be asked.
    pub fn start_beside(&self) -> Result<KubeProxy> {
        let (arguments, logs) = (self.arguments(), self.fixture.logs()?);
        KubeProxy::start_beside(&self.with(&arguments, &logs))
    }

    fn with<'b>(&'b self, arguments: &'b [String], logs: &'b Path) -> Start<'b> {
        Start {
            host: &self.fixture.host,
            program: self.program,
            arguments,
            env: &self.rendered.env,
            hns_port: self.hns.port(),
            logs,
        }
    }

    fn arguments(&self) -> Vec<String> {
        let script = self.fixture.start_script(self.rendered, self.hns);
        (self.edit)(self.rendered.command_line(&script))
    }
}
