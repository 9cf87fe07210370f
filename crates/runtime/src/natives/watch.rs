//! Natives on changes of stores.

use super::stores::{any_store, given, inner_call, reference};
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use futures_util::StreamExt;
use runnel_store::{
    Answer, Change, ChangeKind, Changes, Content, Error, Kind, Reference, Value, Watchers,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 6] = [
    ("watch", watch),
    ("nextChange", next_change),
    ("changeContent", change_content),
    ("unwatch", unwatch),
    ("watchers", watchers),
    ("publish", publish),
];

/// A watch held by the program. It ends on request, or with the last handle.
struct HeldWatch {
    /// Absent while a fiber waits for the next change, and after the end.
    changes: RefCell<Option<Changes>>,
    ended: Cell<bool>,
    told_to_end: tokio::sync::Notify,
    /// The content of the last change.
    content: RefCell<Option<Content>>,
}

/// `(store, path, query or nil, scheme or nil)`: a watch, from now on.
fn watch(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let changes = store.watch(&reference(arguments), &inner_call(isolate));
    Reply::answer(changes, held)
}

/// A watch as programs hold it.
pub(crate) fn held(changes: Changes) -> Given {
    Given::Native(Rc::new(HeldWatch {
        changes: RefCell::new(Some(changes)),
        ended: Cell::new(false),
        told_to_end: tokio::sync::Notify::new(),
        content: RefCell::default(),
    }))
}

/// `(watch)`: waits for the next change: a list of its kind, path, scheme and event; nil at the end.
fn next_change(_: &Isolate, arguments: Arguments) -> Reply {
    let watch = attempt!(arguments.held::<HeldWatch>("a watch"));
    if watch.ended.get() {
        return Reply::Now(Given::Nil);
    }
    let Some(mut changes) = watch.changes.take() else {
        let message = "two fibers wait for the changes of one watch; make one for each";
        return Reply::Failed(Error::new(Kind::Invalid, message));
    };
    Reply::later(async move {
        let next = tokio::select! {
            next = changes.next() => next,
            () = watch.told_to_end.notified() => None,
        };
        match next {
            Some(Ok(change)) if !watch.ended.get() => {
                watch.changes.replace(Some(changes));
                Ok(change_parts(&watch, change))
            }
            Some(Err(error)) => {
                watch.ended.set(true);
                Err(error)
            }
            _ => {
                watch.ended.set(true);
                Ok(Given::Nil)
            }
        }
    })
}

fn change_parts(watch: &HeldWatch, change: Change) -> Given {
    let Change { kind, reference, content, event } = change;
    watch.content.replace(content);
    let scheme = reference.scheme().map_or(Value::Nil, |scheme| Value::Text(scheme.into()));
    let path = Value::Text(reference.path().into());
    let event = event.map_or(Value::Nil, |event| Value::Text(event.into()));
    Given::Value(Value::List(vec![Value::Text(kind.name().into()), path, scheme, event]))
}

/// `(watch)`: the content that came with the last change, once; nil where it came without.
fn change_content(_: &Isolate, arguments: Arguments) -> Reply {
    let watch = attempt!(arguments.held::<HeldWatch>("a watch"));
    given(Answer::ok(watch.content.take()))
}

/// `(watch)`: ends it. A fiber that waits for the next change gets nil.
fn unwatch(_: &Isolate, arguments: Arguments) -> Reply {
    let watch = attempt!(arguments.held::<HeldWatch>("a watch"));
    watch.ended.set(true);
    watch.changes.take();
    watch.told_to_end.notify_waiters();
    Reply::Now(Given::Nil)
}

/// New watchers of a store of the program.
fn watchers(_: &Isolate, _: Arguments) -> Reply {
    Reply::Now(Given::Native(Rc::new(Watchers::new())))
}

/// `(watchers, kind, path)`: publishes a change.
fn publish(_: &Isolate, arguments: Arguments) -> Reply {
    let watchers = attempt!(arguments.held::<Watchers>("a set of watchers"));
    let kind = match arguments.text(2).as_str() {
        "deleted" => ChangeKind::Deleted,
        "lost" => ChangeKind::Lost,
        _ => ChangeKind::Changed,
    };
    watchers.publish(kind, &Reference::from_path(arguments.text(3)));
    Reply::Now(Given::Nil)
}
