//! What the tables look like, read from the database itself.

pub(crate) use crate::database::description::quoted;
use crate::database::description::{TableColumn, TableDescription};
use crate::database::key_parts;
use crate::database::schema::word;
use crate::database::scope::{RelatedTables, related};
use crate::key_value::layout::{self, TableRole};
use crate::rows::columns::ColumnDisplay;
use crate::sqlite::fault::SqlResult;
use runnel_store::{FieldType, Query, Value};
use rusqlite::{Connection, OptionalExtension};
use std::rc::Rc;

/// A table or view as the database describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableInfo {
    /// Its name as it was declared.
    pub(crate) name: String,
    pub(crate) columns: Vec<ColumnInfo>,
    pub(crate) key: RowKey,
    /// A view is read only, and may answer otherwise although nothing has changed.
    pub(crate) view: bool,
    /// The columns (quoted) that make the order of the rows definite; empty for a view.
    pub(crate) order: Vec<String>,
    /// Whether that is the order of the row numbers, in which SQLite finds the rows by itself.
    pub(crate) by_row_number: bool,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnInfo {
    /// Its name in the database; `name` is that in programs.
    pub(crate) column: String,
    pub(crate) name: String,
    /// What it is declared to hold.
    pub(crate) kind: FieldType,
    /// Into which class SQLite converts numbers and text that are compared with it.
    pub(crate) affinity: Affinity,
    /// Whether it is computed from others, so that nothing can be stored in it.
    pub(crate) generated: bool,
    /// Whether a put leaves it as it is unless it names it: a field that clients cannot set.
    pub(crate) readonly: bool,
    /// Its default value as an SQL expression.
    pub(crate) default: Option<String>,
}

/// How the rows of a table are addressed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RowKey {
    /// By the value of one column, the primary key.
    Column(ColumnInfo),
    /// By the values of several columns, which are the primary key together.
    Columns(Vec<ColumnInfo>),
    /// By SQLite's own row number, under a name that no column hides.
    Rowid(&'static str),
    /// Not at all: a view, or a primary key without row numbers that references cannot name.
    None,
}

/// The type affinities of SQLite (<https://sqlite.org/datatype3.html>, section 3) that matter for
/// comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Affinity {
    /// INTEGER or NUMERIC.
    Number,
    /// Like `Number`, and integers become floats.
    Real,
    Text,
    None,
}

