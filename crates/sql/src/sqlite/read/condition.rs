//! Conditions and expressions of a query, as SQL of SQLite.

use crate::database::constraint::Dialect;
use crate::database::expression::{DECIMAL_ORDER, ExpressionWriter, WrittenExpression};
use crate::database::filter::FilterWriter;
use crate::database::scope::QueryScope;
use crate::database::statement::QueryWriter;
use crate::postgres::value::decimal::is_decimal;
use crate::sqlite::connection::cell::{SqliteValue, date};
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::schema::catalog::{Affinity, ColumnInfo, TableInfo};
use runnel_store::{Comparison, FieldType, Filter, QueryExpression, RelatedElements, Value};
use std::cmp::Ordering;
use std::fmt::Write;

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

/// The parts of a statement being written.
pub(crate) struct SqliteWriter<'a> {
    scope: QueryScope<'a, TableInfo>,
    sql: String,
    pub(crate) parameters: Vec<SqliteValue>,
}

impl<'a> SqliteWriter<'a> {
    pub(crate) fn new(scope: QueryScope<'a, TableInfo>) -> Self {
        SqliteWriter { scope, sql: String::new(), parameters: Vec::new() }
    }
}

impl FilterWriter for SqliteWriter<'_> {
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
            Filter::Test(left, by, right) => self.test(left, *by, right),
            Filter::Match(text, how, part) => self.text_match(text, *how, part),
            Filter::FullText(search) => {
                let sql = self.searched(search)?.condition();
                self.sql.push_str(&sql);
                Ok(())
            }
            Filter::Exists(related) => self.exists(related),
            Filter::Contains(field, text) => {
                let (_, name) = self.scope.column(field)?;
                let place = self.bind(SqliteValue::Text(text.clone()));
                self.push(format!("(typeof({name}) = 'text' AND instr({name}, {place}) > 0)"))
            }
            within => self.filter(within, 0),
        }
    }
}

impl ExpressionWriter for SqliteWriter<'_> {
    const DIALECT: Dialect = Dialect::Sqlite;

    fn subquery(
        &mut self,
        related: &RelatedElements,
        aggregate: Option<&QueryExpression>,
    ) -> SqlResult<WrittenExpression> {
        self.write_subquery(related, aggregate)
    }

    fn field(&mut self, path: &str) -> SqlResult<WrittenExpression> {
        let (column, sql) = self.scope.column(path)?;
        Ok(WrittenExpression { sql, kind: column.kind })
    }

    fn constant(&mut self, value: &Value, like: Option<FieldType>) -> SqlResult<WrittenExpression> {
        let kind = match (value, like) {
            (Value::Text(text), Some(FieldType::Decimal)) if is_decimal(text) => FieldType::Decimal,
            (Value::Float(number), Some(FieldType::Decimal)) if number.is_finite() => {
                let text = SqliteValue::Text(number.to_string());
                return Ok(WrittenExpression { sql: self.bind(text), kind: FieldType::Decimal });
            }
            (Value::Text(text), Some(FieldType::Date)) => {
                let text = SqliteValue::Text(date(text).unwrap_or_else(|| text.clone()));
                return Ok(WrittenExpression { sql: self.bind(text), kind: FieldType::Date });
            }
            (Value::Nil, _) => FieldType::Any,
            (Value::Bool(_), _) => FieldType::Bool,
            (Value::Int(_), _) => FieldType::Int,
            (Value::Float(_) | Value::Big(_), _) => FieldType::Float,
            (Value::Text(_), _) => FieldType::Text,
            (Value::Bytes(_), _) => FieldType::Bytes,
            _ => return Err(SqlFault::invalid("a list or a record in an expression")),
        };
        let cell = match value {
            Value::Big(_) => SqliteValue::Real(value.as_f64().unwrap_or(f64::NAN)),
            value => SqliteValue::of_value(value.clone())?,
        };
        Ok(WrittenExpression { sql: self.bind(cell), kind })
    }
}

impl<'a> QueryWriter<'a> for SqliteWriter<'a> {
    type Table = TableInfo;

    const ROW: &'static str = "rowid";

    fn scope(&self) -> &QueryScope<'a, TableInfo> {
        &self.scope
    }

    fn change_scope(&mut self, scope: QueryScope<'a, TableInfo>) -> QueryScope<'a, TableInfo> {
        std::mem::replace(&mut self.scope, scope)
    }

    fn own_order(&self) -> Vec<String> {
        self.scope.table.order.clone()
    }

    fn order_keys(&mut self, by: &QueryExpression, descending: bool) -> SqlResult<Vec<String>> {
        let mut key = self.group_key(by)?;
        if descending {
            key.push_str(" DESC");
        }
        Ok(vec![key])
    }

    fn first_of(&self, name: &str) -> String {
        format!("min({name})")
    }

    fn group_key(&mut self, by: &QueryExpression) -> SqlResult<String> {
        let WrittenExpression { mut sql, kind } = self.expression(by)?;
        if kind == FieldType::Decimal {
            let _ = write!(sql, " COLLATE {DECIMAL_ORDER}");
        }
        Ok(sql)
    }

    fn stored(&mut self, position: usize, value: &Value) -> SqlResult<String> {
        let cell = SqliteValue::for_column(&self.scope.table.columns[position], value.clone())?;
        Ok(self.bind(cell))
    }

    fn kind(&self, position: usize) -> FieldType {
        self.scope.table.columns[position].kind
    }
}

impl SqliteWriter<'_> {
    fn compare(&mut self, field: &str, by: Comparison, value: &Value) -> SqlResult<()> {
        let (column, name) = self.scope.column(field)?;
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
            (false, FieldType::Decimal) => format!("{name} COLLATE {DECIMAL_ORDER}"),
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
        let (column, name) = self.scope.column(field)?;
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
        let (_, name) = self.scope.column(field)?;
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
mod tests {
    use super::*;

    #[test]
    fn the_text_after_a_prefix() {
        assert_eq!(after_prefix("ab").unwrap(), "ac");
        assert_eq!(after_prefix("a\u{d7ff}").unwrap(), "a\u{e000}");
        assert_eq!(after_prefix("a\u{10ffff}").unwrap(), "b");
        assert_eq!(after_prefix("\u{10ffff}"), None);
    }
}
