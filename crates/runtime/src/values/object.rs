//! Objects of the program as content of stores.

use super::handle::ObjectHandle;
use super::kind::{TableKind, table_kind};
use crate::engine::stack::{Slot, Stack, Type};
use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use crate::pages::whole::document_type;
use crate::slices::data::data_of_top;
use crate::slices::json::{Unwritten, json_of_top, too_deep};
use bytes::Bytes;
use runnel_store::{Answer, Form, Kind, Lazy, Value};
use std::any::Any;
use std::borrow::Cow;
use std::os::raw::c_int;

/// An object of the program in the hands of a store. Encoding it natively costs no fiber, unless
/// its class says itself how it is written.
pub(crate) struct ScriptObject {
    object: ObjectHandle,
    shape: ObjectShape,
}

/// What is known of it without asking the program.
#[derive(Clone, Copy, PartialEq)]
enum ObjectShape {
    /// An array or a dictionary: JSON for people too.
    Structure,
    /// A page or a part of one.
    Element,
    Other,
}

impl ScriptObject {
    pub(crate) fn new(isolate: &Isolate, stack: Stack, index: c_int) -> Self {
        let shape = match stack.kind(index) {
            Type::Table => match table_kind(stack, index) {
                TableKind::Array | TableKind::Dictionary => ObjectShape::Structure,
                TableKind::Element => ObjectShape::Element,
                _ => ObjectShape::Other,
            },
            _ => ObjectShape::Other,
        };
        ScriptObject { object: ObjectHandle::new(isolate, stack, index), shape }
    }

    pub(crate) fn belongs_to(&self, isolate: &Isolate) -> bool {
        self.isolate().same(isolate)
    }

    fn isolate(&self) -> &Isolate {
        self.object.isolate()
    }

    pub(crate) fn push(&self, stack: Stack) {
        self.object.push(stack);
    }

    /// The markup of an element, when it is complete: nothing of it is run.
    fn written(&self) -> Option<Bytes> {
        let stack = self.isolate().stack();
        stack.reserve(8);
        let top = stack.top();
        self.object.push(stack);
        let is_nil = |name: &str| {
            stack.field(top + 1, name);
            let nil = stack.kind(-1) == Type::Nil;
            stack.pop(1);
            nil
        };
        let complete = is_nil("_marks") && (is_nil("_media") || !is_nil("_whole"));
        stack.field(top + 1, "_html");
        let text = (complete && stack.kind(-1) == Type::Text).then(|| stack.copied_bytes(-1));
        stack.set_top(top);
        text
    }

    /// What becomes of an object that cannot be written without the program.
    fn unwritten(&self, why: &Unwritten) -> Answer<Bytes> {
        match why {
            Unwritten::Custom => self.ask(self.isolate().slots().json_text),
            Unwritten::Depth => too_deep(Kind::Failed).into(),
        }
    }

    /// Asks the program for a text: `entry` is a kernel function of the object.
    fn ask(&self, entry: Slot) -> Answer<Bytes> {
        let isolate = self.isolate().clone();
        let fiber = Fiber::new(
            &isolate,
            isolate.call(),
            |stack| {
                stack.push_kept(entry);
                self.object.push(stack);
                1
            },
            |_, stack, index| stack.copied_bytes(index),
        );
        Answer::later(async move { fiber.await.map_err(|fault| fault.into_error(&isolate)) })
    }
}

impl Lazy for ScriptObject {
    fn encode(&self, form: Form) -> Answer<Bytes> {
        let slots = self.isolate().slots();
        let json = match (form, self.shape) {
            (_, ObjectShape::Element) => {
                return match self.written() {
                    Some(bytes) => Answer::ok(bytes),
                    None => self.ask(slots.html_text),
                };
            }
            (Form::Json, _) | (Form::Text, ObjectShape::Structure) => true,
            (Form::Text, ObjectShape::Other) => return self.ask(slots.text),
            (Form::Csv, _) => false,
        };
        if !json {
            let value = self.value();
            return value.and_then(|value| runnel_store::Content::value(value).encode(Form::Csv));
        }
        let stack = self.isolate().stack();
        stack.reserve(16);
        self.object.push(stack);
        let written = match json_of_top(self.isolate(), stack) {
            Ok(Answer::Ready(Ok(Ok(bytes)))) => return Answer::ok(bytes),
            Ok(written) => written,
            Err(unwritten) => return self.unwritten(&unwritten),
        };
        let this = ScriptObject { object: self.object.clone(), shape: self.shape };
        written.and_then(move |written| match written {
            Ok(bytes) => Answer::ok(bytes),
            Err(unwritten) => this.unwritten(&unwritten),
        })
    }

    fn media_type(&self, _form: Form) -> Option<Cow<'static, str>> {
        if self.shape != ObjectShape::Element {
            return None;
        }
        let stack = self.isolate().stack();
        stack.reserve(8);
        self.object.push(stack);
        stack.field(-1, "_media");
        let media_type = stack.with_bytes(-1, document_type);
        stack.pop(2);
        Some(media_type)
    }

    /// An instance names the fields that have a value: what is nil in it was never said.
    fn is_settled(&self) -> bool {
        true
    }

    fn value(&self) -> Answer<Value> {
        let stack = self.isolate().stack();
        stack.reserve(16);
        self.object.push(stack);
        let is_object = self.shape == ObjectShape::Other;
        data_of_top(self.isolate(), stack).map(move |mut value| {
            if is_object && let Value::Record(fields) = &mut value {
                fields.retain(|(_, value)| !value.is_nil());
            }
            value
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