impl TableInfo {
    /// Reads the description of a table or view; `None` when there is none of that name (names
    /// are compared as SQLite does, without regard to the case of ASCII letters).
    pub(crate) fn read(connection: &Connection, name: &str) -> SqlResult<Option<Self>> {
        let found = connection
            .prepare_cached(
                "SELECT name, type, wr FROM pragma_table_list l WHERE schema = 'main' \
                 AND name = ?1 COLLATE NOCASE AND type <> 'shadow' \
                 AND NOT (type = 'virtual' AND EXISTS (SELECT 1 FROM sqlite_schema w \
                     WHERE w.type = 'trigger' AND w.name = l.name || '_insert'))",
            )?
            .query_row([name], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?))
            })
            .optional()?;
        let Some((name, kind, without_rowid)) = found else { return Ok(None) };
        let mut columns = Vec::new();
        let mut primary: Vec<(i64, usize)> = Vec::new();
        let mut only_integer = false;
        let mut statement = connection.prepare_cached(
            "SELECT name, type, dflt_value, pk, hidden FROM pragma_table_xinfo(?1)",
        )?;
        let mut rows = statement.query([&name])?;
        while let Some(row) = rows.next()? {
            let hidden: i64 = row.get(4)?;
            if hidden == 1 {
                continue; // an argument of a virtual table, not a column of its rows
            }
            let declared: String = row.get(1)?;
            let position: i64 = row.get(3)?;
            if position > 0 {
                primary.push((position, columns.len()));
                only_integer = declared.eq_ignore_ascii_case("integer");
            }
            columns.push(ColumnInfo {
                column: row.get(0)?,
                name: row.get(0)?,
                kind: kind_of(&declared),
                affinity: affinity_of(&declared),
                generated: hidden > 1,
                readonly: false,
                default: row.get(2)?,
            });
        }
        primary.sort_unstable();
        let rowid = if without_rowid || kind == "view" { None } else { rowid_name(&columns) };
        let parts: Vec<ColumnInfo> =
            primary.iter().map(|(_, column)| columns[*column].clone()).collect();
        let kinds: Vec<FieldType> = parts.iter().map(|part| part.kind).collect();
        let key = match (primary.as_slice(), rowid) {
            ([(_, column)], _) => RowKey::Column(columns[*column].clone()),
            _ if key_parts::are_parts(&kinds) => RowKey::Columns(parts),
            (_, Some(name)) => RowKey::Rowid(name),
            (_, None) => RowKey::None,
        };
        let order = match (&key, rowid) {
            (RowKey::Column(column), _) if only_integer => vec![column.quoted()],
            (_, Some(name)) => vec![name.to_string()],
            _ => primary.iter().map(|(_, column)| columns[*column].quoted()).collect(),
        };
        // An integer primary key is an alias of the rowid and has no index of its own, except
        // `INTEGER PRIMARY KEY DESC` (<https://sqlite.org/lang_createtable.html>, section 5).
        let indexed: bool = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk')",
            )?
            .query_row([&name], |row| row.get(0))?;
        let by_row_number = rowid.is_some() && !(only_integer && primary.len() == 1 && indexed);
        let view = kind == "view";
        Ok(Some(TableInfo { name, columns, key, view, order, by_row_number }))
    }

    /// Whether it has the chunks of a key-value store, or what belongs to them.
    pub(crate) fn is_inner(&self) -> bool {
        let columns = self.columns.iter().map(|column| column.column.as_str());
        layout::role(&self.name, columns) == Some(TableRole::Inner)
    }

    /// Refuses a table of a key-value store, for verbs on rows.
    pub(crate) fn refuse_key_value(&self) -> SqlResult<()> {
        layout::refuse_rows(&self.name, self.columns.iter().map(|column| column.column.as_str()))
    }

    /// The tables and views of rows that a program may use, by name.
    pub(crate) fn names(connection: &Connection) -> SqlResult<Vec<String>> {
        let mut statement = connection.prepare_cached(
            "SELECT name FROM pragma_table_list l WHERE schema = 'main' AND type <> 'shadow' \
             AND NOT (type = 'virtual' AND EXISTS (SELECT 1 FROM sqlite_schema w \
                 WHERE w.type = 'trigger' AND w.name = l.name || '_insert')) \
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        )?;
        let names = statement.query_map([], |row| row.get(0))?;
        let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
        let mut stores = Vec::new();
        for name in layout::candidates(&names) {
            let info = TableInfo::read(connection, &name)?;
            stores.extend(info.filter(|info| info.refuse_key_value().is_err()).map(|_| name));
        }
        Ok(layout::without_stores(names, &stores))
    }

    /// Whether the key is an integer that is the row number itself.
    pub(crate) fn is_number(&self, key: &ColumnInfo) -> bool {
        self.by_row_number && self.order == [key.quoted()]
    }

    /// The name of the key that the table gives out by itself.
    pub(crate) fn generated_key(&self) -> Option<&str> {
        match &self.key {
            RowKey::Column(key) if self.is_number(key) || key.default.is_some() => Some(&key.name),
            _ => None,
        }
    }

    /// The columns of the key, in their order.
    fn key_columns(&self) -> &[ColumnInfo] {
        match &self.key {
            RowKey::Column(column) => std::slice::from_ref(column),
            RowKey::Columns(columns) => columns,
            RowKey::Rowid(_) | RowKey::None => &[],
        }
    }

    /// How the values of the key are shown.
    pub(crate) fn key_shown(&self) -> ColumnDisplay {
        match &self.key {
            RowKey::Column(column) => shown_as(column.kind),
            RowKey::Columns(_) | RowKey::Rowid(_) | RowKey::None => ColumnDisplay::Plain,
        }
    }

    /// The key, which stands in the statement as given, as it is written in a reference.
    pub(crate) fn key_text(&self, key: &str) -> String {
        match self.key_shown() {
            ColumnDisplay::Moment => format!("replace({key}, '+00:00', 'Z')"),
            _ => format!("CAST({key} AS TEXT)"),
        }
    }

    /// The key as a statement answers it: the parts of several columns as a JSON array.
    pub(crate) fn key_sql(&self) -> Option<String> {
        match &self.key {
            RowKey::Column(column) => Some(column.quoted()),
            RowKey::Columns(columns) => {
                let names: Vec<String> = columns.iter().map(|column| column.quoted()).collect();
                Some(format!("json_array({})", names.join(", ")))
            }
            RowKey::Rowid(name) => Some(name.to_string()),
            RowKey::None => None,
        }
    }

    /// The condition that a row has the key of a parameter.
    pub(crate) fn key_condition(&self, place: usize) -> Option<String> {
        let RowKey::Columns(columns) = &self.key else {
            return self.key_sql().map(|key| format!("{key} = ?{place}"));
        };
        // Column by column, so that the index of the primary key finds the row.
        let part = |(at, column): (usize, &ColumnInfo)| {
            format!("{} = json_extract(?{place}, '$[{at}]')", column.quoted())
        };
        let parts: Vec<String> = columns.iter().enumerate().map(part).collect();
        Some(parts.join(" AND "))
    }
}

