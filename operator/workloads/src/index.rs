//! An index that finds the items of a selector without checking every item: most selectors require a value of
//! a label.

use std::collections::HashMap;

use crate::convert::Item;
use crate::selector::Selector;

/// Items by label and value.
#[derive(Debug)]
pub struct Index<'a> {
    items: &'a [Item],
    by_label: HashMap<(&'a str, &'a str), Vec<usize>>,
}

impl<'a> Index<'a> {
    /// An index of all labels of all items.
    pub fn new(items: &'a [Item]) -> Self {
        let mut by_label: HashMap<_, Vec<usize>> = HashMap::new();
        for (i, item) in items.iter().enumerate() {
            for label in item.labels() {
                by_label.entry(label).or_default().push(i);
            }
        }
        Self { items, by_label }
    }

    /// The items that the selector selects, in order.
    pub fn selected<'s>(&'s self, selector: &'s Selector) -> impl Iterator<Item = &'a Item> + 's {
        self.positions(selector).map(|i| &self.items[i])
    }

    /// Positions in `items` of everything that the selector selects, in order.
    pub fn positions<'s>(&'s self, selector: &'s Selector) -> impl Iterator<Item = usize> + 's {
        let postings = selector.required().into_iter().map(|label| {
            let positions = self.by_label.get(&label);
            positions.map_or(&[][..], Vec::as_slice)
        });
        let shortest = postings.min_by_key(|positions| positions.len());
        let all = if shortest.is_some() { 0 } else { self.items.len() };
        let candidates = shortest.unwrap_or_default().iter().copied().chain(0..all);
        candidates.filter(|i| selector.matches(&|name: &str| self.items[*i].label(name)))
    }
}
