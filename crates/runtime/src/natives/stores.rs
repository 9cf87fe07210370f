//! The verbs on native stores.

use crate::engine::stack::Type;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::stores::script::ScriptStore;
use crate::values::kind::is_sent;
use crate::values::native::NativeLazy;
use futures_util::future::FutureExt;
use runnel_store::{
    Answer, Body, ClientContent, Condition, Content, Context as Call, EntityTag, Error, Kind,
    Outcome, Reference, Store, Value, Verb, guessed_media_type,
};
use std::os::raw::c_int;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of a stream that a program reads into memory at once.
const LARGEST_READ: usize = 64 * 1024 * 1024;
/// Bytes of a text that stands for a number.
const LONGEST_NUMBER: usize = 64;

pub(crate) const NATIVES: [(&str, Native); 16] = [
    ("get", get),
    ("getAnswer", get_answer),
    ("put", put),
    ("post", post),
    ("postForm", post_form),
    ("merge", merge),
    ("delete", delete),
    ("list", list),
    ("presign", presign),
    ("entityTag", entity_tag),
    ("heldNumber", held_number),
    ("putIf", put_if),
    ("deleteIf", delete_if),
    ("lazyValue", lazy_value),
    ("lazyText", lazy_text),
    ("describe", describe),
];

/// A store from an argument: a native one, or an object of the program seen as one.
pub(super) fn any_store(
    isolate: &Isolate,
    arguments: Arguments,
    at: c_int,
) -> Result<Rc<dyn Store>, Error> {
    if let Ok(store) = arguments.store(at) {
        return Ok(store);
    }
    let stack = arguments.0;
    if stack.kind(at) != Type::Table {
        return Err(Error::new(Kind::Invalid, "a store is expected here"));
    }
    stack.push_copy(at);
    Ok(ScriptStore::of_top(isolate, stack, "scheme of the program".into()))
}

/// `(store, path, query or nil, scheme or nil)`
pub(super) fn reference(arguments: Arguments) -> Reference {
    let path = arguments.text(2);
    let mut reference = Reference::from_path(path);
    if !arguments.is_nil(3) {
        reference = reference.with_query(arguments.text(3));
    }
    if !arguments.is_nil(4) {
        reference = reference.with_scheme(arguments.text(4));
    }
    reference
}

/// A path and perhaps a scheme.
pub(super) fn reference_at(arguments: Arguments, path: c_int, scheme: c_int) -> Reference {
    let reference = match arguments.bytes(path) {
        [] => Reference::default(),
        _ => Reference::from_path(arguments.text(path)),
    };
    match arguments.is_nil(scheme) {
        true => reference,
        false => reference.with_scheme(arguments.text(scheme)),
    }
}

/// Called from a program, not as part of serving a request's own verb: the known validator of the
/// client is not the program's, and neither is its condition.
pub(super) fn inner_call(isolate: &Isolate) -> Call {
    Call { known: None, only_if: None, from_client: None, ..isolate.call() }
}

/// The call of a write whose content is the argument at `value`. The argument at `granted` says who
/// made it: the names of the fields that the program has set in what a client sent, `false` for
/// content of the program, and nil where the mark of the content tells.
fn write_call(isolate: &Isolate, arguments: Arguments, value: c_int, granted: c_int) -> Call {
    let stack = arguments.0;
    let from_client = match arguments.value(isolate, granted) {
        Ok(Value::List(names)) => Some(with_granted(names)),
        Ok(Value::Bool(_)) => None,
        _ => is_sent(stack, value).then(ClientContent::default),
    };
    Call { from_client, ..inner_call(isolate) }
}