impl TableColumn for ColumnInfo {
    fn name(&self) -> &str {
        &self.name
    }

    fn column(&self) -> &str {
        &self.column
    }

    fn rename(&mut self, name: String) {
        self.name = name;
    }

    fn is_generated(&self) -> bool {
        self.generated
    }

    fn is_shown(&self) -> bool {
        true
    }

    fn preserves(&self, kind: FieldType) -> bool {
        let integers = |kind| matches!(kind, FieldType::Int | FieldType::Bool);
        kind == FieldType::Any
            || kind == self.kind
            || (integers(kind) && integers(self.kind))
            || (matches!(kind, FieldType::Decimal | FieldType::Date | FieldType::Json)
                && self.kind == FieldType::Text)
            || (self.kind == FieldType::Any && self.affinity == Affinity::None)
            || (self.kind == FieldType::Any && kind != FieldType::Text)
    }

    fn holds(&self) -> &str {
        word(self.kind)
    }
}

impl TableDescription for TableInfo {
    type Column = ColumnInfo;

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn each_column(&mut self, change: &dyn Fn(&mut ColumnInfo)) {
        let keys = match &mut self.key {
            RowKey::Column(column) => std::slice::from_mut(column),
            RowKey::Columns(columns) => columns,
            RowKey::Rowid(_) | RowKey::None => &mut [],
        };
        self.columns.iter_mut().chain(keys).for_each(change);
    }

    fn source(&self) -> String {
        quoted(&self.name)
    }

    fn is_view(&self) -> bool {
        self.view
    }

    fn key_positions(&self) -> Vec<usize> {
        self.key_columns().iter().filter_map(|key| self.position(&key.name)).collect()
    }

    /// A key that has a default gets it where a row has none.
    fn is_left_out(&self, position: usize, value: &Value) -> bool {
        let made =
            |key: &ColumnInfo| key.default.is_some() && key.name == self.columns[position].name;
        value.is_nil() && matches!(&self.key, RowKey::Column(key) if made(key))
    }
}

/// The tables of the relations of a query, as a connection sees them.
pub(crate) fn related_on(
    connection: &Connection,
    query: &Query,
) -> SqlResult<RelatedTables<TableInfo>> {
    related(query, |name| Ok(TableInfo::read(connection, name)?.map(Rc::new)))
}

fn rowid_name(columns: &[ColumnInfo]) -> Option<&'static str> {
    let hidden = |name: &str| columns.iter().any(|one| one.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].into_iter().find(|name| !hidden(name))
}

/// Exact decimal numbers are declared so: by the word `TEXT` SQLite keeps them as they are.
pub(crate) const DECIMAL: &str = "DECIMAL TEXT";

