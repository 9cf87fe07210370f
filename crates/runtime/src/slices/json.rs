//! JSON of objects, straight from the engine's tables into a buffer.

use super::walk::{Leaf, Walk, WalkSink};
use super::{Slice, Workspace};
use crate::engine::stack::Stack;
use crate::isolate::Isolate;
use crate::values::kind::write_number;
use crate::values::plans::ClassPlan;
use bytes::Bytes;
use runnel_store::json::{write_text, write_utf8};
use runnel_store::{Answer, Error, Kind};

/// Why an object was not written.
#[derive(Debug, PartialEq)]
pub(crate) enum Unwritten {
    /// The class defines its own JSON: its message must be sent.
    Custom,
    /// Too deep, or within itself.
    Depth,
}

/// The JSON text written so far.
struct JsonText(Vec<u8>);

impl WalkSink for JsonText {
    type Stop = Unwritten;

    fn leaf(&mut self, leaf: Leaf<'_>) -> Result<(), Unwritten> {
        let out = &mut self.0;
        match leaf {
            Leaf::Nil => out.extend_from_slice(b"null"),
            Leaf::Boolean(true) => out.extend_from_slice(b"true"),
            Leaf::Boolean(false) => out.extend_from_slice(b"false"),
            Leaf::Number(number) => write_number(number, out),
            Leaf::Text(text) => write_utf8(text, out),
            Leaf::Big(bytes) => {
                let value = num_bigint::BigInt::from_signed_bytes_le(bytes);
                out.extend_from_slice(value.to_string().as_bytes());
            }
            Leaf::Date(date) => write_text(&date.text(), out),
            Leaf::Decimal(digits) => out.extend_from_slice(digits.as_bytes()),
            Leaf::Data(_) | Leaf::Element | Leaf::Opaque => return Err(Unwritten::Custom),
        }
        Ok(())
    }

    fn begin_list(&mut self) {
        self.0.push(b'[');
    }

    fn element(&mut self, is_first: bool) {
        if !is_first {
            self.0.push(b',');
        }
    }

    fn end_list(&mut self) {
        self.0.push(b']');
    }

    fn begin_record(&mut self) {
        self.0.push(b'{');
    }

    fn name(&mut self, name: &[u8], is_first: bool) {
        if !is_first {
            self.0.push(b',');
        }
        write_utf8(name, &mut self.0);
        self.0.push(b':');
    }

    fn written_name(name: &[u8]) -> Box<[u8]> {
        let mut written = Vec::with_capacity(name.len() + 3);
        write_utf8(name, &mut written);
        written.push(b':');
        written.into()
    }

    fn shared_name(&mut self, written: &[u8], is_first: bool) {
        if !is_first {
            self.0.push(b',');
        }
        self.0.extend_from_slice(written);
    }

    fn end_record(&mut self) {
        self.0.push(b'}');
    }

    fn begin_object(&mut self, plan: Option<&ClassPlan>) -> Result<(), Unwritten> {
        match plan {
            Some(plan) if !plan.custom && !plan.fields.is_empty() => {
                self.0.push(b'{');
                Ok(())
            }
            _ => Err(Unwritten::Custom),
        }
    }

    fn field(&mut self, plan: &ClassPlan, position: usize) {
        if position > 0 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(&plan.fields[position].prefix);
    }

    fn too_deep(&mut self) -> Unwritten {
        Unwritten::Depth
    }

    fn size(&self) -> usize {
        self.0.len()
    }
}

/// The JSON text of the object on top of the stack, which is popped: at once when one slice is
/// enough, otherwise in slices.
pub(crate) fn json_of_top(
    isolate: &Isolate,
    stack: Stack,
) -> Result<Answer<Result<Bytes, Unwritten>>, Unwritten> {
    let mut walk = Walk::new(isolate, stack, JsonText(Vec::with_capacity(256)));
    match walk.step(stack, &mut Slice::first(stack)) {
        Ok(true) => Ok(Answer::ok(Ok(walk.sink.0.into()))),
        Ok(false) => {
            let workspace = Workspace::new(isolate);
            walk.move_to(stack, &workspace);
            Ok(Answer::later(async move {
                let done = super::run(workspace.isolate(), |slice| {
                    Ok(match walk.step(workspace.stack(), slice) {
                        Ok(done) => done.then_some(Ok(())),
                        Err(unwritten) => Some(Err(unwritten)),
                    })
                });
                Ok(done.await?.map(|()| walk.sink.0.into()))
            }))
        }
        Err(unwritten) => {
            walk.clear(stack);
            Err(unwritten)
        }
    }
}

/// The error of an object that is nested too deep.
pub(crate) fn too_deep(kind: Kind) -> Error {
    Error::new(kind, "the object is nested too deep for JSON, or contains itself")
}
