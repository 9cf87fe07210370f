//! JSON of objects, straight from the engine's tables into a buffer.

use crate::isolate::Isolate;
use crate::raw::{Slot, Stack, Type};
use crate::value::{DEPTH, EXACT, TableKind, table_kind};
use runnel_store::json::{write_int, write_text};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::os::raw::c_int;
use std::rc::Rc;

/// One field of a class: how it is written and where its value is.
pub(crate) struct PlannedField {
    pub(crate) name: String,
    /// `"name":`
    prefix: Vec<u8>,
    pub(crate) key: Slot,
}

/// How the instances of a class are written: made once per class.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) fields: Vec<PlannedField>,
    /// The class says itself how it is written.
    custom: bool,
}

/// The plans of an isolate, by the address of the class's method table (which is never freed).
#[derive(Default)]
pub(crate) struct Plans {
    known: RefCell<FxHashMap<usize, Rc<Plan>>>,
}

impl Plans {
    /// Forgets what was known: a class has a new instance variable.
    pub(crate) fn forget(&self, stack: Stack) {
        for (_, plan) in self.known.borrow_mut().drain() {
            for field in &plan.fields {
                stack.release(field.key);
            }
        }
    }

    /// The plan for the object at an index.
    pub(crate) fn of(&self, isolate: &Isolate, stack: Stack, index: c_int) -> Rc<Plan> {
        if !stack.metatable(index) {
            return Rc::new(Plan::default());
        }
        let address = stack.address(-1) as usize;
        if let Some(plan) = self.known.borrow().get(&address) {
            stack.pop(1);
            return plan.clone();
        }
        let plan = Rc::new(Self::make(isolate, stack, stack.top()));
        stack.pop(1);
        self.known.borrow_mut().insert(address, plan.clone());
        plan
    }

    fn make(isolate: &Isolate, stack: Stack, methods: c_int) -> Plan {
        let _ = isolate;
        // Messages with which a class says itself how it is written (kernel/json.lua).
        let mut custom = false;
        for message in ["jsonRepresentation", "asDictionary", "writeOnJSONStream_"] {
            stack.field(methods, message);
            custom |= stack.kind(-1) == Type::Function;
            stack.pop(1);
        }
        let mut fields = Vec::new();
        stack.field(methods, "_class");
        if stack.kind(-1) == Type::Table {
            stack.field(-1, "_ivars");
            let names = stack.top();
            if stack.kind(names) == Type::Table {
                for position in 1..=stack.length(names) {
                    stack.get_element(names, position);
                    let name = String::from_utf8_lossy(stack.bytes(-1)).into_owned();
                    stack.pop(1);
                    stack.push_bytes(runnel_compile::field(&name).as_bytes());
                    let key = stack.keep();
                    let mut prefix = Vec::new();
                    write_text(&name, &mut prefix);
                    prefix.push(b':');
                    fields.push(PlannedField { name, prefix, key });
                }
            }
            stack.pop(1);
        }
        stack.pop(1);
        Plan { fields, custom }
    }
}

/// Why an object was not written.
#[derive(Debug, PartialEq)]
pub(crate) enum Unwritten {
    /// The program's own code says how: it must be asked.
    Custom,
    /// Too deep, or within itself.
    Depth,
}

/// A number as JSON and as text: integers without a fraction, floats as short as they come back
/// the same, NaN and infinities as `null`.
pub(crate) fn write_number(value: f64, out: &mut Vec<u8>) {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        write_int(value as i64, out);
    } else {
        runnel_store::json::write(&runnel_store::Value::Float(value), out);
    }
}

