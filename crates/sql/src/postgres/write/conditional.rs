//! Writing a row only when something is so of it.

use crate::postgres::table::PostgresTable;
use runnel_store::{Answer, Condition, Context, Error, Reference, Result, Tables};

/// Looks at the row and goes on, without writing: for what does nothing where nothing is.
pub(crate) async fn check(
    table: &PostgresTable,
    reference: &Reference,
    context: &Context,
    condition: &Condition,
) -> Result<()> {
    let looking = Context { known: None, only_if: None, ..context.clone() };
    let found = table.get(reference, &looking).await?;
    condition.check(found.as_ref().map(|row| row.entity_tag.as_ref()))
}

/// Writes in a transaction in which the row is locked before it is looked at, so that nobody changes
/// it in between. A row that is not there cannot be locked: [`Condition::Absent`] is no condition
/// for this.
pub(crate) async fn write<T: 'static>(
    table: PostgresTable,
    reference: Reference,
    context: Context,
    condition: Condition,
    act: impl FnOnce(&PostgresTable, &Reference, &Context) -> Answer<T>,
) -> Result<T> {
    let free = Context { only_if: None, ..context };
    let transaction = Tables::begin(&table, &Reference::default(), &free).await?;
    let inside = Context { transaction: Some(transaction.clone()), ..free };
    let written = async {
        table.lock(&reference.key(), &inside).await?;
        check(&table, &reference, &inside, &condition).await?;
        act(&table, &reference, &inside).await
    };
    match written.await {
        Ok(written) => transaction.commit().await.map(|()| written),
        Err(error) => {
            // What failed is what the caller hears of; the transaction ends in any case.
            let ended: std::result::Result<(), Error> = transaction.roll_back().await;
            drop(ended);
            Err(error)
        }
    }
}
