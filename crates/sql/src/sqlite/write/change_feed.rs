//! ChangeFeed of changes: which rows a transaction changed, said when it is committed.
//!
//! SQLite's update hook names the table and the row number of each row that is written; another one
//! knows the names of rows that go, and sees those that a `REPLACE` takes away. Two things neither sees: rows of tables
//! without row numbers, and `DELETE` without a condition where SQLite empties the table at once.
//! They are found out by counting, and told as lost. See <https://sqlite.org/c3ref/update_hook.html>.

use crate::database::description::{TableColumn, TableDescription};
use crate::rows::columns::ColumnDisplay;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::schema::catalog::{RowKey, TableInfo, quoted, shown_as};
use crate::sqlite::write::removed_rows::{self, Before};
use runnel_store::{ChangeKind, Reference, Watchers};
use rusqlite::hooks::Action;
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the database is polled for writes by other processes, while there are watchers.
pub(crate) const OTHERS_INTERVAL: Duration = Duration::from_millis(500);

/// The most rows of one transaction that are reported one by one; a larger one is reported as lost.
pub const WATCHED_ROWS: usize = 10_000;

/// What is to be told when the transaction is committed.
pub(crate) type PendingChanges = Vec<(ChangeKind, Reference)>;

/// The writer's side of watching.
pub(crate) struct ChangeFeed {
    watchers: Watchers,
    seen: Arc<Mutex<SeenRows>>,
    installed: bool,
    /// SQLite's number for what other connections have written.
    others: Cell<Option<i64>>,
    /// The form of the tables, and the count of changed rows, when the transaction began.
    began: Cell<(i64, u64)>,
    names: RefCell<(i64, FxHashMap<String, RowNaming>)>,
    /// The form of the tables for which the columns of keys are known.
    keys_of: Cell<Option<i64>>,
}

/// What the hooks have seen in the transaction.
#[derive(Default)]
struct SeenRows {
    rows: Vec<ChangedRow>,
    /// The position of the key's column in tables whose rows have other names than their numbers.
    keys: FxHashMap<String, (c_int, ColumnDisplay)>,
    /// Those that the update hook has told, also beyond the bound: SQLite counts the same.
    count: u64,
    /// Whether some are left out.
    full: bool,
}

/// A row that was changed or is gone.
#[derive(PartialEq)]
struct ChangedRow {
    table: String,
    number: i64,
    gone: bool,
    /// The name that it had, where it is gone and the name is not its number.
    key: Option<String>,
}

impl SeenRows {
    fn add(&mut self, row: ChangedRow) {
        match self.rows.len() < WATCHED_ROWS {
            true => self.rows.push(row),
            false => self.full = true,
        }
    }

    /// A row before it changes. What it is then, the update hook tells.
    fn before(&mut self, row: &Before<'_>) {
        let Some(&(column, shown)) = self.keys.get(row.table) else {
            if row.gone {
                let (table, number) = (row.table.to_string(), row.row);
                self.add(ChangedRow { table, number, gone: true, key: None });
            }
            return;
        };
        let key = row.text(column);
        if !row.gone && key == row.text_afterwards(column) {
            return;
        }
        let key = key.map(|key| {
            let (start, end) = shown.text(key.as_bytes());
            String::from_utf8_lossy(&[start, end].concat()).into_owned()
        });
        let (table, number) = (row.table.to_string(), row.row);
        self.add(ChangedRow { table, number, gone: true, key });
    }

    /// A row after it has changed.
    fn after(&mut self, gone: bool, table: &str, number: i64) {
        self.count += 1;
        let known = |last: &ChangedRow| last.gone && last.number == number && last.table == table;
        if !gone || !self.rows.last().is_some_and(known) {
            self.add(ChangedRow { table: table.to_string(), number, gone, key: None });
        }
    }
}

/// How a row number becomes the name of a row.
#[derive(Clone)]
enum RowNaming {
    Number,
    /// A statement that finds the key of a row that is there.
    Key(String),
    /// Rows without names.
    None,
    /// Rows that are no content by themselves: chunks of a key-value store.
    Inner,
}

