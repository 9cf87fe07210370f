//! Changing many rows by their keys in one transaction. The statements are pipelined: each is sent before
//! those before it are answered.

use crate::database::description::{TableDescription, no_row, record_groups, refuse_keyless};
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::PostgresSession;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::write::change;
use futures_util::future::join_all;
use runnel_store::{Value, decode_segment};

/// Statements that are sent before the first of them is answered. `join_all` polls that many in
/// their order; the order matters where two records name one row.
const PIPELINED: usize = 30;

/// The changes of a list of records, in the order of their keys: transactions that lock rows in one
/// order do not deadlock.
pub(crate) struct RowChanges<'a> {
    table: &'a TableInfo,
    changes: Vec<RowChange>,
}

struct RowChange {
    sql: String,
    values: Vec<Parameter>,
    key: String,
}

impl<'a> RowChanges<'a> {
    /// Checks the records against the columns of a table.
    pub(crate) fn of_records(table: &'a TableInfo, records: &[Value]) -> SqlResult<Self> {
        let keys = table.key_positions();
        if keys.is_empty() {
            return Err(table.no_key());
        }
        let check = |at: usize, value: &Value| {
            Parameter::for_column(&table.columns[at], value.clone()).map(drop)
        };
        for group in record_groups(table, records, check)? {
            refuse_keyless(table, &group, &keys)?;
        }
        let made =
            records.iter().enumerate().map(|(record, value)| of_record(table, record, value));
        let mut changes = made.collect::<SqlResult<Vec<_>>>()?;
        changes.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(RowChanges { table, changes })
    }

    /// Changes all of the rows, or none.
    pub(crate) async fn run(
        &self,
        connection: &PostgresConnection,
        session: &PostgresSession,
    ) -> SqlResult<()> {
        if session.transaction.is_some() {
            return self.change(connection).await;
        }
        connection.set_entered(true);
        connection.batch("BEGIN").await?;
        let done = self.change(connection).await;
        connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        connection.set_entered(false);
        done
    }

    async fn change(&self, connection: &PostgresConnection) -> SqlResult<()> {
        for part in self.changes.chunks(PIPELINED) {
            for change in part {
                connection.prepare(&change.sql).await?;
            }
            let running = part.iter().map(|change| connection.execute(&change.sql, &change.values));
            // After the first failure the server refuses those behind it.
            for (change, changed) in part.iter().zip(join_all(running).await) {
                if changed? == 0 {
                    let parts = change.key.split('/').map(decode_segment);
                    let parts: Vec<Value> = parts.map(|part| Value::from(&*part)).collect();
                    return Err(no_row(self.table, &self.table.key_positions(), &parts));
                }
            }
        }
        Ok(())
    }
}

fn of_record(table: &TableInfo, record: usize, value: &Value) -> SqlResult<RowChange> {
    let key = change::path_of(table, value.as_record().unwrap_or_default()).unwrap_or_default();
    let place = change::key_of(table, &key).ok_or_else(|| {
        let message = format!("record {}: '{key}' cannot be the key of a row", record + 1);
        SqlFault::invalid(message)
    })?;
    let (sql, values) = change::merge_statement(table, &place, value)?;
    Ok(RowChange { sql, values, key })
}
