//! Expressions of a query, evaluated in memory.

use crate::{AggregateFunction, ArithmeticOperator, Query, QueryExpression, TextFunction, Value};
use std::cmp::Ordering;

impl QueryExpression {
    /// Its value for a group; fields are those of the first element.
    pub(crate) fn evaluate(&self, group: &[&Value]) -> Value {
        match self {
            QueryExpression::Field(name) => {
                group.first().and_then(|first| first.get(name)).cloned().unwrap_or_default()
            }
            QueryExpression::Value(value) => value.clone(),
            QueryExpression::Arithmetic(operator, left, right) => {
                compute(*operator, &left.evaluate(group), &right.evaluate(group))
            }
            QueryExpression::Text(function, inner) => {
                let text = inner.evaluate(group);
                let text = text.as_str();
                text.map_or(Value::Nil, |text| match function {
                    TextFunction::Lower => Value::from(text.to_lowercase()),
                    TextFunction::Upper => Value::from(text.to_uppercase()),
                    TextFunction::Length => Value::from(text.chars().count() as u64),
                })
            }
            // Refused before: other elements are not seen from here.
            QueryExpression::OfRelated(..) => Value::Nil,
            QueryExpression::Count => Value::from(group.len() as u64),
            QueryExpression::Aggregate(function, inner) => {
                let values = group.iter().map(|element| inner.evaluate(&[element]));
                aggregate(*function, values.filter(|value| !value.is_nil()).collect())
            }
        }
    }
}

fn compute(operator: ArithmeticOperator, left: &Value, right: &Value) -> Value {
    if let (Value::Int(left), Value::Int(right)) = (left, right) {
        let whole = match operator {
            ArithmeticOperator::Add => left.checked_add(*right),
            ArithmeticOperator::Subtract => left.checked_sub(*right),
            ArithmeticOperator::Multiply => left.checked_mul(*right),
            ArithmeticOperator::Divide => None,
        };
        if let Some(whole) = whole {
            return Value::Int(whole);
        }
    }
    let (Some(left), Some(right)) = (left.as_f64(), right.as_f64()) else { return Value::Nil };
    Value::Float(match operator {
        ArithmeticOperator::Add => left + right,
        ArithmeticOperator::Subtract => left - right,
        ArithmeticOperator::Multiply => left * right,
        ArithmeticOperator::Divide if right == 0.0 => return Value::Nil,
        ArithmeticOperator::Divide => left / right,
    })
}

fn aggregate(function: AggregateFunction, mut values: Vec<Value>) -> Value {
    let sum = |values: &[Value]| {
        let add = |sum, value| compute(ArithmeticOperator::Add, &sum, value);
        values.iter().fold(Value::Int(0), add)
    };
    match function {
        AggregateFunction::CountDistinct => {
            unique(&mut values);
            Value::from(values.len() as u64)
        }
        AggregateFunction::Sum => sum(&values),
        AggregateFunction::Average if values.is_empty() => Value::Nil,
        AggregateFunction::Average => {
            let count = Value::from(values.len() as u64);
            compute(ArithmeticOperator::Divide, &sum(&values), &count)
        }
        AggregateFunction::Min => values.into_iter().min_by(Value::sort_order).unwrap_or_default(),
        AggregateFunction::Max => values.into_iter().max_by(Value::sort_order).unwrap_or_default(),
    }
}

/// The computed columns of a group as a record.
pub(crate) fn columns(group: &[&Value], query: &Query) -> Value {
    let column = |(name, by): &(String, QueryExpression)| (name.clone(), by.evaluate(group));
    Value::Record(query.columns.iter().map(column).collect())
}

/// The records of the groups, sorted.
pub(crate) fn groups(elements: &[Value], query: &Query) -> Vec<Value> {
    let mut groups: Vec<(Vec<Value>, Vec<&Value>)> = Vec::new();
    if query.group.is_empty() {
        groups.push((Vec::new(), elements.iter().collect()));
    } else {
        for element in elements {
            let key: Vec<Value> = query.group.iter().map(|by| by.evaluate(&[element])).collect();
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, group)) => group.push(element),
                None => groups.push((key, vec![element])),
            }
        }
    }
    if let Some(having) = &query.having {
        groups.retain(|(_, group)| having.matches_group(group));
    }
    groups.sort_by(|(_, left), (_, right)| {
        for key in &query.sort {
            let order = key.by.evaluate(left).sort_order(&key.by.evaluate(right));
            if order != Ordering::Equal {
                return if key.descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    });
    groups.iter().map(|(_, group)| columns(group, query)).collect()
}

/// Keeps the first of equal values.
fn unique(values: &mut Vec<Value>) {
    let mut seen: Vec<Value> = Vec::new();
    values.retain(|value| {
        let is_new = !seen.contains(value);
        if is_new {
            seen.push(value.clone());
        }
        is_new
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Comparison, Filter, Sort, json};

    fn field(name: &str) -> QueryExpression {
        QueryExpression::Field(name.into())
    }

    fn of(function: AggregateFunction, name: &str) -> QueryExpression {
        QueryExpression::Aggregate(function, Box::new(field(name)))
    }

    fn books() -> Vec<Value> {
        let book = |year: i64, pages: Value| {
            Value::record([("year", year.into()), ("pages", pages), ("title", "Émile".into())])
        };
        vec![book(1815, 400.into()), book(1817, Value::Nil), book(1815, 200.into())]
    }

    #[test]
    fn groups_are_counted_and_summed() {
        let query = Query {
            columns: vec![
                ("year".into(), field("year")),
                ("n".into(), QueryExpression::Count),
                ("pages".into(), of(AggregateFunction::Sum, "pages")),
                ("mean".into(), of(AggregateFunction::Average, "pages")),
                ("most".into(), of(AggregateFunction::Max, "pages")),
                ("lengths".into(), of(AggregateFunction::CountDistinct, "pages")),
            ],
            group: vec![field("year")],
            sort: vec![Sort { by: QueryExpression::Count, descending: false }],
            ..Query::default()
        };
        let shown = |query: &Query| {
            String::from_utf8(json::text(&Value::List(groups(&books(), query)))).unwrap()
        };
        assert_eq!(
            shown(&query),
            "[{\"year\":1817,\"n\":1,\"pages\":0,\"mean\":null,\"most\":null,\"lengths\":0},\
             {\"year\":1815,\"n\":2,\"pages\":600,\"mean\":300.0,\"most\":400,\"lengths\":2}]"
        );
        let many = Filter::Test(
            QueryExpression::Count,
            Comparison::Greater,
            QueryExpression::Value(1.into()),
        );
        let years = vec![("year".to_string(), field("year"))];
        let query = Query { having: Some(many), columns: years, ..query };
        assert_eq!(shown(&query), "[{\"year\":1815}]");
    }

    #[test]
    fn columns_are_computed() {
        let lower = QueryExpression::Text(TextFunction::Lower, Box::new(field("title")));
        let half = QueryExpression::Arithmetic(
            ArithmeticOperator::Divide,
            Box::new(field("year")),
            Box::new(QueryExpression::Value(2.into())),
        );
        let query = Query {
            columns: vec![("title".into(), lower), ("half".into(), half)],
            ..Query::default()
        };
        let rows = books().iter().map(|book| columns(&[book], &query)).collect();
        let rows = json::text(&Value::List(rows));
        let expected = "[{\"title\":\"émile\",\"half\":907.5},{\"title\":\"émile\",\"half\":908.5},\
                        {\"title\":\"émile\",\"half\":907.5}]";
        assert_eq!(String::from_utf8(rows).unwrap(), expected);
    }
}
