//! Content that a handler takes while it arrives, and the parts of a form in it.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::streams::arriving::{ArrivingContent, StreamFault};
use crate::streams::form_parts::FormParts;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use runnel_store::{ByteStream, Error, Kind, PartHead, Value, image_type};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 11] = [
    ("requestStream", request_stream),
    ("streamOf", stream_of),
    ("streamAbout", stream_about),
    ("streamLimit", stream_limit),
    ("streamStart", stream_start),
    ("streamRead", stream_read),
    ("streamReader", stream_reader),
    ("streamPiece", stream_piece),
    ("requestParts", request_parts),
    ("nextPart", next_part),
    ("imageType", image_type_of),
];

const STREAM: &str = "a stream";

/// The body of the request that the running fiber answers.
fn body_of_request(isolate: &Isolate) -> Option<Rc<ArrivingContent>> {
    isolate.call().from_client?.stream?.downcast().ok()
}

/// `()`: the body of the request, where its handler takes it while it arrives.
fn request_stream(isolate: &Isolate, _: Arguments) -> Reply {
    let body = body_of_request(isolate);
    Reply::Now(body.map_or(Given::Nil, |body| Given::Native(body)))
}

/// `(bytes)`: a stream of them.
fn stream_of(_: &Isolate, arguments: Arguments) -> Reply {
    let bytes = Bytes::copy_from_slice(arguments.bytes(1));
    let length = bytes.len() as u64;
    let stream: ByteStream = Box::pin(futures_util::stream::iter([Ok(bytes)]));
    let fault = Rc::<StreamFault>::default();
    Reply::Now(Given::Native(ArrivingContent::new(stream, Some(length), None, fault)))
}

/// `(stream)`: what the client says of it: `mediaType`, `length`.
fn stream_about(_: &Isolate, arguments: Arguments) -> Reply {
    let content = attempt!(arguments.held::<ArrivingContent>(STREAM));
    let media_type = content.media_type().map_or(Value::Nil, |one| Value::Text(one.to_string()));
    let length = content.length().and_then(|length| i64::try_from(length).ok());
    Reply::Now(Given::Value(Value::record([
        ("mediaType", media_type),
        ("length", length.map_or(Value::Nil, Value::Int)),
    ])))
}

/// `(stream, bytes)`: it fails where more come.
fn stream_limit(_: &Isolate, arguments: Arguments) -> Reply {
    let content = attempt!(arguments.held::<ArrivingContent>(STREAM));
    content.limit(arguments.number(2).max(0.0) as u64);
    Reply::Now(Given::Nil)
}

/// `(stream, bytes)`: its beginning, which remains to be read.
fn stream_start(_: &Isolate, arguments: Arguments) -> Reply {
    let content = attempt!(arguments.held::<ArrivingContent>(STREAM));
    let count = arguments.number(2).max(0.0) as usize;
    Reply::later(async move { Ok(Given::Bytes(content.start(count).await?)) })
}

/// `(stream, bytes)`: all of it, at most this many bytes. The request holds them.
pub(super) fn stream_read(isolate: &Isolate, arguments: Arguments) -> Reply {
    let content = attempt!(arguments.held::<ArrivingContent>(STREAM));
    content.limit(arguments.number(2).max(0.0) as u64);
    let mut stream = attempt!(content.take());
    let call = isolate.call();
    Reply::later(async move {
        let mut whole = BytesMut::new();
        while let Some(piece) = stream.next().await {
            let piece = piece?;
            call.hold_arrived(piece.len())?;
            whole.extend_from_slice(&piece);
        }
        Ok(Given::Bytes(whole.freeze()))
    })
}

/// A stream that the program reads piece by piece.
struct PieceReader(RefCell<ByteStream>);

/// `(stream)`: its reader.
pub(super) fn stream_reader(_: &Isolate, arguments: Arguments) -> Reply {
    let content = attempt!(arguments.held::<ArrivingContent>(STREAM));
    let stream = attempt!(content.take());
    Reply::Now(Given::Native(Rc::new(PieceReader(RefCell::new(stream)))))
}

/// `(reader)`: the next bytes; nil at the end.
pub(super) fn stream_piece(_: &Isolate, arguments: Arguments) -> Reply {
    let reader = attempt!(arguments.held::<PieceReader>("the reader of a stream"));
    Reply::later(async move {
        let piece = poll_fn(|context| reader.0.borrow_mut().as_mut().poll_next(context)).await;
        Ok(piece.transpose()?.map_or(Given::Nil, Given::Bytes))
    })
}

/// `(reader)`: gives up the rest.
pub(super) fn stream_close(_: &Isolate, arguments: Arguments) -> Reply {
    let reader = attempt!(arguments.held::<PieceReader>("the reader of a stream"));
    let rest = reader.0.replace(Box::pin(futures_util::stream::empty()));
    drop(rest);
    Reply::Now(Given::Nil)
}

/// The parts of the form that the request is.
struct HeldParts {
    parts: FormParts,
    /// What the client says of the last one.
    head: RefCell<PartHead>,
}

/// `()`: the parts of the form that the request is.
fn request_parts(isolate: &Isolate, _: Arguments) -> Reply {
    let (Some(body), Some(exchange)) = (body_of_request(isolate), isolate.call().exchange) else {
        let message = "only a handler that is `streamed` gets the parts of a form";
        return Reply::Failed(Error::new(Kind::Failed, message));
    };
    let stream = attempt!(body.take());
    let events = attempt!(exchange.parts(stream));
    let parts = FormParts::new(events, body.fault().clone());
    Reply::Now(Given::Native(Rc::new(HeldParts { parts, head: RefCell::default() })))
}

/// `(parts)`: the stream of the next part, nil behind the last one. `(parts, true)`: what the client says of
/// this part: `field`, `fileName`.
fn next_part(_: &Isolate, arguments: Arguments) -> Reply {
    let held = attempt!(arguments.held::<HeldParts>("the parts of a form"));
    if arguments.boolean(2) {
        let head = held.head.borrow();
        let file_name = head.file_name.clone().map_or(Value::Nil, Value::Text);
        return Reply::Now(Given::Value(Value::record([
            ("field", Value::Text(head.field.clone())),
            ("fileName", file_name),
        ])));
    }
    Reply::later(async move {
        let Some((head, content)) = held.parts.next().await? else { return Ok(Given::Nil) };
        held.head.replace(head);
        Ok(Given::Native(content))
    })
}

/// `(bytes)`: the media type of an image, by its first bytes; nil for other bytes.
fn image_type_of(_: &Isolate, arguments: Arguments) -> Reply {
    let kind = image_type(arguments.bytes(1));
    Reply::Now(kind.map_or(Given::Nil, |kind| Given::Text(kind.to_string())))
}
