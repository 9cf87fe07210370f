//! Conditions of a query, as SQL over columns whose types are known.

use crate::database::constraint::Dialect;
use crate::database::expression::{ExpressionWriter, WrittenExpression};
use crate::database::filter::FilterWriter;
use crate::database::scope::QueryScope;
use crate::database::statement::QueryWriter;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::{ColumnInfo, Holds, TableInfo, is_written_uuid, ordered};
use crate::postgres::value::decimal::is_decimal;
use crate::postgres::value::moment;
use crate::postgres::value::parameter::{Parameter, float};
use crate::rows::parameters::exact_integer;
use runnel_store::{Comparison, FieldType, Filter, Kind, QueryExpression, RelatedElements, Value};
use std::cmp::Ordering;

/// The parts of a statement being written.
pub(crate) struct PostgresWriter<'a> {
    scope: QueryScope<'a, TableInfo>,
    sql: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// Comparisons that hold, or do not, whatever the row.
const ALWAYS: &str = "TRUE";
const NEVER: &str = "FALSE";

impl<'a> PostgresWriter<'a> {
    pub(crate) fn new(scope: QueryScope<'a, TableInfo>) -> Self {
        PostgresWriter { scope, sql: String::new(), parameters: Vec::new() }
    }
}

impl FilterWriter for PostgresWriter<'_> {
    const ALWAYS: &'static str = ALWAYS;
    const NEVER: &'static str = NEVER;

    fn sql(&mut self) -> &mut String {
        &mut self.sql
    }

    fn comparison(&mut self, filter: &Filter) -> SqlResult<()> {
        match filter {
            Filter::Compare(field, comparison, value) => {
                let (column, name) = self.scope.column(field)?;
                let sql = self.compare(column, name, *comparison, value)?;
                self.sql.push_str(&sql);
                Ok(())
            }
            Filter::Test(left, by, right) => self.test(left, *by, right),
            Filter::Match(text, how, part) => self.text_match(text, *how, part),
            Filter::FullText(search) => {
                let sql = self.searched(search)?.condition();
                self.sql.push_str(&sql);
                Ok(())
            }
            Filter::Exists(related) => self.exists(related),
            Filter::Prefix(field, text) => {
                self.part(field, text, |whole, part| format!("starts_with({whole}, {part})"))
            }
            Filter::Suffix(field, text) => self.part(field, text, |whole, part| {
                format!("right({whole}, char_length({part})) = {part}")
            }),
            Filter::Contains(field, text) => {
                self.part(field, text, |whole, part| format!("strpos({whole}, {part}) > 0"))
            }
            within => self.filter(within, 0),
        }
    }
}

