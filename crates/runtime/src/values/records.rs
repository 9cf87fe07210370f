//! Objects and dictionaries of the program as rows of values, read in place without a record for each.

use crate::engine::stack::{Slot, Stack, Type};
use crate::isolate::Isolate;
use crate::slices::data::read_value;
use crate::values::kind::{TableKind, number, table_kind};
use runnel_store::{Error, Kind, RECORDS_BATCH, Value};
use std::os::raw::c_int;
use std::rc::Rc;

/// Reads rows of the same fields.
pub(crate) struct RecordReader {
    isolate: Isolate,
    fields: Rc<[String]>,
    /// Where the values lie: keys of the objects, or of the map of a dictionary.
    keys: Vec<Slot>,
    /// The field of the key where it is left out: no later record may have one.
    left_out: Option<(String, Slot)>,
    /// The metatable of the first record: all others must be of that class.
    class: usize,
    dictionaries: bool,
}

impl RecordReader {
    /// Looks at the first element of an array. Instances have the fields of their class, or those
    /// that are known; the key is left out when the first has none, so that the store makes
    /// it. Dictionaries have the fields that the first one has.
    pub(crate) fn new(
        isolate: &Isolate,
        stack: Stack,
        array: c_int,
        known: Option<Vec<String>>,
        key: Option<String>,
    ) -> Result<RecordReader, Error> {
        let top = stack.top();
        stack.reserve(16);
        stack.get_element(array, 1);
        let made = Self::of_first(isolate, stack, top + 1, known, key);
        stack.set_top(top);
        made
    }

    fn of_first(
        isolate: &Isolate,
        stack: Stack,
        first: c_int,
        known: Option<Vec<String>>,
        key: Option<String>,
    ) -> Result<RecordReader, Error> {
        if stack.kind(first) != Type::Table {
            return Err(no_record(stack, first, 1));
        }
        let kind = table_kind(stack, first);
        let dictionaries = kind == TableKind::Dictionary;
        let mut fields = match kind {
            TableKind::Dictionary => match read_value(isolate, stack, first)? {
                Value::Record(fields) => fields.into_iter().map(|(name, _)| name).collect(),
                _ => Vec::new(),
            },
            TableKind::Object => known.unwrap_or_else(|| {
                let plan = isolate.plans().for_object(stack, first);
                plan.fields.iter().map(|field| field.name.clone()).collect()
            }),
            _ => return Err(no_record(stack, first, 1)),
        };
        let mut left_out = None;
        if let Some(key) = key.filter(|key| !dictionaries && fields.contains(key)) {
            stack.field(first, &runnel_compile::field(&key));
            if stack.kind(-1) == Type::Nil {
                fields.retain(|field| *field != key);
                left_out = Some(key);
            }
            stack.pop(1);
        }
        if fields.is_empty() {
            let message = "a record without fields cannot be inserted with others";
            return Err(Error::new(Kind::Invalid, message));
        }
        let keep = |name: &str| {
            match dictionaries {
                true => stack.push_bytes(name.as_bytes()),
                false => stack.push_bytes(runnel_compile::field(name).as_bytes()),
            }
            stack.keep()
        };
        let keys = fields.iter().map(|name| keep(name)).collect();
        let left_out = left_out.map(|name| {
            let slot = keep(&name);
            (name, slot)
        });
        let class = metatable(stack, first);
        let isolate = isolate.clone();
        Ok(RecordReader { isolate, fields: fields.into(), keys, left_out, class, dictionaries })
    }

    pub(crate) fn fields(&self) -> Rc<[String]> {
        self.fields.clone()
    }

    /// The name of the key where it is left out.
    pub(crate) fn left_out(&self) -> Option<&str> {
        self.left_out.as_ref().map(|(name, _)| name.as_str())
    }

    /// The values of the first `count` elements of an array; `before` records precede them.
    pub(crate) fn read(
        &self,
        isolate: &Isolate,
        stack: Stack,
        array: c_int,
        count: usize,
        before: usize,
    ) -> Result<Vec<Value>, Error> {
        let mut values = Vec::with_capacity((count * self.keys.len()).min(2 * RECORDS_BATCH));
        let top = stack.top();
        if !stack.reserve(2 * self.keys.len() as c_int + 16) {
            return Err(Error::new(Kind::TooLarge, "a record has too many fields"));
        }
        for key in &self.keys {
            stack.push_kept(*key);
        }
        let mut outcome = Ok(());
        for position in 1..=count {
            stack.get_element(array, position);
            outcome = self.record(isolate, stack, top, before + position, &mut values);
            stack.set_top(top + self.keys.len() as c_int);
            if outcome.is_err() {
                break;
            }
        }
        stack.set_top(top);
        outcome.map(|()| values)
    }

