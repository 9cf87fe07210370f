//! The budget of one query, see [`MAX_WORK`].

use crate::limits::{MAX_RANGE_STEPS, MAX_WORK};

/// How many steps it is to put an element of a stored list into a list made for the query.
pub(crate) const COPIED: usize = 8;

/// How many steps it is to see whether a word is in a range.
pub(crate) const COMPARED: usize = 12;

/// How many steps it is to put a word of a range in its place among the others.
pub(crate) const SORTED: usize = 40;

/// How many steps it is to see whether a document was found before, in one index.
pub(crate) const SEEN: usize = 2;

/// The same in several indexes, where documents are the same if their identifiers are.
pub(crate) const SEEN_BY_IDENTIFIER: usize = 24;

/// How many steps it is to put a document in its place by an attribute.
pub(crate) const ORDERED: usize = 8;

/// The same by a function that compares identifiers.
pub(crate) const ORDERED_BY_FUNCTION: usize = 40;

/// How many steps it is to form a choice and to see whether it is among the best.
pub(crate) const CHOSEN: usize = 12;

/// What a query may still do.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    left: u64,
    range_steps: u64,
    /// Something was left out because there was not enough.
    falls_short: bool,
}

impl WorkBudget {
    pub(crate) fn new() -> WorkBudget {
        WorkBudget { left: MAX_WORK, range_steps: MAX_RANGE_STEPS, falls_short: false }
    }

    /// Takes a number of steps from the budget and says whether there were as many.
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

    /// The same for one string of a range.
    pub(crate) fn spend_range_step(&mut self) -> bool {
        let allowed = self.range_steps > 0;
        self.falls_short |= !allowed;
        self.range_steps = self.range_steps.saturating_sub(1);
        allowed
    }

    /// How many steps have been taken from the budget.
    pub(crate) fn spent(&self) -> u64 {
        MAX_WORK - self.left
    }

    /// Whether something was left out because there was not enough.
    pub(crate) fn falls_short(&self) -> bool {
        self.falls_short
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }
}
