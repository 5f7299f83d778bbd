//! Figures and their table: one line a figure, one column a run.

/// What was measured in one run, in the order of the lines.
#[derive(Default)]
pub struct Figures {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    goal: &'static str,
    found: String,
}

impl Figures {
    pub fn value(&mut self, what: impl Into<String>, goal: &'static str, found: impl Into<String>) {
        let (what, found) = (what.into(), found.into());
        self.rows.push(Row { what, goal, found });
    }
}

/// Columns may end early: a run that failed has no further figures.
pub fn print(columns: &[(String, Figures)], say: &dyn Fn(&str)) {
    let longest = columns
        .iter()
        .map(|(_, figures)| &figures.rows)
        .max_by_key(|rows| rows.len());
    let mut lines = vec![vec!["FIGURE".to_owned(), "GOAL".to_owned()]];
    lines[0].extend(columns.iter().map(|(head, _)| head.clone()));
    for (n, row) in longest.into_iter().flatten().enumerate() {
        let cells = columns.iter().map(|(_, figures)| figures.rows.get(n));
        let mut line = vec![row.what.clone(), row.goal.to_owned()];
        line.extend(cells.map(|cell| cell.map_or_else(|| "-".to_owned(), |row| row.found.clone())));
        lines.push(line);
    }
    for line in &lines {
        let cells = line.iter().enumerate().map(|(n, cell)| {
            let width = lines
                .iter()
                .map(|line| line[n].chars().count())
                .max()
                .unwrap_or(0);
            format!("{cell:<width$}")
        });
        say(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_run_that_failed_leaves_gaps() {
        let (mut whole, mut failed) = (Figures::default(), Figures::default());
        for figures in [&mut whole, &mut failed] {
            figures.value("RSS", "≤ 4 MB", "3.1 MB");
        }
        whole.value("requests", "0", "0");
        let lines = RefCell::new(Vec::new());
        let columns = [("2 nodes".to_owned(), failed), ("3 nodes".to_owned(), whole)];
        print(&columns, &|line| lines.borrow_mut().push(line.to_owned()));
        let expected = [
            "FIGURE    GOAL    2 nodes  3 nodes",
            "RSS       ≤ 4 MB  3.1 MB   3.1 MB",
            "requests  0       -        0",
        ];
        assert_eq!(*lines.borrow(), expected);
    }
}
