//! Natives on transactions of a fiber.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference_at};
use runnel_store::{Error, Kind, Transaction, Verb};
use std::cell::RefCell;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 5] = [
    ("begin", begin),
    ("enterTransaction", enter),
    ("leaveTransaction", leave),
    ("commit", commit),
    ("rollBack", roll_back),
];

/// A transaction held by the program until it commits or rolls back: the collector frees handles at
/// some later time, and a transaction must end now.
struct HeldTransaction {
    transaction: RefCell<Option<Rc<dyn Transaction>>>,
    /// The transaction of the fiber before it entered this one.
    before: RefCell<Option<Rc<dyn Transaction>>>,
}

/// `(store, path, scheme or nil)`: begins a transaction; the fiber is not in it yet.
fn begin(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let on = reference_at(arguments, 2, 3);
    let answer = attempt!(store.tables_for(Verb::Begin, &on)).begin(&on, &inner_call(isolate));
    Reply::answer(answer, |transaction| {
        let transaction = RefCell::new(Some(transaction));
        Given::Native(Rc::new(HeldTransaction { transaction, before: RefCell::default() }))
    })
}

fn over() -> Error {
    Error::new(Kind::Failed, "this transaction has ended already")
}

/// Makes the following verbs of this fiber part of the transaction.
fn enter(isolate: &Isolate, arguments: Arguments) -> Reply {
    let held = attempt!(arguments.held::<HeldTransaction>("a transaction"));
    let transaction = attempt!(held.transaction.borrow().clone().ok_or_else(over));
    held.before.replace(isolate.call().transaction);
    isolate.set_transaction(Some(transaction));
    Reply::Now(Given::Nil)
}

/// Restores the transaction around this one.
fn leave(isolate: &Isolate, arguments: Arguments) -> Reply {
    let held = attempt!(arguments.held::<HeldTransaction>("a transaction"));
    isolate.set_transaction(held.before.take());
    Reply::Now(Given::Nil)
}

fn commit(_: &Isolate, arguments: Arguments) -> Reply {
    let held = attempt!(arguments.held::<HeldTransaction>("a transaction"));
    let transaction = attempt!(held.transaction.take().ok_or_else(over));
    let answer = transaction.commit();
    Reply::later(async move {
        answer.await?;
        drop(transaction);
        Ok(Given::Nil)
    })
}

/// Rolls the transaction back, unless it has ended already.
fn roll_back(_: &Isolate, arguments: Arguments) -> Reply {
    let held = attempt!(arguments.held::<HeldTransaction>("a transaction"));
    let Some(transaction) = held.transaction.take() else { return Reply::Now(Given::Nil) };
    let answer = transaction.roll_back();
    Reply::later(async move {
        answer.await?;
        drop(transaction);
        Ok(Given::Nil)
    })
}
