//! Queries from a program: what `query_data.rs` reads, run by the store.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference_at};
use crate::natives::tables::place::{asking_call, place_at};
use crate::natives::tables::query_data::{expression_fields, query_at};
use runnel_store::{BulkChange, Content, Context as Call, Value, Verb};

pub(crate) const NATIVES: [(&str, Native); 5] = [
    ("query", query),
    ("queryAnswer", query_answer),
    ("changeAll", change_all),
    ("explain", explain),
    ("run", run),
];

/// `(store, path, scheme or nil, query, count, place or nil)`; the query is a table of `filter`, `sort`, `limit`,
/// `offset`, `fields`, `columns`, `group`, `having` and `relations`.
fn query(isolate: &Isolate, arguments: Arguments) -> Reply {
    ask(isolate, arguments, |content| Given::Content(Some(content)))
}

/// The same, as the answer of the fiber, which ends with it.
fn query_answer(isolate: &Isolate, arguments: Arguments) -> Reply {
    ask(isolate, arguments, Given::Answer)
}

fn ask(isolate: &Isolate, arguments: Arguments, give: fn(Content) -> Given) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let mut query = attempt!(query_at(isolate, arguments.0, 4));
    query.count = arguments.boolean(5);
    let path = reference_at(arguments, 2, 3);
    let call = Call { place: place_at(arguments, 6), ..inner_call(isolate) };
    let answer = store.query(&path, &query, &call);
    Reply::answer(answer, give)
}

/// `(store, path, scheme or nil, query, names and values or nil)`: sets the fields of all rows that the
/// query selects, or deletes them; answers how many or, where the query has fields, records.
fn change_all(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let query = attempt!(query_at(isolate, arguments.0, 4));
    let change = match arguments.is_nil(5) {
        true => BulkChange::Delete,
        false => BulkChange::Set(attempt!(expression_fields(isolate, arguments.0, 5))),
    };
    let path = reference_at(arguments, 2, 3);
    let tables = attempt!(store.tables_for(change.verb(), &path));
    let answer = tables.change_all(&path, &query, &change, &asking_call(isolate, arguments));
    crate::natives::stores::given(answer.map(|value| Some(Content::value(value))))
}

/// `(store, path, scheme or nil, query, plan)`: the statement of a query, or how the store runs it.
fn explain(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let query = attempt!(query_at(isolate, arguments.0, 4));
    let path = reference_at(arguments, 2, 3);
    let tables = attempt!(store.tables_for(Verb::Query, &path));
    let answer = tables.explain(&path, &query, arguments.boolean(5), &inner_call(isolate));
    crate::natives::stores::given(answer.map(|value| Some(Content::value(value))))
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
    let answer =
        tables.run(&path, &arguments.text(4), parameters, &asking_call(isolate, arguments));
    crate::natives::stores::given(answer.map(Some))
}
