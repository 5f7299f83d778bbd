//! `cargo bench-operator` and `cargo bench-scale`: figures of the operator. Moments are taken from the API
//! server's audit log, so neither our own polling nor what plays the nodes counts.

mod operator;
mod scale;
pub(super) mod table;

use jiff::Timestamp;

pub use operator::bench;
pub use scale::{ScaleOptions, bench_scale};

fn milliseconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1000.0
}

/// The value below which a share of the values lies; NaN of none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = (share * (values.len() as f64 - 1.0)).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_of_unordered_values() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert!((quantile(&values, 0.5) - 3.0).abs() < f64::EPSILON);
        assert!((quantile(&values, 0.95) - 5.0).abs() < f64::EPSILON);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
