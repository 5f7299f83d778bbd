//! How many advisories or findings there are, by severity.

use wn_api::status::Severity;

/// Numbers by severity, the highest first, for example `1 Error, 2 Warning`; `none` without any.
pub fn of(numbers: impl Iterator<Item = (Severity, i32)> + Clone) -> String {
    let sum = |severity| {
        numbers
            .clone()
            .filter(|(of, _)| *of == severity)
            .map(|(_, n)| n)
            .sum::<i32>()
    };
    let sums = [Severity::Error, Severity::Warning, Severity::Info].map(|severity| (severity, sum(severity)));
    let text: Vec<_> = sums
        .iter()
        .filter(|(_, sum)| *sum > 0)
        .map(|(severity, sum)| format!("{sum} {severity:?}"))
        .collect();
    if text.is_empty() {
        "none".to_owned()
    } else {
        text.join(", ")
    }
}