pub(crate) fn number_text(value: f64) -> String {
    let mut out = Vec::new();
    write_number(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes the value at an index as JSON.
pub(crate) fn write(
    isolate: &Isolate,
    stack: Stack,
    index: c_int,
    out: &mut Vec<u8>,
) -> Result<(), Unwritten> {
    let index = stack.absolute(index);
    stack.reserve(8);
    let top = stack.top();
    let mut writer = Writer { isolate, stack, out, last: None };
    let outcome = writer.value(index, 0);
    stack.set_top(top);
    outcome
}

/// What is known of the tables with one metatable.
#[derive(Clone)]
struct Known {
    metatable: usize,
    kind: TableKind,
    plan: Option<Rc<Plan>>,
}

struct Writer<'a> {
    isolate: &'a Isolate,
    stack: Stack,
    out: &'a mut Vec<u8>,
    /// The last object's class: lists hold objects of one class, mostly.
    last: Option<Known>,
}

impl Writer<'_> {
    fn value(&mut self, index: c_int, depth: usize) -> Result<(), Unwritten> {
        let stack = self.stack;
        match stack.kind(index) {
            Type::Nil => self.out.extend_from_slice(b"null"),
            Type::Boolean => {
                let text: &[u8] = if stack.boolean(index) { b"true" } else { b"false" };
                self.out.extend_from_slice(text);
            }
            Type::Number => write_number(stack.number(index), self.out),
            Type::Text => match std::str::from_utf8(stack.bytes(index)) {
                Ok(text) => write_text(text, self.out),
                Err(_) => write_text(&String::from_utf8_lossy(stack.bytes(index)), self.out),
            },
            Type::Table if depth > DEPTH || !stack.reserve(16) => return Err(Unwritten::Depth),
            Type::Table => return self.table(index, depth),
            Type::Function | Type::Userdata | Type::Other => return Err(Unwritten::Custom),
        }
        Ok(())
    }

    fn table(&mut self, index: c_int, depth: usize) -> Result<(), Unwritten> {
        let known = self.known(index);
        match known.kind {
            TableKind::Null => self.out.extend_from_slice(b"null"),
            TableKind::Array => return self.array(index, depth),
            TableKind::Dictionary => return self.dictionary(index, depth),
            TableKind::Object => {
                return match known.plan {
                    Some(plan) => self.object(index, &plan, depth),
                    None => Err(Unwritten::Custom),
                };
            }
            TableKind::Big => {
                self.stack.field(index, "_bytes");
                let value = num_bigint::BigInt::from_signed_bytes_le(self.stack.bytes(-1));
                self.stack.pop(1);
                self.out.extend_from_slice(value.to_string().as_bytes());
            }
            TableKind::Date => {
                write_text(&crate::value::date_text(self.stack, index), self.out);
            }
            TableKind::Data | TableKind::Element | TableKind::Class => {
                return Err(Unwritten::Custom);
            }
        }
        Ok(())
    }

    /// The kind and plan of a table: looked up again only when its class is another than last.
    fn known(&mut self, index: c_int) -> Known {
        let stack = self.stack;
        if !stack.metatable(index) {
            return Known { metatable: 0, kind: TableKind::Object, plan: None };
        }
        let metatable = stack.address(-1) as usize;
        stack.pop(1);
        if let Some(last) = self.last.as_ref().filter(|last| last.metatable == metatable) {
            return last.clone();
        }
        let kind = table_kind(stack, index);
        if kind != TableKind::Object {
            return Known { metatable, kind, plan: None };
        }
        let plan = self.isolate.plans().of(self.isolate, stack, index);
        let known = Known { metatable, kind, plan: Some(plan) };
        self.last = Some(known.clone());
        known
    }

    fn array(&mut self, index: c_int, depth: usize) -> Result<(), Unwritten> {
        self.out.push(b'[');
        for position in 1..=self.stack.length(index) {
            if position > 1 {
                self.out.push(b',');
            }
            self.stack.get_element(index, position);
            let item = self.value(self.stack.top(), depth + 1);
            self.stack.pop(1);
            item?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn dictionary(&mut self, index: c_int, depth: usize) -> Result<(), Unwritten> {
        let stack = self.stack;
        self.out.push(b'{');
        stack.field(index, "_keys");
        stack.field(index, "_map");
        let (keys, map) = (stack.top() - 1, stack.top());
        let mut first = true;
        let mut outcome = Ok(());
        for position in 1..=stack.length(keys) {
            stack.get_element(keys, position);
            let name = match stack.kind(-1) {
                Type::Text => String::from_utf8_lossy(stack.bytes(-1)),
                Type::Number => number_text(stack.number(-1)).into(),
                // A key that was removed leaves a hole.
                _ => {
                    stack.pop(1);
                    continue;
                }
            };
            if !first {
                self.out.push(b',');
            }
            first = false;
            write_text(&name, self.out);
            self.out.push(b':');
            stack.get_raw(map);
            outcome = self.value(stack.top(), depth + 1);
            stack.pop(1);
            if outcome.is_err() {
                break;
            }
        }
        stack.pop(2);
        self.out.push(b'}');
        outcome
    }

    fn object(&mut self, index: c_int, plan: &Plan, depth: usize) -> Result<(), Unwritten> {
        if plan.custom || plan.fields.is_empty() {
            return Err(Unwritten::Custom);
        }
        let stack = self.stack;
        for (position, field) in plan.fields.iter().enumerate() {
            self.out.push(if position == 0 { b'{' } else { b',' });
            self.out.extend_from_slice(&field.prefix);
            stack.push_kept(field.key);
            stack.get_raw(index);
            let value = self.value(stack.top(), depth + 1);
            stack.pop(1);
            value?;
        }
        self.out.push(b'}');
        Ok(())
    }
}
