//! Objects of the engine as plain data.

use super::walk::{Leaf, Walk, WalkSink};
use super::{Slice, Workspace};
use crate::engine::stack::Stack;
use crate::isolate::Isolate;
use crate::values::kind::{DEPTH, number};
use crate::values::plans::ClassPlan;
use runnel_store::{Answer, Error, Kind, Value};
use std::os::raw::c_int;

/// The values that were read, those of incomplete collections last.
#[derive(Default)]
struct PlainData {
    values: Vec<Value>,
    names: Vec<String>,
    /// Where the values of each incomplete collection begin.
    begins: Vec<usize>,
    /// Bytes of texts.
    bytes: usize,
}

impl WalkSink for PlainData {
    type Stop = Error;

    fn leaf(&mut self, leaf: Leaf<'_>) -> Result<(), Error> {
        self.values.push(match leaf {
            Leaf::Nil => Value::Nil,
            Leaf::Boolean(value) => Value::Bool(value),
            Leaf::Number(value) => number(value),
            Leaf::Text(text) => {
                self.bytes += text.len();
                match std::str::from_utf8(text) {
                    Ok(text) => Value::Text(text.into()),
                    Err(_) => Value::Bytes(bytes::Bytes::copy_from_slice(text)),
                }
            }
            Leaf::Big(bytes) => {
                let value = num_bigint::BigInt::from_signed_bytes_le(bytes);
                i64::try_from(&value)
                    .map_or_else(|_| Value::Big(value.to_string().into()), Value::Int)
            }
            Leaf::Date(date) => Value::Text(date.stored()),
            Leaf::Decimal(text) => Value::Text(text),
            Leaf::Data(bytes) => {
                self.bytes += bytes.len();
                Value::Bytes(bytes::Bytes::copy_from_slice(bytes))
            }
            Leaf::Element => {
                return Err(Error::new(Kind::Unsupported, "this object is not plain data"));
            }
            Leaf::Opaque => {
                return Err(Error::new(Kind::Unsupported, "a block is not plain data"));
            }
        });
        Ok(())
    }

    fn begin_list(&mut self) {
        self.begins.push(self.values.len());
    }

    fn element(&mut self, _: bool) {}

    fn end_list(&mut self) {
        let begin = self.begins.pop().unwrap_or_default();
        let items = self.values.split_off(begin);
        self.values.push(Value::List(items));
    }

    fn begin_record(&mut self) {
        self.begins.push(self.values.len());
    }

    fn name(&mut self, name: &[u8], _: bool) {
        self.names.push(String::from_utf8_lossy(name).into_owned());
    }

    fn written_name(name: &[u8]) -> Box<[u8]> {
        name.into()
    }

    fn shared_name(&mut self, written: &[u8], is_first: bool) {
        self.name(written, is_first);
    }

    fn end_record(&mut self) {
        let values = self.values.split_off(self.begins.pop().unwrap_or_default());
        let names = self.names.drain(self.names.len().saturating_sub(values.len())..);
        let fields = names.zip(values).collect();
        self.values.push(Value::Record(fields));
    }

    fn begin_object(&mut self, _: Option<&ClassPlan>) -> Result<(), Error> {
        self.begin_record();
        Ok(())
    }

    fn field(&mut self, plan: &ClassPlan, position: usize) {
        self.names.push(plan.fields[position].name.clone());
    }

    fn too_deep(&mut self) -> Error {
        let message = format!("data nested more than {DEPTH} deep, or within itself");
        Error::new(Kind::Invalid, message)
    }

    fn size(&self) -> usize {
        self.bytes
    }
}

/// The object on top of the stack, which is popped, as plain data: at once when one slice is enough,
/// otherwise in slices.
pub(crate) fn data_of_top(isolate: &Isolate, stack: Stack) -> Answer<Value> {
    let mut walk = Walk::new(isolate, stack, PlainData::default());
    match walk.step(stack, &mut Slice::first(stack)) {
        Ok(true) => Answer::ok(walk.sink.values.pop().unwrap_or_default()),
        Ok(false) => {
            let workspace = Workspace::new(isolate);
            walk.move_to(stack, &workspace);
            Answer::later(async move {
                super::run(workspace.isolate(), |slice| {
                    Ok(walk.step(workspace.stack(), slice)?.then_some(()))
                })
                .await?;
                Ok(walk.sink.values.pop().unwrap_or_default())
            })
        }
        Err(error) => {
            walk.clear(stack);
            error.into()
        }
    }
}

/// A value of the program as plain data, at once; objects become records of their instance variables.
pub(crate) fn read_value(isolate: &Isolate, stack: Stack, index: c_int) -> Result<Value, Error> {
    stack.push_copy(index);
    let mut walk = Walk::new(isolate, stack, PlainData::default());
    let outcome = walk.step(stack, &mut Slice::endless());
    walk.clear(stack);
    outcome.map(|_| walk.sink.values.pop().unwrap_or_default())
}
