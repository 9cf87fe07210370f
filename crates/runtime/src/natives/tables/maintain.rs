//! Databases as a whole: copies of them, and maintenance.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference_at};
use runnel_store::Verb;

pub(crate) const NATIVES: [(&str, Native); 2] = [("backup", backup), ("vacuum", vacuum)];

/// `(store, path, scheme or nil, store, path and scheme of the target)`: writes a copy of the
/// database to the target.
fn backup(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let target = attempt!(any_store(isolate, arguments, 4));
    let (on, to) = (reference_at(arguments, 2, 3), reference_at(arguments, 5, 6));
    let call = inner_call(isolate);
    let tables = attempt!(store.tables_for(Verb::Get, &on));
    let copied = tables.snapshot(&on, &call).and_then(move |copy| {
        let written = target.put(&to, copy, &call);
        written.map(move |_| drop(target))
    });
    Reply::answer(copied, |()| Given::Nil)
}

/// `(store, path, scheme or nil)`
fn vacuum(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let on = reference_at(arguments, 2, 3);
    let call = inner_call(isolate);
    let cleaned = attempt!(store.tables_for(Verb::Define, &on)).vacuum(&on, &call);
    Reply::answer(cleaned, |()| Given::Nil)
}
