//! Where a database lies, and how connections to it are made.

use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::options::SqliteOptions;
use runnel_store::Kind;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The largest text or blob that a database takes or gives, in bytes.
pub const VALUE_LIMIT: i32 = 256 << 20;

/// Prepared statements that each connection keeps.
const STATEMENTS: usize = 128;

/// The page cache of each connection, in KiB. More than SQLite's 2 MiB: a worker has few
/// connections, and a scan of a table that fits costs no reads.
const PAGE_CACHE: i64 = 16 << 10;

/// The write-ahead log is cut back to this many bytes after a checkpoint.
const LOG_SIZE: i64 = 64 << 20;

/// Where a database lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DatabaseFile {
    /// A file, by its canonical path.
    File(PathBuf),
    /// The memory of this process, by a name in SQLite's `memdb` file system.
    Memory(String),
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The connection that writes.
    Writer,
    /// A connection that reads on a worker's own thread, where waiting is not allowed.
    Worker,
    /// A connection that reads on a thread that may wait.
    Pool,
    /// A connection of our own that reads a whole database in one transaction.
    Backup,
}

impl DatabaseFile {
    /// Resolves a path. `:memory:` is a new private database each time, `:memory:name` a database
    /// in memory that this process shares under that name.
    pub(crate) fn resolve(path: &Path) -> SqlResult<Self> {
        if let Some(name) = path.to_str().and_then(|text| text.strip_prefix(":memory:")) {
            return DatabaseFile::memory(name);
        }
        match std::fs::canonicalize(path) {
            Ok(found) if found.is_dir() => Err(SqlFault::new(
                Kind::Conflict,
                "this is a directory; name a database file in it",
            )),
            Ok(found) => Ok(DatabaseFile::File(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => DatabaseFile::new_file(path),
            Err(error) => Err(from_io(&error, "the database file cannot be opened")),
        }
    }

    fn memory(name: &str) -> SqlResult<Self> {
        static PRIVATE: AtomicU64 = AtomicU64::new(0);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !name.bytes().all(plain) {
            return Err(SqlFault::invalid(
                "the name of a memory database has only letters, digits, '-', '_' and '.'",
            ));
        }
        Ok(DatabaseFile::Memory(match name {
            "" => format!("private/{}", PRIVATE.fetch_add(1, Ordering::Relaxed)),
            _ => format!("shared/{name}"),
        }))
    }

    fn new_file(path: &Path) -> SqlResult<Self> {
        let Some(name) = path.file_name() else {
            return Err(SqlFault::invalid("a database needs a file name"));
        };
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let folder = std::fs::canonicalize(folder).map_err(|error| {
            from_io(&error, "the directory of the database file is not there; make it first")
        })?;
        Ok(DatabaseFile::File(folder.join(name)))
    }

    /// The path of a file; `None` in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            DatabaseFile::File(path) => Some(path),
            DatabaseFile::Memory(_) => None,
        }
    }

    /// Opens a connection with everything set that all of them share.
    pub(crate) fn connect(&self, role: Role, options: &SqliteOptions) -> SqlResult<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= match (options.read_only, role) {
            (true, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            (false, Role::Writer) => {
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
            }
            // A reader of a write-ahead log has to be able to write its index.
            (false, _) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let mut connection = match self {
            // The path is absolute, so SQLite cannot take it for a `file:` URI.
            DatabaseFile::File(path) => Connection::open_with_flags(path, flags)?,
            DatabaseFile::Memory(name) => {
                let flags = flags | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(format!("file:/{name}?vfs=memdb"), flags)?
            }
        };
        // A worker never sleeps in SQLite: it answers later instead.
        let patience = if role == Role::Worker { Duration::ZERO } else { options.busy_timeout };
        connection.busy_timeout(patience)?;
        harden(&connection)?;
        match role {
            Role::Writer => self.prepare_writer(&connection, options)?,
            Role::Worker | Role::Pool => {
                connection.pragma_update(None, "query_only", true)?;
                watch(&mut connection)?;
            }
            Role::Backup => connection.pragma_update(None, "query_only", true)?,
        }
        Ok(connection)
    }

    fn prepare_writer(&self, connection: &Connection, options: &SqliteOptions) -> SqlResult<()> {
        // The first look into the file: here a file that is no database is found out.
        connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0))?;
        if connection.is_readonly("main")? {
            return Ok(());
        }
        if matches!(self, DatabaseFile::File(_)) {
            let mode: String =
                connection
                    .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
            if mode != "wal" {
                tracing::warn!(
                    database = %self,
                    mode,
                    "no write-ahead log here: readers and the writer wait for each other"
                );
            }
        }
        crate::sqlite::connection::row_source::install(connection)?;
        connection.pragma_update(None, "synchronous", options.synchronous.pragma())?;
        connection.pragma_update(None, "journal_size_limit", LOG_SIZE)?;
        Ok(())
    }
}

