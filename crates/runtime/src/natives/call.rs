//! Functions of Rust that the kernel calls, and what they answer.
//!
//! A native answers at once or later. The kernel's wrapper turns a later answer into a yield, so
//! that only the fiber waits.
#![allow(unsafe_code)]

use crate::engine::memory;
use crate::engine::stack::{Slot, Stack, Type};
use crate::isolate::{Isolate, Operation, PendingOperation};
use crate::slices::content::{build_content, is_large_content};
use crate::slices::data::read_value;
use crate::values::content::{push_answer, push_content, push_contents, read_content};
use crate::values::errors::push_error;
use crate::values::handle::ObjectHandle;
use crate::values::kind::Origin;
use crate::values::native::{native_store, push_store};
use crate::values::push::push_value;
use futures_util::future::LocalBoxFuture;
use runnel_store::{Answer, Content, Context as Call, Error, Kind, Store, Value};
use std::any::Any;
use std::future::Future;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A value given to the program.
pub(crate) enum Given {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(String),
    Bytes(bytes::Bytes),
    /// A text for which the program has no memory: the memory error.
    TooLarge,
    Value(Value),
    /// What a store answered; `None` is nil.
    Content(Option<Content>),
    /// What a store answered to several reads, as an array.
    Contents(Vec<Option<Content>>),
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
    /// An object of the program.
    Object(ObjectHandle),
}

impl Given {
    /// Whether the program has no memory for it, as far as its size is known.
    fn exceeds_memory(&self) -> bool {
        match self {
            Given::Text(text) => memory::would_exceed(text.len()),
            Given::Bytes(bytes) => memory::would_exceed(bytes.len()),
            Given::TooLarge => true,
            _ => false,
        }
    }

    pub(crate) fn push(self, isolate: &Isolate, stack: Stack) {
        match self {
            Given::Nil | Given::TooLarge => stack.push_nil(),
            Given::Boolean(value) => stack.push_boolean(value),
            Given::Number(value) => stack.push_number(value),
            Given::Text(text) => stack.push_bytes(text.as_bytes()),
            Given::Bytes(bytes) => stack.push_bytes(&bytes),
            Given::Value(value) => push_value(isolate, stack, &value),
            Given::Content(content) => push_content(isolate, stack, content),
            Given::Contents(contents) => push_contents(isolate, stack, contents),
            Given::Answer(content) => push_answer(isolate, stack, content),
            Given::Store(store) => push_store(isolate, stack, store),
            Given::Native(value) => stack.push_native(value),
            Given::Object(object) => object.push(stack),
            Given::Kept(slot) => {
                stack.push_kept(slot);
                stack.release(slot);
            }
            Given::Names(names) => {
                let names = names.into_iter().map(Value::Text).collect();
                push_value(isolate, stack, &Value::List(names));
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

    /// Large content, whose objects are made in slices.
    fn into_content(self) -> Content {
        match self {
            Given::Value(value) => Content::value(value),
            Given::Content(Some(content)) => content,
            _ => Content::default(),
        }
    }
}

/// The answer of a native.
pub(crate) enum Reply {
    Now(Given),
    Failed(Error),
    Later(PendingOperation),
}

impl Reply {
    pub(crate) fn later(future: impl Future<Output = Result<Given, Error>> + 'static) -> Reply {
        Reply::Later(Box::pin(Later { future, objects: None }))
    }

    /// The answer of a store, as the value that `give` makes of it.
    pub(crate) fn answer<T: 'static>(answer: Answer<T>, give: fn(T) -> Given) -> Reply {
        match answer {
            Answer::Ready(result) => result.map(give).into(),
            Answer::Later(future) => Reply::later(async move { future.await.map(give) }),
        }
    }

    /// The end of an operation without a value.
    pub(crate) fn done(answer: Answer<()>) -> Reply {
        Reply::answer(answer, |()| Given::Nil)
    }
}

impl From<Result<Given, Error>> for Reply {
    fn from(result: Result<Given, Error>) -> Reply {
        match result {
            Ok(given) => Reply::Now(given),
            Err(error) => Reply::Failed(error),
        }
    }
}

/// The later answer of a native, and then the objects of a large one.
struct Later<F> {
    future: F,
    objects: Option<LocalBoxFuture<'static, Result<Slot, Error>>>,
}

impl<F: Future<Output = Result<Given, Error>>> Operation for Later<F> {
    fn poll(
        self: Pin<&mut Self>,
        isolate: &Isolate,
        call: &Call,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        // SAFETY: `future` is never moved: only this function reaches it, behind the same pin.
        let (mut future, objects) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.objects)
        };
        // A panic would end the task of a forked fiber, and those that join it would wait for ever.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            loop {
                if let Some(objects) = objects {
                    return objects.as_mut().poll(context).map_ok(Given::Kept);
                }
                match ready!(future.as_mut().poll(context)) {
                    Ok(given) if given.is_large() => {
                        let (isolate, call) = (isolate.clone(), call.clone());
                        let built =
                            build_content(isolate, call, given.into_content(), Origin::Program);
                        *objects = Some(Box::pin(built));
                    }
                    outcome => return Poll::Ready(outcome),
                }
            }
        }));
        let outcome = ready!(polled.unwrap_or_else(|_| Poll::Ready(Err(panicked()))));
        push_outcome(isolate, isolate.stack(), outcome);
        Poll::Ready(())
    }
}

