//! Requests to other servers whose answers have a status and headers.

use super::arriving::{stream_close, stream_piece, stream_read, stream_reader};
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::serving::live::socket_of;
use crate::natives::stores::{any_store, inner_call, reference};
use crate::streams::arriving::{ArrivingContent, StreamFault};
use runnel_store::{
    Body, ByteStream, Content, Error, FetchAnswer, FetchRequest, Kind, PartHead, RedirectPolicy,
    Reference, Value, form_data,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// The most parts of a form.
const MOST_PARTS: usize = 256;

pub(crate) const NATIVES: [(&str, Native); 11] = [
    ("fetch", fetch),
    ("answerHead", answer_head),
    ("answerBody", answer_body),
    ("answerRead", stream_read),
    ("answerReader", stream_reader),
    ("answerPiece", stream_piece),
    ("answerClose", stream_close),
    ("openSocket", open_socket),
    ("openContent", open_content),
    ("formData", new_form),
    ("addPart", add_part),
];

/// The parts of a form that is sent.
#[derive(Default)]
struct OutgoingForm(RefCell<Vec<(PartHead, Content)>>);

/// An answer held by the program.
struct HeldAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    address: String,
    body: Rc<ArrivingContent>,
}

fn text(options: &Value, name: &str) -> Option<String> {
    options.get(name)?.as_str().map(String::from)
}

/// `(store, path, query or nil, scheme or nil, options, headers as a list of names and values, content or
/// form or nil, its media type or nil)`: the answer. The options are plain: `method`, `redirects`, `timeout`
/// in seconds, `maxBodySize`.
fn fetch(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let options = attempt!(arguments.value(isolate, 5));
    let Value::List(fields) = attempt!(arguments.value(isolate, 6)) else {
        return Reply::Failed(Error::new(Kind::Invalid, "a list of headers is expected here"));
    };
    let mut fields = fields.into_iter();
    let mut headers = Vec::new();
    while let (Some(Value::Text(name)), Some(Value::Text(value))) = (fields.next(), fields.next()) {
        headers.push((name, value));
    }
    let content = attempt!(outgoing(isolate, arguments));
    let redirects = match text(&options, "redirects").as_deref() {
        Some("manual") => RedirectPolicy::Manual,
        Some("error") => RedirectPolicy::Refuse,
        _ => RedirectPolicy::Follow,
    };
    let seconds = options.get("timeout").and_then(Value::as_f64);
    let request = FetchRequest {
        method: text(&options, "method").unwrap_or_default(),
        headers,
        content,
        redirects,
        timeout: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        port: None,
        most: options.get("maxBodySize").and_then(Value::as_f64).map(|most| most as u64),
    };
    let answer = store.fetch(&reference(arguments), request, &inner_call(isolate));
    Reply::answer(answer, |answer| Given::Native(Rc::new(held(answer))))
}

/// `(socket, store, path, query or nil, scheme or nil)`: opens it as a WebSocket to another server.
fn open_socket(isolate: &Isolate, arguments: Arguments) -> Reply {
    let port = attempt!(socket_of(arguments)).client_port();
    let store = attempt!(any_store(isolate, arguments, 2));
    let request = FetchRequest { port: Some(port), ..FetchRequest::default() };
    let mut on = Reference::from_path(arguments.text(3));
    if !arguments.is_nil(4) {
        on = on.with_query(arguments.text(4));
    }
    if !arguments.is_nil(5) {
        on = on.with_scheme(arguments.text(5));
    }
    Reply::answer(store.fetch(&on, request, &inner_call(isolate)), |_| Given::Nil)
}

/// The content of a request.
fn outgoing(isolate: &Isolate, arguments: Arguments) -> Result<Content, Error> {
    if arguments.is_nil(7) {
        return Ok(Content::default());
    }
    if let Some(form) = arguments.native(7)
        && let Ok(form) = form.downcast::<OutgoingForm>()
    {
        return form_data(form.0.take());
    }
    let content = arguments.content(isolate, 7);
    Ok(match arguments.is_nil(8) {
        true => content,
        false => content.with_media_type(arguments.text(8)),
    })
}

fn held(answer: FetchAnswer) -> HeldAnswer {
    let FetchAnswer { status, headers, content, address } = answer;
    HeldAnswer { status, headers, address, body: arriving(content) }
}

/// Content as a stream that the program takes.
fn arriving(content: Content) -> Rc<ArrivingContent> {
    let media_type = content.media_type.map(|kind| kind.into_owned());
    let (stream, length): (ByteStream, _) = match content.body {
        Body::Stream(stream, length) => (stream, length),
        Body::Empty => (Box::pin(futures_util::stream::empty()), Some(0)),
        Body::Bytes(bytes) => {
            let length = bytes.len() as u64;
            (Box::pin(futures_util::stream::iter([Ok(bytes)])), Some(length))
        }
        Body::Text(text) => {
            let length = text.len() as u64;
            (Box::pin(futures_util::stream::iter([Ok(text.into_bytes())])), Some(length))
        }
        body => {
            let content = Content { body, ..Content::default() };
            let encoding = async move { content.encode(runnel_store::Form::Text).await };
            (Box::pin(futures_util::stream::once(encoding)), None)
        }
    };
    ArrivingContent::new(stream, length, media_type, Rc::<StreamFault>::default())
}

/// `(answer)`: its `status`, its `address`, and the `headers` as a list of names and values.
fn answer_head(_: &Isolate, arguments: Arguments) -> Reply {
    let answer = attempt!(arguments.held::<HeldAnswer>("an answer"));
    let mut fields = Vec::with_capacity(answer.headers.len() * 2);
    for (name, value) in &answer.headers {
        fields.extend([Value::Text(name.clone()), Value::Text(value.clone())]);
    }
    Reply::Now(Given::Value(Value::record([
        ("status", Value::Int(i64::from(answer.status))),
        ("address", Value::Text(answer.address.clone())),
        ("headers", Value::List(fields)),
    ])))
}

/// `(answer)`: its body, a stream.
fn answer_body(_: &Isolate, arguments: Arguments) -> Reply {
    let answer = attempt!(arguments.held::<HeldAnswer>("an answer"));
    Reply::Now(Given::Native(answer.body.clone()))
}

/// `(store, path, query or nil, scheme or nil)`: the content as a stream; nil where there is none.
fn open_content(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let answer = store.get(&reference(arguments), &inner_call(isolate));
    Reply::answer(answer, |found| {
        found.map_or(Given::Nil, |content| Given::Native(arriving(content)))
    })
}

/// `()`: a form without parts.
fn new_form(_: &Isolate, _: Arguments) -> Reply {
    Reply::Now(Given::Native(Rc::new(OutgoingForm::default())))
}

/// `(form, name, file name or nil, media type or nil, content)`
fn add_part(isolate: &Isolate, arguments: Arguments) -> Reply {
    let form = attempt!(arguments.held::<OutgoingForm>("a form"));
    let optional = |at| (!arguments.is_nil(at)).then(|| arguments.text(at));
    let content = arguments.content(isolate, 5);
    let own = content.media_type.as_deref().map(String::from);
    let (field, file_name) = (arguments.text(2), optional(3));
    let media_type = optional(4).or(own).filter(|_| file_name.is_some());
    let mut parts = form.0.borrow_mut();
    if parts.len() >= MOST_PARTS {
        let message = format!("a form has at most {MOST_PARTS} parts");
        return Reply::Failed(Error::new(Kind::TooLarge, message));
    }
    parts.push((PartHead { field, file_name, media_type }, content));
    Reply::Now(Given::Nil)
}
