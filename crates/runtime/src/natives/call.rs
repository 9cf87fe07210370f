//! Functions of Rust that the kernel calls, and what they answer.
//!
//! A native answers at once or later. The kernel's wrapper turns a later answer into a yield, so
//! that only the fiber waits.
#![allow(unsafe_code)]

use crate::engine::stack::{Slot, Stack, Type};
use crate::isolate::Isolate;
use crate::slices::build::{build_content, is_large_content};
use crate::values::convert::Origin;
use mlua::ffi::lua_State;
use runnel_store::{Content, Context as Call, Error, Kind, Store, Value};
use std::any::Any;
use std::future::Future;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;

/// What a fiber waits for.
pub(crate) type Operation = Pin<Box<dyn Future<Output = Result<Given, Error>>>>;

/// A value given to the program.
pub(crate) enum Given {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(String),
    Bytes(bytes::Bytes),
    Value(Value),
    /// What a store answered; `None` is nil.
    Content(Option<Content>),
    /// What a store answered, as the answer of a fiber that ends with it.
    Answer(Content),
    /// A native store, as an object of the program.
    Store(Rc<dyn Store>),
    /// Any other value of Rust, held by the program without looking inside.
    Native(Rc<dyn Any>),
    /// The names of entries.
    Names(Vec<String>),
    /// A value that is kept and let go once it is given.
    Kept(Slot),
    /// A value that is kept and stays so.
    Shared(Slot),
}

impl Given {
    pub(crate) fn push(self, isolate: &Isolate, stack: Stack) {
        match self {
            Given::Nil => stack.push_nil(),
            Given::Boolean(value) => stack.push_boolean(value),
            Given::Number(value) => stack.push_number(value),
            Given::Text(text) => stack.push_bytes(text.as_bytes()),
            Given::Bytes(bytes) => stack.push_bytes(&bytes),
            Given::Value(value) => crate::values::convert::push_value(isolate, stack, &value),
            Given::Content(content) => {
                crate::values::convert::push_content(isolate, stack, content)
            }
            Given::Answer(content) => crate::values::convert::push_answer(isolate, stack, content),
            Given::Store(store) => crate::values::convert::push_store(isolate, stack, store),
            Given::Native(value) => stack.push_native(value),
            Given::Shared(slot) => stack.push_kept(slot),
            Given::Kept(slot) => {
                stack.push_kept(slot);
                stack.release(slot);
            }
            Given::Names(names) => {
                let names = names.into_iter().map(Value::Text).collect();
                crate::values::convert::push_value(isolate, stack, &Value::List(names));
            }
        }
    }
}

impl Given {
    /// Whether its objects are made in slices.
    pub(crate) fn is_large(&self) -> bool {
        match self {
            Given::Value(value) => value.is_large(),
            Given::Content(Some(content)) => is_large_content(content),
            _ => false,
        }
    }

    /// Makes the objects of what is large in slices.
    pub(crate) fn in_slices(self, isolate: &Isolate, call: &Call) -> Reply {
        let content = match self {
            Given::Value(value) => Content::value(value),
            Given::Content(Some(content)) => content,
            given => return Reply::Now(given),
        };
        let built = build_content(isolate.clone(), call.clone(), content, Origin::Program);
        Reply::later(async move { built.await.map(Given::Kept) })
    }
}

/// The answer of a native.
pub(crate) enum Reply {
    Now(Given),
    Failed(Error),
    Later(Operation),
}

impl Reply {
    pub(crate) fn later(future: impl Future<Output = Result<Given, Error>> + 'static) -> Reply {
        Reply::Later(Box::pin(future))
    }
}

impl<T: 'static> From<(runnel_store::Answer<T>, fn(T) -> Given)> for Reply {
    fn from((answer, give): (runnel_store::Answer<T>, fn(T) -> Given)) -> Reply {
        match answer {
            runnel_store::Answer::Ready(Ok(value)) => Reply::Now(give(value)),
            runnel_store::Answer::Ready(Err(error)) => Reply::Failed(error),
            runnel_store::Answer::Later(future) => {
                Reply::later(async move { future.await.map(give) })
            }
        }
    }
}

