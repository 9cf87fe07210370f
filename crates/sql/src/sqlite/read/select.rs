//! From a query to one SQL statement with bound parameters.
//!
//! Names are looked up in the table's description and quoted, values are bound: nothing that a
//! caller says becomes part of a statement. The conditions mean what they mean over values in
//! memory, where SQL would differ: a missing value is not equal to 3, `not` of an unknown is true,
//! a text is never equal to a number, and upper and lower case are different.

use crate::database::description::TableDescription;
use crate::database::filter::FilterWriter;
pub(crate) use crate::rows::columns::{ColumnDisplay, ResultColumns};
use crate::sqlite::connection::cell::{SqliteValue, date};
use crate::sqlite::connection::decimal_order;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::schema::catalog::{Affinity, ColumnInfo, TableInfo, quoted, shown_as};
use runnel_store::{Comparison, FieldType, Filter, Query, Sort, Value};
use std::cmp::Ordering;
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
        columns.as_ref().map(|columns| &columns.shown).hash(&mut hasher);
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
pub(crate) fn translate(table: &TableInfo, query: &Query) -> SqlResult<SqliteSelect> {
    let shown: Vec<&ColumnInfo> = if query.fields.is_empty() {
        table.columns.iter().collect()
    } else {
        query.fields.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?
    };
    let mut sql = String::from("SELECT ");
    let within = query.limit.is_some() || query.offset > 0;
    let columns = match (query.count, within) {
        (true, true) => {
            sql.push_str("count(*) FROM (SELECT 1");
            ResultColumns::new([("count".to_string(), ColumnDisplay::Plain)])
        }
        (true, false) => {
            sql.push_str("count(*)");
            ResultColumns::new([("count".to_string(), ColumnDisplay::Plain)])
        }
        (false, _) => {
            sql.push_str(&list(&shown));
            ResultColumns::of_columns(shown.iter().copied())
        }
    };
    let _ = write!(sql, " FROM {}", quoted(&table.name));
    let mut condition = SqliteCondition { table, sql: String::new(), parameters: Vec::new() };
    if let Some(filter) = &query.filter {
        condition.filter(filter, 0)?;
        let _ = write!(sql, " WHERE {}", condition.sql);
    }
    let mut parameters = condition.parameters;
    let order = order(table, &query.sort)?;
    if !query.count {
        sql.push_str(&order);
    }
    if within {
        let limit = query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        parameters.push(SqliteValue::Integer(limit));
        parameters.push(SqliteValue::Integer(i64::try_from(query.offset).unwrap_or(i64::MAX)));
        let _ = write!(sql, " LIMIT ?{} OFFSET ?{}", parameters.len() - 1, parameters.len());
    }
    if query.count && within {
        sql.push(')');
    }
    let whole = !query.count && query.filter.is_none() && query.sort.is_empty() && !within;
    let (folded, number) = (list(&shown), shown.len());
    let mut select = SqliteSelect::new(sql, parameters, Some(Arc::new(columns)), !table.view);
    select.counts_all = query.count && query.filter.is_none() && !within;
    if whole {
        select.folding = fold_sql(table, &folded, number);
    }
    Ok(select)
}

/// The statement that folds a table's rows; `None` where rows come in another order.
fn fold_sql(table: &TableInfo, columns: &str, count: usize) -> Option<String> {
    (table.by_row_number && (1..=MAX_FOLDED_COLUMNS).contains(&count))
        .then(|| format!("SELECT {FOLD_NAME}({columns}) FROM {} NOT INDEXED", quoted(&table.name)))
}

/// Names of columns in quotes, with commas.
pub(crate) fn list(columns: &[&ColumnInfo]) -> String {
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    names.join(", ")
}

/// The order asked for, then the table's own, so that every order is definite.
fn order(table: &TableInfo, sort: &[Sort]) -> SqlResult<String> {
    let mut keys = Vec::new();
    for key in sort {
        let column = table.column(&key.field)?;
        let mut name = quoted(&column.name);
        if column.kind == FieldType::Decimal {
            name = format!("{name} COLLATE {}", decimal_order::NAME);
        }
        keys.push(if key.descending { format!("{name} DESC") } else { name });
    }
    keys.extend(table.order.iter().cloned());
    Ok(if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) })
}

/// A class of values. SQLite orders numbers before text before bytes
/// (<https://sqlite.org/datatype3.html>, section 4.1); here they do not compare at all.
#[derive(Clone, Copy)]
enum StorageClass {
    Number,
    Text,
    Blob,
}

