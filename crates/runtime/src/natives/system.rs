//! Output, input, time, sources, and the request being answered.

use crate::engine::source_map::EngineFrame;
use crate::host::Output;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::program::loads::beside;
use crate::values::errors::{trace_frames, trace_text};
use runnel_store::{Error, Kind, Value, VisitorQuestion};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) const NATIVES: [(&str, Native); 22] = [
    ("write", write),
    ("flush", flush),
    ("warn", warn),
    ("readLine", read_line),
    ("now", now),
    ("sleep", sleep),
    ("interact", interact),
    ("shell", shell),
    ("exchange", exchange),
    ("respond", respond),
    ("tagAnswer", tag_answer),
    ("prefersPage", prefers_page),
    ("compile", compile),
    ("loadingSource", loading_source),
    ("besideSource", beside_source),
    ("standard", standard),
    ("forgetPlans", forget_plans),
    ("trace", trace),
    ("sourcePlaces", source_places),
    ("sourceLine", source_line),
    ("checksAnswers", checks_answers),
    ("kindStatus", kind_status),
];

/// Seconds that a program may sleep at once: ten years.
const LONGEST_SLEEP: f64 = 315_360_000.0;

fn write(isolate: &Isolate, arguments: Arguments) -> Reply {
    let output = match arguments.number(1) {
        2.0 => Output::Err,
        3.0 => Output::Note,
        _ => Output::Out,
    };
    isolate.host().write(output, arguments.bytes(2));
    Reply::Now(Given::Nil)
}

fn checks_answers(isolate: &Isolate, _: Arguments) -> Reply {
    Reply::Now(Given::Boolean(isolate.host().checks_answers()))
}

/// `(name of an error kind)`: its status code.
fn kind_status(_: &Isolate, arguments: Arguments) -> Reply {
    let name = arguments.text(1);
    let kind = Kind::of_name(&name).unwrap_or(Kind::Failed);
    Reply::Now(Given::Number(kind.status().into()))
}

/// `(text)`: writes a warning for programmers into the log.
fn warn(_: &Isolate, arguments: Arguments) -> Reply {
    tracing::warn!("{}", arguments.text(1));
    Reply::Now(Given::Nil)
}

fn flush(isolate: &Isolate, _: Arguments) -> Reply {
    isolate.flush_output();
    Reply::Now(Given::Nil)
}

fn read_line(isolate: &Isolate, _: Arguments) -> Reply {
    Reply::answer(isolate.host().read_line(), |line| line.map_or(Given::Nil, Given::Text))
}

fn now(_: &Isolate, _: Arguments) -> Reply {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Reply::Now(Given::Number(since.as_secs_f64()))
}

fn sleep(_: &Isolate, arguments: Arguments) -> Reply {
    let seconds = arguments.number(1);
    if !(0.0..=LONGEST_SLEEP).contains(&seconds) {
        return Reply::Failed(Error::new(Kind::Invalid, "a time to wait is not negative"));
    }
    Reply::later(async move {
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        Ok(Given::Nil)
    })
}

fn interact(isolate: &Isolate, _: Arguments) -> Reply {
    Reply::done(isolate.host().interact())
}

fn shell(isolate: &Isolate, arguments: Arguments) -> Reply {
    let answer = isolate.host().shell(&arguments.text(1));
    Reply::answer(answer, Given::Text)
}

/// `(what, name)`: something of the request being answered; nil outside of one.
fn exchange(isolate: &Isolate, arguments: Arguments) -> Reply {
    let call = isolate.call();
    let Some(exchange) = call.exchange else { return Reply::Now(Given::Nil) };
    let name = arguments.text(2);
    if arguments.bytes(1) == b"headers" {
        let headers = exchange.headers().into_iter();
        let fields = headers.map(|(name, value)| (name, Value::Text(value))).collect();
        return Reply::Now(Given::Value(Value::Record(fields)));
    }
    if arguments.bytes(1) == b"client-certificate" {
        return Reply::Now(exchange.client_certificate().map_or(Given::Nil, Given::Value));
    }
    if arguments.bytes(1) == b"form" {
        let field = attempt!(exchange.form(&name));
        return Reply::Now(field.map_or(Given::Nil, Given::Value));
    }
    if arguments.bytes(1) == b"asks-visitor" {
        exchange.asks_visitor(match name.as_str() {
            "guard" => VisitorQuestion::Guard,
            proof => VisitorQuestion::User(proof),
        });
        return Reply::Now(Given::Nil);
    }
    let found = match arguments.text(1).as_str() {
        "query" => exchange.query(&name),
        "header" => exchange.header(&name),
        "cookie" => exchange.cookie(&name),
        "body" => exchange.body().map(|body| body.to_string()),
        "method" => Some(exchange.method().to_string()),
        "target" => Some(exchange.target().to_string()),
        "peer" => Some(exchange.peer()),
        "client" => exchange.client().map(|client| client.to_string()),
        "id" => exchange.id(),
        "nonce" => exchange.nonce(),
        "outlived" => exchange.live().map(|_| "yes".to_string()),
        _ => None,
    };
    Reply::Now(found.map_or(Given::Nil, Given::Text))
}

