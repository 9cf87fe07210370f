//! Building objects of the engine from a parsed document or a value, slice by slice.

use super::{Slice, Workspace, shared_keys};
use crate::engine::stack::{Slot, Stack, Type};
use crate::isolate::Isolate;
use crate::values::kind::{EXACT, Origin};
use crate::values::push::{push_big, push_value};
use runnel_store::json::{Node, Tape, TapeSize};
use runnel_store::{Context as Call, Error, Kind, Value};
use std::os::raw::c_int;
use std::sync::Arc;

// What objects take of the engine's memory, with what its allocator adds (measured; see the tests).
/// An empty array.
const LIST_BYTES: usize = 80;
/// One more element of an array, and one more key of a dictionary.
const ELEMENT_BYTES: usize = 8;
/// An empty dictionary: three tables, of which it shares one with others, mostly.
const RECORD_BYTES: usize = 368;
/// One more entry of a dictionary.
const FIELD_BYTES: usize = 32;
/// An integer beyond 2^53.
const BIG_BYTES: usize = 168;
/// A text beside its bytes.
const TEXT_BYTES: usize = 40;

/// What a document takes as objects of the engine, in bytes.
pub(crate) fn engine_bytes(size: TapeSize) -> usize {
    size.lists * LIST_BYTES
        + size.elements * ELEMENT_BYTES
        + size.records * RECORD_BYTES
        + size.fields * FIELD_BYTES
        + size.texts * TEXT_BYTES
        + size.bigs * BIG_BYTES
        + size.text_bytes
}

/// Adds what a value has to a size.
pub(super) fn measure(value: &Value, size: &mut TapeSize) {
    match value {
        Value::List(items) => {
            size.lists += 1;
            size.elements += items.len();
            items.iter().for_each(|item| measure(item, size));
        }
        Value::Record(fields) => {
            size.records += 1;
            size.fields += fields.len().next_power_of_two();
            fields.iter().for_each(|(_, field)| measure(field, size));
        }
        Value::Text(text) => {
            size.texts += 1;
            size.text_bytes += text.len();
        }
        Value::Bytes(bytes) => size.text_bytes += bytes.len(),
        Value::Big(_) => size.bigs += 1,
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
    }
}

/// The source of the values.
pub(crate) enum BuildSource {
    Tape { tape: Arc<Tape>, at: usize },
    Value(Vec<Remaining>),
}

/// Values of a collection, or one value.
pub(crate) enum Remaining {
    One(Option<Value>),
    Items(std::vec::IntoIter<Value>),
    Fields(std::vec::IntoIter<(String, Value)>, Option<Value>),
}

impl BuildSource {
    pub(crate) fn of_tape(tape: Arc<Tape>) -> BuildSource {
        BuildSource::Tape { tape, at: 0 }
    }

    pub(crate) fn of_value(value: Value) -> BuildSource {
        BuildSource::Value(vec![Remaining::One(Some(value))])
    }
}

/// What was pushed.
enum Pushed {
    /// A value, and its size in bytes.
    Leaf(usize),
    List(usize),
    Record(usize),
}

/// Positions of a collection that is being filled.
struct OpenCollection {
    is_record: bool,
    /// Whether the keys read so far match those of the previous record at this depth.
    is_shared: bool,
    /// Where its table lies.
    table: c_int,
    next: usize,
    left: usize,
}

// What lies at the bottom of the stack: names and metatables, by their place above the base.
const KEYS: c_int = 1;
const MAP: c_int = 2;
const COUNT: c_int = 3;
const SENT: c_int = 4;
const ARRAY: c_int = 5;
const DICTIONARY: c_int = 6;
const NULL: c_int = 7;
/// The keys of the last record at each depth.
const LAST: c_int = 8;
/// Records with more keys have keys of their own, so that a change of one copies no long list.
const MOST_SHARED: usize = 64;
/// Where the keys and the map of a dictionary lie above its table.
const KEYS_ABOVE: c_int = 2;
const MAP_ABOVE: c_int = 4;

/// Builds one object on top of a stack.
pub(crate) struct ObjectBuilder {
    isolate: Isolate,
    base: c_int,
    source: BuildSource,
    frames: Vec<OpenCollection>,
    began: bool,
    origin: Origin,
    /// How many keys the last record at each depth has, where others can share them.
    last: Vec<usize>,
}

