//! Values of the program as content of stores, and back.
//!
//! Plain values (nil, booleans, numbers, texts, bytes) are converted. An object of the program
//! travels as it is: a store that keeps it gives back the same object; a store that needs plain
//! data or an encoding asks for it (see `object`).

use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::slices::build::{BuildSource, build_now};
use crate::values::object::ScriptObject;
use runnel_store::json::Document;
use runnel_store::{Answer, Body, Content, EntityTag, Error, Lazy, Store, Value};
use std::any::Any;
use std::os::raw::c_int;
use std::rc::Rc;

/// Levels of arrays and dictionaries that are converted.
pub(crate) const DEPTH: usize = 128;
/// Integers up to here are exact as numbers of the program.
pub(crate) const EXACT: f64 = 9_007_199_254_740_991.0;

/// A store held by the program.
pub(crate) struct NativeStore(pub(crate) Rc<dyn Store>);
/// Lazy content held by the program, with its validator as of when it was asked for.
pub(crate) struct NativeLazy {
    pub(crate) lazy: Rc<dyn Lazy>,
    tag: Option<EntityTag>,
}

/// What the metatable of a table says about it: its field `_kind`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TableKind {
    Array,
    Dictionary,
    Big,
    Data,
    Null,
    Object,
    Element,
    Class,
    /// A moment in time.
    Date,
}

pub(crate) fn table_kind(stack: Stack, index: c_int) -> TableKind {
    if !stack.metatable(index) {
        return TableKind::Object;
    }
    stack.field(-1, "_kind");
    let number = stack.number(-1) as i32;
    stack.pop(2);
    match number {
        1 => TableKind::Array,
        2 => TableKind::Dictionary,
        3 => TableKind::Big,
        4 => TableKind::Data,
        5 => TableKind::Null,
        6 => TableKind::Element,
        7 => TableKind::Class,
        8 => TableKind::Date,
        _ => TableKind::Object,
    }
}

/// Pushes plain data as the program sees it.
pub(crate) fn push_value(isolate: &Isolate, stack: Stack, value: &Value) {
    push_data_of(isolate, stack, value, Origin::Program);
}

/// Who made a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Program,
    /// A client of a server: its arrays and dictionaries carry the mark `_sent`.
    Client,
}

/// Pushes plain data of an origin.
pub(crate) fn push_data_of(isolate: &Isolate, stack: Stack, value: &Value, origin: Origin) {
    if !stack.reserve(12) {
        stack.push_nil();
        return;
    }
    match value {
        Value::Nil => stack.push_nil(),
        Value::Bool(value) => stack.push_boolean(*value),
        Value::Int(value) if (*value as f64).abs() <= EXACT => stack.push_number(*value as f64),
        Value::Int(value) => push_big(isolate, stack, &num_bigint::BigInt::from(*value)),
        Value::Big(digits) => match digits.parse::<num_bigint::BigInt>() {
            Ok(value) => push_big(isolate, stack, &value),
            Err(_) => stack.push_nil(),
        },
        Value::Float(value) => stack.push_number(*value),
        Value::Text(text) => stack.push_bytes(text.as_bytes()),
        Value::Bytes(bytes) => push_data(isolate, stack, bytes),
        Value::List(items) => {
            stack.new_table(items.len(), 0);
            let table = stack.top();
            for (position, item) in items.iter().enumerate() {
                push_item(isolate, stack, item, origin);
                stack.set_element(table, position + 1);
            }
            set_origin(stack, table, origin);
            stack.push_kept(isolate.slots().array);
            stack.set_metatable(table);
        }
        Value::Record(fields) => push_record(isolate, stack, fields, origin),
    }
}

fn set_origin(stack: Stack, table: c_int, origin: Origin) {
    if origin == Origin::Client {
        stack.push_boolean(true);
        stack.set_field(table, "_sent");
    }
}