impl ChangeFeed {
    pub(crate) fn new(watchers: Watchers) -> Self {
        ChangeFeed {
            watchers,
            seen: Arc::default(),
            installed: false,
            others: Cell::default(),
            began: Cell::default(),
            names: RefCell::default(),
            keys_of: Cell::default(),
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.is_watched()
    }

    /// Before a transaction: the hook is installed only while there are watchers, because it is
    /// called for each row.
    pub(crate) fn prepare(&mut self, connection: &mut Connection) {
        let watched = self.watchers.is_watched();
        if watched == self.installed {
            return;
        }
        let done = if watched {
            self.others.set(data_version(connection));
            let seen = self.seen.clone();
            let note = move |action: Action, _: &str, table: &str, row: i64| {
                locked(&seen).after(action == Action::SQLITE_DELETE, table, row);
            };
            let seen = self.seen.clone();
            let before = move |row: &Before<'_>| locked(&seen).before(row);
            removed_rows::listen(connection, Some(Box::new(before)));
            connection.update_hook(Some(note))
        } else {
            removed_rows::listen(connection, None);
            connection.update_hook(None::<fn(Action, &str, &str, i64)>)
        };
        match done {
            Ok(()) => self.installed = watched,
            Err(error) => tracing::warn!(%error, "changes of the database cannot be told"),
        }
    }

    /// Tells as lost what other programs have written since the last look.
    pub(crate) fn poll_others(&self, connection: &Connection) {
        let now = data_version(connection);
        if self.others.replace(now) != now {
            self.watchers.lost(&Reference::default());
        }
    }

    pub(crate) fn begin(&self, connection: &Connection) {
        if !self.installed {
            return;
        }
        // Those who write through this process all the time leave no pause for a look.
        self.poll_others(connection);
        let schema = schema_version(connection);
        {
            let mut seen = locked(&self.seen);
            let keys = match self.keys_of.replace(Some(schema)) == Some(schema) {
                true => std::mem::take(&mut seen.keys),
                false => key_columns(connection).unwrap_or_default(),
            };
            *seen = SeenRows { keys, ..SeenRows::default() };
        }
        self.began.set((schema, connection.total_changes()));
    }

    /// Where the seen rows stand now.
    pub(crate) fn mark(&self) -> usize {
        if self.installed { locked(&self.seen).rows.len() } else { 0 }
    }

    /// What was seen after the mark has been undone.
    pub(crate) fn forget_since(&self, mark: usize) {
        if self.installed {
            locked(&self.seen).rows.truncate(mark);
        }
    }

    /// Names the changed rows, while the transaction stands.
    pub(crate) fn settle(&self, connection: &Connection) -> PendingChanges {
        if !self.installed {
            return PendingChanges::new();
        }
        let (rows, count, full) = {
            let mut seen = locked(&self.seen);
            (std::mem::take(&mut seen.rows), seen.count, seen.full)
        };
        let (schema, changes) = self.began.get();
        let counted = connection.total_changes().saturating_sub(changes) <= count;
        if full || !counted || schema_version(connection) != schema {
            return vec![(ChangeKind::Lost, Reference::default())];
        }
        let mut told = PendingChanges::new();
        for row in rows {
            match self.name(connection, schema, &row) {
                Ok(Some(change)) if told.last() == Some(&change) => {}
                Ok(change) => told.extend(change),
                Err(fault) => {
                    tracing::warn!(?fault, "a change of the database cannot be named");
                    return vec![(ChangeKind::Lost, Reference::default())];
                }
            }
        }
        told
    }

    /// Before the connection is closed.
    pub(crate) fn end(&mut self, connection: &mut Connection) {
        if std::mem::take(&mut self.installed) {
            removed_rows::listen(connection, None);
        }
    }

    /// After the commit.
    pub(crate) fn publish(&self, told: PendingChanges) {
        for (kind, reference) in told {
            self.watchers.publish(kind, &reference);
        }
    }

    fn name(
        &self,
        connection: &Connection,
        schema: i64,
        row: &ChangedRow,
    ) -> SqlResult<Option<(ChangeKind, Reference)>> {
        let table = row.table.as_str();
        if table.starts_with("sqlite_") {
            return Ok(None);
        }
        let kind = if row.gone { ChangeKind::Deleted } else { ChangeKind::Changed };
        let key = match self.naming(connection, schema, table)? {
            RowNaming::Number => Some(row.number.to_string()),
            RowNaming::Key(_) if row.gone => row.key.clone(),
            RowNaming::Key(sql) => {
                let mut statement = connection.prepare_cached(&sql)?;
                statement.query_row([row.number], |row| row.get(0)).optional()?.flatten()
            }
            RowNaming::None => None,
            RowNaming::Inner => return Ok(None),
        };
        Ok(Some(match key {
            Some(key) => (kind, Reference::from_path(format!("{table}/{key}"))),
            None => (ChangeKind::Lost, Reference::from_path(table.to_string())),
        }))
    }

    fn naming(&self, connection: &Connection, schema: i64, table: &str) -> SqlResult<RowNaming> {
        let mut names = self.names.borrow_mut();
        if names.0 != schema {
            *names = (schema, FxHashMap::default());
        }
        if let Some(known) = names.1.get(table) {
            return Ok(known.clone());
        }
        let name = match TableInfo::read(connection, table)? {
            Some(_) if without_row_numbers(connection, table)? => RowNaming::None,
            None => RowNaming::None,
            Some(info) if info.is_inner() => RowNaming::Inner,
            Some(info) => match &info.key {
                RowKey::None | RowKey::Columns(_) => RowNaming::None,
                RowKey::Rowid(_) => RowNaming::Number,
                RowKey::Column(key) if info.is_number(key) => RowNaming::Number,
                RowKey::Column(key) => RowNaming::Key(format!(
                    "SELECT {} FROM {} WHERE {} = ?1",
                    info.key_text(&key.quoted()),
                    quoted(&info.name),
                    info.order.first().map_or("rowid", String::as_str),
                )),
            },
        };
        names.1.insert(table.to_string(), name.clone());
        Ok(name)
    }
}

fn locked(seen: &Mutex<SeenRows>) -> MutexGuard<'_, SeenRows> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The columns of keys that are not the numbers of the rows, by table.
fn key_columns(connection: &Connection) -> SqlResult<FxHashMap<String, (c_int, ColumnDisplay)>> {
    let mut statement = connection.prepare_cached(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT wr",
    )?;
    let names: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut keys = FxHashMap::default();
    for name in names.into_iter().filter(|name| !name.starts_with("sqlite_")) {
        let Some(info) = TableInfo::read(connection, &name)? else { continue };
        let RowKey::Column(key) = &info.key else { continue };
        let position = info.position(&key.name).and_then(|at| c_int::try_from(at).ok());
        if let (Some(position), false) = (position, info.is_number(key)) {
            keys.insert(name, (position, shown_as(key.kind)));
        }
    }
    Ok(keys)
}

fn without_row_numbers(connection: &Connection, table: &str) -> SqlResult<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM pragma_table_list \
         WHERE schema = 'main' AND name = ?1 COLLATE NOCASE AND wr)",
    )?;
    Ok(statement.query_row([table], |row| row.get(0))?)
}

fn data_version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version").ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}

fn schema_version(connection: &Connection) -> i64 {
    let statement = connection.prepare_cached("PRAGMA schema_version");
    statement
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .unwrap_or_default()
}
