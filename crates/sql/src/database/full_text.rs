//! Searches for words: an FTS5 table beside the table in SQLite, an index over the words in PostgreSQL. Both see the
//! same words: letters and digits in lower case, with their accents.

use crate::database::constraint::Dialect;
use runnel_store::FullText;

/// The name of the FTS5 table of a table.
pub(crate) fn words_table(table: &str) -> String {
    format!("{table}_fts")
}

/// The words of columns in PostgreSQL, which are named as they stand in a statement. By the rules of Unicode, whatever
/// the language of the database: signs between words become spaces, so that no rule for addresses or hyphens applies.
pub(crate) fn words_of(columns: &[String]) -> String {
    let texts: Vec<String> =
        columns.iter().map(|column| format!("coalesce({column}, '')")).collect();
    let text = texts.join(" || ' ' || ");
    // Sigma has a form of its own at the end of a word, which is the same letter; digits of other forms are digits.
    format!(
        "to_tsvector('simple', regexp_replace(\
         translate(lower(({text}) COLLATE \"und-x-icu\"), 'ς', 'σ'), \
         '[^[:alnum:]\\u0300-\\u036f²³¹¼½¾\\u2070-\\u2079\\u2080-\\u2089\\u2150-\\u2189]+', ' ', 'g'))"
    )
}

/// The search as the database reads it. Words have letters and digits alone, so that nothing in them has a meaning.
pub(crate) fn search_text(dialect: Dialect, search: &FullText) -> String {
    let words = search.words.iter().map(|word| {
        let text = &word.text;
        match (dialect, word.is_prefix) {
            (Dialect::Sqlite, false) => format!("\"{text}\""),
            (Dialect::Sqlite, true) => format!("\"{text}\"*"),
            (Dialect::Postgres, false) => format!("'{}'", text.replace('ς', "σ")),
            (Dialect::Postgres, true) => format!("'{}':*", text.replace('ς', "σ")),
        }
    });
    let and = if dialect == Dialect::Sqlite { " AND " } else { " & " };
    words.collect::<Vec<_>>().join(and)
}

/// A search within a statement.
pub(crate) enum SearchSql {
    /// The key of the table, its FTS5 table and the parameter with the search.
    Sqlite { key: String, found: String, text: String },
    /// The words of a row and the parameter with the search.
    Postgres { words: String, text: String },
}

impl SearchSql {
    /// Whether a row has all words.
    pub(crate) fn condition(&self) -> String {
        match self {
            SearchSql::Sqlite { key, found, text } => {
                format!("({key} IN (SELECT rowid FROM {found} WHERE {found} MATCH {text}))")
            }
            SearchSql::Postgres { words, text } => {
                format!("({words} @@ to_tsquery('simple', {text}))")
            }
        }
    }

    /// The key of the order by which the best row is the first.
    pub(crate) fn rank(&self) -> String {
        match self {
            // The ranks are computed once: the statement within depends on no row.
            SearchSql::Sqlite { key, found, text } => format!(
                "(WITH found AS MATERIALIZED (SELECT rowid AS runnel_place, rank AS runnel_score FROM {found} \
                 WHERE {found} MATCH {text}) SELECT runnel_score FROM found WHERE runnel_place = {key})"
            ),
            SearchSql::Postgres { words, text } => {
                format!("ts_rank({words}, to_tsquery('simple', {text})) DESC")
            }
        }
    }
}
