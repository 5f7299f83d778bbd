//! Kubernetes quantities, as far as comparing two of them needs: the API server stores `1000m` as `1`,
//! and that is not drift.

/// The value in thousandths; `None` when it is not a quantity.
pub fn parse(text: &str) -> Option<i128> {
    const SUFFIXES: [(&str, i128); 13] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
        ("", 1),
    ];
    if let Some(milli) = text.strip_suffix('m') {
        return thousandths(milli).map(|n| n / 1000);
    }
    if let Some((number, exponent)) = text.split_once(['e', 'E'])
        && let Ok(exponent @ 0..=18) = exponent.parse::<u32>()
    {
        return thousandths(number)?.checked_mul(10_i128.pow(exponent));
    }
    let (suffix, factor) = SUFFIXES.into_iter().find(|(s, _)| text.ends_with(s))?;
    thousandths(&text[..text.len() - suffix.len()])?.checked_mul(factor)
}

/// `1.5` is 1500; more than three decimals are below what the API server keeps for our resources.
fn thousandths(number: &str) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 18 || fraction.len() > 3 || !digits(whole) || !digits(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<3}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1", "1000m", true)]
    #[case("0.5", "500m", true)]
    #[case("1Gi", "1024Mi", true)]
    #[case("1G", "1Gi", false)]
    #[case("100m", "200m", false)]
    #[case("1e3", "1k", true)]
    #[case("1.5E3", "1500", true)]
    #[case("1E", "1e18", true)]
    fn compares(#[case] a: &str, #[case] b: &str, #[case] equal: bool) {
        assert_eq!(parse(a).unwrap() == parse(b).unwrap(), equal);
    }

    #[rstest]
    #[case("")]
    #[case("Mi")]
    #[case("-1")]
    #[case("1 Gi")]
    #[case("1.2345")]
    #[case("ten")]
    #[case("1e-3")]
    #[case("1e99")]
    fn refuses(#[case] text: &str) {
        assert_eq!(parse(text), None);
    }
}
