//! Telling of changes: which rows a transaction changed, said when it is committed.
//!
//! SQLite's update hook names the table and the row number of each row that is written. It does not
//! see three things: rows of tables without row numbers, `DELETE` without a condition where SQLite
//! empties the table at once, and rows that a `REPLACE` of another row removed. The first two are
//! found out by counting, and told as lost. See <https://sqlite.org/c3ref/update_hook.html>.

use crate::sqlite::fault::Fault;
use crate::sqlite::schema::{Key, TableInfo, quoted};
use crate::sqlite::shared::Shared;
use crate::sqlite::writer::{Alone, Session, Task};
use futures_util::StreamExt;
use runnel_store::{Answer, ChangeKind, Changes, Reference, Watchers};
use rusqlite::hooks::Action;
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often it is looked, while somebody watches, whether another program has written to the
/// database.
pub(crate) const OTHERS_INTERVAL: Duration = Duration::from_millis(500);

/// Rows of one transaction that are told one by one; with more, the database is told as lost.
pub const WATCHED_ROWS: usize = 10_000;

/// Watches a path of a database; whatever is committed after the answer is told.
pub(crate) fn watch(
    shared: &Arc<Shared>,
    path: &str,
    deadline: Option<Instant>,
) -> Answer<Changes> {
    let changes = shared.writer.watchers.watch(&Reference::from_path(path.to_string()));
    // What is being written now is written without the hook: watching begins after it.
    let (sender, receiver) = oneshot::channel();
    let listen = Task::Alone(Box::new(Listen(sender)));
    let keep = shared.clone();
    shared.writer.queue(listen, receiver, deadline).map(move |()| {
        // The database stays open as long as somebody watches it.
        let held = changes.map(move |change| {
            let _ = &keep;
            change
        });
        Box::pin(held) as Changes
    })
}

/// Passes the writer's queue; the hook is there when it has.
struct Listen(oneshot::Sender<Result<(), Fault>>);

impl Alone for Listen {
    fn run(self: Box<Self>, _: &Session) {
        let _ = self.0.send(Ok(()));
    }
}

/// What is to be told when the transaction is committed.
pub(crate) type Told = Vec<(ChangeKind, Reference)>;

/// The writer's side of watching.
pub(crate) struct Telling {
    watchers: Watchers,
    seen: Arc<Mutex<Seen>>,
    installed: bool,
    /// SQLite's number for what other connections have written.
    others: Cell<Option<i64>>,
    /// The form of the tables, and the count of changed rows, when the transaction began.
    began: Cell<(i64, u64)>,
    names: RefCell<(i64, FxHashMap<String, Name>)>,
}

/// What the hook has seen in the transaction.
#[derive(Default)]
struct Seen {
    rows: Vec<(Action, String, i64)>,
    /// All of them, also those beyond the bound.
    count: u64,
}

/// How a row number becomes the name of a row.
#[derive(Clone)]
enum Name {
    Number,
    /// A statement that finds the key of a row that is there.
    Key(String),
    /// Rows without names.
    None,
}

impl Telling {
    pub(crate) fn new(watchers: Watchers) -> Self {
        Telling {
            watchers,
            seen: Arc::default(),
            installed: false,
            others: Cell::default(),
            began: Cell::default(),
            names: RefCell::default(),
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.is_watched()
    }

    /// Before a transaction: the hook is there only while somebody watches, because it is called
    /// for each row.
    pub(crate) fn prepare(&mut self, connection: &mut Connection) {
        let watched = self.watchers.is_watched();
        if watched == self.installed {
            return;
        }
        let done = if watched {
            self.others.set(data_version(connection));
            let seen = self.seen.clone();
            let note = move |action: Action, _: &str, table: &str, row: i64| {
                let mut seen = locked(&seen);
                seen.count += 1;
                if seen.rows.len() < WATCHED_ROWS {
                    seen.rows.push((action, table.to_string(), row));
                }
            };
            connection.update_hook(Some(note))
        } else {
            connection.update_hook(None::<fn(Action, &str, &str, i64)>)
        };
        match done {
            Ok(()) => self.installed = watched,
            Err(error) => tracing::warn!(%error, "changes of the database cannot be told"),
        }
    }

    /// Tells as lost what other programs have written since the last look.
    pub(crate) fn look(&self, connection: &Connection) {
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
        self.look(connection);
        *locked(&self.seen) = Seen::default();
        self.began.set((schema_version(connection), connection.total_changes()));
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
    pub(crate) fn settle(&self, connection: &Connection) -> Told {
        if !self.installed {
            return Told::new();
        }
        let seen = std::mem::take(&mut *locked(&self.seen));
        let (schema, changes) = self.began.get();
        let all = seen.count as usize == seen.rows.len() || seen.count < WATCHED_ROWS as u64;
        let counted = connection.total_changes().saturating_sub(changes) <= seen.count;
        if !all || !counted || schema_version(connection) != schema {
            return vec![(ChangeKind::Lost, Reference::default())];
        }
        let mut told = Told::new();
        for (action, table, row) in seen.rows {
            match self.name(connection, schema, &table, action, row) {
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

    /// After the commit.
    pub(crate) fn publish(&self, told: Told) {
        for (kind, reference) in told {
            self.watchers.publish(kind, &reference);
        }
    }

    fn name(
        &self,
        connection: &Connection,
        schema: i64,
        table: &str,
        action: Action,
        row: i64,
    ) -> Result<Option<(ChangeKind, Reference)>, Fault> {
        if table.starts_with("sqlite_") {
            return Ok(None);
        }
        let deleted = action == Action::SQLITE_DELETE;
        let kind = if deleted { ChangeKind::Deleted } else { ChangeKind::Changed };
        let key = match self.naming(connection, schema, table)? {
            Name::Number => Some(row.to_string()),
            Name::Key(sql) if !deleted => {
                let mut statement = connection.prepare_cached(&sql)?;
                statement.query_row([row], |row| row.get(0)).optional()?.flatten()
            }
            Name::Key(_) | Name::None => None,
        };
        Ok(Some(match key {
            Some(key) => (kind, Reference::from_path(format!("{table}/{key}"))),
            None => (ChangeKind::Lost, Reference::from_path(table.to_string())),
        }))
    }

    fn naming(&self, connection: &Connection, schema: i64, table: &str) -> Result<Name, Fault> {
        let mut names = self.names.borrow_mut();
        if names.0 != schema {
            *names = (schema, FxHashMap::default());
        }
        if let Some(known) = names.1.get(table) {
            return Ok(known.clone());
        }
        let name = match TableInfo::read(connection, table)? {
            None => Name::None,
            Some(info) => match &info.key {
                Key::None => Name::None,
                Key::Rowid(_) => Name::Number,
                // An integer that is the row number itself.
                Key::Column(key) if info.by_row_number && info.order == [quoted(&key.name)] => {
                    Name::Number
                }
                Key::Column(key) => Name::Key(format!(
                    "SELECT {} FROM {} WHERE {} = ?1",
                    info.key_text(&quoted(&key.name)),
                    quoted(&info.name),
                    info.order.first().map_or("rowid", String::as_str),
                )),
            },
        };
        names.1.insert(table.to_string(), name.clone());
        Ok(name)
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
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
