//! The work budget of one query, see [`MAX_WORK`].

use crate::limits::{MAX_RANGE_STEPS, MAX_WORK};

/// Steps to copy an element of a stored list into a list of the query.
pub(crate) const COPIED: usize = 8;

/// Steps to test whether a word is in a range.
pub(crate) const COMPARED: usize = 12;

/// Steps to sort a word of a range among the others.
pub(crate) const SORTED: usize = 40;

/// Steps to test whether a document was found before, in one index.
pub(crate) const SEEN: usize = 2;

/// Steps for the same test across several indexes, by identifier.
pub(crate) const SEEN_BY_IDENTIFIER: usize = 24;

/// Steps to sort a document by an attribute.
pub(crate) const ORDERED: usize = 8;

/// Steps to sort a document by a function that compares identifiers.
pub(crate) const ORDERED_BY_FUNCTION: usize = 40;

/// Steps to form a choice and to select it among the best.
pub(crate) const CHOSEN: usize = 12;

/// The remaining work of a query.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    left: u64,
    range_steps: u64,
    /// Whether something was left out for lack of budget.
    falls_short: bool,
}

impl WorkBudget {
    pub(crate) fn new() -> WorkBudget {
        WorkBudget { left: MAX_WORK, range_steps: MAX_RANGE_STEPS, falls_short: false }
    }

    /// Takes steps from the budget; false if it has too few.
    pub(crate) fn spend(&mut self, steps: usize) -> bool {
        match self.left.checked_sub(steps as u64) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left = 0;
                self.falls_short = true;
                false
            }
        }
    }

    /// Takes the steps of one string of a range.
    pub(crate) fn spend_range_step(&mut self) -> bool {
        let allowed = self.range_steps > 0;
        self.falls_short |= !allowed;
        self.range_steps = self.range_steps.saturating_sub(1);
        allowed
    }

    /// The number of steps taken from the budget.
    pub(crate) fn spent(&self) -> u64 {
        MAX_WORK - self.left
    }

    /// Whether something was left out for lack of budget.
    pub(crate) fn falls_short(&self) -> bool {
        self.falls_short
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }
}