/// The arguments of a native, counted from 1.
#[derive(Clone, Copy)]
pub(crate) struct Arguments(pub(crate) Stack);

impl Arguments {
    pub(crate) fn is_nil(self, at: c_int) -> bool {
        self.0.kind(at) == Type::Nil
    }

    /// Text; an empty one for other kinds.
    pub(crate) fn text(self, at: c_int) -> String {
        String::from_utf8_lossy(self.0.bytes(at)).into_owned()
    }

    pub(crate) fn bytes<'a>(self, at: c_int) -> &'a [u8] {
        self.0.bytes(at)
    }

    pub(crate) fn number(self, at: c_int) -> f64 {
        self.0.number(at)
    }

    pub(crate) fn boolean(self, at: c_int) -> bool {
        self.0.boolean(at)
    }

    pub(crate) fn store(self, at: c_int) -> Result<Rc<dyn Store>, Error> {
        crate::values::convert::native_store(self.0, at)
            .ok_or_else(|| Error::new(Kind::Invalid, "a store is expected here"))
    }

    pub(crate) fn native(self, at: c_int) -> Option<Rc<dyn Any>> {
        self.0.native(at)
    }

    pub(crate) fn content(self, isolate: &Isolate, at: c_int) -> Content {
        crate::values::convert::read_content(isolate, self.0, at)
    }

    pub(crate) fn value(self, isolate: &Isolate, at: c_int) -> Result<Value, Error> {
        crate::values::convert::read_value(isolate, self.0, at)
    }
}

/// A native.
pub(crate) type Native = fn(&Isolate, Arguments) -> Reply;

/// What Lua calls: finds the native by its number and gives its answer as `true, value`,
/// `false, error`, or nothing after the operation was left in the pending place.
// SAFETY: the engine calls it with its own state; panics of natives do not pass through it.
pub(crate) unsafe extern "C-unwind" fn trampoline(state: *mut lua_State) -> c_int {
    let stack = Stack(state);
    let number = stack.upvalue_number();
    let Some(isolate) = Isolate::current() else { return 0 };
    let Some(native) = isolate.native(number) else { return 0 };
    // No allocation is refused, and so nothing raised, before the last of Rust's values is dropped.
    let mode = crate::engine::memory::enter_native();
    let results = answer(&isolate, native, stack);
    crate::engine::memory::leave(mode);
    results
}

/// Runs a native and pushes its answer; answers how many values.
fn answer(isolate: &Isolate, native: Native, stack: Stack) -> c_int {
    let reply = catch_unwind(AssertUnwindSafe(|| match native(isolate, Arguments(stack)) {
        Reply::Now(given) if given.is_large() && stack.can_yield() => {
            given.in_slices(isolate, &isolate.call())
        }
        reply => reply,
    }));
    stack.reserve(8);
    match reply {
        Ok(Reply::Now(given)) => {
            stack.push_boolean(true);
            given.push(isolate, stack);
            refuse_excess(stack);
            2
        }
        Ok(Reply::Failed(error)) => {
            stack.push_boolean(false);
            crate::fibers::fault::push_error(isolate, stack, &error);
            2
        }
        Ok(Reply::Later(operation)) => {
            isolate.set_pending(operation);
            0
        }
        Err(_) => {
            let error = Error::new(Kind::Failed, "an internal error; the log has more");
            stack.push_boolean(false);
            crate::fibers::fault::push_error(isolate, stack, &error);
            2
        }
    }
}

/// Replaces `true` and a value on top by `false` and the memory error, where the value took more
/// than there is: it may not be whole.
pub(crate) fn refuse_excess(stack: Stack) {
    if crate::engine::memory::is_exceeded() {
        stack.pop(2);
        stack.push_boolean(false);
        stack.push_bytes(crate::engine::memory::MESSAGE);
    }
}