/// The content of a write, which is the fifth argument. What a handler passes on of its client, a stream or the same
/// bytes, must not run as a page of the site. No table sees more of a client than that media type.
fn sent_content(isolate: &Isolate, arguments: Arguments) -> Content {
    let content = arguments.content(isolate, 5);
    let by_name = guessed_media_type(&arguments.text(2));
    if !content.runs_in_browsers(by_name) {
        return content;
    }
    let call = isolate.call();
    let is_passed_on = match &content.body {
        Body::Stream(..) => true,
        Body::Bytes(bytes) => is_of_request(&call, bytes),
        Body::Text(text) => is_of_request(&call, text.as_bytes()),
        _ => false,
    };
    if is_passed_on { content.of_client(&call, by_name) } else { content }
}

/// Whether these bytes are the body of the request being answered, or a field of its form.
fn is_of_request(call: &Call, bytes: &[u8]) -> bool {
    let Some(exchange) = call.exchange.as_ref().filter(|_| call.from_client.is_some()) else {
        return false;
    };
    if exchange.body().is_some_and(|body| body.as_bytes() == bytes) {
        return true;
    }
    let fields = exchange.form("").ok().flatten();
    fields
        .as_ref()
        .and_then(Value::as_record)
        .is_some_and(|fields| fields.iter().any(|(_, field)| field_holds(field, bytes)))
}

fn field_holds(field: &Value, bytes: &[u8]) -> bool {
    match field {
        Value::Text(text) => text.as_bytes() == bytes,
        Value::Bytes(data) => **data == *bytes,
        Value::List(fields) => fields.iter().any(|field| field_holds(field, bytes)),
        Value::Record(_) => field.get("data").is_some_and(|data| field_holds(data, bytes)),
        _ => false,
    }
}

/// Content of a client in which the program has set the fields of these names.
pub(super) fn with_granted(names: Vec<Value>) -> ClientContent {
    let names = names.into_iter().filter_map(|name| match name {
        Value::Text(name) => Some(name),
        _ => None,
    });
    ClientContent { granted: Some(names.collect()), ..ClientContent::default() }
}

async fn whole(content: Option<Content>) -> Result<Given, Error> {
    let Some(mut content) = content else { return Ok(Given::Nil) };
    if matches!(content.body, Body::Stream(..)) {
        let body = std::mem::take(&mut content.body);
        let bytes = Content { body, ..Content::default() }.read(LARGEST_READ).await?;
        content.body = Body::Bytes(bytes);
    }
    Ok(Given::Content(Some(content)))
}

/// Content for the program: a stream is read to its end first.
pub(super) fn given(answer: Answer<Option<Content>>) -> Reply {
    match answer {
        Answer::Ready(Ok(Some(content))) if matches!(content.body, Body::Stream(..)) => {
            Reply::later(whole(Some(content)))
        }
        Answer::Ready(Ok(content)) => Reply::Now(Given::Content(content)),
        Answer::Ready(Err(error)) => Reply::Failed(error),
        Answer::Later(future) => Reply::later(async move { whole(future.await?).await }),
    }
}

fn get(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let call = Call { untagged: true, ..inner_call(isolate) };
    given(store.get(&reference(arguments), &call))
}

/// A get whose content is the answer of the fiber: a file keeps its media type, its validators and its
/// stream.
fn get_answer(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let answer = store.get(&reference(arguments), &inner_call(isolate));
    Reply::answer(answer, |found| found.map_or(Given::Nil, Given::Answer))
}

fn put(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = sent_content(isolate, arguments);
    let answer = store.put(&reference(arguments), content, &write_call(isolate, arguments, 5, 6));
    written(answer, |outcome| Given::Boolean(outcome.is_created()))
}

/// The content that a store answers to a write, or a value made from its outcome.
fn written(answer: Answer<Outcome>, otherwise: fn(&Outcome) -> Given) -> Reply {
    let given = move |mut outcome: Outcome| match outcome.content.take() {
        Some(content) => whole(Some(content)).left_future(),
        None => std::future::ready(Ok(otherwise(&outcome))).right_future(),
    };
    match answer {
        Answer::Ready(Ok(outcome)) if outcome.content.is_none() => Reply::Now(otherwise(&outcome)),
        Answer::Ready(Ok(outcome)) => Reply::later(given(outcome)),
        Answer::Ready(Err(error)) => Reply::Failed(error),
        Answer::Later(future) => Reply::later(async move { given(future.await?).await }),
    }
}

