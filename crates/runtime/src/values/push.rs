//! Plain data as values of the program.

use super::kind::{EXACT, Origin};
use crate::engine::stack::Stack;
use crate::isolate::Isolate;
use num_bigint::BigInt;
use runnel_store::Value;
use std::os::raw::c_int;

/// Pushes plain data as the program sees it.
pub(crate) fn push_value(isolate: &Isolate, stack: Stack, value: &Value) {
    push_data_of(isolate, stack, value, Origin::Program);
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
        Value::Int(value) => push_big(isolate, stack, &BigInt::from(*value)),
        Value::Big(digits) => match digits.parse::<BigInt>() {
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
pub(crate) fn push_big(isolate: &Isolate, stack: Stack, value: &BigInt) {
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