impl fmt::Display for DatabaseFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseFile::File(path) => path.display().fmt(out),
            DatabaseFile::Memory(name) => match name.strip_prefix("shared/") {
                Some(name) => write!(out, ":memory:{name}"),
                None => out.write_str(":memory:"),
            },
        }
    }
}

/// The file with this ending beside a database: its write-ahead log is `-wal`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

pub(crate) fn from_io(error: &std::io::Error, message: &str) -> SqlFault {
    let kind = match error.kind() {
        ErrorKind::NotFound => Kind::NotFound,
        ErrorKind::PermissionDenied => Kind::Denied,
        ErrorKind::NotADirectory => Kind::Conflict,
        _ => Kind::Failed,
    };
    SqlFault { detail: Some(error.to_string()), ..SqlFault::new(kind, message) }
}

/// Settings without which a name in quotes could become a text, or a crafted file could run what
/// it likes (<https://sqlite.org/security.html>).
fn harden(connection: &Connection) -> SqlResult<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_LIMIT)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -PAGE_CACHE)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Plans do not depend on the values of parameters: a statement with `LIMIT ?` would otherwise be compiled
    // anew each time it runs (<https://sqlite.org/queryplanner-ng.html>, section 6.1).
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    crate::sqlite::connection::decimal_order::install(connection)?;
    crate::sqlite::connection::functions::install(connection)?;
    Ok(())
}

/// Set when a statement is prepared whose answer may change although the database does not.
pub(crate) type Volatile = Arc<AtomicBool>;

/// Set while a statement is prepared that is the store's own and may begin or end a transaction.
pub(crate) type Own = Arc<AtomicBool>;

/// Decides from now on what a statement may do. Every statement of a program, reading or writing,
/// is prepared on a reading connection first, so this one place decides for both.
pub(crate) fn watch(connection: &mut Connection) -> SqlResult<(Volatile, Own)> {
    let (volatile, own) = (Volatile::default(), Own::default());
    let (seen, ours) = (volatile.clone(), own.clone());
    let authorize = move |context: AuthContext<'_>| {
        if let AuthAction::Function { function_name } = context.action
            && CHANGING.iter().any(|name| name.eq_ignore_ascii_case(function_name))
        {
            seen.store(true, Ordering::Relaxed);
        }
        let is_ours = matches!(context.action, AuthAction::Transaction { .. })
            && ours.load(Ordering::Relaxed);
        match is_ours || is_allowed(&context.action) {
            true => Authorization::Allow,
            false => Authorization::Deny,
        }
    };
    connection.authorizer(Some(authorize))?;
    Ok((volatile, own))
}

pub(crate) fn is_allowed(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let is = |name: &&str| name.eq_ignore_ascii_case(pragma_name);
            SHOWING.iter().any(is) || (STATING.iter().any(is) && pragma_value.is_none())
        }
        AuthAction::Function { function_name } => {
            !function_name.eq_ignore_ascii_case("load_extension")
        }
        AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. }
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. } => false,
        _ => true,
    }
}

/// Functions whose result is not decided by their arguments and the database. (Those of date and
/// time know the word `now`.)
const CHANGING: [&str; 15] = [
    "random",
    "randomblob",
    "date",
    "time",
    "datetime",
    "julianday",
    "unixepoch",
    "strftime",
    "timediff",
    "current_date",
    "current_time",
    "current_timestamp",
    "changes",
    "total_changes",
    "last_insert_rowid",
];

