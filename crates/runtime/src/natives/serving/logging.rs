//! What a program says of itself: log lines and metrics.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use runnel_store::json;

pub(crate) const NATIVES: [(&str, Native); 2] = [("logLine", log_line), ("metric", metric)];

/// `(level, message, fields as JSON or nil)`: a line of the program's log.
fn log_line(isolate: &Isolate, arguments: Arguments) -> Reply {
    let fields = match arguments.is_nil(3) {
        true => Default::default(),
        false => json::parse(arguments.text(3).as_bytes()).unwrap_or_default(),
    };
    isolate.host().log(&arguments.text(1), &arguments.text(2), &fields);
    Reply::Now(Given::Nil)
}

/// `(kind, name, value, labels as JSON or nil)`: records a value of a metric of the program.
fn metric(isolate: &Isolate, arguments: Arguments) -> Reply {
    let labels = match arguments.is_nil(4) {
        true => Default::default(),
        false => json::parse(arguments.text(4).as_bytes()).unwrap_or_default(),
    };
    let (kind, name) = (arguments.text(1), arguments.text(2));
    match isolate.host().metric(&kind, &name, &labels, arguments.number(3)) {
        Ok(()) => Reply::Now(Given::Nil),
        Err(error) => Reply::Failed(error),
    }
}
