//! What the tables look like, read from the catalog of the database.

use crate::postgres::connection::client::Connection;
use crate::postgres::fault::Fault;
use crate::postgres::value::parameter::Parameter;
use runnel_store::{FieldType, Kind};
use tokio_postgres::Row;

/// A table or view as the database describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableInfo {
    /// Its name as programs use it.
    pub(crate) name: String,
    /// Its schema and name in quotes, as it stands in statements.
    pub(crate) sql: String,
    pub(crate) schema: String,
    /// Its name within the schema.
    pub(crate) table: String,
    pub(crate) columns: Vec<ColumnInfo>,
    /// The position of the column that is the primary key by itself.
    pub(crate) key: Option<usize>,
    /// The columns (quoted) that make the order of the rows definite; empty without a primary key.
    pub(crate) order: Vec<String>,
    pub(crate) view: bool,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnInfo {
    pub(crate) name: String,
    pub(crate) holds: Holds,
    /// Its type as it is written in SQL.
    pub(crate) written: String,
    pub(crate) array: bool,
    /// Whether it is computed from others, so that nothing can be stored in it.
    pub(crate) generated: bool,
    /// Whether a put leaves it as it is unless it names it: a field that clients cannot set.
    pub(crate) readonly: bool,
    /// Whether the database numbers it by itself.
    pub(crate) numbered: bool,
    pub(crate) required: bool,
    /// Whether it is there for its conditions and as the key alone, and not shown: the class has
    /// no such field.
    pub(crate) hidden: bool,
}

/// What the types come to for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Decimal,
    /// `timestamptz`.
    Moment,
    /// `json` and `jsonb`.
    Json,
    /// Everything else: carried as the text that PostgreSQL writes, or as a list where it is an
    /// array.
    Other,
}

impl Holds {
    /// By the name of a type in the catalog.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "bool" => Holds::Bool,
            "int2" | "int4" | "int8" | "oid" => Holds::Int,
            "float4" | "float8" => Holds::Float,
            "text" | "varchar" | "bpchar" | "name" | "citext" => Holds::Text,
            "bytea" => Holds::Bytes,
            "numeric" => Holds::Decimal,
            "timestamptz" => Holds::Moment,
            "json" | "jsonb" => Holds::Json,
            _ => Holds::Other,
        }
    }

    /// As a class would declare it.
    pub(crate) fn kind(self) -> FieldType {
        match self {
            Holds::Bool => FieldType::Bool,
            Holds::Int => FieldType::Int,
            Holds::Float => FieldType::Float,
            Holds::Text | Holds::Other => FieldType::Text,
            Holds::Bytes => FieldType::Bytes,
            Holds::Decimal => FieldType::Decimal,
            Holds::Moment => FieldType::Date,
            Holds::Json => FieldType::Any,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Holds::Bool => "true or false",
            Holds::Int => "integers of 64 bits",
            Holds::Float => "floating-point numbers",
            Holds::Text => "text",
            Holds::Bytes => "bytes",
            Holds::Decimal => "decimal numbers, as text such as '12.30'",
            Holds::Moment => "moments",
            Holds::Json => "JSON",
            Holds::Other => "what PostgreSQL reads from text",
        }
    }
}

/// The columns of a relation that can be read, with what a domain is made of. The position within
/// the primary key is counted from 1.
const COLUMNS: &str = "\
SELECT n.nspname::text, c.relname::text, c.relkind IN ('v', 'm') AS view, a.attname::text, \
       coalesce(b.typname, t.typname)::text AS type, format_type(a.atttypid, a.atttypmod) AS written, \
       t.typcategory = 'A' AS array, \
       a.attgenerated <> '' AS generated, \
       a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%' AS numbered, \
       a.attnotnull AS required, array_position(i.indkey::int2[], a.attnum) + 1 AS place \
FROM pg_class c \
JOIN pg_namespace n ON n.oid = c.relnamespace \
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
JOIN pg_type t ON t.oid = a.atttypid \
LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0) \
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
ORDER BY a.attnum";

/// The tables and views that unqualified names reach.
const NAMES: &str = "\
SELECT c.relname::text FROM pg_class c \
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(c.oid) \
AND c.relnamespace <> 'pg_catalog'::regnamespace \
AND c.relnamespace <> 'information_schema'::regnamespace AND NOT c.relispartition \
ORDER BY c.relname COLLATE \"C\"";

