//! The FTS5 table that has the words of a table, and the triggers that update it when any program changes a row.

use crate::database::full_text::words_table;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::schema::catalog::quoted;
use runnel_store::{Kind, Shape};
use rusqlite::{Connection, OptionalExtension};

/// The statements that make the words of a table anew, where they are not as its class says.
pub(crate) fn lacking(
    connection: &Connection,
    table: &str,
    shape: &Shape,
) -> SqlResult<Vec<String>> {
    let column = |field: &String| shape.column_of(field).to_string();
    let fields: Vec<String> = shape.full_text.iter().map(column).collect();
    let ([_, ..], [key]) = (fields.as_slice(), shape.keys.as_slice()) else {
        return Ok(Vec::new());
    };
    let key = shape.column_of(key);
    let words = words_table(table);
    let made = made(table, &words, &fields, key);
    let mut is_complete = true;
    for (name, sql) in &made {
        let known = connection
            .prepare_cached("SELECT sql FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE")?
            .query_row([name], |row| row.get::<_, Option<String>>(0))
            .optional()?
            .flatten();
        is_complete = is_complete && known.as_ref() == Some(sql);
        let is_ours = |known: &String| {
            known.starts_with("CREATE TRIGGER") || known.starts_with("CREATE VIRTUAL TABLE")
        };
        if known.is_some_and(|known| !is_ours(&known)) {
            let message = format!(
                "the database has another table {name}, where the words of {table} would be; rename it"
            );
            return Err(SqlFault::new(Kind::Conflict, message));
        }
    }
    if is_complete {
        return Ok(Vec::new());
    }
    let mut statements: Vec<String> = made[1..]
        .iter()
        .map(|(name, _)| format!("DROP TRIGGER IF EXISTS {}", quoted(name)))
        .collect();
    statements.push(format!("DROP TABLE IF EXISTS {}", quoted(&words)));
    let mut made = made.into_iter().map(|(_, sql)| sql);
    statements.extend(made.next());
    statements.push(format!(
        "INSERT INTO {} (rowid, {}) SELECT {}, {} FROM {}",
        quoted(&words),
        word_columns(&fields),
        quoted(key),
        list("", &fields),
        quoted(table)
    ));
    statements.extend(made);
    Ok(statements)
}

/// The table of words, which keeps no copy of the texts, and its triggers: names and statements.
fn made(table: &str, words: &str, fields: &[String], key: &str) -> [(String, String); 4] {
    let (own, fts, key) = (quoted(table), quoted(words), quoted(key));
    let (columns, values) = (word_columns(fields), list("new.", fields));
    let (changed, gone) = (
        format!("INSERT INTO {fts} (rowid, {columns}) VALUES (new.{key}, {values});"),
        |row: &str| format!("DELETE FROM {fts} WHERE rowid = {row}.{key};"),
    );
    let trigger = |event: &str, when: &str, steps: String| {
        let name = format!("{words}_{event}");
        let sql =
            format!("CREATE TRIGGER {} AFTER {when} ON {own} BEGIN {steps} END", quoted(&name));
        (name, sql)
    };
    let create = format!(
        "CREATE VIRTUAL TABLE {fts} USING fts5({columns}, content='', contentless_delete=1, \
         tokenize=\"unicode61 remove_diacritics 0\")"
    );
    [
        (words.to_string(), create),
        // A row that replaces another one comes without a deletion.
        trigger("insert", "INSERT", format!("{} {changed}", gone("new"))),
        trigger(
            "update",
            &format!("UPDATE OF {key}, {}", list("", fields)),
            format!("{} {} {changed}", gone("old"), gone("new")),
        ),
        trigger("delete", "DELETE", gone("old")),
    ]
}

/// The columns of the FTS5 table, which refuses some names that variables may have.
fn word_columns(fields: &[String]) -> String {
    let names: Vec<String> = (1..=fields.len()).map(|number| format!("c{number}")).collect();
    names.join(", ")
}

/// Names of columns in quotes, each behind a row.
fn list(row: &str, fields: &[String]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("{row}{}", quoted(field))).collect();
    names.join(", ")
}
