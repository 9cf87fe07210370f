//! Writes of rows under conditions.

use crate::common::conditions::*;
use crate::common::*;

#[test]
fn rows_are_written_under_conditions() {
    run(async {
        let place = Place::new();
        let (one, other) = (place.open(), place.open());
        let table = tasks(&one).await;
        merges_keep_conditions(&table).await;
        conditions_hold_within_transactions(&table).await;
        two_add_and_nothing_is_lost(&table, &tasks(&other).await).await;
    });
}