impl StorageClass {
    /// What `typeof` calls them.
    fn names(self) -> &'static str {
        match self {
            StorageClass::Number => "'integer', 'real'",
            StorageClass::Text => "'text'",
            StorageClass::Blob => "'blob'",
        }
    }

    /// The other end of a range: where the class ends, or begins. An index finds both ends, where it
    /// would have to ask each row for its `typeof`.
    fn bound(self, greater: bool) -> Option<&'static str> {
        match (self, greater) {
            (StorageClass::Number, true) => Some("< ''"),
            (StorageClass::Text, true) => Some("< x''"),
            (StorageClass::Text, false) => Some(">= ''"),
            (StorageClass::Blob, false) => Some(">= x''"),
            (StorageClass::Number, false) | (StorageClass::Blob, true) => None,
        }
    }
}

/// A condition being written.
struct SqliteCondition<'a> {
    table: &'a TableInfo,
    sql: String,
    parameters: Vec<SqliteValue>,
}

impl FilterWriter for SqliteCondition<'_> {
    const ALWAYS: &'static str = "1";
    const NEVER: &'static str = "0";

    fn sql(&mut self) -> &mut String {
        &mut self.sql
    }

    fn comparison(&mut self, filter: &Filter) -> SqlResult<()> {
        match filter {
            Filter::Compare(field, comparison, value) => self.compare(field, *comparison, value),
            Filter::Prefix(field, text) => self.prefix(field, text),
            Filter::Suffix(field, text) => self.suffix(field, text),
            Filter::Contains(field, text) => {
                let name = quoted(&self.table.column(field)?.name);
                let place = self.bind(SqliteValue::Text(text.clone()));
                self.push(format!("(typeof({name}) = 'text' AND instr({name}, {place}) > 0)"))
            }
            within => self.filter(within, 0),
        }
    }
}

impl SqliteCondition<'_> {
    fn compare(&mut self, field: &str, by: Comparison, value: &Value) -> SqlResult<()> {
        let column = self.table.column(field)?;
        let name = quoted(&column.name);
        let Some((by, cell)) = comparable(by, value) else {
            return self.push(if by == Comparison::NotEqual { "1" } else { "0" });
        };
        let cell = as_text(column, cell);
        let class = match cell {
            SqliteValue::Null => return self.compare_nil(&name, by),
            SqliteValue::Integer(_) | SqliteValue::Real(_) => StorageClass::Number,
            SqliteValue::Text(_) => StorageClass::Text,
            SqliteValue::Blob(_) => StorageClass::Blob,
        };
        let converts = match cell {
            SqliteValue::Integer(_) | SqliteValue::Real(_) => column.affinity == Affinity::Text,
            SqliteValue::Text(_) => matches!(column.affinity, Affinity::Number | Affinity::Real),
            SqliteValue::Null | SqliteValue::Blob(_) => false,
        };
        // A plus sign takes the affinity away, and with it the conversion of the parameter (and
        // the use of an index, which is why it stands only where it is needed).
        let left = match (converts, column.kind) {
            (true, _) => format!("+{name}"),
            (false, FieldType::Decimal) => format!("{name} COLLATE {}", decimal_order::NAME),
            (false, _) => name.clone(),
        };
        let place = self.bind(cell);
        let sign = match by {
            Comparison::Equal => return self.push(format!("{left} = {place}")),
            Comparison::NotEqual => return self.push(format!("{left} IS NOT {place}")),
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        let greater = matches!(by, Comparison::Greater | Comparison::GreaterOrEqual);
        let within = match converts || column.kind == FieldType::Decimal {
            true => format!(" AND typeof({name}) IN ({})", class.names()),
            false => class.bound(greater).map_or(String::new(), |at| format!(" AND {name} {at}")),
        };
        self.push(format!("({left} {sign} {place}{within})"))
    }

    fn compare_nil(&mut self, name: &str, by: Comparison) -> SqlResult<()> {
        self.push(match by {
            Comparison::Equal => format!("{name} IS NULL"),
            Comparison::NotEqual => format!("{name} IS NOT NULL"),
            // Nil has no order.
            _ => "0".to_string(),
        })
    }

    /// Bytes are compared, because SQLite's `substr` of a text ends at a NUL. The range beside it
    /// lets an index find the place.
    fn prefix(&mut self, field: &str, text: &str) -> SqlResult<()> {
        let column = self.table.column(field)?;
        let name = quoted(&column.name);
        if text.is_empty() {
            return self.push(format!("typeof({name}) = 'text'"));
        }
        let place = self.bind(SqliteValue::Text(text.to_string()));
        let mut range = String::new();
        if column.affinity == Affinity::Text {
            let _ = write!(range, " AND {name} >= {place}");
            if let Some(after) = after_prefix(text) {
                let after = self.bind(SqliteValue::Text(after));
                let _ = write!(range, " AND {name} < {after}");
            }
        }
        self.push(format!(
            "(typeof({name}) = 'text'{range} AND substr(CAST({name} AS BLOB), 1, \
             length(CAST({place} AS BLOB))) = CAST({place} AS BLOB))"
        ))
    }

    fn suffix(&mut self, field: &str, text: &str) -> SqlResult<()> {
        let name = quoted(&self.table.column(field)?.name);
        if text.is_empty() {
            return self.push(format!("typeof({name}) = 'text'"));
        }
        let place = self.bind(SqliteValue::Text(text.to_string()));
        self.push(format!(
            "(typeof({name}) = 'text' AND substr(CAST({name} AS BLOB), \
             -length(CAST({place} AS BLOB))) = CAST({place} AS BLOB))"
        ))
    }

    fn bind(&mut self, cell: SqliteValue) -> String {
        self.parameters.push(cell);
        format!("?{}", self.parameters.len())
    }

    fn push(&mut self, text: impl AsRef<str>) -> SqlResult<()> {
        self.sql.push_str(text.as_ref());
        Ok(())
    }
}

