//! Expressions of a query as SQL: the same meaning in every database system, which is that of the language.
//!
//! Kinds are found out while the statement is written: a text is never equal to a number, and what a database
//! would convert by itself is converted here, or refused.

use crate::database::constraint::Dialect;
use crate::database::filter::{FILTER_DEPTH, FilterWriter};
use crate::fault::{SqlFault, SqlResult};
use runnel_store::{
    AggregateFunction, ArithmeticOperator, Comparison, FieldType, QueryExpression, RelatedElements,
    TextFunction, TextMatch, Value,
};

/// The functions that SQLite lacks, under which this crate adds them to its connections.
pub(crate) mod functions {
    pub(crate) const LOWER: &str = "runnel_lower";
    pub(crate) const UPPER: &str = "runnel_upper";
    pub(crate) const ADD: &str = "runnel_decimal_add";
    pub(crate) const SUBTRACT: &str = "runnel_decimal_subtract";
    pub(crate) const MULTIPLY: &str = "runnel_decimal_multiply";
    pub(crate) const SUM: &str = "runnel_decimal_sum";
}

/// The collating sequence of decimals in SQLite.
pub(crate) const DECIMAL_ORDER: &str = "runnel_decimal";

/// An expression as it stands in a statement.
pub(crate) struct WrittenExpression {
    pub(crate) sql: String,
    /// What its values are; `Any` where that is not known, as of nil.
    pub(crate) kind: FieldType,
}

/// Values that compare with each other.
#[derive(Clone, Copy, PartialEq)]
enum ValueClass {
    Number,
    Text,
    Moment,
    Bytes,
    Unknown,
}

fn class_of(kind: FieldType) -> ValueClass {
    match kind {
        FieldType::Int | FieldType::Float | FieldType::Bool | FieldType::Decimal => {
            ValueClass::Number
        }
        FieldType::Text => ValueClass::Text,
        FieldType::Date => ValueClass::Moment,
        FieldType::Bytes => ValueClass::Bytes,
        FieldType::Any | FieldType::Json => ValueClass::Unknown,
    }
}

/// Writes expressions as SQL.
pub(crate) trait ExpressionWriter: FilterWriter {
    const DIALECT: Dialect;

    /// The column of a field. A kind that has no meaning in expressions is an error.
    fn field(&mut self, path: &str) -> SqlResult<WrittenExpression>;

    /// A bound value; `like` is the kind of what it meets.
    fn constant(&mut self, value: &Value, like: Option<FieldType>) -> SqlResult<WrittenExpression>;

    /// A statement over related rows, without brackets: an aggregate of them or, without one, whether there are
    /// any.
    fn subquery(
        &mut self,
        related: &RelatedElements,
        aggregate: Option<&QueryExpression>,
    ) -> SqlResult<WrittenExpression>;

    fn expression(&mut self, expression: &QueryExpression) -> SqlResult<WrittenExpression> {
        self.write(expression, None, 0)
    }

    fn write(
        &mut self,
        expression: &QueryExpression,
        like: Option<FieldType>,
        depth: usize,
    ) -> SqlResult<WrittenExpression> {
        if depth > FILTER_DEPTH {
            let message = format!("the expression is nested more than {FILTER_DEPTH} deep");
            return Err(SqlFault::invalid(message));
        }
        match expression {
            QueryExpression::Field(path) => self.field(path),
            QueryExpression::Value(value) => self.constant(value, like),
            QueryExpression::Arithmetic(operator, left, right) => {
                let (left, right) = self.pair(left, right, depth)?;
                arithmetic(Self::DIALECT, *operator, left, right)
            }
            QueryExpression::Text(function, inner) => {
                let inner = self.write(inner, Some(FieldType::Text), depth + 1)?;
                text_function(Self::DIALECT, *function, inner)
            }
            QueryExpression::Count => {
                Ok(WrittenExpression { sql: "count(*)".into(), kind: FieldType::Int })
            }
            QueryExpression::OfRelated(related, aggregate) => {
                let WrittenExpression { sql, kind } = self.subquery(related, Some(aggregate))?;
                if !related.key.contains('.') {
                    return Ok(WrittenExpression { sql: format!("({sql})"), kind });
                }
                // Where no row leads to the list, its aggregates are nil.
                let key = self.field(&related.key)?.sql;
                let sql = format!("CASE WHEN {key} IS NOT NULL THEN ({sql}) END");
                Ok(WrittenExpression { sql, kind })
            }
            QueryExpression::Aggregate(function, inner) => {
                let inner = self.write(inner, None, depth + 1)?;
                aggregate(Self::DIALECT, *function, inner)
            }
        }
    }