/// A value of a row whose column cannot be of another type.
pub(crate) fn field<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, Fault> {
    row.try_get(index).map_err(|error| {
        let fault = Fault::new(Kind::Failed, "the catalog of the database is not as expected");
        Fault { detail: Some(error.to_string()), ..fault }
    })
}

impl TableInfo {
    /// Reads the description of a table or view; `None` when there is none of that name. A name
    /// with a point that no table has is one of a schema and a table.
    pub(crate) async fn read(connection: &Connection, name: &str) -> Result<Option<Self>, Fault> {
        if name.is_empty() || name.contains('\0') {
            return Ok(None);
        }
        let mut rows = connection.all(COLUMNS, &[Parameter::text(quoted(name))]).await?;
        if rows.is_empty()
            && let Some((schema, table)) = name.split_once('.')
            && !schema.is_empty()
            && !table.is_empty()
        {
            let name = format!("{}.{}", quoted(schema), quoted(table));
            rows = connection.all(COLUMNS, &[Parameter::text(name)]).await?;
        }
        let Some(first) = rows.first() else { return Ok(None) };
        let (schema, table): (String, String) = (field(first, 0)?, field(first, 1)?);
        let view: bool = field(first, 2)?;
        let mut columns = Vec::new();
        let mut primary: Vec<(i32, usize)> = Vec::new();
        for row in &rows {
            if let Some(place) = field::<Option<i32>>(row, 10)? {
                primary.push((place, columns.len()));
            }
            let kind: String = field(row, 4)?;
            columns.push(ColumnInfo {
                name: field(row, 3)?,
                holds: Holds::of(&kind),
                written: field(row, 5)?,
                array: field(row, 6)?,
                generated: field(row, 7)?,
                readonly: false,
                numbered: field(row, 8)?,
                required: field(row, 9)?,
                hidden: false,
            });
        }
        primary.sort_unstable();
        let key = if let [(_, only)] = primary.as_slice() { Some(*only) } else { None };
        let order = primary.iter().map(|(_, at)| ordered(&columns[*at])).collect();
        let sql = format!("{}.{}", quoted(&schema), quoted(&table));
        Ok(Some(TableInfo {
            name: name.to_string(),
            sql,
            schema,
            table,
            columns,
            key,
            order,
            view,
        }))
    }

    /// The tables and views that a program may use, by name.
    pub(crate) async fn names(connection: &Connection) -> Result<Vec<String>, Fault> {
        connection.all(NAMES, &[]).await?.iter().map(|row| field(row, 0)).collect()
    }

    /// The column of a name, or an error that says which there are.
    pub(crate) fn column(&self, name: &str) -> Result<&ColumnInfo, Fault> {
        self.position(name).map(|position| &self.columns[position])
    }

    pub(crate) fn position(&self, name: &str) -> Result<usize, Fault> {
        let same = |column: &ColumnInfo| column.name == name;
        // Names in a program may differ in case, as they may with other databases.
        let alike = |column: &ColumnInfo| column.name.eq_ignore_ascii_case(name);
        let found = self.columns.iter().position(same);
        found.or_else(|| self.columns.iter().position(alike)).ok_or_else(|| {
            let names: Vec<&str> = self.shown().iter().map(|one| one.name.as_str()).collect();
            let names = names.join(", ");
            Fault::invalid(format!("{} has no column '{name}'; its columns are {names}", self.name))
        })
    }

    /// The columns that a row shows when nothing else is said.
    pub(crate) fn shown(&self) -> Vec<&ColumnInfo> {
        self.columns.iter().filter(|column| !column.hidden).collect()
    }

    pub(crate) fn key(&self) -> Option<&ColumnInfo> {
        self.key.map(|position| &self.columns[position])
    }

    /// The fault that its rows have no key.
    /// The name of the key that the database gives out by itself.
    pub(crate) fn generated_key(&self) -> Option<&str> {
        self.key().filter(|key| key.numbered).map(|key| key.name.as_str())
    }

    pub(crate) fn no_key(&self) -> Fault {
        let message = format!("the rows of {} have no single key to be addressed by", self.name);
        Fault::new(Kind::NotAllowed, message)
    }
}

/// A column as it is ordered by: text bytewise, whatever the language of the database.
pub(crate) fn ordered(column: &ColumnInfo) -> String {
    let name = quoted(&column.name);
    if column.holds == Holds::Text { format!("{name} COLLATE \"C\"") } else { name }
}

/// A name in double quotes. The only way by which names reach a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in single quotes, for statements that take no parameters.
pub(crate) fn text_literal(text: &str) -> String {
    // An E-string, so that backslashes mean the same whatever the settings of the database.
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
