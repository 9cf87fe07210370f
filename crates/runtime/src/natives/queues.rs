//! Natives on lists from which elements are taken, and on streams with followers.

use super::stores::{any_store, given, inner_call, reference};
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use runnel_store::{Deliveries, Error, GroupMember, GroupOptions, Kind, QueueEnd, Value, Verb};
use std::os::raw::c_int;
use std::rc::Rc;
use std::time::Duration;

pub(crate) const NATIVES: [(&str, Native); 9] = [
    ("takeElement", take_element),
    ("joinGroup", join_group),
    ("disbandGroup", disband_group),
    ("groupLease", group_lease),
    ("groupNext", group_next),
    ("groupAcknowledge", group_acknowledge),
    ("groupGiveBack", group_give_back),
    ("groupBury", group_bury),
    ("groupRenew", group_renew),
];

/// A follower held by the program.
struct HeldMember(Rc<dyn GroupMember>);

fn duration(arguments: Arguments, at: c_int) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(arguments.number(at)).map_err(|_| {
        Error::new(Kind::Invalid, "a time to wait is a number of seconds that is not negative")
    })
}

fn member(arguments: Arguments) -> Result<Rc<dyn GroupMember>, Error> {
    Ok(arguments.held::<HeldMember>("a follower")?.0.clone())
}

/// `(store, path, query or nil, scheme or nil, "first" or "last", seconds)`: the element that was
/// taken, or nil.
fn take_element(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let wait = attempt!(duration(arguments, 6));
    let (on, context) = (reference(arguments), inner_call(isolate));
    let end = if arguments.text(5) == "first" { QueueEnd::First } else { QueueEnd::Last };
    given(store.with_queues(Verb::Delete, &on, |queues| queues.take(&on, end, wait, &context)))
}

/// `(store, path, query or nil, scheme or nil, name, lease)`: a follower of a stream.
fn join_group(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let group = GroupOptions { name: arguments.text(5), lease: attempt!(duration(arguments, 6)) };
    let (on, context) = (reference(arguments), inner_call(isolate));
    let joined = store.with_queues(Verb::Watch, &on, |queues| queues.join(&on, &group, &context));
    Reply::answer(joined, |member| Given::Native(Rc::new(HeldMember(member))))
}

/// `(store, path, query or nil, scheme or nil, name)`: whether there was such a group.
fn disband_group(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let (on, context, name) = (reference(arguments), inner_call(isolate), arguments.text(5));
    let ended = store.with_queues(Verb::Delete, &on, |queues| queues.disband(&on, &name, &context));
    Reply::answer(ended, Given::Boolean)
}

/// `(follower)`: the seconds of its lease.
fn group_lease(_: &Isolate, arguments: Arguments) -> Reply {
    let member = attempt!(member(arguments));
    Reply::Now(Given::Number(member.lease().as_secs_f64()))
}

/// `(follower, most)`: a list: how many messages were lost, and for each message its id, value and
/// attempt.
fn group_next(_: &Isolate, arguments: Arguments) -> Reply {
    let member = attempt!(member(arguments));
    Reply::answer(member.next(arguments.number(2).max(1.0) as usize), |delivered| {
        let Deliveries { messages, lost } = delivered;
        let mut list = vec![Value::Int(i64::try_from(lost).unwrap_or(i64::MAX))];
        list.extend(messages.into_iter().map(|message| {
            let attempt = i64::try_from(message.attempt).unwrap_or(i64::MAX);
            Value::List(vec![Value::Text(message.id), message.value, Value::Int(attempt)])
        }));
        Given::Value(Value::List(list))
    })
}

/// `(follower, id)`
fn group_acknowledge(_: &Isolate, arguments: Arguments) -> Reply {
    let member = attempt!(member(arguments));
    Reply::done(member.acknowledge(&arguments.text(2)))
}

/// `(follower, id, seconds)`
fn group_give_back(_: &Isolate, arguments: Arguments) -> Reply {
    let member = attempt!(member(arguments));
    let pause = attempt!(duration(arguments, 3));
    Reply::done(member.give_back(&arguments.text(2), pause))
}

/// `(follower, id, reason)`
fn group_bury(_: &Isolate, arguments: Arguments) -> Reply {
    let member = attempt!(member(arguments));
    Reply::done(member.bury(&arguments.text(2), &arguments.text(3)))
}

/// `(follower)`
fn group_renew(_: &Isolate, arguments: Arguments) -> Reply {
    let member = attempt!(member(arguments));
    Reply::done(member.renew())
}