/// Pushes `true` and a value, or `false` and an error. The value may have taken more memory than
/// there is: then it may not be whole, and the memory error takes its place.
fn push_outcome(isolate: &Isolate, stack: Stack, outcome: Result<Given, Error>) {
    stack.reserve(8);
    if outcome.as_ref().is_ok_and(Given::exceeds_memory) {
        stack.push_boolean(false);
        return stack.push_bytes(memory::MESSAGE);
    }
    stack.push_boolean(outcome.is_ok());
    match outcome {
        Ok(given) => {
            given.push(isolate, stack);
            if memory::is_exceeded() {
                stack.pop(2);
                stack.push_boolean(false);
                stack.push_bytes(memory::MESSAGE);
            }
        }
        Err(error) => push_error(isolate, stack, &error),
    }
}

/// The arguments of a native, counted from 1.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'s>(pub(crate) Stack<'s>);

impl<'s> Arguments<'s> {
    pub(crate) fn is_nil(self, at: c_int) -> bool {
        self.0.kind(at) == Type::Nil
    }

    /// Text; an empty one for other kinds.
    pub(crate) fn text(self, at: c_int) -> String {
        self.0.text(at)
    }

    /// The bytes of a text; none for other kinds.
    pub(crate) fn bytes(self, at: c_int) -> &'s [u8] {
        // SAFETY: a native's arguments stay at the bottom of its stack until it returns.
        unsafe { self.0.bytes(at) }
    }

    pub(crate) fn number(self, at: c_int) -> f64 {
        self.0.number(at)
    }

    pub(crate) fn boolean(self, at: c_int) -> bool {
        self.0.boolean(at)
    }

    pub(crate) fn store(self, at: c_int) -> Result<Rc<dyn Store>, Error> {
        native_store(self.0, at)
            .ok_or_else(|| Error::new(Kind::Invalid, "a store is expected here"))
    }

    pub(crate) fn native(self, at: c_int) -> Option<Rc<dyn Any>> {
        self.0.native(at)
    }

    /// A value of Rust as the first argument; `what` names it.
    pub(crate) fn held<T: 'static>(self, what: &str) -> Result<Rc<T>, Error> {
        self.native(1)
            .and_then(|native| native.downcast::<T>().ok())
            .ok_or_else(|| Error::new(Kind::Invalid, format!("{what} is expected here")))
    }

    pub(crate) fn content(self, isolate: &Isolate, at: c_int) -> Content {
        read_content(isolate, self.0, at)
    }

    pub(crate) fn value(self, isolate: &Isolate, at: c_int) -> Result<Value, Error> {
        read_value(isolate, self.0, at)
    }
}

/// A native.
pub(crate) type Native = fn(&Isolate, Arguments) -> Reply;

/// A panic, of a dependency or our own, is the error of the message that met it.
fn panicked() -> Error {
    Error::new(Kind::Failed, "an internal error; the log has more")
}

/// Runs a native and pushes its answer; answers how many values: none when the operation was left
/// to the isolate.
pub(crate) fn run(isolate: &Isolate, native: Native, stack: Stack) -> c_int {
    let reply = catch_unwind(AssertUnwindSafe(|| match native(isolate, Arguments(stack)) {
        Reply::Now(given) if given.is_large() && stack.can_yield() => {
            let content = given.into_content();
            let built = build_content(isolate.clone(), isolate.call(), content, Origin::Program);
            Reply::later(async move { built.await.map(Given::Kept) })
        }
        reply => reply,
    }));
    let outcome = match reply {
        Ok(Reply::Now(given)) => Ok(given),
        Ok(Reply::Failed(error)) => Err(error),
        Ok(Reply::Later(operation)) => {
            isolate.set_pending(operation);
            return 0;
        }
        Err(_) => Err(panicked()),
    };
    push_outcome(isolate, stack, outcome);
    2
}

/// The value of a result; an error ends the native with it.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Reply::Failed(error),
        }
    };
}
pub(crate) use attempt;
