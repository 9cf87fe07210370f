//! A store written in the language: its verbs run in fibers.

use crate::engine::stack::{Stack, Type};
use crate::fibers::fiber::Fiber;
use crate::fibers::scheduler::RequestKind;
use crate::isolate::Isolate;
use crate::natives::call::Given;
use crate::pages::streamed;
use crate::slices::content::{build_content, is_large_content};
use crate::slices::data::read_value;
use crate::streams::arriving::{ArrivingContent, CloseWhenDropped};
use crate::values::content::{push_content_of, read_answer};
use crate::values::handle::ObjectHandle;
use crate::values::kind::Origin;
use crate::values::native::native_store;
use crate::values::push::push_data;
use runnel_store::{
    Answer, Body, Changes, Content, Context as Call, Entry, Error, Kind, LiveTransport, Outcome,
    Reference, Result, Store, Text, Value, Verb, Verbs, Watchers, is_text_type,
};
use std::borrow::Cow;
use std::os::raw::c_int;
use std::rc::Rc;

/// Texts of at least this size are charged to their request.
const COUNTED: usize = 64 << 10;

/// An object of the program, as a store.
#[derive(Clone)]
pub(crate) struct ScriptStore {
    object: ObjectHandle,
    name: String,
}

impl ScriptStore {
    /// The object on top of the stack, which is popped.
    pub(crate) fn of_top(isolate: &Isolate, stack: Stack, name: String) -> Rc<dyn Store> {
        Rc::new(ScriptStore { object: ObjectHandle::of_top(isolate, stack), name })
    }

    fn isolate(&self) -> &Isolate {
        self.object.isolate()
    }

    /// The answer of a kernel function about the object, at once; `None` where that fails.
    fn ask<T>(&self, name: &str, read: impl FnOnce(Stack) -> Option<T>) -> Option<T> {
        let stack = self.isolate().stack();
        stack.reserve(12);
        let top = stack.top();
        stack.push_kept(self.isolate().slots().kernel);
        stack.field(-1, name);
        self.object.push(stack);
        let found = stack.protected_call(1, 1).then(|| read(stack)).flatten();
        stack.set_top(top);
        found
    }

    fn run<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        value: Given,
        call: &Call,
        take: fn(&Isolate, Stack, c_int) -> T,
    ) -> Answer<T> {
        self.fiber(verb, reference, value, call, take).run_now()
    }

    /// The fiber that runs a verb.
    fn fiber<T>(
        &self,
        verb: Verb,
        reference: &Reference,
        value: Given,
        call: &Call,
        take: fn(&Isolate, Stack, c_int) -> T,
    ) -> Fiber<T> {
        let isolate = self.isolate();
        let push = |stack: Stack| {
            stack.push_kept(isolate.slots().serve);
            self.object.push(stack);
            match verb {
                Verb::Get => stack.push_kept(isolate.slots().get),
                _ => stack.push_bytes(verb.name().as_bytes()),
            }
            push_address(stack, reference);
            match value {
                // Whether bytes happen to be UTF-8 makes no difference to a program.
                Given::Content(Some(Content { body: Body::Bytes(bytes), .. })) => {
                    push_data(isolate, stack, &bytes);
                }
                Given::Content(content) => {
                    push_content_of(isolate, stack, content, origin(call));
                }
                given => given.push(isolate, stack),
            }
            let asked = call.exchange.as_ref().filter(|_| verb == Verb::Get);
            match asked.and_then(|exchange| exchange.live()) {
                None => return 5,
                Some(LiveTransport::WebSocket) => stack.push_boolean(true),
                Some(LiveTransport::Events(hello)) => stack.push_bytes(hello.as_bytes()),
                Some(LiveTransport::Own) => stack.push_boolean(false),
            }
            6
        };
        let mut fiber = Fiber::new(isolate, call.clone(), push, take);
        fiber.set_kind(RequestKind::new(verb, reference.path()));
        fiber
    }

    /// Runs a verb that carries content; a stream is read first.
    fn run_with<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        call: &Call,
        take: fn(&Isolate, Stack, c_int) -> T,
    ) -> Answer<T> {
        if let Err(error) = call.unconditional(verb, reference) {
            return error.into();
        }
        if !matches!(content.body, Body::Stream(..)) {
            return match typed(content) {
                Ok(content) if is_large_content(&content) => {
                    let (this, reference, call) = (self.clone(), reference.clone(), call.clone());
                    Answer::later(async move {
                        this.run_large(verb, &reference, content, &call, take).await
                    })
                }
                Ok(content) => self.run(verb, reference, Given::Content(Some(content)), call, take),
                Err(error) => error.on(verb, reference).into(),
            };
        }
        if self.verbs(reference).streams(verb) {
            return self.run_streamed(verb, reference, content, call, take);
        }
        let (this, reference, mut call) = (self.clone(), reference.clone(), call.clone());
        let media_type = content.media_type.clone();
        Answer::later(async move {
            // The server's limit and the share of one request bound it.
            let bytes = content.read_for(usize::MAX, &call).await?;
            if bytes.len() >= COUNTED {
                // The engine has a copy.
                call.hold_arrived(bytes.len())?;
            }
            if let Some(from_client) = &mut call.from_client {
                from_client.text = Some(bytes.clone());
            }
            let mut content = Content::bytes(bytes);
            content.media_type = media_type;
            let content = typed(content)?;
            this.run(verb, &reference, Given::Content(Some(content)), &call, take).await
        })
    }

    /// Runs a verb that takes its content while it arrives. What was not read of it when the handler has ended
    /// is given up.
    fn run_streamed<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        call: &Call,
        take: fn(&Isolate, Stack, c_int) -> T,
    ) -> Answer<T> {
        let Body::Stream(stream, length) = content.body else {
            return self.run(verb, reference, Given::Content(Some(content)), call, take);
        };
        let media_type = content.media_type.map(Cow::into_owned);
        let body = ArrivingContent::new(stream, length, media_type, Rc::default());
        let (this, reference, mut call) = (self.clone(), reference.clone(), call.clone());
        if let Some(from_client) = &mut call.from_client {
            from_client.stream = Some(body.clone());
        }
        Answer::later(async move {
            let _body = CloseWhenDropped(body.clone());
            let given = Given::Native(body.clone());
            let answer = this.run(verb, &reference, given, &call, take).await;
            // What the client did wrong is said, and not what the program or a store made of it.
            answer.map_err(|error| body.fault().get().unwrap_or(error))
        })
    }

    /// Runs a verb that carries large content, after its objects were made in slices.
    async fn run_large<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        call: &Call,
        take: fn(&Isolate, Stack, c_int) -> T,
    ) -> Result<T> {
        let built = build_content(self.isolate().clone(), call.clone(), content, origin(call));
        let late = || Error::new(Kind::Timeout, "the deadline passed while waiting");
        let built = match call.deadline {
            Some(deadline) => {
                tokio::time::timeout_at(deadline.into(), built).await.map_err(|_| late())
            }
            None => Ok(built.await),
        };
        let built = built.and_then(|built| built).map_err(|error| error.on(verb, reference))?;
        self.run(verb, reference, Given::Kept(built), call, take).await
    }
}

