//! Statements that a program writes itself.

use crate::postgres::fault::{SqlFault, SqlResult};
use runnel_store::Kind;

/// The purpose of a statement, by its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It only reads, and may be run again.
    Reads,
    /// It changes rows.
    Writes,
    /// It changes the tables, or something else that is remembered about them.
    Changes,
}

/// Statements that would change the connection under everyone else, or that carry rows in a way of
/// their own.
const REFUSED: [&str; 24] = [
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "savepoint",
    "release",
    "set",
    "reset",
    "discard",
    "prepare",
    "execute",
    "deallocate",
    "listen",
    "unlisten",
    "copy",
    "declare",
    "fetch",
    "move",
    "close",
    "load",
    "lock",
    "checkpoint",
];

/// Functions that would do the same from within a statement.
const LASTING: [&str; 8] = [
    "set_config",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "pg_advisory_unlock",
    "pg_advisory_unlock_all",
    "pg_advisory_unlock_shared",
];

/// Finds out what a statement is for.
pub(crate) fn purpose(sql: &str) -> SqlResult<Purpose> {
    if sql.contains('\0') {
        return Err(SqlFault::invalid("the statement holds a NUL character"));
    }
    let word = first_word(sql).to_ascii_lowercase();
    if REFUSED.contains(&word.as_str()) {
        return Err(SqlFault::new(
            Kind::NotAllowed,
            format!(
                "{} is not for a statement: transactions, settings, locks, cursors and copies \
                 belong to the store",
                word.to_ascii_uppercase()
            ),
        ));
    }
    if let Some(name) = LASTING.iter().find(|name| words(sql).any(|word| word == **name)) {
        let message = format!("{name} would outlast the statement; locks of a transaction do not");
        return Err(SqlFault::new(Kind::NotAllowed, message));
    }
    Ok(match word.as_str() {
        "select" | "with" if changes_rows(sql) => Purpose::Writes,
        "select" | "with" | "values" | "table" | "show" => Purpose::Reads,
        "insert" | "update" | "delete" | "merge" | "explain" | "call" => Purpose::Writes,
        _ => Purpose::Changes,
    })
}

/// Whether a statement that begins like a query might write. A false alarm only costs streaming:
/// its rows are read at once.
fn changes_rows(sql: &str) -> bool {
    words(sql).any(|word| {
        matches!(
            word.as_str(),
            "insert"
                | "update"
                | "delete"
                | "merge"
                | "into"
                | "nextval"
                | "setval"
                | "pg_notify"
                | "share"
        )
    })
}

/// The words of a statement in lower case, also those within texts and comments.
fn words(sql: &str) -> impl Iterator<Item = String> {
    let words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase)
}

/// The first word after blanks, comments (which nest) and brackets.
fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(' || c == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with("/*") {
            rest = after_comment(rest);
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            return &rest[..end];
        }
    }
}

fn after_comment(text: &str) -> &str {
    let (bytes, mut depth, mut at) = (text.as_bytes(), 0_usize, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    // Only ASCII stands at the border.
    text.get(at..).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn purposes() {
        for (sql, expected) in [
            ("select 1", Purpose::Reads),
            (" -- x\n /* a /* b */ c */ (SELECT 1)", Purpose::Reads),
            ("with a as (delete from t returning *) select * from a", Purpose::Writes),
            ("select nextval('s')", Purpose::Writes),
            ("INSERT INTO t VALUES (1)", Purpose::Writes),
            ("create table t(a int)", Purpose::Changes),
            ("", Purpose::Changes),
            ("/* open", Purpose::Changes),
            ("é", Purpose::Changes),
        ] {
            assert_eq!(purpose(sql).unwrap(), expected, "{sql}");
        }
        for refused in [
            "select SET_CONFIG('a', 'b', false)",
            "begin",
            "; COMMIT",
            "/**/set x = 1",
            "copy t from '/etc/passwd'",
        ] {
            assert_eq!(purpose(refused).unwrap_err().kind, Kind::NotAllowed, "{refused}");
        }
    }
}
