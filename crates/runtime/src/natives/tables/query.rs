//! Queries from a program: the data that the compiler made, as the store's `Query`.

use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference_at};
use crate::slices::data::read_value;
use runnel_store::{Comparison, Content, Error, Filter, Kind, Query, Sort, Value, Verb};
use std::os::raw::c_int;

pub(crate) const NATIVES: [(&str, Native); 3] =
    [("query", query), ("queryAnswer", query_answer), ("run", run)];

/// Conditions within conditions that are read.
const DEPTH: usize = 64;
/// Values that a field is compared with by `includes:`.
const MOST_VALUES: usize = 1000;

/// `(store, path, scheme or nil, filter or nil, sort or nil, limit or nil, offset or nil, fields or
/// nil, count)`
fn query(isolate: &Isolate, arguments: Arguments) -> Reply {
    ask(isolate, arguments, |content| Given::Content(Some(content)))
}

/// The same, as the answer of the fiber, which ends with it.
fn query_answer(isolate: &Isolate, arguments: Arguments) -> Reply {
    ask(isolate, arguments, Given::Answer)
}

fn ask(isolate: &Isolate, arguments: Arguments, give: fn(Content) -> Given) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let filter = match arguments.is_nil(4) {
        true => None,
        false => Some(attempt!(filter(isolate, arguments.0, 4, 0))),
    };
    let sort = attempt!(texts(isolate, arguments, 5));
    let fields = attempt!(texts(isolate, arguments, 8));
    let number = |at| match arguments.is_nil(at) {
        true => None,
        false => Some(arguments.number(at).max(0.0) as u64),
    };
    let query = Query {
        filter,
        sort: sort.into_iter().map(sort_key).collect(),
        limit: number(6),
        offset: number(7).unwrap_or(0),
        fields,
        count: arguments.boolean(9),
    };
    let path = reference_at(arguments, 2, 3);
    let answer = store.query(&path, &query, &inner_call(isolate));
    Reply::answer(answer, give)
}

/// `(store, path, scheme or nil, statement, list of parameters)`: rows, or how many rows a
/// statement changed.
fn run(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let parameters = match attempt!(arguments.value(isolate, 5)) {
        Value::List(items) => items,
        Value::Nil => Vec::new(),
        single => vec![single],
    };
    let path = reference_at(arguments, 2, 3);
    let tables = attempt!(store.tables_for(Verb::Query, &path));
    let answer = tables.run(&path, &arguments.text(4), parameters, &inner_call(isolate));
    crate::natives::stores::given(answer.map(Some))
}

fn texts(isolate: &Isolate, arguments: Arguments, at: c_int) -> Result<Vec<String>, Error> {
    if arguments.is_nil(at) {
        return Ok(Vec::new());
    }
    Ok(match arguments.value(isolate, at)? {
        Value::List(items) => items
            .into_iter()
            .filter_map(|item| match item {
                Value::Text(text) => Some(text),
                _ => None,
            })
            .collect(),
        Value::Text(text) => vec![text],
        _ => Vec::new(),
    })
}

/// `name`, or `-name` for the largest first.
fn sort_key(text: String) -> Sort {
    match text.strip_prefix('-') {
        Some(field) => Sort { field: field.to_string(), descending: true },
        None => Sort { field: text, descending: false },
    }
}

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

/// Reads `{ operator, field, value }`, `{ "and", left, right }`, `{ "not", inner }`.
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
        _ => {}
    }
    let field = stack.text(item(2));
    stack.pop(1);
    let value = read_value(isolate, stack, item(3));
    stack.pop(1);
    let value = value?;
    let comparison = match operator.as_str() {
        "in" => return one_of(field, value),
        "=" => Comparison::Equal,
        "≠" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "≤" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        "≥" => Comparison::GreaterOrEqual,
        _ => {
            let Value::Text(text) = value else {
                return Err(Error::new(Kind::Invalid, format!("`{operator}:` needs a text")));
            };
            return Ok(match operator.as_str() {
                "hasPrefix" => Filter::Prefix(field, text),
                "hasSuffix" => Filter::Suffix(field, text),
                _ => Filter::Contains(field, text),
            });
        }
    };
    Ok(Filter::Compare(field, comparison, value))
}