fn push_item(isolate: &Isolate, stack: Stack, item: &Value, origin: Origin) {
    match item {
        // Inside collections nil has an object of its own.
        Value::Nil => stack.push_kept(isolate.slots().null),
        item => push_data_of(isolate, stack, item, origin),
    }
}

fn push_record(isolate: &Isolate, stack: Stack, fields: &[(String, Value)], origin: Origin) {
    stack.new_table(0, 3);
    let table = stack.top();
    stack.new_table(fields.len(), 0);
    stack.new_table(0, fields.len());
    let (keys, map) = (table + 1, table + 2);
    for (position, (name, value)) in fields.iter().enumerate() {
        stack.push_bytes(name.as_bytes());
        stack.push_copy(-1);
        stack.set_element(keys, position + 1);
        push_item(isolate, stack, value, origin);
        stack.set_raw(map);
    }
    stack.set_field(table, "_map");
    stack.set_field(table, "_keys");
    stack.push_number(fields.len() as f64);
    stack.set_field(table, "_n");
    set_origin(stack, table, origin);
    stack.push_kept(isolate.slots().dictionary);
    stack.set_metatable(table);
}

/// Pushes an integer beyond 2^53.
pub(crate) fn push_big(isolate: &Isolate, stack: Stack, value: &num_bigint::BigInt) {
    stack.new_table(0, 2);
    let table = stack.top();
    stack.push_boolean(true);
    stack.set_field(table, "_isBig");
    stack.push_bytes(&value.to_signed_bytes_le());
    stack.set_field(table, "_bytes");
    stack.push_kept(isolate.slots().big);
    stack.set_metatable(table);
}

pub(crate) fn push_data(isolate: &Isolate, stack: Stack, bytes: &[u8]) {
    stack.push_kept(isolate.slots().make_data);
    stack.push_bytes(bytes);
    if !stack.protected_call(1, 1) {
        stack.pop(1);
        stack.push_bytes(bytes);
    }
}

/// Pushes bytes: text when they are UTF-8, else a Data object.
pub(crate) fn push_bytes(isolate: &Isolate, stack: Stack, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => stack.push_bytes(text.as_bytes()),
        Err(_) => push_data(isolate, stack, bytes),
    }
}

/// Pushes what a store answered. A stream must have been read before.
pub(crate) fn push_content(isolate: &Isolate, stack: Stack, content: Option<Content>) {
    push_content_of(isolate, stack, content, Origin::Program);
}

/// Pushes content of an origin.
pub(crate) fn push_content_of(
    isolate: &Isolate,
    stack: Stack,
    content: Option<Content>,
    origin: Origin,
) {
    let Some(content) = content else { return stack.push_nil() };
    let class = content.class;
    match content.body {
        Body::Empty | Body::Stream(..) => stack.push_nil(),
        Body::Bytes(bytes) => push_bytes(isolate, stack, &bytes),
        Body::Text(text) => {
            stack.push_bytes(text.as_bytes());
            if class.is_some_and(|class| *class == *crate::pages::streamed::CLASS) {
                // A page that a store kept is a page again, not a text.
                stack.new_table(0, 1);
                stack.push_copy(-2);
                stack.set_field(-2, "_html");
                stack.push_kept(isolate.slots().element);
                stack.set_metatable(stack.top() - 1);
                replace_below(stack, 1);
            }
        }
        Body::Value(value) => {
            push_data_of(isolate, stack, &value, origin);
            instantiate_top(isolate, stack, class);
        }
        Body::Lazy(lazy) => match lazy.as_any().downcast_ref::<ScriptObject>() {
            Some(object) if object.belongs_to(isolate) => object.push(stack),
            object => {
                if let Some(document) = lazy.as_any().downcast_ref::<Document>() {
                    // Where the program cannot wait; elsewhere it was built in slices before.
                    let source = BuildSource::of_tape(document.0.clone());
                    match build_now(isolate, stack, source, origin) {
                        Ok(slot) => {
                            stack.push_kept(slot);
                            stack.release(slot);
                        }
                        Err(_) => stack.push_nil(),
                    }
                    return instantiate_top(isolate, stack, class);
                }
                // Plain data that is at hand, such as a document, is what it stands for.
                if object.is_none()
                    && class.is_none()
                    && lazy.is_settled()
                    && let Answer::Ready(Ok(value)) = lazy.value()
                {
                    return push_data_of(isolate, stack, &value, origin);
                }
                stack.push_kept(isolate.slots().make_lazy);
                stack.push_native(Rc::new(NativeLazy { lazy, tag: content.entity_tag }));
                match class {
                    Some(class) => stack.push_bytes(class.as_bytes()),
                    None => stack.push_nil(),
                }
                if !stack.protected_call(2, 1) {
                    stack.pop(1);
                    stack.push_nil();
                }
            }
        },
    }
}