impl ExpressionWriter for PostgresWriter<'_> {
    const DIALECT: Dialect = Dialect::Postgres;

    fn subquery(
        &mut self,
        related: &RelatedElements,
        aggregate: Option<&QueryExpression>,
    ) -> SqlResult<WrittenExpression> {
        self.write_subquery(related, aggregate)
    }

    fn field(&mut self, path: &str) -> SqlResult<WrittenExpression> {
        let (column, name) = self.scope.column(path)?;
        if column.array {
            return Err(SqlFault::invalid(format!(
                "{path} holds arrays, which are not computed with"
            )));
        }
        // Other types are carried as text.
        let sql = if column.holds == Holds::Other { format!("{name}::text") } else { name };
        let kind = if column.holds == Holds::Json { FieldType::Json } else { column.holds.kind() };
        Ok(WrittenExpression { sql, kind })
    }

    fn constant(&mut self, value: &Value, like: Option<FieldType>) -> SqlResult<WrittenExpression> {
        let is_like = |kind| like == Some(kind);
        let (parameter, kind, written) = match value {
            Value::Nil => {
                return Ok(WrittenExpression { sql: "NULL".into(), kind: FieldType::Any });
            }
            Value::Bool(flag) => (Parameter::text(flag.to_string()), FieldType::Bool, "boolean"),
            Value::Int(number) => (Parameter::int(*number), FieldType::Int, "int8"),
            Value::Float(_) if is_like(FieldType::Decimal) => match decimal(value) {
                Some(text) => (Parameter::Text(text), FieldType::Decimal, "numeric"),
                None => {
                    return Err(SqlFault::invalid("a decimal is compared with a finite number"));
                }
            },
            Value::Float(number) => (Parameter::Text(float(*number)), FieldType::Float, "float8"),
            Value::Big(digits) => {
                (Parameter::Text(digits.to_string()), FieldType::Decimal, "numeric")
            }
            Value::Text(text) if is_like(FieldType::Decimal) && is_decimal(text) => {
                (Parameter::text(text), FieldType::Decimal, "numeric")
            }
            Value::Text(text) if is_like(FieldType::Date) && moment::parse(text).is_some() => {
                let micros = moment::parse(text).unwrap_or_default();
                (Parameter::Text(moment::moment(micros)), FieldType::Date, "timestamptz")
            }
            Value::Text(text) if text.contains('\0') => {
                return Err(SqlFault::invalid("PostgreSQL compares no text with a NUL character"));
            }
            Value::Text(text) => (Parameter::text(text), FieldType::Text, "text"),
            Value::Bytes(bytes) => (Parameter::Bytes(bytes.clone()), FieldType::Bytes, "bytea"),
            _ => return Err(SqlFault::invalid("a list or a record in an expression")),
        };
        Ok(WrittenExpression { sql: self.bind(parameter, written), kind })
    }
}

impl<'a> QueryWriter<'a> for PostgresWriter<'a> {
    type Table = TableInfo;

    const ROW: &'static str = "ctid";

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
        let (mut keys, mut required) = (Vec::new(), false);
        match by {
            QueryExpression::Field(path) => {
                let (column, name) = self.scope.column(path)?;
                required = column.required && !path.contains('.');
                keys.extend(ordered_by(column, name));
            }
            by => {
                let written = self.expression(by)?;
                keys.push(match written.kind {
                    FieldType::Text => format!("{} COLLATE \"C\"", written.sql),
                    _ => written.sql,
                });
            }
        }
        let nulls = match (required, descending) {
            (true, false) => "",
            (true, true) => " DESC",
            (false, false) => " NULLS FIRST",
            (false, true) => " DESC NULLS LAST",
        };
        Ok(keys.into_iter().map(|key| format!("{key}{nulls}")).collect())
    }

    fn first_of(&self, name: &str) -> String {
        let holds = self.scope.table.key().map(|key| key.holds);
        let name = if holds == Some(Holds::Other) { format!("{name}::text") } else { name.into() };
        format!("min({name})")
    }

    fn group_key(&mut self, by: &QueryExpression) -> SqlResult<String> {
        Ok(self.expression(by)?.sql)
    }

    fn stored(&mut self, position: usize, value: &Value) -> SqlResult<String> {
        let column = &self.scope.table.columns[position];
        let parameter = Parameter::for_column(column, value.clone())?;
        self.parameters.push(parameter);
        Ok(format!("${}", self.parameters.len()))
    }

    fn kind(&self, position: usize) -> FieldType {
        self.scope.table.columns[position].holds.kind()
    }

    fn converted(&self, position: usize, sql: String) -> String {
        let column = &self.scope.table.columns[position];
        if column.is_uuid() { format!("({sql})::uuid") } else { sql }
    }
}

