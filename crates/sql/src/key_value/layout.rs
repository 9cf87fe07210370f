//! The tables of a key-value store.
//!
//! ```text
//! files          key, length, entity_tag, modified, media_type, metadata, object
//! files_chunks   the content of objects, in chunks of one size; only the last one is shorter
//! files_unused   objects that no key names: being uploaded, or replaced and perhaps still read
//! ```
//!
//! A key names an object by its number; 0 stands for empty content, which has no chunks. An object
//! of one chunk is read together with its key, so it is freed once its key names another object. A
//! larger one is read chunk by chunk, and stays for [`REPLACED_TIME`] after it was replaced.

use crate::fault::{SqlFault, SqlResult};
use runnel_store::Kind;
use std::time::Duration;

/// The size of a chunk of content, in bytes.
pub const OBJECT_CHUNK: usize = 256 << 10;

/// The longest key, in bytes: an index of PostgreSQL takes no more.
pub const KEY_LENGTH: usize = 2_600;

/// The longest name of a key-value store, in bytes: PostgreSQL takes 63 for that of a table.
const NAME_LENGTH: usize = 50;

/// How long the chunks of a replaced object stay for readers in other processes. Readers of this
/// process keep them as long as they read.
pub const REPLACED_TIME: Duration = Duration::from_secs(60);

/// How long the chunks of an upload stay that has not gone on: its process is gone.
pub const UPLOAD_TIME: Duration = Duration::from_secs(3600);

/// The columns of the table of keys.
pub(crate) const COLUMNS: [&str; 7] =
    ["key", "length", "entity_tag", "modified", "media_type", "metadata", "object"];

/// The columns of the table of unused objects.
const UNUSED: [&str; 2] = ["object", "free_after"];

/// What a table is to a key-value store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableRole {
    /// The table of its keys, which has its name.
    Keys,
    /// One of the tables beside that.
    Inner,
}

/// Recognizes a table of a key-value store by its name and its columns.
pub(crate) fn role<'a>(name: &str, columns: impl Iterator<Item = &'a str>) -> Option<TableRole> {
    let columns: Vec<&str> = columns.take(COLUMNS.len() + 1).collect();
    let is_inner = match columns.as_slice() {
        ["chunk", "bytes"] | ["object", "part", "bytes"] => ends_with(name, "_chunks"),
        columns => columns == UNUSED && ends_with(name, "_unused"),
    };
    match is_inner {
        true => Some(TableRole::Inner),
        false => (columns == COLUMNS).then_some(TableRole::Keys),
    }
}

fn ends_with(name: &str, end: &str) -> bool {
    let start = name.len().checked_sub(end.len()).and_then(|start| name.get(start..));
    start.is_some_and(|last| last.eq_ignore_ascii_case(end))
}

/// Refuses to treat a table of a key-value store as rows, so that a client of a served database
/// neither reads nor breaks it.
pub(crate) fn refuse_rows<'a>(name: &str, columns: impl Iterator<Item = &'a str>) -> SqlResult<()> {
    match role(name, columns) {
        None => Ok(()),
        Some(TableRole::Keys) => {
            let message = format!(
                "{name} is a key-value store and no table of rows; open it by keyValueStore: '{name}'"
            );
            Err(SqlFault::new(Kind::NotAllowed, message))
        }
        Some(TableRole::Inner) => {
            let message = format!("{name} belongs to a key-value store and is no table of rows");
            Err(SqlFault::new(Kind::NotAllowed, message))
        }
    }
}

/// The fault that a name belongs to something else.
pub(crate) fn taken(name: &str) -> SqlFault {
    let message =
        format!("{name} is a table of rows already; a key-value store needs a name of its own");
    SqlFault::new(Kind::Conflict, message)
}

/// An upload whose object was swept, because it did not go on for too long.
pub(crate) fn given_up() -> SqlFault {
    let minutes = UPLOAD_TIME.as_secs() / 60;
    let message = format!("the upload paused for more than {minutes} minutes; send it again");
    SqlFault::new(Kind::Timeout, message)
}

/// Content whose chunks are not what its key says.
pub(crate) fn damaged() -> SqlFault {
    SqlFault::new(Kind::Failed, "a chunk of the content is missing; restore it from a backup")
}

/// Checks the name of a store.
pub(crate) fn check_name(name: &str) -> SqlResult<()> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(is_word) || name.len() > NAME_LENGTH {
        let message = format!(
            "a key-value store has a name of at most {NAME_LENGTH} letters, digits and \
             underscores, such as 'files'"
        );
        return Err(SqlFault::invalid(message));
    }
    if name.to_ascii_lowercase().starts_with("sqlite_") {
        return Err(SqlFault::invalid("names that begin with 'sqlite_' belong to SQLite"));
    }
    Ok(())
}

/// Leaves out the tables of key-value stores among names of tables; `role` looks at one of them.
pub(crate) fn candidates(names: &[String]) -> Vec<String> {
    let has = |name: &str, end: &str| {
        names.iter().any(|other| other.eq_ignore_ascii_case(&format!("{name}{end}")))
    };
    let is_one = |name: &&String| has(name, "_chunks") && has(name, "_unused");
    names.iter().filter(is_one).cloned().collect()
}

/// The names without those of the stores and of the tables beside them.
pub(crate) fn without_stores(names: Vec<String>, stores: &[String]) -> Vec<String> {
    let of_store = |name: &str| {
        stores.iter().any(|store| {
            ["", "_chunks", "_unused"]
                .iter()
                .any(|end| name.eq_ignore_ascii_case(&format!("{store}{end}")))
        })
    };
    names.into_iter().filter(|name| !of_store(name)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_recognized_by_name_and_columns() {
        let role = |name: &str, columns: &[&str]| role(name, columns.iter().copied());
        assert_eq!(role("files", &COLUMNS), Some(TableRole::Keys));
        assert_eq!(role("files_chunks", &["chunk", "bytes"]), Some(TableRole::Inner));
        assert_eq!(role("files_chunks", &["object", "part", "bytes"]), Some(TableRole::Inner));
        assert_eq!(role("Files_Unused", &UNUSED), Some(TableRole::Inner));
        assert_eq!(role("parts", &["chunk", "bytes"]), None);
        assert_eq!(role("files", &COLUMNS[..6]), None);
        assert_eq!(role("é_chunk", &["chunk", "bytes"]), None);
    }

    #[test]
    fn names_are_words() {
        assert!(check_name("files_2").is_ok());
        for wrong in ["", "2", "a b", "a.b", "é", "sqlite_x", &"n".repeat(51)] {
            assert_eq!(check_name(wrong).unwrap_err().kind, Kind::Invalid, "{wrong}");
        }
    }

    #[test]
    fn names_of_stores_are_left_out() {
        let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let all = names("files files_chunks files_unused tasks tasks_chunks");
        assert_eq!(candidates(&all), ["files"]);
        assert_eq!(without_stores(all, &names("files")), names("tasks tasks_chunks"));
    }
}
