//! Natives on streaming responses and WebSockets.

use crate::engine::stack::Type;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::streams::pipe::{Pipe, Written};
use crate::streams::socket::Socket;
use crate::values::handle::ObjectHandle;
use crate::values::native::{HeldPort, NativeLazy};
use runnel_store::{Error, Kind, Message, Text};
use std::any::Any;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 13] = [
    ("written", written),
    ("pipeWrite", pipe_write),
    ("socket", socket),
    ("socketSend", socket_send),
    ("socketOffer", socket_offer),
    ("socketNext", socket_next),
    ("socketClose", socket_close),
    ("socketIsOpen", socket_is_open),
    ("socketCode", socket_code),
    ("socketExpel", socket_expel),
    ("socketOpensHere", socket_opens_here),
    ("guardsInFront", guards_in_front),
    ("askGuardsInFront", ask_guards_in_front),
];

/// `(object, media type)`: content that the kernel's `runWritten` writes when it is read.
fn written(isolate: &Isolate, arguments: Arguments) -> Reply {
    let object = ObjectHandle::new(isolate, arguments.0, 1);
    let written = Written::new(object, arguments.text(2));
    Reply::Now(Given::Native(Rc::new(NativeLazy { lazy: Rc::new(written), tag: None })))
}

/// `(pipe, bytes)`: writes, with backpressure.
fn pipe_write(_: &Isolate, arguments: Arguments) -> Reply {
    let pipe = attempt!(arguments.held::<Pipe>("a stream"));
    if pipe.write(arguments.bytes(2)) {
        return Reply::Now(Given::Nil);
    }
    Reply::later(async move {
        pipe.taken().await?;
        Ok(Given::Nil)
    })
}

fn socket(_: &Isolate, _: Arguments) -> Reply {
    Reply::Now(Given::Native(Rc::new(HeldPort(Rc::new(Socket::default())))))
}

pub(crate) fn socket_of(arguments: Arguments) -> Result<Rc<Socket>, Error> {
    let port: Rc<dyn Any> = arguments.held::<HeldPort>("a socket")?.0.clone();
    port.downcast().map_err(|_| Error::new(Kind::Invalid, "a socket is expected here"))
}

/// `(socket, text or bytes, whether it is bytes)`
fn message_of(arguments: Arguments) -> Result<Message, Error> {
    if arguments.0.kind(2) != Type::Text {
        return Err(Error::new(Kind::Invalid, "a message is text or data"));
    }
    let bytes = bytes::Bytes::copy_from_slice(arguments.bytes(2));
    if arguments.boolean(3) {
        return Ok(Message::Bytes(bytes));
    }
    // What is no text cannot be sent as such (RFC 6455 section 5.6).
    Ok(Text::from_utf8(bytes).map_or_else(Message::Bytes, Message::Text))
}

/// Sends a message, with backpressure. Answers whether it was sent.
fn socket_send(_: &Isolate, arguments: Arguments) -> Reply {
    let socket = attempt!(socket_of(arguments));
    match socket.offer(attempt!(message_of(arguments))) {
        Ok(()) => Reply::Now(Given::Boolean(true)),
        Err(_) if !socket.is_open() => Reply::Now(Given::Boolean(false)),
        Err(message) => Reply::later(async move { Ok(Given::Boolean(socket.send(message).await)) }),
    }
}

/// Sends a message if there is room. Answers whether it was sent.
fn socket_offer(_: &Isolate, arguments: Arguments) -> Reply {
    let socket = attempt!(socket_of(arguments));
    let message = attempt!(message_of(arguments));
    Reply::Now(Given::Boolean(socket.offer(message).is_ok()))
}

/// Waits for the next message; nil after the last.
fn socket_next(_: &Isolate, arguments: Arguments) -> Reply {
    let socket = attempt!(socket_of(arguments));
    Reply::later(async move {
        Ok(match socket.next().await? {
            None => Given::Nil,
            Some(Message::Text(text)) => Given::Text(text.to_string()),
            Some(Message::Bytes(bytes)) => Given::Value(runnel_store::Value::Bytes(bytes)),
        })
    })
}

fn socket_close(_: &Isolate, arguments: Arguments) -> Reply {
    attempt!(socket_of(arguments)).close();
    Reply::Now(Given::Nil)
}

/// `(socket)`: the request that is being answered opens it.
fn socket_opens_here(isolate: &Isolate, arguments: Arguments) -> Reply {
    attempt!(socket_of(arguments)).open_for(isolate.call());
    Reply::Now(Given::Nil)
}

/// Closes a socket whose client may use it no longer.
fn socket_expel(_: &Isolate, arguments: Arguments) -> Reply {
    attempt!(socket_of(arguments)).expel();
    Reply::Now(Given::Nil)
}

/// `()`: how many `#Guard`s have let in the request.
fn guards_in_front(isolate: &Isolate, _: Arguments) -> Reply {
    let exchange = isolate.call().exchange;
    let count = exchange.map_or(0, |exchange| exchange.access_checks().len());
    Reply::Now(Given::Number(count as f64))
}

/// `()`: whether all of them let it in now. An error does not let in.
fn ask_guards_in_front(isolate: &Isolate, _: Arguments) -> Reply {
    let call = isolate.call();
    let checks = call.exchange.as_ref().map_or_else(Vec::new, |exchange| exchange.access_checks());
    Reply::later(async move {
        for check in checks {
            if check.ask_again(&call).await.is_err() {
                return Ok(Given::Boolean(false));
            }
        }
        Ok(Given::Boolean(true))
    })
}

fn socket_is_open(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Boolean(attempt!(socket_of(arguments)).is_open()))
}

/// The close code of a connection to another server that has ended; nil before.
fn socket_code(_: &Isolate, arguments: Arguments) -> Reply {
    let code = attempt!(socket_of(arguments)).code();
    Reply::Now(code.map_or(Given::Nil, |code| Given::Number(f64::from(code))))
}