/// What a column is ordered by: text bytewise, whatever the language of the database; JSON as values in memory
/// are: nil, numbers and booleans, text, the rest.
fn ordered_by(column: &ColumnInfo, name: String) -> Vec<String> {
    if column.is_uuid() {
        // As expressions are, so that groups by the column can be ordered by it.
        return vec![format!("{name}::text COLLATE \"C\"")];
    }
    if column.holds != Holds::Json {
        return vec![ordered(column, name)];
    }
    let name = format!("{name}::jsonb");
    let kind = format!("jsonb_typeof({name})");
    vec![
        format!(
            "CASE {kind} WHEN 'number' THEN 2 WHEN 'boolean' THEN 2 WHEN 'string' THEN 3 \
             WHEN 'array' THEN 5 WHEN 'object' THEN 6 END"
        ),
        number(&name),
        format!("CASE {kind} WHEN 'string' THEN {name} #>> '{{}}' END COLLATE \"C\""),
    ]
}

impl PostgresWriter<'_> {
    /// A condition on a part of the text of a column.
    fn part(
        &mut self,
        field: &str,
        text: &str,
        form: impl Fn(&str, &str) -> String,
    ) -> SqlResult<()> {
        let (column, name) = self.scope.column(field)?;
        let whole = match column.holds {
            Holds::Text => name,
            Holds::Json => document_text(&format!("{name}::jsonb")),
            Holds::Other | Holds::Decimal => format!("{name}::text"),
            Holds::Moment => {
                let message = format!(
                    "{} holds moments, whose text cannot be searched in the database; compare them",
                    column.name
                );
                return Err(SqlFault::new(Kind::NotAllowed, message));
            }
            Holds::Bool | Holds::Int | Holds::Float | Holds::Bytes => {
                self.sql.push_str(NEVER);
                return Ok(());
            }
        };
        if text.contains('\0') {
            self.sql.push_str(NEVER);
            return Ok(());
        }
        let place = self.bind(Parameter::text(text), "text");
        self.sql.push_str(&format!("({})", form(&whole, &place)));
        Ok(())
    }

    fn compare(
        &mut self,
        column: &ColumnInfo,
        name: String,
        by: Comparison,
        value: &Value,
    ) -> SqlResult<String> {
        if value.is_nil() {
            return Ok(compare_nil(column, &name, by));
        }
        if column.array {
            return self.compare_array(column, &name, by, value);
        }
        Ok(match (column.holds, value) {
            (Holds::Bool, value) => compare_bool(&name, by, value),
            (Holds::Int, value) => self.compare_integers(&name, by, value),
            (Holds::Float, value) => self.compare_floats(&name, by, value),
            (Holds::Decimal, value) => match decimal(value) {
                Some(number) => self.sign(&name, by, Parameter::Text(number), "numeric"),
                None => incomparable(by),
            },
            (Holds::Text, Value::Text(text)) => self.compare_text(&name, by, text),
            (Holds::Bytes, Value::Bytes(bytes)) => {
                self.sign(&name, by, Parameter::Bytes(bytes.clone()), "bytea")
            }
            (Holds::Moment, Value::Text(text)) => match moment::parse(text) {
                Some(micros) => {
                    let text = Parameter::Text(moment::moment(micros));
                    self.sign(&name, by, text, "timestamptz")
                }
                None => incomparable(by),
            },
            (Holds::Other, Value::Text(text)) if column.is_uuid() && !is_written_uuid(text) => {
                self.compare_text(&format!("{name}::text"), by, text)
            }
            (Holds::Other, Value::Text(text)) if !text.contains('\0') => {
                self.sign(&name, by, Parameter::text(text), &column.written)
            }
            (Holds::Json, value) => self.compare_documents(&name, by, value)?,
            _ => incomparable(by),
        })
    }

    fn compare_array(
        &mut self,
        column: &ColumnInfo,
        name: &str,
        by: Comparison,
        value: &Value,
    ) -> SqlResult<String> {
        if !matches!(value, Value::List(_) | Value::Text(_)) {
            return Ok(incomparable(by));
        }
        let parameter = Parameter::for_column(column, value.clone())?;
        Ok(self.sign(name, by, parameter, &column.written))
    }

    fn compare_integers(&mut self, name: &str, by: Comparison, value: &Value) -> String {
        let number = match value {
            Value::Int(number) => Some(*number),
            Value::Bool(flag) => Some(i64::from(*flag)),
            Value::Float(number) => exact_integer(*number),
            Value::Big(digits) => digits.parse().ok(),
            _ => return incomparable(by),
        };
        match number {
            Some(number) => self.sign(name, by, Parameter::int(number), "int8"),
            None => self.compare_beyond(name, by, value),
        }
    }

    /// Integers with a number that is none of 64 bits: with its next neighbours.
    fn compare_beyond(&mut self, name: &str, by: Comparison, value: &Value) -> String {
        let below = Value::Int(i64::MIN).compare(value) == Some(Ordering::Greater);
        let above = Value::Int(i64::MAX).compare(value) == Some(Ordering::Less);
        let less = matches!(by, Comparison::Less | Comparison::LessOrEqual);
        match (by, value) {
            (Comparison::NotEqual, _) => ALWAYS.into(),
            (Comparison::Equal, _) => NEVER.into(),
            (_, Value::Float(number)) if number.is_nan() => NEVER.into(),
            _ if below || above => {
                if above == less {
                    format!("{name} IS NOT NULL")
                } else {
                    NEVER.into()
                }
            }
            // Between two integers.
            (_, Value::Float(number)) => {
                let floor = Parameter::int(number.floor() as i64);
                let by = if less { Comparison::LessOrEqual } else { Comparison::Greater };
                self.sign(name, by, floor, "int8")
            }
            _ => NEVER.into(),
        }
    }

    fn compare_floats(&mut self, name: &str, by: Comparison, value: &Value) -> String {
        let near = match value {
            Value::Float(number) if number.is_nan() => return incomparable(by),
            Value::Bool(flag) => f64::from(u8::from(*flag)),
            value => match value.as_f64() {
                Some(number) => number,
                None => return incomparable(by),
            },
        };
        let by = match Value::Float(near).compare(value) {
            Some(Ordering::Equal) => by,
            // An integer that no float is lies between two of them.
            order => match (by, order == Some(Ordering::Less)) {
                (Comparison::Equal | Comparison::NotEqual, _) => return incomparable(by),
                (Comparison::Less | Comparison::LessOrEqual, true) => Comparison::LessOrEqual,
                (Comparison::Less | Comparison::LessOrEqual, false) => Comparison::Less,
                (Comparison::Greater | Comparison::GreaterOrEqual, true) => Comparison::Greater,
                (Comparison::Greater | Comparison::GreaterOrEqual, false) => {
                    Comparison::GreaterOrEqual
                }
            },
        };
        let condition = self.sign(name, by, Parameter::Text(float(near)), "float8");
        match by {
            // To PostgreSQL what is no number is greater than all others.
            Comparison::Greater | Comparison::GreaterOrEqual => {
                format!("({condition} AND {name} <> 'NaN')")
            }
            _ => condition,
        }
    }

    fn compare_text(&mut self, name: &str, by: Comparison, text: &str) -> String {
        let ordered = format!("{name} COLLATE \"C\"");
        let Some((before, _)) = text.split_once('\0') else {
            let left = match by {
                Comparison::Equal | Comparison::NotEqual => name,
                _ => ordered.as_str(),
            };
            return self.sign(left, by, Parameter::text(text), "text");
        };
        // No text here holds a NUL: what lies before one with it is what is not after its beginning.
        let by = match by {
            Comparison::Equal | Comparison::NotEqual => return incomparable(by),
            Comparison::Less | Comparison::LessOrEqual => Comparison::LessOrEqual,
            Comparison::Greater | Comparison::GreaterOrEqual => Comparison::Greater,
        };
        self.sign(&ordered, by, Parameter::text(before), "text")
    }

    fn compare_documents(
        &mut self,
        name: &str,
        by: Comparison,
        value: &Value,
    ) -> SqlResult<String> {
        let name = format!("{name}::jsonb");
        let condition = match value {
            Value::Text(text) => {
                let text_of = document_text(&name);
                self.compare_text(&text_of, by, text)
            }
            Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
                match decimal(value) {
                    Some(digits) => {
                        self.sign(&number(&name), by, Parameter::Text(digits), "numeric")
                    }
                    None => incomparable_number(&name, by, value),
                }
            }
            Value::List(_) | Value::Record(_) => match by {
                Comparison::Equal | Comparison::NotEqual => {
                    match Parameter::of_type(value.clone(), &tokio_postgres::types::Type::JSONB) {
                        Ok(document) => self.sign(&name, by, document, "jsonb"),
                        Err(_) => incomparable(by),
                    }
                }
                Comparison::LessOrEqual | Comparison::GreaterOrEqual => {
                    return Err(SqlFault::new(
                        Kind::NotAllowed,
                        "lists and records are compared for being equal, in the database",
                    ));
                }
                _ => NEVER.into(),
            },
            _ => incomparable(by),
        };
        Ok(condition)
    }

    /// A comparison with a bound value.
    fn sign(&mut self, left: &str, by: Comparison, value: Parameter, kind: &str) -> String {
        let place = self.bind(value, kind);
        let sign = match by {
            Comparison::Equal => "=",
            Comparison::NotEqual => "IS DISTINCT FROM",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        format!("({left} {sign} {place})")
    }

    fn bind(&mut self, value: Parameter, kind: &str) -> String {
        self.parameters.push(value);
        format!("${}::{kind}", self.parameters.len())
    }
}