/// Makes the record on top, or those of the array on top, instances of a class.
fn instantiate_top(isolate: &Isolate, stack: Stack, class: Option<Rc<str>>) {
    let Some(class) = class else { return };
    stack.push_kept(isolate.slots().instantiate);
    stack.push_copy(-2);
    stack.push_bytes(class.as_bytes());
    if stack.protected_call(2, 1) {
        // Leaves the instance in the place of the record.
        stack.push_copy(-1);
        replace_below(stack, 2);
    } else {
        stack.pop(1);
    }
}

/// Rows as the answer of a fiber that ends with them: no object is made that nobody would look at.
pub(crate) fn push_answer(isolate: &Isolate, stack: Stack, content: Content) {
    match &content.body {
        Body::Lazy(lazy)
            if lazy.as_any().is::<Document>()
                || !lazy.is_settled() && !lazy.as_any().is::<ScriptObject>() =>
        {
            isolate.hold_answer(Content { class: None, ..content });
            stack.push_answer();
        }
        // With what is known about it: its media type, its validators.
        Body::Stream(..) | Body::Bytes(_) | Body::Text(_) => {
            isolate.hold_answer(content);
            stack.push_answer();
        }
        _ => push_content(isolate, stack, Some(content)),
    }
}

/// Moves the value on top down over `count` values below it.
fn replace_below(stack: Stack, count: c_int) {
    let value = stack.keep();
    stack.pop(count);
    stack.push_kept(value);
    stack.release(value);
}

/// Pushes a native store as an object of the program.
pub(crate) fn push_store(isolate: &Isolate, stack: Stack, store: Rc<dyn Store>) {
    if let Some(object) = crate::stores::script::object_of(&store) {
        stack.push_kept(object);
        return;
    }
    stack.push_kept(isolate.slots().make_store);
    stack.push_native(Rc::new(NativeStore(store)));
    if !stack.protected_call(1, 1) {
        stack.pop(1);
        stack.push_nil();
    }
}

/// The native store at an index: the userdata itself, or an object whose `_native` it is.
pub(crate) fn native_store(stack: Stack, index: c_int) -> Option<Rc<dyn Store>> {
    let native = native_of(stack, index)?;
    native.downcast_ref::<NativeStore>().map(|native| native.0.clone())
}

fn native_of(stack: Stack, index: c_int) -> Option<Rc<dyn Any>> {
    match stack.kind(index) {
        Type::Userdata => stack.native(index),
        Type::Table => {
            stack.field(index, "_native");
            let native = stack.native(-1);
            stack.pop(1);
            native
        }
        _ => None,
    }
}

/// Whether a value carries the mark of a client.
pub(crate) fn is_sent(stack: Stack, index: c_int) -> bool {
    if stack.kind(index) != Type::Table {
        return false;
    }
    stack.field(index, "_sent");
    let sent = stack.kind(-1) != Type::Nil;
    stack.pop(1);
    sent
}

