//! Queries as the compiler and the kernel write them, as the store's `Query`.

use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::slices::data::read_value;
use runnel_store::{
    AggregateFunction, ArithmeticOperator, Comparison, Error, Filter, FullText, Kind, Query,
    QueryExpression, RelatedElements, RelatedTable, Relation, Sort, TextFunction, TextMatch, Value,
};
use std::os::raw::c_int;

/// Conditions within conditions that are read.
const DEPTH: usize = 64;
/// Values that a field is compared with by `includes:`.
const MOST_VALUES: usize = 1000;

/// The field equals one of the values.
fn one_of(field: String, values: Value) -> Result<Filter, Error> {
    let Value::List(values) = values else {
        return Err(Error::new(Kind::Invalid, "`includes:` needs an array here"));
    };
    if values.len() > MOST_VALUES {
        let message = format!("a condition compares a field with at most {MOST_VALUES} values");
        return Err(Error::new(Kind::TooLarge, message));
    }
    let equal = |value| Filter::Compare(field.clone(), Comparison::Equal, value);
    Ok(Filter::Any(values.into_iter().map(equal).collect()))
}

/// Reads `{ word, path, condition or false, …, place }`: the related elements of a condition or an expression.
/// The kernel has written the place: table, field and key, then the relations.
fn related(
    isolate: &Isolate,
    stack: Stack,
    index: c_int,
    place: usize,
    depth: usize,
) -> Result<Box<RelatedElements>, Error> {
    stack.get_element(index, place);
    let texts = match stack.kind(-1) {
        Type::Table => texts(stack, stack.top()),
        _ => Vec::new(),
    };
    stack.pop(1);
    let [table, field, key, relations @ ..] = texts.as_slice() else {
        return Err(Error::new(Kind::Invalid, "a condition on related rows does not name them"));
    };
    stack.get_element(index, 3);
    let condition = match stack.kind(-1) {
        Type::Table => filter(isolate, stack, stack.top(), depth + 1).map(Some),
        _ => Ok(None),
    };
    stack.pop(1);
    Ok(Box::new(RelatedElements {
        table: related_table(table),
        field: field.clone(),
        key: key.clone(),
        filter: condition?,
        relations: relations_of(relations),
    }))
}

/// Reads `{ operator, field, value }`, `{ "any", path, condition, place }`,
/// `{ "test", operator, left, right }`, `{ "match", operator, text, part }`,
/// `{ "and", left, right }`, `{ "not", inner }`.
fn filter(isolate: &Isolate, stack: Stack, index: c_int, depth: usize) -> Result<Filter, Error> {
    if depth > DEPTH || stack.kind(index) != Type::Table || !stack.reserve(8) {
        return Err(Error::new(Kind::Invalid, "this condition cannot be given to a store"));
    }
    let item = |position| {
        stack.get_element(index, position);
        stack.top()
    };
    let operator = stack.text(item(1));
    stack.pop(1);
    let inner = |position| {
        let at = item(position);
        let inner = filter(isolate, stack, at, depth + 1);
        stack.pop(1);
        inner
    };
    match operator.as_str() {
        "and" => return Ok(Filter::All(vec![inner(2)?, inner(3)?])),
        "or" => return Ok(Filter::Any(vec![inner(2)?, inner(3)?])),
        "not" => return Ok(Filter::Not(Box::new(inner(2)?))),
        "search" => return full_text(isolate, stack, index),
        "any" => return related(isolate, stack, index, 4, depth).map(Filter::Exists),
        "test" | "match" => return computed(isolate, stack, index, &operator),
        _ => {}
    }
    let field = stack.text(item(2));
    stack.pop(1);
    let value = read_value(isolate, stack, item(3));
    stack.pop(1);
    let value = value?;
    if operator == "in" {
        return one_of(field, value);
    }
    if let Some(comparison) = comparison(&operator) {
        return Ok(Filter::Compare(field, comparison, value));
    }
    let text = part_of(&operator, value)?;
    Ok(match text_match(&operator) {
        TextMatch::Prefix => Filter::Prefix(field, text),
        TextMatch::Suffix => Filter::Suffix(field, text),
        TextMatch::Contains => Filter::Contains(field, text),
    })
}

/// `{ "search", fields, text }`
fn full_text(isolate: &Isolate, stack: Stack, index: c_int) -> Result<Filter, Error> {
    stack.get_element(index, 2);
    let fields = texts(stack, stack.top());
    stack.pop(1);
    stack.get_element(index, 3);
    let text = read_value(isolate, stack, stack.top());
    stack.pop(1);
    let search = FullText::read(fields, &part_of("search", text?)?)?;
    Ok(search.map_or(Filter::Any(Vec::new()), Filter::FullText))
}

