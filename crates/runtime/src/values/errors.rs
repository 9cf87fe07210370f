//! Error objects of the program as faults, and errors of stores as Error objects.

use super::push::push_value;
use crate::engine::source_map::EngineFrame;
use crate::engine::stack::{Stack, Type};
use crate::fibers::fault::{Fault, TraceFrame};
use crate::isolate::Isolate;
use crate::slices::data::read_value;
use runnel_store::{Error, ErrorResponse, FieldProblem, Kind, Value};
use std::io::Write;
use std::os::raw::c_int;

/// Reads an Error object of the program.
pub(crate) fn read_fault(isolate: &Isolate, stack: Stack, index: c_int) -> Fault {
    let index = stack.absolute(index);
    if stack.kind(index) != Type::Table || !stack.reserve(12) {
        let text = stack.text(index);
        return Fault::of_engine(if text.is_empty() { "an unknown error" } else { &text });
    }
    let text = |name: &str| {
        stack.field(index, name);
        let kind = stack.kind(-1);
        let text = stack.text(-1);
        stack.pop(1);
        (kind == Type::Text).then_some(text)
    };
    stack.field(index, "_exit");
    let exit = (stack.kind(-1) == Type::Number).then(|| stack.number(-1) as i32);
    stack.pop(1);
    let kind = text("i_kind").unwrap_or_else(|| "failed".into());
    let side = text("_side");
    let of_reference = side.as_deref() == Some("reference");
    let internal = match side.as_deref() {
        Some("store" | "reference") => true,
        Some(_) => false,
        // A limit of the language, such as the digits of a number, is no limit on a request.
        None => kind == Kind::TooLarge.name(),
    };
    Fault {
        kind,
        message: text("i_message").unwrap_or_else(|| "an error without a message".into()),
        hint: text("i_hint"),
        trace: read_trace(stack, index),
        detail: text("i_detail"),
        fields: read_fields(isolate, stack, index),
        response: read_response(isolate, stack, index),
        internal,
        of_reference,
        exit,
    }
}

/// A field of an Error object as plain data.
fn read_plain(isolate: &Isolate, stack: Stack, index: c_int, name: &str) -> Option<Value> {
    stack.field(index, name);
    let value = match stack.kind(-1) {
        Type::Nil => None,
        _ => read_value(isolate, stack, -1).ok(),
    };
    stack.pop(1);
    value
}

fn read_fields(isolate: &Isolate, stack: Stack, index: c_int) -> Vec<FieldProblem> {
    let Some(Value::List(items)) = read_plain(isolate, stack, index, "i_fields") else {
        return Vec::new();
    };
    let text =
        |item: &Value, name| item.get(name).and_then(Value::as_str).unwrap_or("").to_string();
    let field =
        |item| FieldProblem { pointer: text(item, "pointer"), message: text(item, "message") };
    items.iter().map(field).collect()
}

fn read_response(isolate: &Isolate, stack: Stack, index: c_int) -> Option<Box<ErrorResponse>> {
    let status = read_plain(isolate, stack, index, "i_status");
    let status = status.and_then(|value| value.as_f64()).map(|status| status as u16);
    let headers = match read_plain(isolate, stack, index, "i_headers") {
        Some(Value::Record(pairs)) => pairs
            .into_iter()
            .map(|(name, value)| match value {
                Value::Text(text) => (name, text),
                other => {
                    let text = runnel_store::json::text(&other);
                    (name, String::from_utf8_lossy(&text).into_owned())
                }
            })
            .collect(),
        _ => Vec::new(),
    };
    (status.is_some() || !headers.is_empty()).then(|| Box::new(ErrorResponse { status, headers }))
}

/// Frames of a trace, at most.
const FRAMES: usize = 64;

/// The functions of the program that run, innermost first, as the kernel keeps them in an error: `LINE:MAP:SOURCE` and
/// a NUL for each. Most errors are handled without anyone reading their trace, so it stays one text until then.
pub(crate) fn trace_text(stack: Stack) -> Vec<u8> {
    let (mut text, mut frames) = (Vec::with_capacity(256), 0);
    let _ = stack.program_frames(c_int::MAX, |frame| {
        let _ = write!(text, "{}:{}:", frame.line, frame.map);
        text.extend_from_slice(frame.source);
        text.push(0);
        frames += 1;
        (frames >= FRAMES).then_some(())
    });
    text
}

/// The frames of a trace that the kernel kept.
pub(crate) fn trace_frames(text: &str) -> Vec<TraceFrame> {
    let mut places: Vec<TraceFrame> = Vec::new();
    for frame in text.split_terminator('\0') {
        let mut parts = frame.splitn(3, ':');
        let mut number = || parts.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let (line, map) = (number(), number());
        let Some(source) = parts.next() else { continue };
        let frame = EngineFrame { source: source.as_bytes(), map, line };
        let place = frame.place();
        // Blocks that were inlined into functions of their own repeat their line.
        if places.last().is_some_and(|last| last.source == source && last.line == place.line) {
            continue;
        }
        places.push(TraceFrame {
            source: source.into(),
            line: place.line,
            column: place.column,
            width: place.width,
            definition: frame.definition(),
        });
    }
    places
}

fn read_trace(stack: Stack, index: c_int) -> Vec<TraceFrame> {
    stack.field(index, "_trace");
    let frames = match stack.kind(-1) {
        Type::Text => trace_frames(&stack.text(-1)),
        _ => Vec::new(),
    };
    stack.pop(1);
    frames
}

/// Pushes an error of a store as an Error object; the kernel adds the trace when it raises it.
pub(crate) fn push_error(isolate: &Isolate, stack: Stack, error: &Error) {
    stack.new_table(0, 6);
    let table = stack.top();
    stack.push_bytes(error.kind.name().as_bytes());
    stack.set_field(table, "i_kind");
    stack.push_bytes(error.to_string().as_bytes());
    stack.set_field(table, "i_message");
    if let Some(reference) = &error.reference {
        stack.push_bytes(reference.as_bytes());
        stack.set_field(table, "i_reference");
    }
    if let Some(detail) = &error.detail {
        stack.push_bytes(detail.as_bytes());
        stack.set_field(table, "i_detail");
    }
    if !error.fields.is_empty() {
        let field = |field: &FieldProblem| {
            let text = |text: &str| Value::Text(text.to_string());
            Value::Record(vec![
                ("pointer".to_string(), text(&field.pointer)),
                ("message".to_string(), text(&field.message)),
            ])
        };
        let fields = Value::List(error.fields.iter().map(field).collect());
        push_value(isolate, stack, &fields);
        stack.set_field(table, "i_fields");
    }
    if let Some(response) = &error.response {
        if let Some(status) = response.status {
            stack.push_number(status.into());
            stack.set_field(table, "i_status");
        }
        let pair = |(name, value): &(String, String)| (name.clone(), Value::Text(value.clone()));
        let headers = Value::Record(response.headers.iter().map(pair).collect());
        push_value(isolate, stack, &headers);
        stack.set_field(table, "i_headers");
    }
    if error.of_reference {
        stack.push_bytes(b"reference");
        stack.set_field(table, "_side");
    }
    stack.push_boolean(error.temporary);
    stack.set_field(table, "_temporary");
    stack.push_kept(isolate.slots().error_methods);
    stack.set_metatable(table);
}
