//! Content of stores as values of the program, and back.
//!
//! Plain values (nil, booleans, numbers, texts, bytes) are converted. An object of the program
//! travels as it is: a store that keeps it gives back the same object; a store that needs plain
//! data or an encoding asks for it ([`super::object`]).

use super::handle::ObjectHandle;
use super::instances::push_instances;
use super::kind::{Origin, TableKind, number, table_kind};
use super::native::{HeldPort, NativeLazy, native_of};
use super::object::ScriptObject;
use super::push::{push_bytes, push_data_of};
use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::pages::whole;
use crate::slices::build::{BuildSource, build_now};
use crate::slices::data::read_value;
use crate::streams::arriving::ArrivingContent;
use runnel_store::json::Document;
use runnel_store::{Answer, Body, Content, Value};
use std::any::Any;
use std::os::raw::c_int;
use std::rc::Rc;

/// Pushes what a store answered. A stream must have been read before.
pub(crate) fn push_content(isolate: &Isolate, stack: Stack, content: Option<Content>) {
    push_content_of(isolate, stack, content, Origin::Program);
}

/// Pushes an array of what a store answered to several reads.
pub(crate) fn push_contents(isolate: &Isolate, stack: Stack, contents: Vec<Option<Content>>) {
    stack.new_table(contents.len(), 0);
    let array = stack.top();
    for (position, content) in contents.into_iter().enumerate() {
        match content {
            Some(content) => push_content(isolate, stack, Some(content)),
            // Inside collections nil has an object of its own.
            None => stack.push_kept(isolate.slots().null),
        }
        stack.set_element(array, position + 1);
    }
    stack.push_kept(isolate.slots().array);
    stack.set_metatable(array);
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
            if class.is_some_and(|class| *class == *whole::CLASS) {
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
            if let (Some(class), Origin::Program) = (&class, origin)
                && push_instances(isolate, stack, class, &value)
            {
                return;
            }
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

/// Pushes a stand-in for content that is the answer of the running fiber, and leaves the content with
/// the isolate: rows and files need no object of the program.
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

/// The content that a value of the program is for a store.
pub(crate) fn read_content(isolate: &Isolate, stack: Stack, index: c_int) -> Content {
    let index = stack.absolute(index);
    match stack.kind(index) {
        Type::Nil => Content::value(Value::Nil),
        Type::Boolean => Content::value(Value::Bool(stack.boolean(index))),
        Type::Number => Content::value(number(stack.number(index))),
        Type::Text => {
            let bytes = stack.copied_bytes(index);
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
    if let Some(page) = whole::complete_page(stack, index) {
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
    let native = match native.downcast::<ArrivingContent>() {
        Ok(stream) => return stream.content(),
        Err(native) => native,
    };
    match native.downcast::<HeldPort>() {
        Ok(port) => port.0.clone().content(ObjectHandle::new(isolate, stack, index)),
        Err(_) => read_plain(isolate, stack, index),
    }
}

fn read_plain(isolate: &Isolate, stack: Stack, index: c_int) -> Content {
    if stack.kind(index) == Type::Table {
        let kind = table_kind(stack, index);
        if kind == TableKind::Data {
            stack.field(index, "_bytes");
            let content = Content::bytes(stack.copied_bytes(-1));
            stack.pop(1);
            return content;
        }
        if matches!(kind, TableKind::Big | TableKind::Size)
            && let Ok(value) = read_value(isolate, stack, index)
        {
            return Content::value(value);
        }
    }
    Content::lazy(Rc::new(ScriptObject::new(isolate, stack, index)))
}