/// Moments are declared so.
pub(crate) const DATE: &str = "DATE TEXT";

/// Lists and records are declared so.
pub(crate) const JSON: &str = "JSON TEXT";

/// What a column is declared to hold. A declaration that says nothing definite, such as `NUMERIC`
/// or `DATE`, holds anything.
pub(crate) fn kind_of(declared: &str) -> FieldType {
    let declared = declared.to_ascii_uppercase();
    let has = |part: &str| declared.contains(part);
    if is_boolean(&declared) {
        FieldType::Bool
    } else if declared == DECIMAL {
        FieldType::Decimal
    } else if declared == DATE {
        FieldType::Date
    } else if declared == JSON {
        FieldType::Json
    } else if has("INT") {
        FieldType::Int
    } else if has("CHAR") || has("CLOB") || has("TEXT") {
        FieldType::Text
    } else if has("BLOB") {
        FieldType::Bytes
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        FieldType::Float
    } else {
        FieldType::Any
    }
}

/// How values of a declared type are shown.
pub(crate) fn shown(declared: &str) -> ColumnDisplay {
    match declared.is_empty() {
        true => ColumnDisplay::Plain,
        false => shown_as(kind_of(declared)),
    }
}

/// How values of a kind are shown.
pub(crate) fn shown_as(kind: FieldType) -> ColumnDisplay {
    match kind {
        FieldType::Bool => ColumnDisplay::Boolean,
        FieldType::Date => ColumnDisplay::Moment,
        FieldType::Json => ColumnDisplay::Json,
        _ => ColumnDisplay::Plain,
    }
}

/// Whether a declared type is that of booleans.
fn is_boolean(declared: &str) -> bool {
    declared.eq_ignore_ascii_case("boolean") || declared.eq_ignore_ascii_case("bool")
}

fn affinity_of(declared: &str) -> Affinity {
    match kind_of(declared) {
        FieldType::Text | FieldType::Decimal | FieldType::Date | FieldType::Json => Affinity::Text,
        FieldType::Bytes => Affinity::None,
        FieldType::Float => Affinity::Real,
        FieldType::Any if declared.trim().is_empty() => Affinity::None,
        _ => Affinity::Number,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn info(sql: &str, name: &str) -> TableInfo {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        TableInfo::read(&connection, name).unwrap().unwrap()
    }

    #[test]
    fn columns_and_key_of_a_usual_table() {
        let tasks = info(
            "create table Tasks(id integer primary key, done BOOLEAN, \
             title varchar(80) default 'x', \
             big generated always as (id * 2))",
            "tasks",
        );
        assert_eq!(tasks.name, "Tasks");
        assert_eq!(tasks.key, RowKey::Column(tasks.columns[0].clone()));
        assert_eq!(tasks.order, ["\"id\""]);
        let kinds: Vec<FieldType> = tasks.columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [FieldType::Int, FieldType::Bool, FieldType::Text, FieldType::Any]);
        assert!(tasks.columns[3].generated);
        assert_eq!(tasks.columns[2].default.as_deref(), Some("'x'"));
        assert_eq!(tasks.position("TITLE"), Some(2));
    }

    #[test]
    fn keys_of_unusual_tables() {
        assert_eq!(info("create table t(a, rowid)", "t").key, RowKey::Rowid("_rowid_"));
        let text = info("create table t(a text primary key) without rowid", "t");
        assert_eq!((text.key_sql(), text.order), (Some("\"a\"".into()), vec!["\"a\"".to_string()]));
        let pair = info("create table t(b, a, primary key (a, b)) without rowid", "t");
        assert_eq!((pair.key, pair.order), (RowKey::None, vec!["\"a\"".into(), "\"b\"".into()]));
        let pair = info("create table t(b, a, primary key (a, b))", "t");
        assert_eq!(pair.key, RowKey::Rowid("rowid"));
        let view = info("create table t(a); create view v as select a from t", "v");
        assert_eq!((view.key, view.order, view.view), (RowKey::None, vec![], true));
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"; drop table t; --"), "\"a\"\"; drop table t; --\"");
    }
}