/// What is compared with a column of decimals or dates, as these are stored.
fn as_text(column: &ColumnInfo, cell: SqliteValue) -> SqliteValue {
    match (column.kind, cell) {
        (FieldType::Decimal, SqliteValue::Integer(number)) => SqliteValue::Text(number.to_string()),
        (FieldType::Decimal, SqliteValue::Real(number)) if number.is_finite() => {
            SqliteValue::Text(number.to_string())
        }
        (FieldType::Date, SqliteValue::Text(text)) => {
            SqliteValue::Text(date(&text).unwrap_or(text))
        }
        (_, cell) => cell,
    }
}

/// A comparison with something that a column can hold, or `None` where no column holds what the
/// value is: then nothing is equal, less or greater.
fn comparable(by: Comparison, value: &Value) -> Option<(Comparison, SqliteValue)> {
    let Value::Big(digits) = value else {
        return Some((by, SqliteValue::of_value(value.clone()).ok()?));
    };
    if let Ok(number) = digits.parse() {
        return Some((by, SqliteValue::Integer(number)));
    }
    // An integer that no column holds lies between two neighbouring floats, or is one.
    let near: f64 = digits.parse().ok()?;
    let below = match Value::Float(near).compare(value)? {
        Ordering::Equal => return Some((by, SqliteValue::Real(near))),
        Ordering::Less => true,
        Ordering::Greater => false,
    };
    let by = match by {
        Comparison::Equal | Comparison::NotEqual => return None,
        Comparison::Less | Comparison::LessOrEqual if below => Comparison::LessOrEqual,
        Comparison::Less | Comparison::LessOrEqual => Comparison::Less,
        Comparison::Greater | Comparison::GreaterOrEqual if below => Comparison::Greater,
        Comparison::Greater | Comparison::GreaterOrEqual => Comparison::GreaterOrEqual,
    };
    Some((by, SqliteValue::Real(near)))
}

/// The least text that is greater than every text with this prefix: its last character replaced
/// by the next one. Bytes of UTF-8 order as characters do.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Passes over the gap of the surrogates; there is nothing after the last character.
        let next = (last..=char::MAX).nth(1);
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::FILTER_DEPTH;
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
            sort: vec![Sort { field: "title".into(), descending: true }],
            limit: Some(10),
            offset: 20,
            fields: vec!["title".into()],
            count: false,
        };
        let select = translate(&table(), &query).unwrap();
        assert_eq!(
            select.sql,
            "SELECT \"title\" FROM \"t\" WHERE \"done\" = ?1 ORDER BY \"title\" DESC, \"id\" \
             LIMIT ?2 OFFSET ?3"
        );
        assert_eq!(
            select.parameters,
            [SqliteValue::Integer(0), SqliteValue::Integer(10), SqliteValue::Integer(20)]
        );
        let count = translate(&table(), &Query { count: true, ..Query::default() }).unwrap();
        assert_eq!(count.sql, "SELECT count(*) FROM \"t\"");
    }

    #[test]
    fn unknown_names_are_refused_wherever_they_stand() {
        let evil = "id\" FROM t; DROP TABLE t; --".to_string();
        let queries = [
            Query { fields: vec![evil.clone()], ..Query::default() },
            Query {
                sort: vec![Sort { field: evil.clone(), descending: false }],
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
            let fault = translate(&table(), &query).unwrap_err();
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
        assert!(translate(&table(), &query).unwrap_err().message.contains("nested"));
    }

    #[test]
    fn the_text_after_a_prefix() {
        assert_eq!(after_prefix("ab").unwrap(), "ac");
        assert_eq!(after_prefix("a\u{d7ff}").unwrap(), "a\u{e000}");
        assert_eq!(after_prefix("a\u{10ffff}").unwrap(), "b");
        assert_eq!(after_prefix("\u{10ffff}"), None);
    }
}