impl ObjectBuilder {
    pub(crate) fn new(
        isolate: &Isolate,
        stack: Stack,
        source: BuildSource,
        origin: Origin,
    ) -> ObjectBuilder {
        stack.reserve(24);
        let base = stack.top();
        for name in ["_keys", "_map", "_n", "_sent"] {
            stack.push_bytes(name.as_bytes());
        }
        stack.push_kept(isolate.slots().array);
        stack.push_kept(isolate.slots().dictionary);
        stack.push_kept(isolate.slots().null);
        stack.new_table(0, 0);
        let isolate = isolate.clone();
        let (frames, last) = (Vec::new(), Vec::new());
        ObjectBuilder { isolate, base, source, frames, began: false, origin, last }
    }

    /// Builds until the slice is over or the object is complete; answers whether it is.
    pub(crate) fn step(&mut self, stack: Stack, slice: &mut Slice) -> Result<bool, Error> {
        loop {
            match self.frames.last_mut() {
                None if self.began => return Ok(true),
                None => self.began = true,
                Some(frame) if frame.left == 0 => {
                    self.end(stack);
                    self.add(stack);
                    continue;
                }
                Some(frame) => {
                    frame.left -= 1;
                    if frame.is_record {
                        self.source.push_name(stack, frame);
                    }
                }
            }
            let bytes = match self.push_next(stack) {
                Pushed::Leaf(bytes) => {
                    self.add(stack);
                    bytes
                }
                Pushed::List(count) => self.begin_list(stack, count)?,
                Pushed::Record(count) => self.begin_record(stack, count)?,
            };
            if slice.spend(bytes) && (!self.frames.is_empty() || !self.began) {
                return Ok(false);
            }
        }
    }

    /// Leaves only the object where the builder began.
    pub(crate) fn finish(self, stack: Stack) {
        stack.replace(self.base + 1);
        stack.set_top(self.base + 1);
    }

    fn push_next(&mut self, stack: Stack) -> Pushed {
        let within = !self.frames.is_empty();
        let null = self.base + NULL;
        let nil = move || if within { stack.push_copy(null) } else { stack.push_nil() };
        match &mut self.source {
            BuildSource::Tape { tape, at } => {
                let (node, next) = tape.node(*at);
                *at = next;
                push_node(&self.isolate, stack, node, nil)
            }
            BuildSource::Value(remaining) => match BuildSource::next_value(remaining) {
                Value::Nil => {
                    nil();
                    Pushed::Leaf(0)
                }
                Value::List(items) => {
                    let count = items.len();
                    remaining.push(Remaining::Items(items.into_iter()));
                    Pushed::List(count)
                }
                Value::Record(fields) => {
                    let count = fields.len();
                    remaining.push(Remaining::Fields(fields.into_iter(), None));
                    Pushed::Record(count)
                }
                leaf => {
                    push_value(&self.isolate, stack, &leaf);
                    Pushed::Leaf(match &leaf {
                        Value::Text(text) => text.len(),
                        Value::Bytes(bytes) => bytes.len(),
                        _ => 0,
                    })
                }
            },
        }
    }

    fn begin_list(&mut self, stack: Stack, count: usize) -> Result<usize, Error> {
        reserve(stack)?;
        stack.new_table(count, 0);
        self.push_frame(stack, false, false, count);
        Ok(count / 8)
    }

    fn begin_record(&mut self, stack: Stack, count: usize) -> Result<usize, Error> {
        reserve(stack)?;
        let depth = self.frames.len();
        if depth >= self.last.len() {
            self.last.resize(depth + 1, 0);
        }
        let is_shared = count > 0 && self.last[depth] == count;
        stack.new_table(0, 3 + usize::from(self.origin == Origin::Client));
        self.push_frame(stack, true, is_shared, count);
        stack.push_copy(self.base + KEYS);
        match is_shared {
            true => stack.get_element(self.base + LAST, depth + 1),
            false => stack.new_table(count, 0),
        }
        stack.push_copy(self.base + MAP);
        stack.new_table(0, count);
        Ok(count / 8)
    }