fn comparison(operator: &str) -> Option<Comparison> {
    Some(match operator {
        "=" => Comparison::Equal,
        "≠" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "≤" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        "≥" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn text_match(operator: &str) -> TextMatch {
    match operator {
        "hasPrefix" => TextMatch::Prefix,
        "hasSuffix" => TextMatch::Suffix,
        _ => TextMatch::Contains,
    }
}

fn part_of(operator: &str, value: Value) -> Result<String, Error> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(Error::new(Kind::Invalid, format!("`{operator}:` needs a text"))),
    }
}

/// `{ "test", operator, left, right }`, `{ "match", operator, text, part }`
fn computed(isolate: &Isolate, stack: Stack, index: c_int, how: &str) -> Result<Filter, Error> {
    let at = |position| {
        stack.get_element(index, position);
        let read = expression(isolate, stack, stack.top(), 0);
        stack.pop(1);
        read
    };
    stack.get_element(index, 2);
    let operator = stack.text(-1);
    stack.pop(1);
    let (left, right) = (at(3)?, at(4)?);
    match (comparison(&operator), right) {
        (Some(comparison), right) if how == "test" => Ok(Filter::Test(left, comparison, right)),
        (_, QueryExpression::Value(value)) => {
            Ok(Filter::Match(left, text_match(&operator), part_of(&operator, value)?))
        }
        _ => Err(Error::new(Kind::Invalid, format!("`{operator}:` needs a text of the program"))),
    }
}

/// Reads `{ "field", name }`, `{ "value", value }`, `{ "count" }`, `{ operator, left, right }`,
/// `{ function, inner }` and `{ "of", path, condition, aggregate, place }`.
fn expression(
    isolate: &Isolate,
    stack: Stack,
    index: c_int,
    depth: usize,
) -> Result<QueryExpression, Error> {
    let unreadable = || Error::new(Kind::Invalid, "this expression cannot be given to a store");
    if depth > DEPTH || stack.kind(index) != Type::Table || !stack.reserve(8) {
        return Err(unreadable());
    }
    let text = |position| {
        stack.get_element(index, position);
        let text = stack.text(-1);
        stack.pop(1);
        text
    };
    let inner = |position| {
        stack.get_element(index, position);
        let inner = expression(isolate, stack, stack.top(), depth + 1);
        stack.pop(1);
        inner.map(Box::new)
    };
    let word = text(1);
    if let Some(operator) = arithmetic(&word) {
        return Ok(QueryExpression::Arithmetic(operator, inner(2)?, inner(3)?));
    }
    if let Some(function) = text_function(&word) {
        return Ok(QueryExpression::Text(function, inner(2)?));
    }
    if let Some(function) = aggregate(&word) {
        return Ok(QueryExpression::Aggregate(function, inner(2)?));
    }
    match word.as_str() {
        "field" => Ok(QueryExpression::Field(text(2))),
        "count" => Ok(QueryExpression::Count),
        "of" => {
            let related = related(isolate, stack, index, 5, depth)?;
            Ok(QueryExpression::OfRelated(related, inner(4)?))
        }
        "value" => {
            stack.get_element(index, 2);
            let value = read_value(isolate, stack, stack.top());
            stack.pop(1);
            Ok(QueryExpression::Value(value?))
        }
        _ => Err(unreadable()),
    }
}

fn arithmetic(word: &str) -> Option<ArithmeticOperator> {
    Some(match word {
        "+" => ArithmeticOperator::Add,
        "-" => ArithmeticOperator::Subtract,
        "*" => ArithmeticOperator::Multiply,
        "/" => ArithmeticOperator::Divide,
        _ => return None,
    })
}

fn text_function(word: &str) -> Option<TextFunction> {
    Some(match word {
        "lower" => TextFunction::Lower,
        "upper" => TextFunction::Upper,
        "length" => TextFunction::Length,
        _ => return None,
    })
}

fn aggregate(word: &str) -> Option<AggregateFunction> {
    Some(match word {
        "countDistinct" => AggregateFunction::CountDistinct,
        "sum" => AggregateFunction::Sum,
        "average" => AggregateFunction::Average,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        _ => return None,
    })
}

/// A list of names, each followed by its expression.
pub(crate) fn expression_fields(
    isolate: &Isolate,
    stack: Stack,
    index: c_int,
) -> Result<Vec<(String, QueryExpression)>, Error> {
    let mut fields = Vec::new();
    loop {
        let position = fields.len() * 2 + 1;
        stack.get_element(index, position);
        let name = (stack.kind(-1) != Type::Nil).then(|| stack.text(-1));
        stack.pop(1);
        let Some(name) = name else { return Ok(fields) };
        stack.get_element(index, position + 1);
        let value = expression(isolate, stack, stack.top(), 0);
        stack.pop(1);
        fields.push((name, value?));
    }
}

/// A list of expressions.
fn expressions(
    isolate: &Isolate,
    stack: Stack,
    index: c_int,
) -> Result<Vec<QueryExpression>, Error> {
    let mut list = Vec::new();
    loop {
        stack.get_element(index, list.len() + 1);
        let read = match stack.kind(-1) {
            Type::Nil => None,
            _ => Some(expression(isolate, stack, stack.top(), 0)),
        };
        stack.pop(1);
        match read {
            None => return Ok(list),
            Some(read) => list.push(read?),
        }
    }
}

/// A list of texts.
fn texts(stack: Stack, index: c_int) -> Vec<String> {
    let mut list = Vec::new();
    loop {
        stack.get_element(index, list.len() + 1);
        let text = (stack.kind(-1) == Type::Text).then(|| stack.text(-1));
        stack.pop(1);
        match text {
            None => return list,
            Some(text) => list.push(text),
        }
    }
}

/// Sort keys: `name`, `-name` for the largest first, or an expression, with `true` behind it for that.
fn sort_keys(isolate: &Isolate, stack: Stack, index: c_int) -> Result<Vec<Sort>, Error> {
    let mut list = Vec::new();
    loop {
        stack.get_element(index, list.len() + 1);
        let key = match stack.kind(-1) {
            Type::Nil => None,
            Type::Text => Some(Ok(sort_key(stack.text(-1)))),
            _ => {
                let table = stack.top();
                stack.get_element(table, 2);
                let descending = stack.boolean(-1);
                stack.pop(1);
                stack.get_element(table, 1);
                let by = expression(isolate, stack, stack.top(), 0);
                stack.pop(1);
                Some(by.map(|by| Sort { by, descending }))
            }
        };
        stack.pop(1);
        match key {
            None => return Ok(list),
            Some(key) => list.push(key?),
        }
    }
}

/// `name`, or `-name` for the largest first.
fn sort_key(text: String) -> Sort {
    match text.strip_prefix('-') {
        Some(field) => Sort::by_field(field, true),
        None => Sort::by_field(text, false),
    }
}

/// A part of the query at an index; nothing where it is nil.
fn part<T>(
    stack: Stack,
    index: c_int,
    name: &str,
    read: impl FnOnce(c_int) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    stack.field(index, name);
    let part = match stack.kind(-1) {
        Type::Nil => Ok(None),
        _ => read(stack.top()).map(Some),
    };
    stack.pop(1);
    part
}

/// A query of the kernel: a table of its parts, of which each may be nil.
pub(crate) fn query_at(isolate: &Isolate, stack: Stack, index: c_int) -> Result<Query, Error> {
    if stack.kind(index) != Type::Table || !stack.reserve(16) {
        return Ok(Query::default());
    }
    let filter = |at| filter(isolate, stack, at, 0);
    let number = |at| Ok(stack.number(at).max(0.0) as u64);
    Ok(Query {
        filter: part(stack, index, "filter", filter)?,
        sort: part(stack, index, "sort", |at| sort_keys(isolate, stack, at))?.unwrap_or_default(),
        limit: part(stack, index, "limit", number)?,
        offset: part(stack, index, "offset", number)?.unwrap_or(0),
        fields: part(stack, index, "fields", |at| Ok(texts(stack, at)))?.unwrap_or_default(),
        count: false,
        columns: part(stack, index, "columns", |at| expression_fields(isolate, stack, at))?
            .unwrap_or_default(),
        group: part(stack, index, "group", |at| expressions(isolate, stack, at))?
            .unwrap_or_default(),
        having: part(stack, index, "having", filter)?,
        relations: part(stack, index, "relations", |at| Ok(relations(stack, at)))?
            .unwrap_or_default(),
        lock: part(stack, index, "lock", |_| Ok(()))?.is_some(),
    })
}

/// A list of the path, the table and the key of each relation, one after the other.
fn relations(stack: Stack, index: c_int) -> Vec<Relation> {
    relations_of(&texts(stack, index))
}

/// A table, behind which the kernel writes the variables that have other columns, each with its column, separated
/// by NUL characters.
fn related_table(text: &str) -> RelatedTable {
    let mut parts = text.split('\0').map(String::from);
    let name = parts.next().unwrap_or_default();
    let mut columns = Vec::new();
    while let (Some(name), Some(column)) = (parts.next(), parts.next()) {
        columns.push((name, column));
    }
    RelatedTable { name, columns }
}

fn relations_of(texts: &[String]) -> Vec<Relation> {
    let relation = |three: &[String]| Relation {
        path: three[0].clone(),
        table: related_table(&three[1]),
        key: three[2].clone(),
    };
    texts.chunks_exact(3).map(relation).collect()
}
