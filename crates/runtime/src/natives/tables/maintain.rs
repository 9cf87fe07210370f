//! Databases as a whole: copies of them, and maintenance.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference_at};
use runnel_store::{BackupOrder, ContinuousBackup, Verb, packed_for};
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 6] = [
    ("backup", backup),
    ("backUp", back_up),
    ("backupLag", backup_lag),
    ("backupSpans", backup_spans),
    ("stopBackup", stop_backup),
    ("vacuum", vacuum),
];

/// A continuous backup, as a program holds it.
struct HeldBackup(Rc<dyn ContinuousBackup>);

/// `(store, path, scheme or nil, store, path and scheme of the target)`: writes a copy of the
/// database to the target, compressed where its name says so.
fn backup(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let target = attempt!(any_store(isolate, arguments, 4));
    let (on, to) = (reference_at(arguments, 2, 3), reference_at(arguments, 5, 6));
    let call = inner_call(isolate);
    let tables = attempt!(store.tables_for(Verb::Get, &on));
    let copied = tables.snapshot(&on, &call).and_then(move |copy| {
        let written = match packed_for(&to, copy) {
            Ok(copy) => target.put(&to, copy, &call),
            Err(error) => error.into(),
        };
        written.map(move |_| drop(target))
    });
    Reply::answer(copied, |()| Given::Nil)
}

/// `(store, path, scheme or nil, store, path and scheme of the target, options)`: ships the changes of
/// the database from now on. Nil where the program only shows what it is made of.
fn back_up(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let target = attempt!(any_store(isolate, arguments, 4));
    let (on, to) = (reference_at(arguments, 2, 3), reference_at(arguments, 5, 6));
    let options = attempt!(arguments.value(isolate, 7));
    let tables = attempt!(store.tables_for(Verb::Get, &on));
    if !isolate.host().makes_backups() {
        return Reply::Now(Given::Nil);
    }
    let begun = tables.back_up(&on, BackupOrder { store: target, to, options });
    Reply::answer(begun, |backup| Given::Native(Rc::new(HeldBackup(backup))))
}

fn held(arguments: Arguments) -> Result<Rc<HeldBackup>, runnel_store::Error> {
    arguments.held("a continuous backup")
}

/// `(backup)`: the age of the newest state in seconds, or nil.
fn backup_lag(_: &Isolate, arguments: Arguments) -> Reply {
    let lag = attempt!(held(arguments)).0.lag();
    Reply::Now(lag.map_or(Given::Nil, Given::Number))
}

/// `(backup)`: what can be restored, as records.
fn backup_spans(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::answer(attempt!(held(arguments)).0.spans(), Given::Value)
}

/// `(backup)`: ships what is left and stops.
fn stop_backup(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::done(attempt!(held(arguments)).0.stop())
}

/// `(store, path, scheme or nil)`
fn vacuum(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let on = reference_at(arguments, 2, 3);
    let call = inner_call(isolate);
    let cleaned = attempt!(store.tables_for(Verb::Define, &on)).vacuum(&on, &call);
    Reply::answer(cleaned, |()| Given::Nil)
}