/// `(name, value)`: the status, an early hint or a header of the answer; nil takes it back.
fn respond(isolate: &Isolate, arguments: Arguments) -> Reply {
    let call = isolate.call();
    let Some(exchange) = call.exchange else {
        return Reply::Failed(Error::new(
            Kind::Invalid,
            "`response:` is only known while a request is answered",
        ));
    };
    let name = arguments.text(1);
    if name == "early-hints" {
        match arguments.is_nil(2) {
            true => exchange.clear_early_hints(),
            false => attempt!(exchange.add_early_hint(&arguments.text(2))),
        }
    } else if arguments.is_nil(2) {
        exchange.unset(&name);
    } else if name == "status" {
        let status = arguments.number(2);
        if !(100.0..=599.0).contains(&status) {
            return Reply::Failed(Error::new(Kind::Invalid, "a status lies from 100 to 599"));
        }
        exchange.set_status(status as u16);
    } else {
        attempt!(exchange.set_header(&name, &arguments.text(2)));
    }
    Reply::Now(Given::Nil)
}

/// `()`: the answer gets an entity tag, where a client asks.
fn tag_answer(isolate: &Isolate, _: Arguments) -> Reply {
    if let Some(exchange) = isolate.call().exchange {
        exchange.tag_answer();
    }
    Reply::Now(Given::Nil)
}

/// `()`: whether the client prefers a page to data.
fn prefers_page(isolate: &Isolate, _: Arguments) -> Reply {
    let exchange = isolate.call().exchange;
    Reply::Now(Given::Boolean(exchange.is_some_and(|exchange| exchange.prefers_page())))
}

/// `(source, name)`: a function that runs the source; a fault with all its errors otherwise.
fn compile(isolate: &Isolate, arguments: Arguments) -> Reply {
    match isolate.compile_kept(&arguments.text(1), &arguments.text(2)) {
        Ok(slot) => Reply::Now(Given::Kept(slot)),
        Err(message) => Reply::Failed(Error::new(Kind::Invalid, message)),
    }
}

/// `()`: the name of the source that runs; an empty text where none does.
fn loading_source(_: &Isolate, arguments: Arguments) -> Reply {
    let name = arguments.0.program_frames(std::os::raw::c_int::MAX, |frame| {
        Some(String::from_utf8_lossy(frame.source).into_owned())
    });
    Reply::Now(Given::Text(name.unwrap_or_default()))
}

/// `(source, path)`: the path of a file that the source names.
fn beside_source(isolate: &Isolate, arguments: Arguments) -> Reply {
    let source = isolate.placed(&arguments.text(1));
    Reply::Now(Given::Text(beside(&source, &arguments.text(2))))
}

/// `(name)`: a function that runs a standard program.
fn standard(isolate: &Isolate, arguments: Arguments) -> Reply {
    match isolate.compile_standard(&arguments.text(1)) {
        Ok(slot) => Reply::Now(Given::Kept(slot)),
        Err(message) => Reply::Failed(Error::new(Kind::Invalid, message)),
    }
}

/// `()`: the trace of an error that is raised here.
fn trace(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Bytes(trace_text(arguments.0).into()))
}

/// `(trace)`: its frames as places of their sources, each `LINE:COLUMN:SOURCE` and a NUL.
fn source_places(_: &Isolate, arguments: Arguments) -> Reply {
    let mut text = String::new();
    for frame in trace_frames(&arguments.text(1)) {
        let _ = write!(text, "{}:{}:{}\0", frame.line, frame.column, frame.source);
    }
    Reply::Now(Given::Text(text))
}

/// `(chunk, line)`: the name of the source that a chunk was made of, and its line there.
fn source_line(_: &Isolate, arguments: Arguments) -> Reply {
    let (chunk, line) = (arguments.text(1), arguments.number(2) as u32);
    let frame = EngineFrame::new(chunk.trim_start_matches('@').as_bytes(), line);
    let source = String::from_utf8_lossy(frame.source);
    Reply::Now(Given::Text(format!("{source}:{}", frame.place().line)))
}

fn forget_plans(isolate: &Isolate, arguments: Arguments) -> Reply {
    isolate.plans().forget(arguments.0);
    isolate.instance_plans().forget(arguments.0);
    Reply::Now(Given::Nil)
}
