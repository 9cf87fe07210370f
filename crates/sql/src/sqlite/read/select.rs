//! From a query to one SQL statement with bound parameters.
//!
//! Names are looked up in the table's description and quoted, values are bound: nothing that a
//! caller says becomes part of a statement. The conditions mean what they mean over values in
//! memory, where SQL would differ: a missing value is not equal to 3, `not` of an unknown is true,
//! a text is never equal to a number, and upper and lower case are different.

use crate::database::description::{TableColumn, TableDescription};
use crate::database::scope::{QueryScope, RelatedTables};
use crate::database::slow::LatestPlace;
use crate::database::statement::QueryWriter;
pub(crate) use crate::rows::columns::{ColumnDisplay, ResultColumns};
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::read::condition::SqliteWriter;
use crate::sqlite::schema::catalog::{ColumnInfo, TableInfo, quoted, shown_as};
use runnel_store::{BulkChange, Query};
use std::fmt::Write;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::atomic::{self, AtomicUsize};
use std::sync::{Arc, LazyLock};

/// The aggregate function that writes rows as JSON.
pub(crate) const FOLD_NAME: &str = "runnel_rows";

/// The most columns that a function of SQLite is given.
const MAX_FOLDED_COLUMNS: usize = 100;

/// The seed of fingerprints and entity tags: new in each process, so that no client can guess
/// which texts have the same.
pub(crate) static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A statement that reads, with its parameters and what its columns are.
#[derive(Debug, PartialEq)]
pub(crate) struct SqliteSelect {
    /// A hash of the rest, for finding it and for entity tags.
    pub(crate) fingerprint: u64,
    pub(crate) sql: String,
    pub(crate) parameters: Vec<SqliteValue>,
    /// Known beforehand for tables; found out when it runs for statements of a program.
    pub(crate) columns: Option<Arc<ResultColumns>>,
    /// Whether the answer can change only when the database does.
    pub(crate) steady: bool,
    /// Whether it counts all rows of a table: one step of SQLite, which nothing interrupts.
    pub(crate) counts_all: bool,
    /// A statement that writes the same rows as JSON, where there is one: see [`fold`].
    pub(crate) folding: Option<String>,
    /// How large its encoding was the last time.
    pub(crate) size: ExpectedSize,
    /// The place in the program that asked for it last.
    pub(crate) place: LatestPlace,
}

/// A size in bytes to begin with. It is no part of what a statement is.
#[derive(Debug, Default)]
pub(crate) struct ExpectedSize(AtomicUsize);

impl ExpectedSize {
    /// A little more than the last time, so that an encoding that has grown a little still fits.
    pub(crate) fn expected(&self) -> usize {
        let last = self.0.load(atomic::Ordering::Relaxed);
        (last + last / 8).max(512)
    }

    pub(crate) fn was(&self, bytes: usize) {
        self.0.store(bytes, atomic::Ordering::Relaxed);
    }
}

impl PartialEq for ExpectedSize {
    fn eq(&self, _: &ExpectedSize) -> bool {
        true
    }
}

impl SqliteSelect {
    pub(crate) fn new(
        sql: String,
        parameters: Vec<SqliteValue>,
        columns: Option<Arc<ResultColumns>>,
        steady: bool,
    ) -> Self {
        let mut hasher = SEED.build_hasher();
        sql.hash(&mut hasher);
        columns.as_ref().map(|columns| (&columns.names, &columns.shown)).hash(&mut hasher);
        for cell in &parameters {
            cell.hash(&mut hasher);
        }
        let fingerprint = hasher.finish();
        SqliteSelect {
            fingerprint,
            sql,
            parameters,
            columns,
            steady,
            counts_all: false,
            folding: None,
            size: ExpectedSize::default(),
            place: LatestPlace::default(),
        }
    }
}

impl ResultColumns {
    pub(crate) fn of_columns<'a>(columns: impl IntoIterator<Item = &'a ColumnInfo>) -> Self {
        let pair = |column: &'a ColumnInfo| (column.name.clone(), shown_as(column.kind));
        ResultColumns::new(columns.into_iter().map(pair))
    }
}

/// The statement of a query over a table. With `count` its only column is the number of rows.
pub(crate) fn translate(
    table: &TableInfo,
    query: &Query,
    others: &RelatedTables<TableInfo>,
) -> SqlResult<SqliteSelect> {
    let scope = QueryScope::of(table, query, others)?;
    let mut writer = SqliteWriter::new(scope);
    let within = query.limit.is_some() || query.offset > 0;
    let inner = within || query.is_grouped();
    let (list, columns) = shown(&mut writer, query)?;
    let mut sql = match (query.count, inner) {
        (true, true) => "SELECT count(*) FROM (SELECT 1".to_string(),
        (true, false) => "SELECT count(*)".to_string(),
        (false, _) => format!("SELECT {list}"),
    };
    let columns = match query.count {
        true => ResultColumns::new([("count".to_string(), ColumnDisplay::Plain)]),
        false => columns,
    };
    let _ = write!(sql, " FROM {}", writer.scope().source());
    sql.push_str(&writer.condition("WHERE", query.filter.as_ref())?);
    sql.push_str(&writer.grouping(query)?);
    let order = writer.order(query)?;
    if !query.count {
        sql.push_str(&order);
    }
    let mut parameters = writer.parameters;
    if within {
        let limit = query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        parameters.push(SqliteValue::Integer(limit));
        parameters.push(SqliteValue::Integer(i64::try_from(query.offset).unwrap_or(i64::MAX)));
        let _ = write!(sql, " LIMIT ?{} OFFSET ?{}", parameters.len() - 1, parameters.len());
    }
    if query.count && inner {
        sql.push(')');
    }
    let whole = *query == Query { fields: query.fields.clone(), ..Query::default() };
    let number = columns.names.len();
    let steady = !table.view && !others.iter().any(|(_, other)| other.view);
    let mut select = SqliteSelect::new(sql, parameters, Some(Arc::new(columns)), steady);
    select.counts_all = query.count && query.filter.is_none() && !inner;
    if whole {
        select.folding = fold_sql(table, &list, number);
    }
    Ok(select)
}