/// Nothing of this kind stands in the column: nothing is equal, less or greater.
fn incomparable(by: Comparison) -> String {
    if by == Comparison::NotEqual { ALWAYS.into() } else { NEVER.into() }
}

fn compare_nil(column: &ColumnInfo, name: &str, by: Comparison) -> String {
    let nil = match column.holds {
        Holds::Json => format!("({name} IS NULL OR {name}::jsonb = 'null'::jsonb)"),
        _ => format!("{name} IS NULL"),
    };
    match by {
        Comparison::Equal => nil,
        Comparison::NotEqual => format!("NOT ({nil})"),
        // Nil has no order.
        _ => NEVER.into(),
    }
}

/// Booleans count 0 and 1: which of the three states of the column meet the condition?
fn compare_bool(name: &str, by: Comparison, value: &Value) -> String {
    let states = [(Value::Bool(true), "TRUE"), (Value::Bool(false), "FALSE"), (Value::Nil, "NULL")];
    let met: Vec<String> = states
        .iter()
        .filter(|(state, _)| by.holds(state, value))
        .map(|(_, word)| format!("{name} IS {word}"))
        .collect();
    if met.is_empty() { NEVER.into() } else { format!("({})", met.join(" OR ")) }
}

/// A number as PostgreSQL's `numeric` reads it, and the text of one; `None` for anything else and
/// for what is not finite.
fn decimal(value: &Value) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Big(digits) => Some(digits.to_string()),
        Value::Float(number) if number.is_finite() => Some(float(*number)),
        Value::Text(text) if is_decimal(text) => Some(text.clone()),
        _ => None,
    }
}

/// The number in a document, booleans counting 0 and 1.
fn number(name: &str) -> String {
    format!(
        "CASE jsonb_typeof({name}) WHEN 'number' THEN ({name})::numeric \
         WHEN 'boolean' THEN ({name})::boolean::int4::numeric END"
    )
}

fn document_text(name: &str) -> String {
    format!("(CASE jsonb_typeof({name}) WHEN 'string' THEN {name} #>> '{{}}' END)")
}

/// A document with an infinite number: every finite one is less, or greater.
fn incomparable_number(name: &str, by: Comparison, value: &Value) -> String {
    let met = by.holds(&Value::Int(0), value);
    match by {
        Comparison::NotEqual => ALWAYS.into(),
        _ if met => format!("{} IS NOT NULL", number(name)),
        _ => NEVER.into(),
    }
}
