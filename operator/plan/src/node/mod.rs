//! Whether a Windows node works, judged from the API: an ordered chain of small checks, the first that
//! fails is the reason.

mod verdict;

pub use verdict::{Verdict, verdicts};
