//! JSON text to objects of the program and back.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::slices::build::{BuildSource, build_now, build_tape};
use crate::slices::json::{Unwritten, json_of_top, too_deep};
use crate::values::kind::Origin;
use bytes::Bytes;
use runnel_store::json::{Node, Tape};
use runnel_store::{AT_ONCE, ClientContent, DATA_POOL, Error, Kind, Result, parse_permit};
use std::sync::Arc;

pub(crate) const NATIVES: [(&str, Native); 2] = [("json", json), ("parseJSON", parse_json)];

/// JSON of a value, or nil when the program's own code must write it.
fn json(isolate: &Isolate, arguments: Arguments) -> Reply {
    let stack = arguments.0;
    stack.push_copy(1);
    let given = |written: std::result::Result<Bytes, Unwritten>| match written {
        Ok(text) => Ok(Given::Bytes(text)),
        Err(Unwritten::Custom) => Ok(Given::Nil),
        Err(Unwritten::Depth) => Err(too_deep(Kind::Invalid)),
    };
    match json_of_top(isolate, stack) {
        Ok(runnel_store::Answer::Ready(written)) => {
            attempt!(written.and_then(given).map(Reply::Now))
        }
        Ok(later) => Reply::later(async move { given(later.await?) }),
        Err(unwritten) => attempt!(given(Err(unwritten)).map(Reply::Now)),
    }
}

/// The value of a JSON text. A text that is a part of what the client sent gives what it sent.
fn parse_json(isolate: &Isolate, arguments: Arguments) -> Reply {
    let stack = arguments.0;
    let call = isolate.call();
    let text = Bytes::copy_from_slice(arguments.bytes(1));
    let sent = call.from_client.as_ref().and_then(body).cloned();
    if text.len() <= AT_ONCE || !stack.can_wait() {
        let (tape, origin) = attempt!(parsed(text, sent.as_ref()));
        let slot =
            attempt!(build_now(isolate, stack, BuildSource::of_tape(Arc::new(tape)), origin));
        return Reply::Now(Given::Kept(slot));
    }
    let isolate = isolate.clone();
    Reply::later(async move {
        let _permit = parse_permit(text.len()).await?;
        let parsed = DATA_POOL.attempt(move || parsed(text, sent.as_ref()));
        let (tape, origin) = parsed.await?;
        build_tape(isolate, &call, Arc::new(tape), origin).await.map(Given::Kept)
    })
}

fn body(sent: &ClientContent) -> Option<&Bytes> {
    sent.text.as_ref()
}

/// A document, and whether it is a part of what the client sent.
fn parsed(text: Bytes, sent: Option<&Bytes>) -> Result<(Tape, Origin)> {
    // Nested too deep, which is no limit on the size of a request.
    let tape = Tape::parse(text.clone()).map_err(|error| Error { kind: Kind::Invalid, ..error })?;
    let is_structured = matches!(tape.node(0).0, Node::List(1..) | Node::Record(1..));
    let origin = match sent {
        Some(sent) if is_structured && is_part(sent, &text) => Origin::Client,
        _ => Origin::Program,
    };
    Ok((tape, origin))
}

/// Whether a text that was parsed stands in the content of the request.
fn is_part(sent: &[u8], text: &[u8]) -> bool {
    match (std::str::from_utf8(sent), std::str::from_utf8(text)) {
        (Ok(sent), Ok(text)) => sent.contains(text.trim()),
        _ => false,
    }
}
