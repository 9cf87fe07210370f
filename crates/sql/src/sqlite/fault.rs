//! What SQLite said tersely, said calmly.

pub(crate) use crate::fault::{SqlFault, SqlFaultCause, SqlResult};
use runnel_store::{DISK_FULL, Kind};
use rusqlite::ErrorCode;
use rusqlite::ffi;

impl From<rusqlite::Error> for SqlFault {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as Sqlite;
        match error {
            Sqlite::SqliteFailure(code, text) => from_code(code, text.unwrap_or_default()),
            Sqlite::SqlInputError { error, msg, .. } => from_code(error, msg),
            Sqlite::MultipleStatement => {
                SqlFault::invalid("this is more than one statement; run them one by one")
            }
            Sqlite::InvalidParameterCount(given, wanted) => SqlFault::invalid(format!(
                "the statement has {wanted} parameters, but {given} values were given"
            )),
            Sqlite::NulError(_) => SqlFault::invalid("a name or a statement holds a NUL character"),
            other => SqlFault::new(Kind::Failed, "the database could not do this")
                .with(other.to_string(), SqlFaultCause::Other),
        }
    }
}

impl SqlFault {
    /// The refusal of a database with a page that cannot be read.
    pub(crate) fn damaged() -> Self {
        SqlFault::new(Kind::Failed, "the database file is damaged; restore it from a backup")
    }
}

/// The message of a write that timed out on the lock of another process.
pub(crate) const BUSY: &str = "the database is busy with another writer";

fn from_code(error: ffi::Error, text: String) -> SqlFault {
    let new = SqlFault::new;
    match error.code {
        ErrorCode::ConstraintViolation => constraint(error.extended_code, &text),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            new(Kind::Unavailable, BUSY).with(text, SqlFaultCause::Busy)
        }
        ErrorCode::SchemaChanged => {
            new(Kind::Unavailable, "the tables are being changed").with(text, SqlFaultCause::Busy)
        }
        ErrorCode::OperationInterrupted => {
            SqlFault::timeout().with(text, SqlFaultCause::Interrupted)
        }
        ErrorCode::ReadOnly => {
            new(Kind::Denied, "the database can only be read").with(text, SqlFaultCause::Other)
        }
        ErrorCode::PermissionDenied => {
            new(Kind::Denied, "permission denied").with(text, SqlFaultCause::Other)
        }
        ErrorCode::DiskFull => new(Kind::Unavailable, DISK_FULL).with(text, SqlFaultCause::Other),
        ErrorCode::CannotOpen => {
            new(Kind::Denied, "the database file cannot be opened; check its path and its rights")
                .with(text, SqlFaultCause::Other)
        }
        ErrorCode::NotADatabase => {
            SqlFault::invalid("the file is not an SQLite database").with(text, SqlFaultCause::Other)
        }
        ErrorCode::DatabaseCorrupt => SqlFault::damaged().with(text, SqlFaultCause::Damaged),
        ErrorCode::SystemIoFailure => {
            new(Kind::Failed, "reading or writing the database file failed")
                .with(text, SqlFaultCause::Other)
        }
        ErrorCode::TooBig | ErrorCode::OutOfMemory => {
            new(Kind::TooLarge, "the statement or a value in it is too large")
                .with(text, SqlFaultCause::Other)
        }
        ErrorCode::AuthorizationForStatementDenied => new(
            Kind::NotAllowed,
            "transactions, settings, attached files and temporary tables belong to the store; \
             a statement may read and write the tables and change the schema",
        )
        .with(text, SqlFaultCause::Other),
        ErrorCode::TypeMismatch => SqlFault::invalid("the primary key of this table is an integer")
            .with(text, SqlFaultCause::Other),
        // SQLITE_ERROR: a fault of the statement, which SQLite words well itself.
        _ => SqlFault::invalid(sentence(&text)).with(text, SqlFaultCause::Other),
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    if text.is_empty() { "the statement failed".into() } else { text.to_string() }
}

/// SQLite names the columns as `UNIQUE constraint failed: tasks.title, tasks.owner`.
fn constraint(extended: i32, text: &str) -> SqlFault {
    let subject = text.split_once(": ").map_or("", |(_, rest)| rest);
    let names: Vec<&str> =
        subject.split(", ").map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
    let columns = names.join(" and ");
    let (kind, message) = match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => {
            (Kind::Conflict, format!("another row has the same {columns}"))
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => (Kind::Invalid, format!("{columns} must have a value")),
        ffi::SQLITE_CONSTRAINT_CHECK => {
            (Kind::Invalid, format!("the table does not accept this: {subject} does not hold"))
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => (
            Kind::Conflict,
            "the row refers to one that is not there, or others still refer to it".to_string(),
        ),
        ffi::SQLITE_CONSTRAINT_DATATYPE => (Kind::Invalid, sentence(text)),
        _ => (Kind::Conflict, sentence(text)),
    };
    let fault = SqlFault::new(kind, message).with(text, SqlFaultCause::Constraint);
    match extended {
        // It is missing: what is wrong is the record.
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            let message = fault.message.clone();
            fault.of_field("", message)
        }
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
            let message = fault.message.clone();
            names.into_iter().fold(fault, |fault, name| fault.of_field(name, message.as_str()))
        }
        _ => fault,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    fn fault(setup: &str, statement: &str) -> SqlFault {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(setup).unwrap();
        connection.execute(statement, []).unwrap_err().into()
    }

    #[test]
    fn constraints_are_worded_for_people() {
        let table = "create table t(id integer primary key, a text unique, b not null default 1, \
                     check (id < 10)); insert into t(id, a) values (1, 'x')";
        let twice = fault(table, "insert into t(a) values ('x')");
        assert_eq!(
            (twice.kind, twice.message.as_str()),
            (Kind::Conflict, "another row has the same a")
        );
        let key = fault(table, "insert into t(id) values (1)");
        assert_eq!(key.message, "another row has the same id");
        let nil = fault(table, "insert into t(b) values (null)");
        assert_eq!((nil.kind, nil.message.as_str()), (Kind::Invalid, "b must have a value"));
        let check = fault(table, "insert into t(id) values (11)");
        assert_eq!(check.kind, Kind::Invalid);
        assert!(check.message.contains("id < 10"), "{}", check.message);
        assert_eq!(check.cause, SqlFaultCause::Constraint);
    }

    #[test]
    fn statements_that_are_wrong_say_where() {
        let wrong = fault("", "selec 1");
        assert_eq!(wrong.kind, Kind::Invalid);
        assert!(wrong.message.contains("selec"), "{}", wrong.message);
        assert_eq!(fault("", "select 1; select 2").kind, Kind::Invalid);
    }
}