/// The path and the query of a reference; nil without a query.
fn push_address(stack: Stack, reference: &Reference) {
    stack.push_bytes(reference.path().as_bytes());
    match reference.query() {
        Some(query) => stack.push_bytes(query.as_bytes()),
        None => stack.push_nil(),
    }
}

/// The origin of the content of a call.
fn origin(call: &Call) -> Origin {
    match call.from_client {
        Some(_) => Origin::Client,
        None => Origin::Program,
    }
}

/// Content in the form that its media type has for a handler: text, or bytes.
fn typed(mut content: Content) -> Result<Content> {
    if content.media_type.as_deref().is_some_and(is_text_type)
        && let Body::Bytes(bytes) = content.body
    {
        let text = Text::from_utf8(bytes).map_err(|_| {
            let media_type = content.media_type.as_deref().unwrap_or_default();
            let message = format!("the content is {media_type} and not valid UTF-8");
            Error::new(Kind::Invalid, message)
        })?;
        content.body = Body::Text(text);
    }
    Ok(content)
}

/// The answer of a handler to a write. Beside it stands the reference of the new resource, or a number
/// where one was created at the path itself.
fn outcome(isolate: &Isolate, stack: Stack, index: c_int) -> Outcome {
    let outcome = match stack.kind(index + 1) {
        Type::Text => {
            let place = stack.text(index + 1);
            Outcome::posted(Reference::from_path(place))
        }
        Type::Number => Outcome::created(),
        _ => Outcome::changed(),
    };
    match stack.kind(index) {
        Type::Nil => outcome,
        _ => outcome.with_content(read_answer(isolate, stack, index)),
    }
}

/// The answer of a handler to a delete; `false` means that nothing existed.
fn deletion(isolate: &Isolate, stack: Stack, index: c_int) -> Outcome {
    match stack.kind(index) {
        Type::Boolean => Outcome::deleted(stack.boolean(index)),
        _ => outcome(isolate, stack, index),
    }
}

fn entries(isolate: &Isolate, stack: Stack, index: c_int) -> Option<Vec<Entry>> {
    let Ok(Value::List(names)) = read_value(isolate, stack, index) else {
        return None;
    };
    let mut entries: Vec<Entry> = names
        .into_iter()
        .filter_map(|name| match name {
            Value::Text(name) => {
                let collection = name.ends_with('/');
                Some(Entry { name: name.trim_end_matches('/').to_string(), collection })
            }
            _ => None,
        })
        .collect();
    entries.sort();
    entries.dedup();
    Some(entries)
}

