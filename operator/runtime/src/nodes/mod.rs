//! The nodes: each is checked when its facts change, and updated with its verdict.

mod queue;
mod taint;
pub mod writer;

use std::collections::BTreeSet;

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_plan::applied::{Applied, Part};
use wn_plan::decide::Plan;
use wn_plan::news::NodeNews;
use wn_plan::node::{ClusterContext, NodeUpdate, node_update};

use crate::context::{Context, Memory, Outcome};

/// Keeps the outcome of a pass over the cluster. When it changes what nodes are judged by, all are.
pub fn settle(context: &Context, config: &WindowsNodeConfig, plan: Plan, applied: Applied) {
    let cluster = context.world.read(|o| ClusterContext::of(&config.spec, o, &plan));
    let prepared = applied.failure.as_ref().is_none_or(|f| f.part != Part::Own);
    let taint = (plan.write && prepared).then_some(config.spec.readiness.taint);
    let all = context.remember(|memory| {
        let same = memory
            .outcome
            .as_ref()
            .is_some_and(|o| o.cluster == cluster && o.taint == taint);
        memory.outcome = Some(Outcome {
            uid: config.metadata.uid.clone(),
            generation: config.metadata.generation,
            plan,
            applied,
            cluster,
            taint,
        });
        if same {
            return Vec::new();
        }
        let known = memory.table.iter().map(|(name, _)| name.to_owned());
        context
            .world
            .read(|o| known.chain(o.nodes.keys().cloned()).collect())
    });
    context.world.judge_again(all.into_iter());
}

/// Forgets the nodes: nothing is known to judge them by.
pub fn forget(context: &Context) {
    context.remember(|memory| {
        memory.outcome = None;
        memory.table = wn_plan::node::Table::default();
        memory.news = NodeNews::default();
    });
    context.nodes.clear();
    context.metrics.no_nodes();
    context.metrics.advisories(std::iter::empty());
}

/// Judges these nodes, and those whose time has come; says when the next one's comes.
pub fn judge(context: &Context, mut names: BTreeSet<String>, now: Timestamp) -> Option<Timestamp> {
    context.remember(|memory| {
        let Memory {
            outcome: Some(outcome),
            table,
            news,
            ..
        } = memory
        else {
            return None;
        };
        context.world.expire(now);
        names.extend(table.due(now));
        let mut recovered = Vec::new();
        context.world.read(|observed| {
            for name in &names {
                let judged = table.judge(name, observed, &outcome.cluster, now);
                let facts = observed.nodes.get(name);
                let since = table.get(name).map_or(now, |entry| entry.since);
                let judgeable = facts.zip(judged.verdict.as_ref()).zip(outcome.taint);
                let update = judgeable.map(|((facts, verdict), taint)| {
                    node_update(taint, outcome.cluster.label(facts), facts, verdict, since, now)
                });
                news.add(name, &judged, update.as_ref());
                context.nodes.update(
                    name,
                    update.unwrap_or_else(|| NodeUpdate {
                        remove_all: judged.was.is_some() && outcome.taint.is_some(),
                        ..NodeUpdate::default()
                    }),
                );
                let booted = facts.is_some_and(|f| f.rebooted.is_some());
                if booted && judged.verdict.is_some_and(|v| !v.is_of_a_boot()) {
                    recovered.push(name);
                }
            }
        });
        for name in recovered {
            context.world.recovered(name);
        }
        table.next()
    })
}