/// What stands behind `SELECT`, and the columns that it answers.
fn shown(writer: &mut SqliteWriter<'_>, query: &Query) -> SqlResult<(String, ResultColumns)> {
    if !query.columns.is_empty() {
        let columns = writer.computed(query)?;
        let list: Vec<String> = columns.iter().map(|(_, written)| written.sql.clone()).collect();
        let shown = columns.into_iter().map(|(name, written)| (name, shown_as(written.kind)));
        return Ok((list.join(", "), ResultColumns::new(shown)));
    }
    let names: Vec<&str> = match query.fields.is_empty() {
        true => writer.scope().table.columns.iter().map(|column| column.name.as_str()).collect(),
        false => query.fields.iter().map(String::as_str).collect(),
    };
    let (mut list, mut shown) = (Vec::new(), Vec::new());
    for name in names {
        let (column, place) = writer.scope().column(name)?;
        // A path is the name of its column.
        let name = if name.contains('.') { name } else { column.name.as_str() };
        shown.push((name.to_string(), shown_as(column.kind)));
        list.push(place);
    }
    // Fields of a related row are a record in the record.
    let columns = match writer.scope().is_joined() {
        true => ResultColumns::of_statement(shown)?,
        false => ResultColumns::new(shown),
    };
    Ok((list.join(", "), columns))
}

/// The statement that deletes or changes the rows of a query; it has columns where it answers rows.
pub(crate) fn change(
    table: &TableInfo,
    query: &Query,
    change: &BulkChange,
    others: &RelatedTables<TableInfo>,
) -> SqlResult<SqliteSelect> {
    let scope = QueryScope::of(table, query, others)?;
    let mut writer = SqliteWriter::new(scope);
    let mut sql = writer.change(query, change)?;
    let returned = writer.returned(query)?;
    let columns = returned.iter().map(|name| table.column(name));
    let columns = columns.collect::<SqlResult<Vec<&ColumnInfo>>>()?;
    if !columns.is_empty() {
        let _ = write!(sql, " RETURNING {}", list(&columns));
    }
    let columns = (!columns.is_empty()).then(|| Arc::new(ResultColumns::of_columns(columns)));
    Ok(SqliteSelect::new(sql, writer.parameters, columns, false))
}

/// The statement that folds a table's rows; `None` where rows come in another order.
fn fold_sql(table: &TableInfo, columns: &str, count: usize) -> Option<String> {
    (table.by_row_number && (1..=MAX_FOLDED_COLUMNS).contains(&count))
        .then(|| format!("SELECT {FOLD_NAME}({columns}) FROM {} NOT INDEXED", quoted(&table.name)))
}

/// Names of columns in quotes, with commas.
pub(crate) fn list(columns: &[&ColumnInfo]) -> String {
    let names: Vec<String> = columns.iter().map(|column| column.quoted()).collect();
    names.join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::FILTER_DEPTH;
    use runnel_store::{Comparison, Filter, Sort, Value};
    use rusqlite::Connection;

    fn table() -> TableInfo {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("create table t(id integer primary key, done boolean, title text)")
            .unwrap();
        TableInfo::read(&connection, "t").unwrap().unwrap()
    }

    #[test]
    fn a_query_becomes_one_statement() {
        let query = Query {
            filter: Some(Filter::Compare("done".into(), Comparison::Equal, Value::Bool(false))),
            sort: vec![Sort::by_field("title", true)],
            limit: Some(10),
            offset: 20,
            fields: vec!["title".into()],
            ..Query::default()
        };
        let select = translate(&table(), &query, &Vec::new()).unwrap();
        assert_eq!(
            select.sql,
            "SELECT \"title\" FROM \"t\" WHERE \"done\" = ?1 ORDER BY \"title\" DESC, \"id\" \
             LIMIT ?2 OFFSET ?3"
        );
        assert_eq!(
            select.parameters,
            [SqliteValue::Integer(0), SqliteValue::Integer(10), SqliteValue::Integer(20)]
        );
        let count =
            translate(&table(), &Query { count: true, ..Query::default() }, &Vec::new()).unwrap();
        assert_eq!(count.sql, "SELECT count(*) FROM \"t\"");
    }

    #[test]
    fn unknown_names_are_refused_wherever_they_stand() {
        let evil = "id\" FROM t; DROP TABLE t; --".to_string();
        let queries = [
            Query { fields: vec![evil.clone()], ..Query::default() },
            Query {
                sort: vec![Sort::by_field(evil.clone(), false)],
                count: true,
                ..Query::default()
            },
            Query { filter: Some(Filter::Prefix(evil.clone(), "x".into())), ..Query::default() },
            Query {
                filter: Some(Filter::Compare(evil, Comparison::Less, Value::Int(1))),
                ..Query::default()
            },
        ];
        for query in queries {
            let fault = translate(&table(), &query, &Vec::new()).unwrap_err();
            assert!(fault.message.ends_with("its columns are id, done, title"), "{fault:?}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let mut filter = Filter::All(vec![]);
        for _ in 0..FILTER_DEPTH + 1 {
            filter = Filter::Not(Box::new(filter));
        }
        let query = Query { filter: Some(filter), ..Query::default() };
        assert!(translate(&table(), &query, &Vec::new()).unwrap_err().message.contains("nested"));
    }
}
