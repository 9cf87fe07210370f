//! Migrations: steps that are applied once, in order, each as a whole; tried, undone and listed.

use crate::database::schema::MIGRATIONS;
use crate::sqlite::connection::authorizer::WriteAuthorizer;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::schema::differences::differences;
use crate::sqlite::write::shared::SharedDatabase;
use crate::sqlite::write::transaction;
use crate::sqlite::write::writer::{ExclusiveTask, WriterSession, WriterTask};
use runnel_store::{Answer, Context, Kind, Migration, MigrationAct, MigrationStep, StepState};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, OptionalExtension};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Runs the steps of a migration; answers their names.
pub(crate) fn migrate(
    shared: &Arc<SharedDatabase>,
    migration: Migration,
    context: &Context,
) -> Answer<Vec<String>> {
    if transaction::current(shared, context).is_some() {
        let message = "migrations are transactions themselves; run them outside of one";
        return Answer::Ready(Err(SqlFault::new(Kind::NotAllowed, message).into()));
    }
    if let Err(fault) = shared.writable() {
        return Answer::Ready(Err(fault.into()));
    }
    let (sender, receiver) = oneshot::channel();
    let guard = shared.writer.guard.clone();
    let migration = ExclusiveMigration { migration, guard, sender, deadline: context.deadline };
    shared.writer.queue(WriterTask::Alone(Box::new(migration)), receiver, context.deadline)
}

struct ExclusiveMigration {
    migration: Migration,
    guard: WriteAuthorizer,
    sender: oneshot::Sender<SqlResult<Vec<String>>>,
    deadline: Option<Instant>,
}

impl ExclusiveTask for ExclusiveMigration {
    fn run(self: Box<Self>, session: &WriterSession) {
        if self.sender.is_closed() {
            return;
        }
        // Changing a table's form means making it anew, which references to it must not see:
        // <https://sqlite.org/lang_altertable.html>, section 7. They are checked before the commit.
        let off = session.connection.pragma_update(None, "foreign_keys", false);
        let done = match off {
            Ok(()) => session.until(self.deadline, || self.apply(session)),
            Err(error) => Err(error.into()),
        };
        session.roll_back();
        let on = session.connection.pragma_update(None, "foreign_keys", true);
        let _ = self.sender.send(done.and_then(|names| Ok(on.map(|()| names)?)));
    }
}

impl ExclusiveMigration {
    fn apply(&self, session: &WriterSession) -> SqlResult<Vec<String>> {
        // Another program may be migrating at the same time: the lock comes first.
        session.begin()?;
        if let Some(shape) = &self.migration.shape {
            return differences(&session.connection, shape);
        }
        let mut done = Vec::new();
        loop {
            let states = self.states(&session.connection)?;
            let plan = self.migration.plan(&states);
            let steps = plan.map_err(|message| SqlFault::new(Kind::Conflict, message))?;
            match (self.migration.act, steps.first()) {
                (MigrationAct::List, _) => {
                    return Ok(steps.iter().map(|step| step.name.clone()).collect());
                }
                (_, None) => return Ok(done),
                (act, Some(step)) => {
                    let about = |fault: SqlFault| SqlFault {
                        message: format!("{}: {}", step.name, fault.message),
                        ..fault
                    };
                    self.step(&session.connection, step).map_err(about)?;
                    done.push(step.name.clone());
                    if act == MigrationAct::DryRun {
                        continue;
                    }
                    session.commit().map_err(about)?;
                    if act == MigrationAct::Undo {
                        return Ok(done);
                    }
                    session.begin()?;
                }
            }
        }
    }

    /// What was done with each step before.
    fn states(&self, connection: &Connection) -> SqlResult<Vec<StepState>> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
        let mut there = connection.prepare_cached(sql)?;
        if !there.query_row([MIGRATIONS], |row| row.get::<_, bool>(0))? {
            return Ok(vec![StepState::Pending; self.migration.steps.len()]);
        }
        let mut known = connection
            .prepare_cached(&format!("SELECT checksum FROM {MIGRATIONS} WHERE name = ?1"))?;
        let state = |step: &MigrationStep| {
            let found = known.query_row([&step.name], |row| row.get::<_, String>(0)).optional()?;
            Ok(match found {
                None => StepState::Pending,
                Some(found) if found == checksum(&step.statements) => StepState::Applied,
                Some(_) => StepState::Changed,
            })
        };
        self.migration.steps.iter().map(state).collect()
    }

    /// Applies or undoes one step, and remembers it.
    fn step(&self, connection: &Connection, step: &MigrationStep) -> SqlResult<()> {
        let undo = step.undo.as_ref().filter(|_| self.migration.act == MigrationAct::Undo);
        self.guard.during(|| run(connection, undo.unwrap_or(&step.statements)))?;
        broken_references(connection)?;
        if undo.is_some() {
            let sql = format!("DELETE FROM {MIGRATIONS} WHERE name = ?1");
            connection.execute(&sql, [&step.name])?;
            return Ok(());
        }
        connection.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS {MIGRATIONS} (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, \
             applied TEXT NOT NULL) WITHOUT ROWID"
        ))?;
        let sql = format!(
            "INSERT INTO {MIGRATIONS} (name, checksum, applied) \
             VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))"
        );
        connection.execute(&sql, [&step.name, &checksum(&step.statements)])?;
        Ok(())
    }
}

/// Runs statements one after the other; an error says which one it was.
fn run(connection: &Connection, statements: &str) -> SqlResult<()> {
    let mut batch = Batch::new(connection, statements);
    let mut number = 0;
    loop {
        number += 1;
        let about = |error: rusqlite::Error| {
            let fault = SqlFault::from(error);
            SqlFault { message: format!("statement {number}: {}", fault.message), ..fault }
        };
        let next = batch.next().map_err(about)?;
        let Some(mut statement) = next else { return Ok(()) };
        let mut rows = statement.query([]).map_err(about)?;
        while rows.next().map_err(about)?.is_some() {}
    }
}

fn broken_references(connection: &Connection) -> SqlResult<()> {
    let mut check =
        connection.prepare("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1")?;
    let broken =
        check.query_row([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    match broken.optional()? {
        None => Ok(()),
        Some((child, parent)) => Err(SqlFault::new(
            Kind::Conflict,
            format!("rows of {child} would refer to rows of {parent} that are not there"),
        )),
    }
}

/// Tells whether a step is the same: FNV-1a with 128 bits, as hexadecimal digits. It guards
/// against mistakes, not against forgery (<https://datatracker.ietf.org/doc/html/rfc9923>).
fn checksum(text: &str) -> String {
    let offset = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let prime = 0x0000_0000_0100_0000_0000_0000_0000_013b_u128;
    let hash =
        text.bytes().fold(offset, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(prime));
    format!("{hash:032x}")
}
