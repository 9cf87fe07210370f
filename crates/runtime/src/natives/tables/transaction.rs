//! Natives on transactions of a fiber.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call, reference_at};
use runnel_store::{Error, Isolation, Kind, Transaction, Verb};
use std::cell::RefCell;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 7] = [
    ("begin", begin),
    ("isInTransaction", is_in_transaction),
    ("outermostTransaction", outermost),
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

/// `(store, path, scheme or nil, isolation or nil)`: begins a transaction; the fiber is not in it yet.
fn begin(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let on = reference_at(arguments, 2, 3);
    let name = (!arguments.is_nil(4)).then(|| arguments.text(4));
    let isolation = name.map(|name| {
        Isolation::named(&name).ok_or_else(|| {
            let names = Isolation::ALL.map(|(_, name)| format!("'{name}'")).join(", ");
            Error::new(Kind::Invalid, format!("isolation: takes one of {names}, not '{name}'"))
        })
    });
    let isolation = attempt!(isolation.transpose());
    let tables = attempt!(store.tables_for(Verb::Begin, &on));
    let answer = tables.begin(&on, isolation, &inner_call(isolate));
    Reply::answer(answer, |transaction| {
        let transaction = RefCell::new(Some(transaction));
        Given::Native(Rc::new(HeldTransaction { transaction, before: RefCell::default() }))
    })
}

/// Whether the fiber is in a transaction, of any store.
fn is_in_transaction(isolate: &Isolate, _: Arguments) -> Reply {
    Reply::Now(Given::Boolean(isolate.call().transaction.is_some()))
}

/// What tells the outermost transaction of the fiber from others while it lasts; nil outside of one.
fn outermost(isolate: &Isolate, _: Arguments) -> Reply {
    let Some(mut transaction) = isolate.call().transaction else { return Reply::Now(Given::Nil) };
    while let Some(outer) = transaction.outer().cloned() {
        transaction = outer;
    }
    // An address has 47 bits, so it is exact as a number.
    Reply::Now(Given::Number(Rc::as_ptr(&transaction).cast::<()>() as usize as f64))
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