    /// Two expressions that meet: a constant is bound as what the other one is.
    fn pair(
        &mut self,
        left: &QueryExpression,
        right: &QueryExpression,
        depth: usize,
    ) -> SqlResult<(WrittenExpression, WrittenExpression)> {
        if let QueryExpression::Value(value) = left {
            let right = self.write(right, None, depth + 1)?;
            return Ok((self.constant(value, Some(right.kind))?, right));
        }
        let left = self.write(left, None, depth + 1)?;
        let right = self.write(right, Some(left.kind), depth + 1)?;
        Ok((left, right))
    }

    /// Whether there are related rows.
    fn exists(&mut self, related: &RelatedElements) -> SqlResult<()> {
        let rows = self.subquery(related, None)?.sql;
        self.sql().push_str(&format!("EXISTS ({rows})"));
        Ok(())
    }

    /// Two computed values compared.
    fn test(
        &mut self,
        left: &QueryExpression,
        by: Comparison,
        right: &QueryExpression,
    ) -> SqlResult<()> {
        let is_nil = |one: &QueryExpression| matches!(one, QueryExpression::Value(Value::Nil));
        let is_value =
            |one: &QueryExpression| matches!(one, QueryExpression::Value(value) if !value.is_nil());
        let plain_equal = by == Comparison::Equal && (is_value(left) || is_value(right));
        let has_nil = is_nil(left) || is_nil(right);
        let (left, right) = self.pair(left, right, 0)?;
        let classes = (class_of(left.kind), class_of(right.kind));
        let known = classes.0 != ValueClass::Unknown && classes.1 != ValueClass::Unknown;
        if known && classes.0 != classes.1 {
            let met = if by == Comparison::NotEqual { Self::ALWAYS } else { Self::NEVER };
            self.sql().push_str(met);
            return Ok(());
        }
        let is_ordered = !matches!(by, Comparison::Equal | Comparison::NotEqual);
        if has_nil && is_ordered {
            self.sql().push_str(Self::NEVER);
            return Ok(());
        }
        let (left, right) = comparable(Self::DIALECT, left, right, is_ordered);
        let (equal, different) = match Self::DIALECT {
            Dialect::Sqlite => ("IS", "IS NOT"),
            Dialect::Postgres => ("IS NOT DISTINCT FROM", "IS DISTINCT FROM"),
        };
        let sign = match by {
            Comparison::Equal if plain_equal => "=",
            Comparison::Equal => equal,
            Comparison::NotEqual => different,
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        self.sql().push_str(&format!("({left} {sign} {right})"));
        Ok(())
    }

    /// A computed text and a part of it.
    fn text_match(&mut self, text: &QueryExpression, how: TextMatch, part: &str) -> SqlResult<()> {
        let text = self.write(text, None, 0)?;
        if text.kind != FieldType::Text {
            self.sql().push_str(Self::NEVER);
            return Ok(());
        }
        let part = self.constant(&Value::from(part), Some(FieldType::Text))?.sql;
        let text = text.sql;
        let condition = match (how, Self::DIALECT) {
            (TextMatch::Contains, Dialect::Sqlite) => format!("instr({text}, {part}) > 0"),
            (TextMatch::Contains, Dialect::Postgres) => format!("strpos({text}, {part}) > 0"),
            (TextMatch::Prefix, Dialect::Sqlite) => {
                format!("substr({text}, 1, length({part})) = {part}")
            }
            (TextMatch::Prefix, Dialect::Postgres) => format!("starts_with({text}, {part})"),
            (TextMatch::Suffix, Dialect::Sqlite) => {
                format!("({part} = '' OR substr({text}, -length({part})) = {part})")
            }
            (TextMatch::Suffix, Dialect::Postgres) => {
                format!("right({text}, char_length({part})) = {part}")
            }
        };
        self.sql().push_str(&format!("({condition})"));
        Ok(())
    }
}

fn refuse(what: &str, kind: FieldType) -> SqlFault {
    let holds = match kind {
        FieldType::Text => "text",
        FieldType::Date => "moments",
        FieldType::Bytes => "bytes",
        FieldType::Bool => "booleans",
        FieldType::Json => "lists or records",
        FieldType::Any => "values of any kind",
        FieldType::Int | FieldType::Float | FieldType::Decimal => "numbers",
    };
    SqlFault::invalid(format!("{what} of {holds} does not run in the database"))
}

fn arithmetic(
    dialect: Dialect,
    operator: ArithmeticOperator,
    left: WrittenExpression,
    right: WrittenExpression,
) -> SqlResult<WrittenExpression> {
    for one in [&left, &right] {
        let is_number = class_of(one.kind) == ValueClass::Number && one.kind != FieldType::Bool;
        if !is_number && one.kind != FieldType::Any {
            return Err(refuse("arithmetic", one.kind));
        }
    }
    let kinds = [left.kind, right.kind];
    let (sign, function) = match operator {
        ArithmeticOperator::Add => ("+", functions::ADD),
        ArithmeticOperator::Subtract => ("-", functions::SUBTRACT),
        ArithmeticOperator::Multiply => ("*", functions::MULTIPLY),
        ArithmeticOperator::Divide => ("/", ""),
    };
    if kinds.contains(&FieldType::Decimal) {
        if operator == ArithmeticOperator::Divide || kinds.contains(&FieldType::Float) {
            let message = "decimals are divided, and computed with floating-point numbers, in the \
                           program alone: the database would round";
            return Err(SqlFault::invalid(message));
        }
        let sql = match dialect {
            Dialect::Sqlite => format!("{function}({}, {})", left.sql, right.sql),
            Dialect::Postgres => format!("({} {sign} {})", left.sql, right.sql),
        };
        return Ok(WrittenExpression { sql, kind: FieldType::Decimal });
    }
    let (left, right) = (left.sql, right.sql);
    if operator == ArithmeticOperator::Divide {
        let sql = match dialect {
            Dialect::Sqlite => format!("(CAST({left} AS REAL) / NULLIF({right}, 0))"),
            Dialect::Postgres => format!("(({left})::float8 / NULLIF(({right})::float8, 0))"),
        };
        return Ok(WrittenExpression { sql, kind: FieldType::Float });
    }
    let is_float = kinds.contains(&FieldType::Float);
    let kind = if is_float { FieldType::Float } else { FieldType::Int };
    Ok(WrittenExpression { sql: format!("({left} {sign} {right})"), kind })
}

fn text_function(
    dialect: Dialect,
    function: TextFunction,
    inner: WrittenExpression,
) -> SqlResult<WrittenExpression> {
    if !matches!(inner.kind, FieldType::Text | FieldType::Any) {
        return Err(refuse("a text function", inner.kind));
    }
    let text = inner.sql;
    let (sql, kind) = match (function, dialect) {
        (TextFunction::Lower, Dialect::Sqlite) => {
            (format!("{}({text})", functions::LOWER), FieldType::Text)
        }
        (TextFunction::Upper, Dialect::Sqlite) => {
            (format!("{}({text})", functions::UPPER), FieldType::Text)
        }
        // By the rules of Unicode, whatever the language of the database.
        (TextFunction::Lower, Dialect::Postgres) => {
            (format!("lower({text} COLLATE \"und-x-icu\")"), FieldType::Text)
        }
        (TextFunction::Upper, Dialect::Postgres) => {
            (format!("upper({text} COLLATE \"und-x-icu\")"), FieldType::Text)
        }
        (TextFunction::Length, Dialect::Sqlite) => (format!("length({text})"), FieldType::Int),
        (TextFunction::Length, Dialect::Postgres) => {
            (format!("char_length({text})::int8"), FieldType::Int)
        }
    };
    Ok(WrittenExpression { sql, kind })
}

fn aggregate(
    dialect: Dialect,
    function: AggregateFunction,
    inner: WrittenExpression,
) -> SqlResult<WrittenExpression> {
    let WrittenExpression { sql: value, kind } = inner;
    let sqlite = dialect == Dialect::Sqlite;
    let ordered = match (dialect, kind) {
        (Dialect::Sqlite, FieldType::Decimal) => format!("{value} COLLATE {DECIMAL_ORDER}"),
        (Dialect::Postgres, FieldType::Text) => format!("{value} COLLATE \"C\""),
        _ => value.clone(),
    };
    let is_number = matches!(kind, FieldType::Int | FieldType::Float | FieldType::Decimal)
        || (sqlite && kind == FieldType::Any);
    let (sql, kind) = match function {
        AggregateFunction::CountDistinct => (format!("count(DISTINCT {ordered})"), FieldType::Int),
        AggregateFunction::Sum | AggregateFunction::Average if !is_number => {
            return Err(refuse("a sum", kind));
        }
        AggregateFunction::Sum => match (dialect, kind) {
            (Dialect::Sqlite, FieldType::Decimal) => (format!("{}({value})", functions::SUM), kind),
            (Dialect::Postgres, FieldType::Int) => {
                (format!("COALESCE(sum({value}), 0)::int8"), kind)
            }
            _ => (format!("COALESCE(sum({value}), 0)"), kind),
        },
        AggregateFunction::Average => match (dialect, kind) {
            (Dialect::Sqlite, FieldType::Decimal) => {
                let sum = functions::SUM;
                (
                    format!("CAST({sum}({value}) AS REAL) / NULLIF(count({value}), 0)"),
                    FieldType::Float,
                )
            }
            (Dialect::Sqlite, _) => (format!("avg({value})"), FieldType::Float),
            (Dialect::Postgres, _) => (format!("avg({value})::float8"), FieldType::Float),
        },
        AggregateFunction::Min | AggregateFunction::Max if kind == FieldType::Bool => {
            return Err(refuse("the least or largest", kind));
        }
        AggregateFunction::Min => (format!("min({ordered})"), kind),
        AggregateFunction::Max => (format!("max({ordered})"), kind),
    };
    Ok(WrittenExpression { sql, kind })
}

/// Two values of one class, so that the database compares them as values in memory are.
fn comparable(
    dialect: Dialect,
    left: WrittenExpression,
    right: WrittenExpression,
    is_ordered: bool,
) -> (String, String) {
    let kinds = [left.kind, right.kind];
    let has = |kind| kinds.contains(&kind);
    let (mut left, mut right) = (left.sql, right.sql);
    match dialect {
        Dialect::Postgres => {
            if has(FieldType::Bool) && kinds[0] != kinds[1] && !has(FieldType::Any) {
                if kinds[0] == FieldType::Bool {
                    left = format!("({left})::int4");
                } else {
                    right = format!("({right})::int4");
                }
            }
            if is_ordered && has(FieldType::Text) {
                left = format!("{left} COLLATE \"C\"");
            }
        }
        Dialect::Sqlite if has(FieldType::Decimal) => {
            if has(FieldType::Float) {
                (left, right) = (format!("CAST({left} AS REAL)"), format!("CAST({right} AS REAL)"));
            } else {
                let text = format!("CAST({left} AS TEXT) COLLATE {DECIMAL_ORDER}");
                (left, right) = (text, format!("CAST({right} AS TEXT)"));
            }
        }
        Dialect::Sqlite => {}
    }
    (left, right)
}
