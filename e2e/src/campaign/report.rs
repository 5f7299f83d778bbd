//! The table of a campaign.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::fault::Fault;
use super::step::Step;

/// Resident memory at the end over that after the first round.
const MEMORY_RATIO: f64 = 1.2;
/// Rounds with a refused write after which one must have been tried: a round may change nothing that is refused.
const ENOUGH_REFUSALS: usize = 3;

/// What was done and found so far.
#[derive(Debug, Default)]
pub struct Report {
    rounds: Vec<Duration>,
    faults: BTreeMap<Fault, usize>,
    steps: BTreeMap<Step, usize>,
    refusals: usize,
    /// Requests whose write was refused before the operator was expected to wait longer.
    refused: usize,
    /// Requests in ten seconds to an object whose writes are refused.
    most_tries: usize,
    /// Resident memory in KiB after the first and the last round of each cluster.
    memory: Vec<(u64, u64)>,
}

impl Report {
    pub fn round(&mut self, converged: Duration) {
        self.rounds.push(converged);
    }

    pub fn last(&self) -> String {
        let took = self.rounds.last().copied().unwrap_or_default();
        format!("converged in {:.1} s", took.as_secs_f64())
    }

    pub fn step(&mut self, step: &Step) {
        *self.steps.entry(*step).or_default() += 1;
    }

    pub fn faults(&mut self, injected: BTreeMap<Fault, usize>) {
        for (fault, count) in injected {
            *self.faults.entry(fault).or_default() += count;
        }
    }

    pub fn refusal(&mut self, before: usize, tries: usize) {
        self.refusals += 1;
        self.refused += before;
        self.most_tries = self.most_tries.max(tries);
    }

    pub fn memory(&mut self, memory: (u64, u64)) {
        self.memory.push(memory);
    }

    /// Takes over what happened on another cluster.
    pub fn add(&mut self, other: Self) {
        let Self {
            rounds,
            faults,
            steps,
            refusals,
            refused,
            most_tries,
            memory,
        } = other;
        self.rounds.extend(rounds);
        self.faults(faults);
        for (step, count) in steps {
            *self.steps.entry(step).or_default() += count;
        }
        self.refusals += refusals;
        self.refused += refused;
        self.most_tries = self.most_tries.max(most_tries);
        self.memory.extend(memory);
    }

    /// What must hold of all rounds together.
    pub fn require(&self) -> Result<()> {
        ensure!(
            self.refusals < ENOUGH_REFUSALS || self.refused > 0,
            "{} rounds refused a write, and the operator tried none",
            self.refusals
        );
        for (first, last) in &self.memory {
            let ratio = *last as f64 / *first as f64;
            ensure!(
                ratio <= MEMORY_RATIO,
                "resident memory grew from {first} to {last} KiB, {ratio:.2} times; at most {MEMORY_RATIO}"
            );
        }
        Ok(())
    }

    pub fn print(&self, violated: bool, say: &dyn Fn(&str)) {
        let worst = self.rounds.iter().max().copied().unwrap_or_default();
        say("");
        say(&format!("rounds                          {}", self.rounds.len()));
        say(&format!(
            "violations                      {}",
            usize::from(violated)
        ));
        say(&format!(
            "worst convergence               {:.1} s (at most 60)",
            worst.as_secs_f64()
        ));
        say(&format!("rounds with a refused write     {}", self.refusals));
        say(&format!("requests refused in 30 s        {}", self.refused));
        say(&format!(
            "most requests in the next 10 s     {} (at most 10)",
            self.most_tries
        ));
        for (first, last) in &self.memory {
            say(&format!(
                "memory, first and last round    {first} and {last} KiB (at most 1.2 times)"
            ));
        }
        for (step, count) in &self.steps {
            say(&format!("{:<31} {count}", format!("step {step:?}")));
        }
        for (fault, count) in &self.faults {
            say(&format!("{:<31} {count}", format!("fault {fault:?}")));
        }
    }
}