#[deny(clippy::missing_trait_methods)]
impl Store for ScriptStore {
    fn get(&self, reference: &Reference, call: &Call) -> Answer<Option<Content>> {
        let fiber =
            self.fiber(Verb::Get, reference, Given::Nil, call, |isolate, stack, index| match stack
                .kind(index)
            {
                Type::Nil => None,
                _ => Some(read_answer(isolate, stack, index)),
            });
        streamed::answer(self.isolate(), fiber)
    }

    fn put(&self, reference: &Reference, content: Content, call: &Call) -> Answer<Outcome> {
        self.run_with(Verb::Put, reference, content, call, outcome)
    }

    fn post(&self, reference: &Reference, content: Content, call: &Call) -> Answer<Outcome> {
        self.run_with(Verb::Post, reference, content, call, outcome)
    }

    fn merge(&self, reference: &Reference, content: Content, call: &Call) -> Answer<Outcome> {
        self.run_with(Verb::Merge, reference, content, call, outcome)
    }

    /// Runs the handler up to the last guard that its answer has passed.
    fn readmit(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        guards: u32,
        call: &Call,
    ) -> Answer<()> {
        let content = match typed(content) {
            Ok(content) => content,
            Err(error) => return error.on(verb, reference).into(),
        };
        let isolate = self.isolate();
        let push = |stack: Stack| {
            stack.push_kept(isolate.slots().kernel);
            stack.field(-1, "readmit");
            stack.remove(-2);
            self.object.push(stack);
            stack.push_bytes(verb.name().as_bytes());
            push_address(stack, reference);
            push_content_of(isolate, stack, Some(content), origin(call));
            stack.push_number(f64::from(guards));
            6
        };
        Fiber::new(isolate, call.clone(), push, |_, _, _| ()).run_now()
    }

    fn delete(&self, reference: &Reference, call: &Call) -> Answer<Outcome> {
        if let Err(error) = call.unconditional(Verb::Delete, reference) {
            return error.into();
        }
        self.run(Verb::Delete, reference, Given::Nil, call, deletion)
    }

    fn list(&self, reference: &Reference, call: &Call) -> Answer<Option<Vec<Entry>>> {
        self.run(Verb::List, reference, Given::Nil, call, entries)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let stack = self.isolate().stack();
        stack.reserve(8);
        let top = stack.top();
        stack.push_kept(self.isolate().slots().serve_verbs);
        self.object.push(stack);
        stack.push_bytes(reference.path().as_bytes());
        // A handler may read a session, whatever is known of it.
        let mut verbs = Verbs::NONE.with_visitor();
        if stack.protected_call(2, 1) {
            let names = stack.text(-1);
            let every = [Verb::Get, Verb::Put, Verb::Post, Verb::Merge, Verb::Delete, Verb::List];
            for name in names.split(' ') {
                if name == "guarded" {
                    verbs = verbs.with_guard();
                }
                let (name, is_streamed) = match name.strip_suffix(":streamed") {
                    Some(name) => (name, true),
                    None => (name, false),
                };
                let Some(verb) = every.iter().find(|verb| verb.name() == name) else { continue };
                verbs = match (is_streamed, verb) {
                    (true, verb) => verbs.with_streamed(*verb),
                    (false, Verb::List) => verbs.with_public_list(),
                    (false, verb) => verbs.with(*verb),
                };
            }
        }
        stack.set_top(top);
        verbs
    }

    fn watch(&self, reference: &Reference, _: &Call) -> Answer<Changes> {
        let watchers = self.ask("watchersOf", |stack| stack.native(-1));
        match watchers.as_ref().and_then(|native| native.downcast_ref::<Watchers>()) {
            Some(watchers) => Answer::ok(watchers.watch(reference)),
            None => Error::not_allowed(Verb::Watch, reference).into(),
        }
    }

    runnel_store::without!(appends, keys, attributes, relocate, query, tables, conditions, escapes);

    fn describe(&self) -> String {
        let text = |stack: Stack| Some(stack.text(-1));
        self.ask("describeStore", text).unwrap_or_else(|| self.name.clone())
    }

    /// The stores in its instance variables.
    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let read = |stack: Stack| Some(stores_of_top(self.isolate(), stack));
        self.ask("storesIn", read).unwrap_or_default()
    }

    /// Its object: the program gets that back for the store.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(&self.object)
    }
}

/// The stores of a list on top of the stack: a name, a store, a name, and so on.
pub(crate) fn stores_of_top(isolate: &Isolate, stack: Stack) -> Vec<(String, Rc<dyn Store>)> {
    let list = stack.top();
    let mut stores = Vec::new();
    for position in (1..=stack.length(list)).step_by(2) {
        stack.get_element(list, position);
        let name = stack.text(-1);
        stack.pop(1);
        stack.get_element(list, position + 1);
        let store = match native_store(stack, stack.top()) {
            Some(store) => {
                stack.pop(1);
                store
            }
            None => ScriptStore::of_top(isolate, stack, "scheme of the program".into()),
        };
        stores.push((name, store));
    }
    stores
}