    /// Reads the record on top of the stack; the keys lie above `keys`.
    fn record(
        &self,
        isolate: &Isolate,
        stack: Stack,
        keys: c_int,
        position: usize,
        values: &mut Vec<Value>,
    ) -> Result<(), Error> {
        let record = stack.top();
        if stack.kind(record) != Type::Table || metatable(stack, record) != self.class {
            return Err(no_record(stack, record, position));
        }
        let mut holder = record;
        if self.dictionaries {
            stack.field(record, "_map");
            holder = stack.top();
        }
        // The values stay on the stack until the record has been read: taking each away would be one
        // more call into the engine for each.
        let mut present = 0;
        for at in 1..=self.keys.len() as c_int {
            stack.push_copy(keys + at);
            stack.get_raw(holder);
            present += usize::from(self.dictionaries && stack.kind(-1) != Type::Nil);
            values.push(field(isolate, stack)?);
        }
        if self.dictionaries {
            stack.field(record, "_n");
            if stack.number(-1) as usize != present {
                return Err(self.unknown_field(isolate, stack, record, position));
            }
        } else if let Some((_, key)) = &self.left_out {
            stack.push_kept(*key);
            stack.get_raw(record);
            if stack.kind(-1) != Type::Nil {
                let message = format!("record {position} has a key and the first one has none");
                return Err(Error::new(Kind::Invalid, message));
            }
        }
        Ok(())
    }
}

impl RecordReader {
    /// The error of a dictionary with more fields than the first one.
    fn unknown_field(
        &self,
        isolate: &Isolate,
        stack: Stack,
        record: c_int,
        position: usize,
    ) -> Error {
        let names = match read_value(isolate, stack, record) {
            Ok(Value::Record(fields)) => fields,
            _ => Vec::new(),
        };
        let unknown = names.iter().map(|(name, _)| name).find(|name| !self.fields.contains(name));
        let message = match unknown {
            Some(name) => format!(
                "record {position} has the field {name}, which the first one does not have; it has {}",
                self.fields.join(", ")
            ),
            None => format!("record {position} has a key that is no text"),
        };
        Error::new(Kind::Invalid, message)
    }
}

impl Drop for RecordReader {
    fn drop(&mut self) {
        let stack = self.isolate.stack();
        let left_out = self.left_out.iter().map(|(_, key)| key);
        for key in self.keys.iter().chain(left_out) {
            stack.release(*key);
        }
    }
}

/// A text of the program as a field: it may have any bytes.
pub(crate) fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.into()),
        Err(_) => Value::Bytes(bytes::Bytes::copy_from_slice(bytes)),
    }
}

/// The value on top of the stack as a field: an object that has a key stands for it.
pub(crate) fn field(isolate: &Isolate, stack: Stack) -> Result<Value, Error> {
    let kind = stack.kind(-1);
    match kind {
        Type::Nil => return Ok(Value::Nil),
        Type::Boolean => return Ok(Value::Bool(stack.boolean(-1))),
        Type::Number => return Ok(number(stack.number(-1))),
        Type::Text => return Ok(stack.with_bytes(-1, text)),
        _ => {}
    }
    let index = stack.top();
    match kind {
        Type::Table if table_kind(stack, index) == TableKind::Object => {
            stack.field(index, "i_id");
            if stack.kind(-1) == Type::Nil {
                stack.pop(1);
                return read_value(isolate, stack, index);
            }
            let key = read_value(isolate, stack, -1);
            stack.pop(1);
            key
        }
        _ => read_value(isolate, stack, index),
    }
}

fn metatable(stack: Stack, index: c_int) -> usize {
    if !stack.metatable(index) {
        return 0;
    }
    let address = stack.address(-1) as usize;
    stack.pop(1);
    address
}

/// The error of a value that is no record, by its position from 1.
pub(crate) fn no_record(stack: Stack, index: c_int, position: usize) -> Error {
    let what = match stack.kind(index) {
        Type::Table if position > 1 => "is of another class than the first",
        Type::Table => "is neither an instance of a class nor a dictionary",
        _ => "is no record",
    };
    Error::new(Kind::Invalid, format!("record {position} {what}"))
}
