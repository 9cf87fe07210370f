//! Counts of statements and rows in a thread, without synchronization: they are added to the
//! counters of the database when a piece of work is done.

use runnel_store::{Count, Counters};
use std::cell::Cell;

thread_local! {
    /// Statements and rows that are not yet added to the counters of the database.
    static TALLY: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Counts a statement and the rows that it answered.
pub(crate) fn statement(rows: u64) {
    TALLY.set({
        let (statements, before) = TALLY.get();
        (statements + 1, before + rows)
    });
}

/// The same, for work that is at least one statement.
pub(crate) fn tell_work(counters: &Counters) {
    if TALLY.get().0 == 0 {
        statement(0);
    }
    tell(counters);
}

/// Adds what this thread has counted.
pub(crate) fn tell(counters: &Counters) {
    let (statements, rows) = TALLY.take();
    if statements > 0 {
        counters.add(Count::Statements, statements);
    }
    if rows > 0 {
        counters.add(Count::Rows, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_told_once() {
        let counters = Counters::of("sqlite", "tally");
        statement(3);
        statement(0);
        tell(&counters);
        tell(&counters);
        assert_eq!((counters.count(Count::Statements), counters.count(Count::Rows)), (2, 3));
        tell_work(&counters);
        statement(1);
        tell_work(&counters);
        assert_eq!((counters.count(Count::Statements), counters.count(Count::Rows)), (4, 4));
    }
}
