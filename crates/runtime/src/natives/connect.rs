//! The native that finds the connector of two ends.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use runnel_store::Value;
use runnel_view::ports::{End, ObjectPort, PortDirection, Protocol, join};
use std::os::raw::c_int;

pub(crate) const NATIVES: [(&str, Native); 1] = [("connector", connector)];

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
