//! A number or a percentage of nodes.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// How many of `total` nodes `value` is: a percentage is rounded up, as `maxUnavailable` of a DaemonSet is. `None` for text that is
/// neither a number nor a percentage, and for a negative number.
pub fn of(value: &IntOrString, total: i32) -> Option<i32> {
    match value {
        IntOrString::Int(number) => Some(*number).filter(|n| *n >= 0),
        IntOrString::String(text) => match text.strip_suffix('%') {
            Some(percent) => {
                let hundredths = i64::from(percent.parse::<u16>().ok()?) * i64::from(total.max(0));
                i32::try_from((hundredths + 99) / 100).ok()
            }
            None => text.parse::<u16>().ok().map(i32::from),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("100%", 500, Some(500))]
    #[case("99%", 500, Some(495))]
    #[case("99%", 7, Some(7))]
    #[case("0%", 7, Some(0))]
    #[case("50%", 0, Some(0))]
    #[case("3", 2, Some(3))]
    #[case("-1", 2, None)]
    #[case("-1%", 2, None)]
    #[case("%", 2, None)]
    #[case("", 2, None)]
    #[case("many", 2, None)]
    #[case("65535%", i32::MAX, None)]
    fn of_text(#[case] text: &str, #[case] total: i32, #[case] expected: Option<i32>) {
        assert_eq!(of(&IntOrString::String(text.to_owned()), total), expected);
    }

    #[rstest]
    #[case(0, Some(0))]
    #[case(3, Some(3))]
    #[case(-1, None)]
    fn of_a_number(#[case] number: i32, #[case] expected: Option<i32>) {
        assert_eq!(of(&IntOrString::Int(number), 2), expected);
    }
}