fn post(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = sent_content(isolate, arguments);
    let answer = store.post(&reference(arguments), content, &write_call(isolate, arguments, 5, 6));
    given(answer.map(|posted| posted.content))
}

/// `(store, path, query or nil, scheme or nil, text)`: posts an encoded form; answers the content of the
/// response.
fn post_form(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let form =
        Content::text(arguments.text(5)).with_media_type("application/x-www-form-urlencoded");
    let answer = store.post(&reference(arguments), form, &inner_call(isolate));
    given(answer.map(|posted| posted.content))
}

fn merge(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = arguments.content(isolate, 5);
    let answer = store.merge(&reference(arguments), content, &write_call(isolate, arguments, 5, 6));
    written(answer, |_| Given::Nil)
}

fn delete(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let answer = store.delete(&reference(arguments), &inner_call(isolate));
    written(answer, |outcome| Given::Boolean(outcome.is_something()))
}

fn list(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let answer = store.list(&reference(arguments), &inner_call(isolate)).map(|entries| {
        entries.map_or(Given::Nil, |entries| {
            let name = |entry: runnel_store::Entry| match entry.collection {
                true => format!("{}/", entry.name),
                false => entry.name,
            };
            Given::Names(entries.into_iter().map(name).collect())
        })
    });
    Reply::answer(answer, |given| given)
}

/// `(store, path, query or nil, scheme or nil, verb, seconds)`: an address for one verb.
fn presign(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let verb = match arguments.text(5).as_str() {
        "get" => Verb::Get,
        "put" => Verb::Put,
        "delete" => Verb::Delete,
        other => {
            let message =
                format!("a presigned address is for 'get', 'put' or 'delete', not '{other}'");
            return Reply::Failed(Error::new(Kind::Invalid, message));
        }
    };
    let seconds = arguments.number(6);
    let validity = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let address = store.presign(&reference(arguments), verb, validity, &inner_call(isolate));
    Reply::answer(address, Given::Text)
}

/// The strong entity tag of the content; nil where it has none.
fn entity_tag(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let tag = store.get(&reference(arguments), &inner_call(isolate)).map(|found| {
        let tag = found.and_then(|found| found.entity_tag).filter(|tag| !tag.weak);
        tag.map_or(Given::Nil, |tag| Given::Text(tag.text.to_string()))
    });
    Reply::answer(tag, |given| given)
}

/// A list of a number (or a text that is one) and its strong tag or nil; for a list its length; nil for
/// any other content, and where the store refuses the get.
fn held_number(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let found = store.get(&reference(arguments), &inner_call(isolate));
    let held = found.then(|found| match found {
        Ok(Some(Content { body: Body::Value(Value::List(elements)), .. })) => {
            Answer::ok(Given::Number(elements.len() as f64))
        }
        Ok(Some(content)) => {
            let tag = content.entity_tag.clone().filter(|tag| !tag.weak);
            let tag = tag.map_or(Value::Nil, |tag| Value::Text(tag.text.to_string()));
            number_in(content).map(|number| {
                number.map_or(Given::Nil, |number| Given::Value(Value::List(vec![number, tag])))
            })
        }
        Ok(None) => Answer::ok(Given::Nil),
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::NotAllowed) => {
            Answer::ok(Given::Nil)
        }
        Err(error) => error.into(),
    });
    Reply::answer(held, |given| given)
}

