//! What the operator would decide on what was observed, without what it remembers of earlier passes.

use anyhow::bail;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use wn_api::WindowsNodeConfig;
use wn_plan::applied::Applied;
use wn_plan::calico::flap_guard::FlapGuard;
use wn_plan::decide::{Plan, decide};
use wn_plan::lint::Lint;
use wn_plan::node::{ClusterContext, Table};
use wn_plan::observed::{Config, Observed};
use wn_plan::status::{Nodes, Outcome, Settled, assemble};
use wn_plan::unread::Unread;
use wn_plan::validate::validate;

/// A decision, as in `mode: Observe`.
pub struct Decided<'a> {
    pub config: &'a WindowsNodeConfig,
    pub observed: &'a Observed,
    pub plan: Plan,
    pub cluster: ClusterContext,
    pub nodes: Table,
    pub now: Timestamp,
}

impl<'a> Decided<'a> {
    /// Decides.
    ///
    /// # Errors
    /// The operator would decide nothing: without a `WindowsNodeConfig`, with an invalid one, on a platform that is not
    /// supported, or because something cannot be read.
    pub fn new(observed: &'a Observed, now: Timestamp) -> anyhow::Result<Self> {
        let config = config(observed)?;
        let needed: Vec<_> = observed
            .unread
            .iter()
            .filter(|unread| !unread.can_be_lacking)
            .collect();
        if !needed.is_empty() {
            let all: Vec<_> = needed.into_iter().map(unread).collect();
            bail!("the decision needs what cannot be read: {}", all.join("; "));
        }
        let valid = validate(&config.spec, observed).map_err(|violations| {
            let all: Vec<_> = violations.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("WindowsNodeConfig default: {}", all.join("; "))
        })?;
        let mut plan = decide(valid, config, observed, &FlapGuard::default(), now);
        if plan.platform.is_refused() {
            let findings = plan
                .platform
                .findings
                .iter()
                .map(|finding| finding.message.as_str());
            bail!(
                "nothing is written on this platform: {}",
                findings.collect::<Vec<_>>().join("; ")
            );
        }
        plan.write = false;
        let cluster = ClusterContext::of(&config.spec, observed, &plan);
        let mut nodes = Table::default();
        for name in observed.nodes.keys() {
            nodes.judge(name, observed, &cluster, now);
        }
        Ok(Self {
            config,
            observed,
            plan,
            cluster,
            nodes,
            now,
        })
    }

    /// The conditions that `Observe` would report.
    pub fn conditions(&self) -> Vec<Condition> {
        let settled = Settled {
            lint: &Lint::Reading,
            generation: self.config.metadata.generation,
            observed: self.observed,
            plan: &self.plan,
            applied: &Applied::default(),
            nodes: Nodes {
                table: &self.nodes,
                cluster: &self.cluster,
            },
        };
        assemble(self.config, Outcome::Settled(settled), self.now).conditions
    }
}

fn config(observed: &Observed) -> anyhow::Result<&WindowsNodeConfig> {
    let config = match &observed.config {
        Some(Config::Readable(config)) => config,
        Some(Config::Unreadable(unreadable)) => bail!("WindowsNodeConfig default: {}", unreadable.message),
        None => bail!(
            "WindowsNodeConfig default: does not exist; apply one, or give one with -f where the command takes a file"
        ),
    };
    if config.metadata.deletion_timestamp.is_some() {
        bail!("WindowsNodeConfig default: is being deleted, and the operator restores the original values");
    }
    Ok(config)
}

/// Objects that could not be read, and what the API server says.
pub fn unread(unread: &Unread) -> String {
    let right = if unread.forbidden {
        ", you need list on them"
    } else {
        ""
    };
    format!("{}{right} ({})", unread.objects, unread.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use crate::world::World;
    use rstest::rstest;
    use serde_json::{Value, json};
    use wn_api::reasons::conditions as types;
    use wn_plan::observed::Topic;

    fn decided(metadata: Value, spec: Value) -> Result<usize, String> {
        let world = World::new("ours");
        if !spec.is_null() {
            world.put(Topic::Config, &fake::config(&metadata, &spec, &json!({})));
        }
        world.read(|observed| match Decided::new(observed, Timestamp::UNIX_EPOCH) {
            Ok(decided) => Ok(decided.conditions().len()),
            Err(error) => Err(error.to_string()),
        })
    }

    #[rstest]
    #[case::missing(json!({}), json!(null), "does not exist; apply one")]
    #[case::newer(json!({}), json!({"network": {"type": "Newer"}}), "spec.network.type: unknown variant")]
    #[case::deleted(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), json!({"network": {"type": "CalicoVXLAN"}}), "is being deleted")]
    #[case::invalid(json!({}), json!({"network": {"type": "CalicoVXLAN"}, "calico": {"vxlan": {"vni": 1}}}), "vni")]
    fn says_why_nothing_is_decided(#[case] metadata: Value, #[case] spec: Value, #[case] part: &str) {
        let error = decided(metadata, spec).unwrap_err();
        assert!(
            error.starts_with("WindowsNodeConfig default: ") && error.contains(part),
            "{error}"
        );
    }

    #[test]
    fn decides_without_a_cluster() {
        let conditions = decided(json!({}), json!({"network": {"type": "CalicoVXLAN"}}));
        assert_eq!(conditions, Ok(types::ALL.len()));
    }

    #[test]
    fn what_is_needed_and_cannot_be_read_is_named() {
        let world = World::new("ours");
        let spec = json!({"network": {"type": "CalicoVXLAN"}});
        world.put(Topic::Config, &fake::config(&json!({}), &spec, &json!({})));
        world.unreadable(Topic::DaemonSets);
        let error = world.read(|observed| {
            Decided::new(observed, Timestamp::UNIX_EPOCH)
                .err()
                .map(|e| e.to_string())
        });
        let expected = "the decision needs what cannot be read: DaemonSets, you need list on them (no)";
        assert_eq!(error.as_deref(), Some(expected));
    }
}