    fn push_frame(&mut self, stack: Stack, is_record: bool, is_shared: bool, left: usize) {
        let table = stack.top();
        self.frames.push(OpenCollection { is_record, is_shared, table, next: 1, left });
    }

    /// The keys of the record that ends are those of the next one at its depth, probably.
    fn remember_keys(&mut self, stack: Stack, frame: &OpenCollection) {
        let (depth, count) = (self.frames.len(), frame.next - 1);
        if frame.is_shared || count == 0 || count > MOST_SHARED {
            return;
        }
        let keys = frame.table + KEYS_ABOVE;
        stack.push_boolean(true);
        stack.set_element(keys, shared_keys::MARK);
        stack.push_copy(keys);
        stack.set_element(self.base + LAST, depth + 1);
        self.last[depth] = count;
    }

    /// Completes the innermost collection, which remains on top.
    fn end(&mut self, stack: Stack) {
        let Some(frame) = self.frames.pop() else { return };
        if let BuildSource::Value(remaining) = &mut self.source {
            remaining.pop();
        }
        let table = frame.table;
        if frame.is_record {
            self.remember_keys(stack, &frame);
            stack.set_raw(table);
            stack.set_raw(table);
            stack.push_copy(self.base + COUNT);
            stack.push_number((frame.next - 1) as f64);
            stack.set_raw(table);
        }
        if self.origin == Origin::Client {
            stack.push_copy(self.base + SENT);
            stack.push_boolean(true);
            stack.set_raw(table);
        }
        stack.push_copy(self.base + if frame.is_record { DICTIONARY } else { ARRAY });
        stack.set_metatable(table);
    }

    /// Moves the value on top into the collection around it.
    fn add(&mut self, stack: Stack) {
        let Some(frame) = self.frames.last_mut() else { return };
        if !frame.is_record {
            stack.set_element(frame.table, frame.next);
            frame.next += 1;
            return;
        }
        let (keys, map) = (frame.table + KEYS_ABOVE, frame.table + MAP_ABOVE);
        if frame.is_shared {
            // Different names, as they were in the record whose keys these are.
            frame.next += 1;
            stack.set_raw(map);
            return;
        }
        stack.push_copy(-2);
        stack.get_raw(map);
        let is_new = stack.kind(-1) == Type::Nil;
        stack.pop(1);
        if is_new {
            stack.push_copy(-2);
            stack.set_element(keys, frame.next);
            frame.next += 1;
        }
        stack.set_raw(map);
    }
}

/// Pushes the name of a field: the key at this position where it is shared. Otherwise the record has keys of its
/// own from here on.
fn push_field_name(stack: Stack, frame: &mut OpenCollection, name: &str) {
    let keys = frame.table + KEYS_ABOVE;
    if frame.is_shared {
        stack.get_element(keys, frame.next);
        if stack.with_text(-1, |key| key == name.as_bytes()) {
            return;
        }
        stack.pop(1);
        frame.is_shared = false;
        stack.new_table(frame.next + frame.left, 0);
        for position in 1..frame.next {
            stack.get_element(keys, position);
            stack.set_element(stack.top() - 1, position);
        }
        stack.replace(keys);
    }
    stack.push_bytes(name.as_bytes());
}

/// Makes room for one more level.
fn reserve(stack: Stack) -> Result<(), Error> {
    match stack.reserve(24) {
        true => Ok(()),
        false => Err(Error::new(Kind::TooLarge, "the data are nested too deep")),
    }
}

fn push_node(isolate: &Isolate, stack: Stack, node: Node<'_>, nil: impl Fn()) -> Pushed {
    match node {
        Node::Nil => nil(),
        Node::Bool(value) => stack.push_boolean(value),
        Node::Int(value) if (value as f64).abs() <= EXACT => stack.push_number(value as f64),
        Node::Int(value) => push_big(isolate, stack, &value.into()),
        Node::Big(digits) => match digits.parse() {
            Ok(value) => push_big(isolate, stack, &value),
            Err(_) => nil(),
        },
        Node::Float(value) => stack.push_number(value),
        Node::Text(text) => {
            stack.push_bytes(text.as_bytes());
            return Pushed::Leaf(text.len());
        }
        Node::List(count) => return Pushed::List(count),
        Node::Record(count) => return Pushed::Record(count),
    }
    Pushed::Leaf(0)
}

