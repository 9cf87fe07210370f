//! Writes of rows under conditions.

use crate::common::conditions::*;
use crate::postgres::support::{open, tasks, with_database};

#[test]
fn rows_are_written_under_conditions() {
    with_database(|url| async move {
        let (one, other) = (open(&url), open(&url));
        let table = tasks(&one).await;
        merges_keep_conditions(&table).await;
        conditions_hold_within_transactions(&table).await;
        two_add_and_nothing_is_lost(&table, &tasks(&other).await).await;
    });
}
