//! The labels of a node in one allocation, because there are thousands of nodes and labels are seldom read.

/// Labels of an object. Stored as names and values, each followed by a zero byte, sorted by name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Labels(Box<str>);

impl Labels {
    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.0.split_terminator('\0');
        std::iter::from_fn(move || Some((parts.next()?, parts.next().unwrap_or_default())))
    }

    /// The value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(labels: I) -> Self {
        let mut pairs: Vec<_> = labels.into_iter().collect();
        pairs.sort_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
        let text: String = pairs
            .iter()
            .flat_map(|(name, value)| [name.as_ref(), "\0", value.as_ref(), "\0"])
            .collect();
        Self(text.into_boxed_str())
    }
}

impl<const N: usize, K: AsRef<str>, V: AsRef<str>> From<[(K, V); N]> for Labels {
    fn from(labels: [(K, V); N]) -> Self {
        labels.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_and_order_are_kept() {
        let labels = Labels::from([("b", ""), ("a", "1")]);
        assert_eq!(labels.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "")]);
        assert_eq!((labels.get("b"), labels.get("c")), (Some(""), None));
        assert_eq!(Labels::default().iter().count(), 0);
    }
}