impl BuildSource {
    /// Pushes the name of the field whose value is next.
    fn push_name(&mut self, stack: Stack, frame: &mut OpenCollection) {
        match self {
            BuildSource::Tape { tape, at } => {
                let (node, next) = tape.node(*at);
                *at = next;
                if let Node::Text(name) = node {
                    push_field_name(stack, frame, name);
                }
            }
            BuildSource::Value(remaining) => {
                if let Some(Remaining::Fields(fields, value)) = remaining.last_mut()
                    && let Some((name, next)) = fields.next()
                {
                    push_field_name(stack, frame, &name);
                    *value = Some(next);
                }
            }
        }
    }

    fn next_value(remaining: &mut [Remaining]) -> Value {
        let next = match remaining.last_mut() {
            Some(Remaining::One(value) | Remaining::Fields(_, value)) => value.take(),
            Some(Remaining::Items(items)) => items.next(),
            None => None,
        };
        next.unwrap_or_default()
    }
}

/// Builds an object of the engine on the current stack at once: of a small document.
pub(crate) fn build_now(
    isolate: &Isolate,
    stack: Stack,
    source: BuildSource,
    origin: Origin,
) -> Result<Slot, Error> {
    let mut builder = ObjectBuilder::new(isolate, stack, source, origin);
    builder.step(stack, &mut Slice::endless())?;
    builder.finish(stack);
    Ok(stack.keep())
}

/// Builds an object in slices.
pub(crate) async fn build(
    isolate: Isolate,
    source: BuildSource,
    origin: Origin,
) -> Result<Slot, Error> {
    let workspace = Workspace::new(&isolate);
    let mut builder = ObjectBuilder::new(&isolate, workspace.stack(), source, origin);
    super::run(&isolate, |slice| match crate::engine::memory::is_exceeded() {
        true => Err(super::out_of_memory(&isolate)),
        false => Ok(builder.step(workspace.stack(), slice)?.then_some(())),
    })
    .await?;
    builder.finish(workspace.stack());
    Ok(workspace.stack().keep())
}

/// Charges the request for a document, and builds it in slices.
pub(crate) async fn build_tape(
    isolate: Isolate,
    call: &Call,
    tape: Arc<Tape>,
    origin: Origin,
) -> Result<Slot, Error> {
    super::hold(&isolate, call, engine_bytes(tape.size())).await?;
    build(isolate, BuildSource::of_tape(tape), origin).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Host, Limits};
    use bytes::Bytes;
    use std::rc::Rc;

    /// A host without anything.
    struct NoHost;

    impl Host for NoHost {}

    #[test]
    fn the_guess_of_memory_is_near_what_objects_take() {
        let isolate = Isolate::new(Rc::new(NoHost), Limits::default()).unwrap();
        let many = |text: &str| {
            let items: Vec<String> =
                (0..20_000).map(|number| text.replace('#', &number.to_string())).collect();
            format!("[{}]", items.join(","))
        };
        for text in [
            "{}",
            "[]",
            "7",
            "\"the text #\"",
            "\"#\"",
            r#"{"a":1}"#,
            r#"{"id":#,"name":"the name of #","done":false}"#,
            r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}"#,
            r#"{"list":[1,2,3,4,5,6,7,8,9],"inner":{"x":1.5,"y":#.5}}"#,
            r#"{"name #":1}"#,
            "1234567890123456789#",
        ] {
            let tape = Arc::new(Tape::parse(Bytes::from(many(text))).unwrap());
            let guess = engine_bytes(tape.size()) as f64;
            let stack = isolate.stack();
            isolate
                .run_lua("collectgarbage() collectgarbage() collectgarbage('stop')", "x")
                .unwrap();
            let before = crate::engine::memory::used();
            let source = BuildSource::of_tape(tape);
            let slot = build_now(&isolate, stack, source, Origin::Program).unwrap();
            let taken = (crate::engine::memory::used() - before) as f64;
            stack.release(slot);
            // The engine's table of texts grows in steps, within what is measured or before.
            let ratio = guess / taken;
            assert!((0.9..1.6).contains(&ratio), "{text}: {taken} bytes, guess {guess}");
        }
    }
}
