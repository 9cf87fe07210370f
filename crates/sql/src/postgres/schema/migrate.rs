//! Migrations: steps that are applied once, in order, each as a whole.

use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::SCHEMA_LOCK;
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::worker_database::WorkerDatabase;
use runnel_store::Kind;
use std::cell::RefCell;

/// How long it is waited for another machine that migrates, and for the locks of others, in
/// minutes.
const LOCK_MINUTES: u32 = 10;

/// Applies the steps that were not applied before. A lock of the whole database keeps others from
/// doing the same at once: they wait, and then find the steps applied.
pub(crate) async fn migrate(
    core: &WorkerDatabase,
    session: &PostgresSession,
    steps: &[(String, String)],
) -> SqlResult<Vec<String>> {
    if session.transaction.is_some() {
        let message = "migrations are transactions themselves; run them outside of one";
        return Err(SqlFault::new(Kind::NotAllowed, message));
    }
    let applied = RefCell::new(Vec::new());
    let applying = async |connection: &PostgresConnection| {
        // The lock and the missing time limit belong to the connection, which ends with this.
        connection.set_entered(true);
        let begin = format!(
            "SET statement_timeout = 0; SET lock_timeout = '{LOCK_MINUTES}min'; \
             SELECT pg_advisory_lock({SCHEMA_LOCK})"
        );
        connection.batch(&begin).await?;
        connection
            .batch(
                "CREATE TABLE IF NOT EXISTS runnel_migrations (name text PRIMARY KEY, \
                 statements text NOT NULL, applied timestamptz NOT NULL DEFAULT now())",
            )
            .await?;
        for (name, statements) in steps {
            if step(connection, name, statements).await? {
                applied.borrow_mut().push(name.clone());
            }
        }
        Ok(())
    };
    let done = session.unhurried(Repeat::No, applying).await;
    core.forget();
    core.pool.forget();
    done.map(|()| applied.into_inner())
}

/// Applies one step, unless it was applied before.
async fn step(connection: &PostgresConnection, name: &str, statements: &str) -> SqlResult<bool> {
    let sql = "SELECT statements FROM runnel_migrations WHERE name = $1";
    let known = connection.all(sql, &[Parameter::text(name)]).await?;
    if let Some(row) = known.first() {
        let before: String = field(row, 0)?;
        if before == statements {
            return Ok(false);
        }
        return Err(SqlFault::new(
            Kind::Conflict,
            format!("{name} was applied before with other statements; write a new step instead"),
        ));
    }
    let about =
        |fault: SqlFault| SqlFault { message: format!("{name}: {}", fault.message), ..fault };
    connection.batch("BEGIN").await?;
    connection.batch(statements).await.map_err(about)?;
    let sql = "INSERT INTO runnel_migrations (name, statements) VALUES ($1, $2)";
    connection
        .execute(sql, &[Parameter::text(name), Parameter::text(statements)])
        .await
        .map_err(about)?;
    connection.batch("COMMIT").await.map_err(about)?;
    Ok(true)
}