fn number_in(content: Content) -> Answer<Option<Value>> {
    let is_number =
        |value: &Value| matches!(value, Value::Int(_) | Value::Big(_) | Value::Float(_));
    match content.body {
        Body::Value(Value::Text(text)) => Answer::ok(number_of_text(text.as_bytes())),
        Body::Value(value) => Answer::ok(Some(value).filter(is_number)),
        Body::Lazy(lazy) if lazy.is_settled() => {
            lazy.value().map(move |value| Some(value).filter(is_number))
        }
        Body::Text(text) => Answer::ok(number_of_text(text.as_str().as_bytes())),
        Body::Bytes(bytes) => Answer::ok(number_of_text(&bytes)),
        Body::Stream(_, Some(length)) if length > LONGEST_NUMBER as u64 => Answer::ok(None),
        Body::Stream(..) => content.read(LONGEST_NUMBER).then(|read| match read {
            Ok(bytes) => Answer::ok(number_of_text(&bytes)),
            Err(error) if error.kind == Kind::TooLarge => Answer::ok(None),
            Err(error) => error.into(),
        }),
        _ => Answer::ok(None),
    }
}

/// A text of decimal digits, with a sign and a fraction where it has them.
fn number_of_text(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST_NUMBER)?.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_digits(whole.strip_prefix('-').unwrap_or(whole)) && is_digits(fraction))
        .then(|| Value::Text(text.to_string()))
}

/// The condition that arguments say: `absent`, `present`, or a tag.
fn condition(arguments: Arguments, kind: c_int, tag: c_int) -> Condition {
    match arguments.text(kind).as_str() {
        "absent" => Condition::Absent,
        "present" => Condition::Present,
        _ => Condition::Tag(EntityTag::strong(arguments.text(tag))),
    }
}

/// Whether the condition held.
fn held<T: 'static>(answer: Answer<T>) -> Reply {
    let held = |result: Result<T, Error>| match result {
        Ok(_) => Ok(true),
        Err(error) if error.kind == Kind::Precondition => Ok(false),
        Err(error) => Err(error),
    };
    let answer = match answer {
        Answer::Ready(result) => Answer::Ready(held(result)),
        Answer::Later(future) => Answer::later(async move { held(future.await) }),
    };
    Reply::answer(answer, Given::Boolean)
}

/// `(store, path, query, scheme, value, condition, tag)`: whether it was written.
fn put_if(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let content = sent_content(isolate, arguments);
    let call = write_call(isolate, arguments, 5, 8);
    let context = Call { only_if: Some(condition(arguments, 6, 7)), ..call };
    held(store.put(&reference(arguments), content, &context))
}

/// `(store, path, query, scheme, condition, tag)`: whether it was as the condition says.
fn delete_if(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let context = Call { only_if: Some(condition(arguments, 5, 6)), ..inner_call(isolate) };
    held(store.delete(&reference(arguments), &context))
}

/// Lazy content that the program holds.
pub(super) fn lazy(arguments: Arguments, at: c_int) -> Option<Rc<dyn runnel_store::Lazy>> {
    let native = arguments.native(at)?;
    native.downcast_ref::<NativeLazy>().map(|one| one.lazy.clone())
}

fn no_lazy() -> Error {
    Error::new(Kind::Invalid, "lazy content is expected here")
}

/// `(lazy content, class or nil)`: its value; the records in it are instances of the class.
fn lazy_value(_: &Isolate, arguments: Arguments) -> Reply {
    let lazy = attempt!(lazy(arguments, 1).ok_or_else(no_lazy));
    let class = (!arguments.is_nil(2)).then(|| Rc::from(arguments.text(2)));
    let content = lazy.value().map(move |value| Content { class, ..Content::value(value) });
    Reply::answer(content, |content| Given::Content(Some(content)))
}

fn lazy_text(_: &Isolate, arguments: Arguments) -> Reply {
    let lazy = attempt!(lazy(arguments, 1).ok_or_else(no_lazy));
    let answer = lazy.encode(runnel_store::Form::Json);
    Reply::answer(answer, Given::Bytes)
}

fn describe(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    Reply::Now(Given::Text(store.describe()))
}
