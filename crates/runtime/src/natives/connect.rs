//! Natives of the crate `view`: the connector of two ends, and what clients of live pages send.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use runnel_store::Value;
use runnel_view::event::{ClientMessage, EventValue};
use runnel_view::ports::{End, ObjectPort, PortDirection, Protocol, join};
use std::os::raw::c_int;

pub(crate) const NATIVES: [(&str, Native); 2] =
    [("connector", connector), ("liveMessage", live_message)];

/// `(name, out, key, in, key, name, out, key, in, key)`: the left end and the right end; a protocol
/// is empty where the end has no such port. Answers a list: the connector, or the message and the
/// hint of the error.
fn connector(_: &Isolate, arguments: Arguments) -> Reply {
    let texts: [String; 10] = std::array::from_fn(|at| arguments.text(at as c_int + 1));
    let (left, right) = texts.split_at(5);
    let parts = match join(&end(left), &end(right)) {
        Ok(connector) => vec![Value::Text(connector.name().into())],
        Err(error) => vec![Value::Text(error.message), Value::Text(error.hint.into())],
    };
    Reply::Now(Given::Value(Value::List(parts)))
}

fn end(texts: &[String]) -> End<'_> {
    let [name, texts @ ..] = texts else { return End { name: "", output: None, input: None } };
    let port = |direction, at: usize| {
        let (protocol, key) = (texts.get(at)?, texts.get(at + 1)?);
        let protocol = Protocol::named(protocol)?;
        Some(ObjectPort { direction, protocol, owner: name, key })
    };
    End { name, output: port(PortDirection::Out, 0), input: port(PortDirection::In, 2) }
}

/// `(text)`: a message of a client of a live page as a list, `["hello", view, seq, fingerprint]` or
/// `[n, slot, type, value]`; nil where it is none within the limits.
fn live_message(_: &Isolate, arguments: Arguments) -> Reply {
    // They are below 2^53.
    let number = |number: u64| Value::Int(number as i64);
    let list = match ClientMessage::parse(arguments.bytes(1)) {
        Ok(ClientMessage::Hello(hello)) => vec![
            Value::Text("hello".into()),
            hello.view.map_or(Value::Nil, Value::Text),
            number(hello.seq),
            Value::Text(hello.fingerprint),
        ],
        Ok(ClientMessage::Event(event)) => {
            vec![
                number(event.n),
                Value::Text(event.slot),
                Value::Text(event.kind),
                carried(event.value),
            ]
        }
        _ => return Reply::Now(Given::Nil),
    };
    Reply::Now(Given::Value(Value::List(list)))
}

fn carried(value: EventValue) -> Value {
    match value {
        EventValue::Null => Value::Nil,
        EventValue::Flag(flag) => Value::Bool(flag),
        EventValue::Number(number) => Value::Float(number),
        EventValue::Text(text) => Value::Text(text),
        EventValue::List(list) => Value::List(list.into_iter().map(carried).collect()),
        EventValue::Fields(fields) => {
            Value::Record(fields.into_iter().map(|(name, one)| (name, carried(one))).collect())
        }
    }
}
