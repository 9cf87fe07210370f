//! Counts of statements and rows in a thread, without synchronization: they are added to the
//! counters of the database when a piece of work is done.

use runnel_store::{Count, Counters};
use std::cell::Cell;

thread_local! {
    /// Statements and rows that are not yet added to the counters of the database.
    static COUNTS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Counts a statement and the rows that it answered.
pub(crate) fn count(rows: u64) {
    COUNTS.set({
        let (statements, before) = COUNTS.get();
        (statements + 1, before + rows)
    });
}

/// The same, for work that is at least one statement.
pub(crate) fn flush_work(counters: &Counters) {
    if COUNTS.get().0 == 0 {
        count(0);
    }
    flush(counters);
}

/// Adds what this thread has counted.
pub(crate) fn flush(counters: &Counters) {
    let (statements, rows) = COUNTS.take();
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
        count(3);
        count(0);
        flush(&counters);
        flush(&counters);
        assert_eq!((counters.count(Count::Statements), counters.count(Count::Rows)), (2, 3));
        flush_work(&counters);
        count(1);
        flush_work(&counters);
        assert_eq!((counters.count(Count::Statements), counters.count(Count::Rows)), (4, 4));
    }
}
