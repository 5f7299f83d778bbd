//! Figures and their table.

use jiff::Timestamp;

#[derive(Default)]
pub struct Figures {
    rows: Vec<[String; 3]>,
}

impl Figures {
    /// Median and 95th percentile of latencies in milliseconds.
    pub fn latency(&mut self, what: &str, goal: &str, mut rounds: Vec<f64>) {
        rounds.sort_by(f64::total_cmp);
        let at = |share: f64| {
            rounds
                .get((share * (rounds.len() as f64 - 1.0)).round() as usize)
                .copied()
                .unwrap_or(f64::NAN)
        };
        self.value(
            what,
            goal,
            format!(
                "median {:.1} ms, p95 {:.1} ms ({} rounds)",
                at(0.5),
                at(0.95),
                rounds.len()
            ),
        );
    }

    pub fn value(&mut self, what: &str, goal: &str, found: String) {
        self.rows.push([what.to_owned(), goal.to_owned(), found]);
    }

    pub fn print(&self, say: &dyn Fn(&str)) {
        say(&format!("{:<50} {:<18} {}", "FIGURE", "GOAL", "MEASURED"));
        for [what, goal, found] in &self.rows {
            say(&format!("{what:<50} {goal:<18} {found}"));
        }
    }
}

pub fn milliseconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1000.0
}