/// The content that a value of the program is for a store.
pub(crate) fn read_content(isolate: &Isolate, stack: Stack, index: c_int) -> Content {
    let index = stack.absolute(index);
    match stack.kind(index) {
        Type::Nil => Content::value(Value::Nil),
        Type::Boolean => Content::value(Value::Bool(stack.boolean(index))),
        Type::Number => Content::value(number(stack.number(index))),
        Type::Text => {
            let bytes = bytes::Bytes::copy_from_slice(stack.bytes(index));
            match runnel_store::Text::from_utf8(bytes) {
                Ok(text) => Content::text(text),
                Err(bytes) => Content::bytes(bytes),
            }
        }
        _ => read_object(isolate, stack, index),
    }
}

/// The content that a value is as the answer to a read: rows that were queried for this answer
/// carry their validator. (Rows that a program keeps must not: they are read anew each time.)
pub(crate) fn read_answer(isolate: &Isolate, stack: Stack, index: c_int) -> Content {
    if let Some(page) = crate::pages::streamed::written(stack, index) {
        return page;
    }
    match stack.kind(index) {
        Type::Other if stack.is_answer(index) => {
            isolate.take_answer().unwrap_or_else(|| Content::value(Value::Nil))
        }
        Type::Table | Type::Userdata => match native_of(stack, index) {
            Some(native) => match native.downcast::<NativeLazy>() {
                Ok(rows) => {
                    let entity_tag = rows.tag.clone();
                    Content { entity_tag, ..Content::lazy(rows.lazy.clone()) }
                }
                Err(native) => read_native(isolate, stack, index, native),
            },
            None => read_plain(isolate, stack, stack.absolute(index)),
        },
        _ => read_content(isolate, stack, index),
    }
}

fn read_object(isolate: &Isolate, stack: Stack, index: c_int) -> Content {
    match native_of(stack, index) {
        Some(native) => read_native(isolate, stack, index, native),
        None => read_plain(isolate, stack, index),
    }
}

/// An object that stands for a value of Rust.
fn read_native(isolate: &Isolate, stack: Stack, index: c_int, native: Rc<dyn Any>) -> Content {
    let index = stack.absolute(index);
    let native = match native.downcast::<NativeLazy>() {
        Ok(rows) => return Content::lazy(rows.lazy.clone()),
        Err(native) => native,
    };
    let native = match native.downcast::<crate::streams::pipe::Written>() {
        Ok(written) => return Content::lazy(written),
        Err(native) => native,
    };
    match native.downcast::<crate::streams::socket::Socket>() {
        Ok(socket) => crate::streams::socket::content(isolate, stack, index, socket),
        Err(_) => read_plain(isolate, stack, index),
    }
}

fn read_plain(isolate: &Isolate, stack: Stack, index: c_int) -> Content {
    if stack.kind(index) == Type::Table {
        let kind = table_kind(stack, index);
        if kind == TableKind::Data {
            stack.field(index, "_bytes");
            let content = Content::bytes(bytes::Bytes::copy_from_slice(stack.bytes(-1)));
            stack.pop(1);
            return content;
        }
        if kind == TableKind::Big
            && let Ok(value) = read_value(isolate, stack, index)
        {
            return Content::value(value);
        }
    }
    Content::lazy(Rc::new(ScriptObject::new(isolate, stack, index)))
}

/// A number of the program as plain data: an integer when it is one.
pub(crate) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        Value::Int(value as i64)
    } else {
        Value::Float(value)
    }
}

/// A value of the program as plain data, at once; objects become records of their instance variables.
pub(crate) fn read_value(isolate: &Isolate, stack: Stack, index: c_int) -> Result<Value, Error> {
    stack.push_copy(index);
    crate::slices::data::data_of_top_now(isolate, stack)
}

/// The text of the date at an index.
pub(crate) fn date_text(stack: Stack, index: c_int) -> String {
    stack.field(index, "_time");
    let seconds = stack.number(-1);
    stack.pop(1);
    crate::values::date::rfc3339(seconds)
}
