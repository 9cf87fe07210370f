//! The description of a table: its columns with their types, its key and its order.

pub(crate) use crate::database::description::quoted;
use crate::database::description::{TableColumn, TableDescription};
use crate::key_value::layout::{self, TableRole};
use crate::postgres::fault::SqlResult;
use runnel_store::{FieldType, TextForm, Value};

/// The lock under which tables are created, so that machines that start together take turns: the
/// word "runnel" in ASCII.
pub(crate) const SCHEMA_LOCK: i64 = 0x72_75_6E_6E_65_6C;

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
    /// The positions of several columns that are the primary key together, where references can name
    /// them; otherwise none.
    pub(crate) key_parts: Vec<usize>,
    /// The columns (quoted) that make the order of the rows definite; empty without a primary key.
    pub(crate) order: Vec<String>,
    pub(crate) view: bool,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnInfo {
    /// Its name in the database; `name` is that in programs.
    pub(crate) column: String,
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
    /// Whether the database has a value for a row that leaves it out.
    pub(crate) defaulted: bool,
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
    pub(crate) fn of_type(name: &str) -> Self {
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

impl ColumnInfo {
    /// Whether it is of the type `uuid`.
    pub(crate) fn is_uuid(&self) -> bool {
        self.written == UUID
    }
}

/// The type of UUIDs.
pub(crate) const UUID: &str = "uuid";

/// Whether a text is a UUID as PostgreSQL writes it: in lower case. No row has any other text in a column of UUIDs.
pub(crate) fn is_written_uuid(text: &str) -> bool {
    TextForm::Uuid.admits(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

impl TableInfo {
    /// The columns that a row shows when nothing else is said.
    pub(crate) fn shown(&self) -> Vec<&ColumnInfo> {
        self.columns.iter().filter(|column| !column.hidden).collect()
    }

    /// What it is to a key-value store.
    pub(crate) fn key_value_role(&self) -> Option<TableRole> {
        layout::role(&self.table, self.columns.iter().map(|column| column.column.as_str()))
    }

    /// Refuses a table of a key-value store, for verbs on rows.
    pub(crate) fn refuse_key_value(&self) -> SqlResult<()> {
        layout::refuse_rows(&self.table, self.columns.iter().map(|column| column.column.as_str()))
    }

    pub(crate) fn key(&self) -> Option<&ColumnInfo> {
        self.key.map(|position| &self.columns[position])
    }

    /// The name of the key that the database gives out by itself.
    pub(crate) fn generated_key(&self) -> Option<&str> {
        self.key().filter(|key| key.numbered || key.defaulted).map(|key| key.name.as_str())
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
        !self.hidden
    }

    fn preserves(&self, kind: FieldType) -> bool {
        match (kind, self.holds) {
            (FieldType::Any, _) => true,
            (FieldType::Json, Holds::Other) => true,
            (FieldType::Text, Holds::Text | Holds::Other) => true,
            (FieldType::Date, Holds::Other) => true,
            (_, Holds::Json) => true,
            (kind, holds) => kind == holds.kind(),
        }
    }

    fn holds(&self) -> &str {
        &self.written
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
        self.columns.iter_mut().for_each(change);
    }

    fn source(&self) -> String {
        self.sql.clone()
    }

    fn is_view(&self) -> bool {
        self.view
    }

    fn key_positions(&self) -> Vec<usize> {
        self.key.map_or_else(|| self.key_parts.clone(), |key| vec![key])
    }

    /// The database makes the key of a row whose key is nil.
    fn is_left_out(&self, position: usize, value: &Value) -> bool {
        let column = &self.columns[position];
        value.is_nil() && self.key == Some(position) && (column.numbered || column.defaulted)
    }
}

/// A column as it is ordered by: text bytewise, whatever the language of the database.
pub(crate) fn ordered(column: &ColumnInfo, name: String) -> String {
    if column.holds == Holds::Text { format!("{name} COLLATE \"C\"") } else { name }
}
