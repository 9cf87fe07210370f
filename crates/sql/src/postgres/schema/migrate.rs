//! Migrations: steps that are applied once, in order, each as a whole; tried, undone and listed.

use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::SCHEMA_LOCK;
use crate::postgres::schema::differences::differences;
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::worker_database::WorkerDatabase;
use runnel_store::{Kind, Migration, MigrationAct, MigrationStep, StepState};
use std::cell::RefCell;

/// How long it is waited for another machine that migrates, and for the locks of others, in
/// minutes.
const LOCK_MINUTES: u32 = 10;

/// Runs the steps of a migration. A lock of the whole database keeps others from doing the same at
/// once: they wait, and then find the steps applied.
pub(crate) async fn migrate(
    core: &WorkerDatabase,
    session: &PostgresSession,
    migration: &Migration,
) -> SqlResult<Vec<String>> {
    if session.transaction.is_some() {
        let message = "migrations are transactions themselves; run them outside of one";
        return Err(SqlFault::new(Kind::NotAllowed, message));
    }
    let done = RefCell::new(Vec::new());
    let migrating = async |connection: &PostgresConnection| {
        // The lock and the missing time limit belong to the connection, which ends with this.
        connection.set_entered(true);
        let begin = format!(
            "SET statement_timeout = 0; SET lock_timeout = '{LOCK_MINUTES}min'; \
             SELECT pg_advisory_lock({SCHEMA_LOCK})"
        );
        connection.batch(&begin).await?;
        if let Some(shape) = &migration.shape {
            done.replace(differences(connection, shape).await?);
            return Ok(());
        }
        let states = states(connection, migration).await?;
        let plan = migration.plan(&states);
        let steps = plan.map_err(|message| SqlFault::new(Kind::Conflict, message))?;
        if migration.act == MigrationAct::DryRun {
            connection.batch("BEGIN").await?;
        }
        for step in steps {
            if migration.act != MigrationAct::List {
                run(connection, migration.act, step).await.map_err(|fault| SqlFault {
                    message: format!("{}: {}", step.name, fault.message),
                    ..fault
                })?;
            }
            done.borrow_mut().push(step.name.clone());
        }
        if migration.act == MigrationAct::DryRun {
            connection.batch("ROLLBACK").await?;
        }
        Ok(())
    };
    let migrated = session.unhurried(Repeat::No, migrating).await;
    core.forget();
    core.pool.forget();
    migrated.map(|()| done.into_inner())
}

/// What was done with each step before.
async fn states(
    connection: &PostgresConnection,
    migration: &Migration,
) -> SqlResult<Vec<StepState>> {
    let there = "SELECT to_regclass('runnel_migrations') IS NOT NULL";
    let there = connection.all(there, &[]).await?;
    let mut known: Vec<(String, String)> = Vec::new();
    if there.first().map_or(Ok(false), |row| field(row, 0))? {
        let rows = connection.all("SELECT name, statements FROM runnel_migrations", &[]).await?;
        for row in &rows {
            known.push((field(row, 0)?, field(row, 1)?));
        }
    }
    let state = |step: &MigrationStep| match known.iter().find(|(name, _)| *name == step.name) {
        None => StepState::Pending,
        Some((_, before)) if *before == step.statements => StepState::Applied,
        Some(_) => StepState::Changed,
    };
    Ok(migration.steps.iter().map(state).collect())
}

/// Applies or undoes one step, and remembers it.
async fn run(
    connection: &PostgresConnection,
    act: MigrationAct,
    step: &MigrationStep,
) -> SqlResult<()> {
    let (name, statements) = (Parameter::text(&step.name), Parameter::text(&step.statements));
    if act != MigrationAct::DryRun {
        connection.batch("BEGIN").await?;
    }
    if let (MigrationAct::Undo, Some(undo)) = (act, &step.undo) {
        connection.batch(undo).await?;
        connection.execute("DELETE FROM runnel_migrations WHERE name = $1", &[name]).await?;
    } else {
        connection.batch(&step.statements).await?;
        connection
            .batch(
                "CREATE TABLE IF NOT EXISTS runnel_migrations (name text PRIMARY KEY, \
                 statements text NOT NULL, applied timestamptz NOT NULL DEFAULT now())",
            )
            .await?;
        let sql = "INSERT INTO runnel_migrations (name, statements) VALUES ($1, $2)";
        connection.execute(sql, &[name, statements]).await?;
    }
    if act != MigrationAct::DryRun {
        connection.batch("COMMIT").await?;
    }
    Ok(())
}