/// Pragmas that only show something, whatever their argument.
const SHOWING: [&str; 12] = [
    "table_list",
    "table_info",
    "table_xinfo",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "integrity_check",
    "quick_check",
    "compile_options",
    "function_list",
];

/// Pragmas that only show something when they have no argument.
const STATING: [&str; 10] = [
    "data_version",
    "schema_version",
    "user_version",
    "application_id",
    "page_count",
    "page_size",
    "freelist_count",
    "encoding",
    "journal_mode",
    "locking_mode",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_databases_are_private_or_named() {
        let private = |_| DatabaseFile::resolve(Path::new(":memory:")).unwrap();
        assert_ne!(private(1), private(2));
        let named = |name: &str| DatabaseFile::resolve(Path::new(name));
        assert_eq!(named(":memory:a").unwrap(), named(":memory:a").unwrap());
        assert_eq!(named(":memory:a").unwrap().to_string(), ":memory:a");
        assert_eq!(named(":memory:a?mode=rw").unwrap_err().kind, Kind::Invalid);
    }

    #[test]
    fn names_that_look_like_uris_are_files() {
        let folder = tempfile::tempdir().unwrap();
        let place = DatabaseFile::resolve(&folder.path().join("file:x?mode=memory")).unwrap();
        drop(place.connect(Role::Writer, &SqliteOptions::default()).unwrap());
        assert!(folder.path().join("file:x?mode=memory").is_file());
    }

    #[test]
    fn readers_refuse_what_would_change_the_connection() {
        let place = DatabaseFile::resolve(Path::new(":memory:")).unwrap();
        let _writer = place.connect(Role::Writer, &SqliteOptions::default()).unwrap();
        let reader = place.connect(Role::Worker, &SqliteOptions::default()).unwrap();
        for refused in [
            "pragma query_only = 0",
            "pragma user_version = 3",
            "pragma journal_mode = delete",
            "begin",
            "commit",
            "savepoint x",
            "attach '/etc/passwd' as x",
            "create temp table t(a)",
        ] {
            let fault: SqlFault = reader.prepare(refused).unwrap_err().into();
            assert_eq!(fault.kind, Kind::NotAllowed, "{refused}");
        }
        for fine in ["pragma table_list", "pragma data_version", "create table t(a)", "select 1"] {
            assert!(reader.prepare(fine).is_ok(), "{fine}");
        }
        assert!(reader.execute("create table t(a)", []).is_err());
    }

    #[test]
    fn a_statement_with_a_limit_is_compiled_once() {
        let place = DatabaseFile::resolve(Path::new(":memory:")).unwrap();
        let writer = place.connect(Role::Writer, &SqliteOptions::default()).unwrap();
        writer
            .execute_batch("create table t(id integer primary key); insert into t values (1)")
            .unwrap();
        let mut statement =
            writer.prepare("select id from t order by id limit ?1 offset ?2").unwrap();
        for limit in 1..5 {
            assert!(statement.exists([limit, 0]).unwrap());
        }
        assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
    }

    #[test]
    fn without_a_pointer_a_row_source_is_empty_and_readers_do_not_know_it() {
        let place = DatabaseFile::resolve(Path::new(":memory:")).unwrap();
        let writer = place.connect(Role::Writer, &SqliteOptions::default()).unwrap();
        let count = |sql: &str| writer.query_row(sql, [], |row| row.get::<_, i64>(0));
        assert_eq!(count("SELECT count(*) FROM runnel_batch").unwrap(), 0);
        assert_eq!(count("SELECT count(*) FROM runnel_batch(1)").unwrap(), 0);
        assert_eq!(count("SELECT count(*) FROM runnel_batch('runnel_batch')").unwrap(), 0);
        assert_eq!(count("SELECT count(*) FROM runnel_batch(NULL)").unwrap(), 0);
        let tables = "SELECT count(*) FROM pragma_table_list WHERE name = 'runnel_batch'";
        assert_eq!(count(tables).unwrap(), 0);
        let reader = place.connect(Role::Worker, &SqliteOptions::default()).unwrap();
        assert!(reader.prepare("SELECT * FROM runnel_batch").is_err());
    }
}
